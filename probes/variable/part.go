package variable

import (
	"debug/dwarf"
	"fmt"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
)

// walk calls visit for every entry with its unit and the scope that encloses it. An error in the
// program's own part is returned. An error in another part is added to missing as a sentence.
func (x *index) walk(visit func(e *dwarf.Entry, u *unit, in *scope) *scope) error {
	for i := range x.Parts {
		w := walker{x: x, part: &x.Parts[i], visit: visit}
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

// walker walks over one part of the debug information.
type walker struct {
	x     *index
	part  *dw.TreePart
	visit func(e *dwarf.Entry, u *unit, in *scope) *scope
	unit  *unit
	stack []*scope // the scopes around the current list of entries
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

// run reads entries up to the end or, if one is set, to the end of the unit.
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
		w.entry(w.x.Adopt(w.part, e))
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
		w.unit, w.stack, w.in = newPartUnit(w.part, e), nil, nil
		return
	}
	inner := w.visit(e, w.unit, w.in)
	if e.Children {
		w.stack = append(w.stack, w.in)
		w.in = inner
	}
}

// newPartUnit returns the unit of a root entry of a part. A split unit has its addresses and its
// line table from its skeleton.
func newPartUnit(p *dw.TreePart, e *dwarf.Entry) *unit {
	u := newUnit(e)
	if p.Skeleton != nil && e.Tag == dwarf.TagCompileUnit {
		u.entry, u.base.Addr = p.Skeleton, p.AddrBase
	}
	return u
}

// definitions are the types that are defined somewhere, and those that are only declared, by name.
// A compiler may define a class in only one of the units that use it.
type definitions struct {
	byName map[string]dwarf.Offset
	names  map[dwarf.Offset]string // the qualified names of declarations
}

// maxDefinitions bounds the total bytes of the type names that are kept.
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

// definition returns the offset of the type that defines a declaration; 0 if there is none.
func (x *index) definition(e *dwarf.Entry) dwarf.Offset {
	if x.defs == nil {
		x.defs = x.define()
	}
	return x.defs.byName[x.defs.names[e.Offset]]
}
