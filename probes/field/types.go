package field

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// database holds the types of one file.
type database struct {
	*dw.Tree
	file    *bin.File
	targets map[dwarf.Offset]*dw.Type // the definitions of the type whose field is watched
	// template reports that the type, of which there are no targets, is a template that was named
	// without arguments.
	template bool
	partial  bool // types are in other units than the code that uses them
	// vacant reports, for structures of at most one byte, whether they have no data.
	vacant map[*dw.Type]bool
}

const (
	maxEntries = 1 << 26 // entries that are read for one file
	maxChain   = 64      // links of origins
	maxMembers = 1 << 12 // of one type
	maxNesting = 32      // of types within types
)

// openDatabase returns the database of a file, in which most entries may be read.
func openDatabase(f *bin.File, most int) (*database, error) {
	tree, err := dw.Of(f).Tree()
	if err != nil {
		return nil, err
	}
	tree.Budget = most
	return &database{Tree: tree, file: f, targets: map[dwarf.Offset]*dw.Type{}, vacant: map[*dw.Type]bool{}}, nil
}

// load reads the debug information and finds the definitions of a type. For a file without debug
// information the database is empty.
func load(f *bin.File, s Spec) (*database, error) {
	db, err := openDatabase(f, maxEntries)
	if errors.Is(err, bin.ErrNoDWARF) {
		return &database{}, nil
	}
	if err != nil {
		return nil, err
	}
	return db, db.index(s)
}

// index records all structures by name, and finds the types that the specification names.
func (db *database) index(s Spec) error {
	defs := dw.NewDefinitions()
	db.Definition = func(t *dw.Type) dwarf.Offset { return defs.Of(t.Offset) }
	var found, instances []dwarf.Offset
	add := func(qualified string, at dwarf.Offset) {
		switch name := squeeze(qualified); {
		case matches(name, s.Type):
			found = append(found, at)
		case strings.Contains(s.Type, "<") && spelling.InstanceSuffix(s.Type, name):
			instances = append(instances, at)
		case !strings.Contains(s.Type, "<") && spelling.InstanceSuffix(s.Type+"<*>", name):
			db.template = true
		}
	}
	err := dw.Walk(db.Tree, &db.Parts[0], func(e *dwarf.Entry, _ *dw.CompileUnit, in *dw.Scope) (*dw.Scope, error) {
		switch e.Tag {
		case dwarf.TagTypedef:
			if s.Tag == "" {
				add(in.Qualify(dw.Name(e), ""), e.Offset)
			}
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			name := dw.Name(e)
			if name == "" {
				break
			}
			qualified := in.Qualify(name, "")
			defs.Add(e, qualified)
			tagged := s.Tag == "" || (s.Tag == "union") == (e.Tag == dwarf.TagUnionType)
			if tagged && !dw.Flag(e, dwarf.AttrDeclaration) {
				add(qualified, e.Offset)
			}
		}
		return dw.ScopeOf(e, in), nil
	})
	if err != nil {
		return fmt.Errorf("read debug information of %s: %w", db.file.Name(), err)
	}
	if len(found) == 0 { // no type has exactly that name
		found = instances
	}
	db.setTargets(found)
	return nil
}

// setTargets follows the found types to their structures, which are the targets.
func (db *database) setTargets(found []dwarf.Offset) {
	for _, off := range found {
		t := db.Type(off)
		if t == nil || !isStructure(t) {
			continue
		}
		db.targets[t.Offset] = t
		db.partial = db.partial || !slices.ContainsFunc(db.Parts[0].Units, func(u dw.Unit) bool {
			return u.HasCode() && u.Entry <= t.Offset && t.Offset < u.End
		})
	}
}

// matches reports whether a qualified name, without white space, ends in the name that the user wrote.
func matches(qualified, asked string) bool {
	rest, ok := strings.CutSuffix(qualified, asked)
	return ok && (rest == "" || strings.HasSuffix(rest, "::"))
}

// isStructure reports whether a type is a structure whose members are known.
func isStructure(t *dw.Type) bool { return t.IsStructure() && !t.Declared }

// hasParts reports whether a type is a pointer, an array or a structure.
func hasParts(t *dw.Type) bool {
	return t.IsPointer() || t.Tag == dwarf.TagArrayType || isStructure(t)
}

// isUnknown reports whether a type is one of flow.fresh, which has no tag: it stands for the
// unknown value of one instruction.
func isUnknown(t *dw.Type) bool { return t != nil && t.Tag == 0 }

func membersOf(t *dw.Type) []dw.Member {
	ms := t.Members()
	return ms[:min(len(ms), maxMembers)]
}

// isBase reports whether a member's own members count as those of the structure that contains it: a
// base class or a member without a name. A bit field without a name is padding.
func isBase(m *dw.Member) bool { return m.Name == "" && m.Bits == 0 }

