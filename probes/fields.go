package probes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/binary"
	"github.com/tracepredict/tracepredict/probes/field"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// watched is a field to watch; found says that some file has described it.
type watched struct {
	spec  field.Spec
	field field.Field
	found bool
}

// fieldsOf takes the names of the form "FIELD of TYPE" out of those to watch.
func fieldsOf(names []string) (fields []*watched, rest []string, err error) {
	for _, name := range names {
		s, ok, err := field.Parse(name)
		switch {
		case err != nil:
			return nil, nil, &variable.Error{Name: name, Reason: variable.BadName, Message: err.Error()}
		case ok:
			fields = append(fields, &watched{spec: s})
		default:
			rest = append(rest, name)
		}
	}
	return fields, rest, nil
}

// unresolvedFields are the reasons why fields have not been found in any file.
func (p *Planner) unresolvedFields() []error {
	var errs []error
	for _, w := range p.fields {
		if !w.found {
			errs = append(errs, &variable.Error{Name: w.spec.Text, Reason: variable.NotFound,
				Message: fmt.Sprintf("no type %s is described by the debug information: compile with -g, and write the type as in the source", w.spec.Type)})
		}
	}
	return errs
}

// watchFields plans the probes of the fields that are watched.
func (p *Planner) watchFields(b *builder, f *binary.File) error {
	for _, w := range p.fields {
		fd, ok, err := field.Find(f, w.spec)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if !w.found {
			w.field, w.found = fd, true
		}
		if err := b.field(fd); err != nil {
			return fmt.Errorf("find the accesses of %s in %s: %w", fd.Name, f.Name(), err)
		}
	}
	return nil
}

// field plans the probes of a field's accesses in this file.
func (b *builder) field(fd field.Field) error {
	res, err := field.Accesses(b.plan.File, fd)
	if err != nil {
		return err
	}
	stores := map[uint64]bool{}
	atomic := fd.Atomic
	for _, a := range res.Accesses {
		stores[a.Addr] = a.Kind == variable.Write && !a.Atomic
		atomic = atomic || a.Atomic
	}
	named := map[uint64]bool{} // accesses of variables that are observed by name
	for _, s := range b.plan.Sites {
		named[s.At] = named[s.At] || s.Variable != ""
	}
	names := symbolize.New(b.plan.File, symbolize.WithoutDWARF())
	v := variable.Variable{Name: fd.Name, Size: fd.Size, Type: fd.Type, Class: fd.Class, Atomic: atomic}
	for _, a := range res.Accesses {
		if a.Fixed && named[a.Addr] {
			continue
		}
		v.Addr = a.Static
		s, ok, err := b.access(v, a.Access, stores)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		s.Atomic, s.Check, s.Field, s.Inside = atomic, false, true, a.Inside
		if frames := names.Frames(a.Addr); len(frames) > 0 {
			s.Function = frames[0].Function
		}
		b.plan.Sites = append(b.plan.Sites, s)
	}
	b.fieldNotes(fd, res)
	return nil
}

// maxNamedFunctions bounds the functions that one note names.
const maxNamedFunctions = 8

func (b *builder) fieldNotes(fd field.Field, res field.Result) {
	if fd.Kinds > 1 {
		b.note("%d different types in %s are called %s: the accesses of all are seen", fd.Kinds, b.plan.File.Name(), fd.Spec.Type)
	}
	var functions []string
	n := 0
	for f, count := range res.Unseen {
		functions = append(functions, f)
		n += count
	}
	if n == 0 {
		return
	}
	slices.Sort(functions)
	more := ""
	if len(functions) > maxNamedFunctions {
		more = fmt.Sprintf(" and %d more", len(functions)-maxNamedFunctions)
		functions = functions[:maxNamedFunctions]
	}
	b.note("%d instructions that may access %s through something that is not understood are not seen, in functions %s%s",
		n, fd.Name, strings.Join(functions, ", "), more)
}
