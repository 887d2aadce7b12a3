package probes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/field"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// watchedField is a field to watch.
type watchedField struct {
	spec  field.Spec
	field field.Field // set once found is
	found bool        // the debug information of some file describes it
	least int64       // bytes of the smallest type that has the name in some file; 0: not known
	// wrong is why a type of that name has no such field, or none that can be watched; nil if there
	// is no such type.
	wrong *variable.Error
}

// maxForms bounds the number of forms in which a file's types of one name may have a field.
const maxForms = 16

// fieldsOf separates the names of the form "FIELD of TYPE" from the other names to watch.
func fieldsOf(names []string) (fields []*watchedField, rest []string, err error) {
	for _, name := range names {
		s, ok, err := field.Parse(name)
		switch {
		case err != nil:
			return nil, nil, &variable.Error{Name: name, Reason: variable.BadName, Message: err.Error()}
		case ok:
			fields = append(fields, &watchedField{spec: s})
		default:
			rest = append(rest, name)
		}
	}
	return fields, rest, nil
}

// unresolvedFields returns an error for each field that has not been found in any file so far.
func (p *Planner) unresolvedFields() []error {
	var errs []error
	for _, w := range p.fields {
		switch {
		case w.found:
		case w.wrong != nil:
			errs = append(errs, w.wrong)
		default:
			errs = append(errs, &variable.Error{Name: w.spec.Text, Reason: variable.NotFound,
				Message: fmt.Sprintf("no type %s is described by the debug information: compile with -g, and write the type as in the source", w.spec.Type)})
		}
	}
	return errs
}

// watchFields plans the probes of the accesses of watched fields, and of the lifetimes of the
// objects that contain them.
func (p *Planner) watchFields(b *builder, f *elf.File) error {
	for _, w := range p.fields {
		fds, ok, err := field.Find(f, w.spec)
		var wrong *field.Error
		if errors.As(err, &wrong) {
			w.refuse(variable.NotFound, err.Error())
			continue
		}
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := p.watchForms(b, w, fds); err != nil {
			return err
		}
	}
	if len(p.fields) == 0 && !p.opts.Lives {
		return nil
	}
	if err := b.planHeap(len(p.fields) > 0, p.leastObject()); err != nil {
		return fmt.Errorf("find what allocates memory in %s: %w", f.Name(), err)
	}
	return nil
}

// watchForms plans the probes of a field in all types of the file that have its type's name. If some
// of them have a field that can be watched, the others get a note.
func (p *Planner) watchForms(b *builder, w *watchedField, fds []field.Field) error {
	if n := len(fds) - maxForms; n > 0 {
		b.note("%s has %d more {form|forms} in %s: {it is|they are} not watched", w.spec.Text, n, b.plan.File.Name())
		fds = fds[:maxForms]
	}
	var refused error
	var watched []field.Field
	for _, fd := range fds {
		scalar, err := variable.ScalarAt(b.plan.File, fd.Type)
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		if fd.BitSize != 0 {
			scalar.Size = fd.Size
		}
		if !w.found {
			if other := p.sharing(fd); other != "" {
				return &variable.Error{Name: w.spec.Text, Reason: variable.WrongType, Message: "it lies in the same bytes as " + other + ", which is watched too: an access of one is an access of both"}
			}
			w.field, w.found = fd, true
			if w.wrong != nil && w.wrong.Reason != variable.NotFound {
				b.note("in an earlier file it is not seen: %v", w.wrong)
			}
		}
		if w.least == 0 || fd.TypeSize < w.least {
			w.least = fd.TypeSize
		}
		if err := b.field(fd, scalar); err != nil {
			return fmt.Errorf("find the accesses of %s in %s: %w", fd.Name, b.plan.File.Name(), err)
		}
		watched = append(watched, fd)
	}
	b.formNotes(w, watched, refused)
	if refused != nil {
		w.refuse(variable.WrongType, fmt.Sprintf("it has %v", refused))
	}
	return nil
}

