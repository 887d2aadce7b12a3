package variable

import (
	"debug/dwarf"
	"fmt"
	"sort"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
)

// Debug information comes in parts, each with offsets of its own (see
// dw.Part). Here all have one space of offsets: the parts lie in it one after
// the other, the program's own first, and entries are put into it as they are
// read, so that what refers to an entry names one, wherever it lies.

// body is a part in the space of all.
type body struct {
	dw.Part
	base dwarf.Offset
}

// take gives the parts their places. What does not fit into the space is left
// out, and said.
func (x *index) take(found []dw.Part) {
	at := uint64(0)
	for i := range found {
		p := body{found[i], dwarf.Offset(at)}
		if at += uint64(p.Size); at > 1<<32-1 {
			x.missing = append(x.missing, fmt.Sprintf("%s has more than 4 GiB of debug information: the rest is not read", x.file.Name()))
			return
		}
		x.parts = append(x.parts, p)
		for _, u := range p.Units {
			if u.IsType() && int(u.Type) < p.Size && x.sigs != nil {
				x.sigs[u.Signature] = u.Type + p.base
			}
		}
	}
}

// partAt finds the part that an offset is in; nil if there is none.
func (x *index) partAt(off dwarf.Offset) *body {
	i := sort.Search(len(x.parts), func(i int) bool { return x.parts[i].base > off })
	if i == 0 {
		return nil
	}
	return &x.parts[i-1]
}

// adopt puts an entry of a part into the space of all.
func (x *index) adopt(p *body, e *dwarf.Entry) *dwarf.Entry {
	if e.Tag == 0 {
		return e
	}
	e.Offset += p.base
	for i := range e.Field {
		f := &e.Field[i]
		switch v := f.Val.(type) {
		case dwarf.Offset:
			f.Val = v + p.base
		case uint64:
			if f.Class == dwarf.ClassReferenceSig {
				if off, ok := x.sigs[v]; ok {
					f.Val, f.Class = off, dwarf.ClassReference
				}
			}
		}
	}
	return e
}

// reader reads entries one after the other.
type reader struct {
	x       *index
	part    *body
	entries *dw.Entries
}

// readAt begins at an offset; ok is false if nothing is there.
func (x *index) readAt(off dwarf.Offset) (reader, bool) {
	p := x.partAt(off)
	if p == nil || int(off-p.base) >= p.Size {
		return reader{}, false
	}
	r := p.Data.Reader()
	r.Seek(off - p.base)
	return reader{x, p, dw.NewEntries(r, p.Size)}, true
}

func (r *reader) next() (*dwarf.Entry, error) {
	e, err := r.entries.Next()
	if err != nil || e == nil {
		return nil, err
	}
	return r.x.adopt(r.part, e), nil
}

// walk calls visit for every entry with its unit and the scope that encloses it.
// What is wrong with the program's own part is an error; of the others, a
// sentence in missing.
func (x *index) walk(visit func(e *dwarf.Entry, u *unit, in *scope) *scope) error {
	for i := range x.parts {
		w := walker{x: x, part: &x.parts[i], visit: visit}
		err := w.walk()
		switch {
		case err != nil && i == 0:
			return fmt.Errorf("read debug information: %w", err)
		case err != nil:
			x.missing = append(x.missing, fmt.Sprintf("part of the debug information of %s is not read: %v", x.file.Name(), err))
		}
	}
	return nil
}

// walker walks over one part.
type walker struct {
	x     *index
	part  *body
	visit func(e *dwarf.Entry, u *unit, in *scope) *scope
	unit  *unit
	stack []*scope // around the list that the walk is in
	in    *scope
}

func (w *walker) walk() error {
	r := w.part.Data.Reader()
	entries := dw.NewEntries(r, w.part.Size)
	if !w.part.Apart {
		return w.run(entries, false)
	}
	for _, u := range w.part.Units {
		r.Seek(u.Entry)
		if err := w.run(entries, true); err != nil {
			return err
		}
	}
	return nil
}

// run goes on to the end, or to that of the unit.
func (w *walker) run(entries *dw.Entries, one bool) error {
	for depth := 0; ; {
		e, err := entries.Next()
		if err != nil || e == nil {
			return err
		}
		if e.Tag == 0 {
			depth--
		} else if e.Children {
			depth++
		}
		w.entry(w.x.adopt(w.part, e))
		if one && depth <= 0 {
			return nil
		}
	}
}

func (w *walker) entry(e *dwarf.Entry) {
	switch e.Tag {
	case 0:
		if n := len(w.stack); n > 0 {
			w.in, w.stack = w.stack[n-1], w.stack[:n-1]
		}
		return
	case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagSkeletonUnit:
		w.unit, w.stack, w.in = w.part.newUnit(e), nil, nil
		return
	}
	inner := w.visit(e, w.unit, w.in)
	if e.Children {
		w.stack = append(w.stack, w.in)
		w.in = inner
	}
}

// newUnit makes the unit of a root entry. One that a skeleton stands for has its
// addresses and its line table from there.
func (p *body) newUnit(e *dwarf.Entry) *unit {
	u := newUnit(e)
	if p.Skeleton != nil && e.Tag == dwarf.TagCompileUnit {
		u.entry, u.base.Addr = p.Skeleton, p.AddrBase
	}
	return u
}

// definitions are the types that are described somewhere, and those that are only
// declared, by their names. A compiler may describe a class in one unit alone.
type definitions struct {
	byName map[string]dwarf.Offset
	names  map[dwarf.Offset]string // of declarations
}

// maxDefinitions bounds the bytes of the names of types that are kept.
const maxDefinitions = 64 << 20

func (x *index) define() *definitions {
	d := &definitions{byName: map[string]dwarf.Offset{}, names: map[dwarf.Offset]string{}}
	left := maxDefinitions
	_ = x.walk(func(e *dwarf.Entry, u *unit, in *scope) *scope {
		switch e.Tag {
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType:
			s := x.structScope(e, in)
			if s.name != "" && !inFunction(in) && left > 0 {
				full := qualified(x.path(s, nil))
				left -= len(full) + 64
				if dw.Flag(e, dwarf.AttrDeclaration) {
					d.names[e.Offset] = full
				} else if _, ok := d.byName[full]; !ok {
					d.byName[full] = e.Offset
				}
			}
			return s
		case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagSubprogram:
			if s := x.scopes[e.Offset]; s != nil {
				return s
			}
		}
		return in
	})
	return d
}

// complete gives the entry that describes a type which e only declares; e if
// there is none.
func (x *index) complete(e *dwarf.Entry) *dwarf.Entry {
	if e == nil {
		return nil
	}
	if off, ok := e.Val(dwarf.AttrSignature).(dwarf.Offset); ok { // a declaration, though gcc calls only some so
		if full := x.typeEntry(off); full != nil {
			return full
		}
	}
	if !dw.Flag(e, dwarf.AttrDeclaration) {
		return e
	}
	if x.defs == nil {
		x.defs = x.define()
	}
	if off, ok := x.defs.byName[x.defs.names[e.Offset]]; ok {
		if full := x.typeEntry(off); full != nil && full.Tag == e.Tag {
			return full
		}
	}
	return e
}