// startOf returns the offset of a member; ok is false if it is not constant.
func startOf(m *dw.Member) (at int64, ok bool) {
	if m.Bits > 0 {
		return m.Bit / 8, m.Known && m.Bit/8 <= maxAway
	}
	return m.Start, m.Known
}

// position is the position of a field in a type.
type position struct {
	at, size  int64 // bytes; for a bit field, of its storage
	typ       dwarf.Offset
	bit, bits int64 // position of a bit field in its storage
}

// partInfo describes what is at an offset of a type.
type partInfo struct {
	typ    *dw.Type // the innermost type that begins there or contains the offset
	object int64    // the offset where the innermost object of the watched type begins
	inside bool     // there is an object of the watched type
	// stride is the greatest common divisor of the element sizes of all arrays around it; 0: there
	// are none.
	stride int64
}

// part returns the member or element of a type that contains an offset, the offset in the type at
// which it begins and, for an element, its size; nil if there is none.
func (db *database) part(t *dw.Type, off int64) (inner *dw.Type, begin, stride int64) {
	switch {
	case t.Tag == dwarf.TagArrayType:
		if el := db.Type(t.Of); el.Size() > 0 {
			return el, off / el.Size() * el.Size(), el.Size()
		}
	case isStructure(t):
		if m := db.memberAt(t, off); m != nil {
			return db.Type(m.Type), m.Start, 0
		}
	}
	return nil, 0, 0
}

// locate returns what is at an offset of a type.
func (db *database) locate(t *dw.Type, off int64) (s partInfo) {
	base := int64(0)
	for range maxNesting {
		if t == nil {
			return s
		}
		if db.targets[t.Offset] == t {
			s.object, s.inside = base, true
		}
		s.typ = t
		if !isStructure(t) && t.Tag != dwarf.TagArrayType && off != base {
			s.typ = nil
		}
		inner, begin, stride := db.part(t, off-base)
		t, base, s.stride = inner, base+begin, commonDivisor(s.stride, stride)
	}
	return s
}

// target returns the type that a pointer points to; nil if that has no parts and is not atomic. A scalar of
// an atomic type is returned with its qualifier.
func (db *database) target(pointer *dw.Type) *dw.Type {
	if to := db.Type(pointer.Of); to == nil || hasParts(to) {
		return to
	}
	t := db.TypeAt(pointer.Of)
	for range maxChain {
		if t == nil || t.Tag == dwarf.TagAtomicType {
			return t
		}
		t = db.TypeAt(t.Of)
	}
	return nil
}

// pointerAt returns the target of the pointer at an offset of a type; nil if there is no pointer, or it has
// no target.
func (db *database) pointerAt(t *dw.Type, off int64) *dw.Type {
	sp := db.locate(t, off)
	if sp.typ == nil || !sp.typ.IsPointer() {
		return nil
	}
	return db.target(sp.typ)
}

// memberAt returns the member that contains an offset. If there are several (in a union, or with
// empty base classes), it is one that contains an object of the watched type, or else the first
// that is not empty.
func (db *database) memberAt(t *dw.Type, off int64) *dw.Member {
	var first *dw.Member
	ms := membersOf(t)
	for i := range ms {
		m := &ms[i]
		if !m.Known || m.Bits != 0 || off < m.Start {
			continue
		}
		mt := db.Type(m.Type)
		if mt == nil || off >= m.Start+max(mt.Size(), 1) {
			continue
		}
		if db.targets[mt.Offset] == mt {
			return m
		}
		if first == nil || db.empty(db.Type(first.Type), 0) {
			first = m
		}
	}
	return first
}

// empty reports whether a type has no data, so that other members may have the same offset.
func (db *database) empty(t *dw.Type, depth int) bool {
	if t == nil || !isStructure(t) || t.Size() > 1 || depth > maxNesting {
		return false
	}
	vacant, known := db.vacant[t]
	if !known {
		// It is set before the members are read: a type that contains itself is damaged, and not
		// empty.
		db.vacant[t] = false
		vacant = !slices.ContainsFunc(membersOf(t), func(m dw.Member) bool { return !db.empty(db.Type(m.Type), depth+1) })
		db.vacant[t] = vacant
	}
	return vacant
}

// form is what the code that accesses a field must agree on.
type form struct {
	size, bit, bits, encoding int64
	tag                       dwarf.Tag
	name                      string
	atomic                    bool
}

// formOf returns the form of a field of a type that lies in its object's bytes as pl says.
func (db *database) formOf(pl position) form {
	f := form{size: pl.size, bit: pl.bit, bits: pl.bits}
	t := db.TypeAt(pl.typ)
	for range maxChain {
		if t == nil || !t.IsName() {
			break
		}
		f.atomic = f.atomic || t.Tag == dwarf.TagAtomicType
		t = db.TypeAt(t.Of)
	}
	if t = db.Type(pl.typ); t != nil {
		f.tag, f.name, f.encoding = t.Tag, t.Name, t.Encoding
	}
	return f
}