// refuse stores why a field was not found. A type of the same name in another file may have it. That
// a field cannot be watched says more than that there is none.
func (w *watchedField) refuse(reason variable.Reason, message string) {
	if w.wrong == nil || w.wrong.Reason == variable.NotFound && reason != variable.NotFound {
		w.wrong = &variable.Error{Name: w.spec.Text, Reason: reason, Message: message}
	}
}

// formNotes adds notes about the types of the file that share the name of a watched field's type.
func (b *builder) formNotes(w *watchedField, watched []field.Field, refused error) {
	definitions := 0
	for _, fd := range watched {
		definitions += fd.Definitions
	}
	if definitions > 1 {
		b.note("%d different types in %s are called %s: the accesses of all are seen", definitions, b.plan.File.Name(), w.spec.Type)
	}
	if refused != nil && w.found {
		b.note("another type in %s is called %s, and its %s cannot be watched: it has %v", b.plan.File.Name(), w.spec.Type, strings.Join(w.spec.Path, "."), refused)
	}
}

// sharing returns the name of a field found earlier that lies in the same bytes, "" if there is
// none. Two such fields cannot both be watched, because a variable is identified by its address.
func (p *Planner) sharing(fd field.Field) string {
	for _, w := range p.fields {
		o := &w.field
		if w.found && o.Spec.Type == fd.Spec.Type && o.Offset < fd.Offset+int64(fd.Size) && fd.Offset < o.Offset+int64(o.Size) {
			return o.Name
		}
	}
	return ""
}

// leastObject returns the size in bytes of the smallest type whose fields are watched; 1 while the
// size of one of them is unknown.
func (p *Planner) leastObject() int64 {
	if len(p.fields) == 0 {
		return 1
	}
	least := p.fields[0].least
	for _, w := range p.fields {
		least = min(least, w.least)
	}
	return max(least, 1)
}

// field plans the probes of a field's accesses in this file.
func (b *builder) field(fd field.Field, scalar variable.Scalar) error {
	res, err := field.Accesses(b.plan.File, fd)
	if err != nil {
		return err
	}
	accesses := make([]variable.Access, len(res.Accesses))
	for i := range res.Accesses {
		accesses[i] = accessOf(&res.Accesses[i], scalar.Size)
	}
	stores := storesIn(accesses, func(a variable.Access) bool { return !a.Atomic })
	atomic := scalar.Atomic || anyAtomic(accesses)
	named := map[uint64]bool{} // addresses of instructions that access a variable that is observed by name
	for _, s := range b.plan.Sites {
		named[s.At] = named[s.At] || s.Variable != ""
	}
	v := variable.Variable{Name: fd.Name, Size: scalar.Size, Type: scalar.Type, Class: scalar.Class, Atomic: atomic, AtomicByUse: atomic && !scalar.Atomic, Signed: scalar.Signed, Char: scalar.Char, Constants: scalar.Constants,
		Bits: variable.Bits{Offset: fd.BitOffset, Size: fd.BitSize}}
	watched := v
	for i, a := range accesses {
		m := &res.Accesses[i].Mem
		if m.Fixed && named[a.Addr] {
			continue
		}
		v.Addr = m.Addr - uint64(a.Offset)
		s, ok, err := b.access(v, a, stores)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		s.Atomic, s.Target, s.Inside, s.Field = atomic && indivisible(v, a), TargetField, res.Accesses[i].Inside, &watched
		b.plan.Sites = append(b.plan.Sites, s)
	}
	b.fieldNotes(fd, res)
	return b.lifetimes(fd, res)
}