// form returns the form of a field.
func (db *database) form(fd Field) form {
	return db.formOf(position{size: int64(fd.Size), typ: fd.Type, bit: int64(fd.BitOffset), bits: int64(fd.BitSize)})
}

// fields finds the field in the definitions of the type: one field for each form. Its offset is that
// of the first definition.
func (db *database) fields(s Spec) ([]Field, bool, error) {
	type layout struct {
		form          form
		typeSize, off int64
	}
	var fds []Field
	var firstErr error
	forms, seen := map[form]int{}, map[layout]bool{}
	for _, t := range db.sortedTargets() {
		pl, err := db.member(t, s.Path)
		if err != nil {
			if firstErr == nil {
				firstErr = &Error{err.Error()}
			}
			continue
		}
		if pl.size >= 1<<31 {
			pl.size = 0
		}
		kind := db.formOf(pl)
		if l := (layout{kind, t.Size(), pl.at}); seen[l] {
			continue
		} else {
			seen[l] = true
		}
		i, known := forms[kind]
		if !known {
			i = len(fds)
			forms[kind] = i
			fds = append(fds, Field{Spec: s, Name: s.Text, Size: int(pl.size), Type: pl.typ, Offset: pl.at, TypeSize: t.Size(), BitOffset: int(pl.bit), BitSize: int(pl.bits)})
		}
		fds[i].TypeSize = min(fds[i].TypeSize, t.Size())
		fds[i].Definitions++
	}
	if len(fds) == 0 {
		return nil, len(db.targets) > 0, firstErr
	}
	return fds, true, nil
}

func (db *database) sortedTargets() []*dw.Type {
	return slices.SortedFunc(maps.Values(db.targets), func(a, b *dw.Type) int { return cmp.Compare(a.Offset, b.Offset) })
}

// member follows a path of names into a type, also through base classes and anonymous members.
func (db *database) member(t *dw.Type, path []string) (pl position, err error) {
	for i, name := range path {
		if t == nil || !isStructure(t) || pl.bits != 0 {
			return pl, fmt.Errorf("%s has no members", strings.Join(path[:i], "."))
		}
		m, outer := db.named(t, name, 0)
		if m == nil {
			return pl, fmt.Errorf("the type has no member %s; it has %s", name, names(t))
		}
		at, ok := startOf(m)
		if !ok {
			return pl, fmt.Errorf("%s has no fixed place in the object: it cannot be watched", name)
		}
		if m.Bits != 0 {
			in, ok := dw.StorageOf(pl.at+outer, m.Bit, m.Bits)
			pl = position{at: in.At, size: in.Size, typ: m.Type, bit: in.Bit, bits: m.Bits}
			if !ok {
				return pl, fmt.Errorf("the %d bits of %s lie across more than 8 bytes: it cannot be watched", m.Bits, name)
			}
			t = nil
			continue
		}
		t = db.Type(m.Type)
		pl = position{at: pl.at + outer + at, typ: m.Type, size: t.Size()}
	}
	return pl, nil
}

// named returns the member of that name, and the offset of the base class or member without a name
// that contains it; nil if there is none.
func (db *database) named(t *dw.Type, name string, depth int) (found *dw.Member, outer int64) {
	if db.Budget--; t == nil || depth > maxNesting || db.Budget < 0 {
		return nil, 0
	}
	ms := membersOf(t)
	if i := slices.IndexFunc(ms, func(m dw.Member) bool { return m.Name == name && !isBase(&m) }); i >= 0 {
		return &ms[i], 0
	}
	for i := range ms {
		if m := &ms[i]; isBase(m) && m.Known {
			if in, off := db.named(db.Type(m.Type), name, depth+1); in != nil {
				return in, m.Start + off
			}
		}
	}
	return nil, 0
}

// inherited records the base classes of a type through which it has a member. Each is recorded with
// the offset in it that corresponds to offset at of the type.
func (db *database) inherited(t *dw.Type, at int64, name string, into map[*dw.Type]int64) {
	for range maxNesting {
		ms := membersOf(t)
		i := slices.IndexFunc(ms, func(m dw.Member) bool {
			found, _ := db.named(db.Type(m.Type), name, 1)
			return isBase(&m) && m.Known && found != nil
		})
		if i < 0 || slices.ContainsFunc(ms, func(m dw.Member) bool { return m.Name == name && !isBase(&m) }) {
			return
		}
		at -= ms[i].Start
		if t = db.Type(ms[i].Type); t.Name != "" { // an anonymous member is not a class
			into[t] = at
		}
	}
}

// names returns the names of the members, for a message.
func names(t *dw.Type) string {
	var ns []string
	for _, m := range membersOf(t) {
		if m.Name != "" && len(ns) < 12 {
			ns = append(ns, m.Name)
		}
	}
	if len(ns) == 0 {
		return "none"
	}
	return strings.Join(ns, ", ")
}