// lifetimes plans the probes of the constructors and destructors of a watched type: an object that
// is constructed in the memory of another is a new object, whatever allocated the memory.
func (b *builder) lifetimes(fd field.Field, res field.Result) error {
	for _, l := range res.Lifetimes {
		if b.lifetimesPlanned[l.Addr] {
			continue // done for another field of the same type
		}
		b.lifetimesPlanned[l.Addr] = true
		if err := b.lifetime(l); err != nil {
			return fmt.Errorf("%s at 0x%x: %w", l.Name, l.Addr, err)
		}
	}
	functions, n := named(res.Inlined)
	if n > 0 {
		b.note("%d {constructor or destructor|constructors and destructors} of %s {is inlined, in|are inlined, in functions} %s: the {lifetime that it begins or ends is|lifetimes that they begin and end are} seen only where memory is allocated and freed", n, fd.Spec.Type, functions)
	}
	return nil
}

// lifetime plans the probes of a constructor, at its entry, or of a destructor, at its entry and
// its returns.
func (b *builder) lifetime(l field.Lifetime) error {
	where, err := b.place(cheapsite.Want{At: l.Addr, Reads: b.entryReads(1)})
	if err != nil {
		return err
	}
	if where.Class == cheapsite.Refused {
		b.note("%s cannot be probed (%s): the lifetimes of objects that it begins or ends are not seen", l.Name, where.Why)
		return nil
	}
	s := newSite(l.Addr, where, l.Name)
	s.Program = ProgramHeap
	s.BPF = bpf.Site{Op: uint8(bpf.OpConstruct), Action: uint8(bpf.ActionEmit), AtEntry: 1, SpDelta: int32(where.SPDelta),
		ObjectFrom: uint8(bpf.FromReg), ObjectReg: uint8(b.argument(1))}
	s.BPF.Heap().Size = uint64(l.Size)
	if l.Destructor {
		s.Program, s.BPF.Op, s.BPF.Action = ProgramHeapLate, uint8(bpf.OpDestruct), uint8(bpf.ActionSave)
	}
	b.plan.Sites = append(b.plan.Sites, s)
	if !l.Destructor {
		return nil
	}
	return b.heapReturns(call{addr: l.Addr, name: l.Name}, ProgramHeapLate)
}

// accessOf converts an access of a field of this size, in bytes, to an access of a variable.
func accessOf(a *field.Access, size int) variable.Access {
	m := &a.Mem
	out := variable.Access{
		Addr: a.Inst.Addr, Len: a.Inst.Len, Kind: variable.Read, Atomic: a.Inst.Locked, Width: m.Size, Offset: a.Offset,
		Base: m.Base, Disp: m.Disp - a.Offset, Func: a.Func, Value: variable.Value{Source: variable.FromMemory, Reg: insn.NoReg},
	}
	if m.Fixed {
		out.Base, out.Disp = insn.NoReg, 0
	}
	if a.Stride != 0 {
		out.Index, out.Scale, out.Stride = m.Index, m.Scale, a.Stride
	}
	switch {
	case m.Read && m.Write:
		out.Kind = variable.Update
	case m.Write:
		out.Kind = variable.Write
	}
	out.Partial = m.Size > 0 && (a.Offset > 0 || a.Offset+int64(m.Size) < int64(size))
	if a.Offset == 0 && m.Size == size {
		out.Value = variable.ValueOf(out.Kind, &a.Inst)
	}
	return out
}

// maxNamedFunctions bounds the number of functions that one note lists.
const maxNamedFunctions = 8

func (b *builder) fieldNotes(fd field.Field, res field.Result) {
	if functions, n := named(res.Unknown); n > 0 {
		b.note("%d {instruction|instructions} that may access %s through something that is not understood {is not seen, in|are not seen, in functions} %s", n, fd.Name, functions)
	}
}

// named returns the names of counted functions as text, and the sum of the counts.
func named(counts map[string]int) (list string, n int) {
	var functions []string
	for f, count := range counts {
		functions = append(functions, f)
		n += count
	}
	slices.Sort(functions)
	if more := len(functions) - maxNamedFunctions; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(functions[:maxNamedFunctions], ", "), more), n
	}
	return strings.Join(functions, ", "), n
}
