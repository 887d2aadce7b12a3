package dwarf

import (
	"debug/dwarf"
	"sort"
)

// Tree reads entries by their offsets. Debug information has several parts, each with offsets of
// its own (see Part). A Tree has one offset space for all parts: they follow one another in it, the
// program's own part first. The offsets and references of entries are converted to this space when
// they are read, so that a reference may lead to any part.
//
// A Tree also holds the types that have been read (see Type). It is not safe for concurrent use.
type Tree struct {
	Parts []TreePart // by Base
	// Budget is the number of entries that may still be read. When it is used up, no more entries
	// are found. A recursion over members, which may take time exponential in the depth of nested
	// structures, subtracts one for each type that it visits, whether that type has to be read or
	// not.
	Budget int
	// Definition returns the offset of the type that defines a declaration; 0 if there is none. If
	// it is nil, no definitions are known.
	Definition func(*Type) dwarf.Offset

	info       *Info                   // has the line tables
	signatures map[uint64]dwarf.Offset // of types → their entries
	types      map[dwarf.Offset]*Type
}

// TreePart is a part and its position in the offset space of the tree.
type TreePart struct {
	Part
	Base dwarf.Offset
}

// NewTree returns a tree of parts of the file's debug information. all is false if some parts were
// left out because the offset space of 4 GiB was full.
func (i *Info) NewTree(parts []Part) (t *Tree, all bool) {
	t = &Tree{info: i, signatures: map[uint64]dwarf.Offset{}, types: map[dwarf.Offset]*Type{}}
	at := uint64(0)
	for i := range parts {
		p := TreePart{parts[i], dwarf.Offset(at)}
		if at += uint64(p.Size); at > 1<<32-1 {
			return t, false
		}
		t.Parts = append(t.Parts, p)
		for _, u := range p.Units {
			if u.isType() && int(u.Type) < p.Size {
				t.signatures[u.Signature] = u.Type + p.Base
			}
		}
	}
	return t, true
}

// Tree returns a tree of the file's own part only. Its offsets are those of .debug_info. References
// by signature, to types in units of their own, lead nowhere in it.
func (i *Info) Tree() (*Tree, error) {
	d, err := i.Data()
	if err != nil {
		return nil, err
	}
	info, err := i.Section("info")
	if err != nil {
		return nil, err
	}
	t, _ := i.NewTree([]Part{{Data: d, Size: len(info)}})
	t.Parts[0].Units = unitsOf("info", info)
	return t, nil
}

// PartAt returns the index of the part that contains an offset; -1 if there is none.
func (t *Tree) PartAt(off dwarf.Offset) int {
	return sort.Search(len(t.Parts), func(i int) bool { return t.Parts[i].Base > off }) - 1
}

// rebase converts the offsets in an entry of a part to the offset space of the tree.
func (t *Tree) rebase(p *TreePart, e *dwarf.Entry) *dwarf.Entry {
	if e.Tag == 0 || p.Base == 0 && len(t.signatures) == 0 {
		return e
	}
	e.Offset += p.Base
	for i := range e.Field {
		f := &e.Field[i]
		switch v := f.Val.(type) {
		case dwarf.Offset:
			f.Val = v + p.Base
		case uint64:
			if f.Class == dwarf.ClassReferenceSig {
				if off, ok := t.signatures[v]; ok {
					f.Val, f.Class = off, dwarf.ClassReference
				}
			}
		}
	}
	return e
}

// treeReader reads consecutive entries.
type treeReader struct {
	t       *Tree
	part    *TreePart
	r       *dwarf.Reader
	entries *Entries
}

// readAt returns a reader at an offset; ok is false if there is no entry there.
func (t *Tree) readAt(off dwarf.Offset) (r treeReader, ok bool) {
	i := t.PartAt(off)
	if i < 0 || int(off-t.Parts[i].Base) >= t.Parts[i].Size {
		return r, false
	}
	p := &t.Parts[i]
	at := p.Data.Reader()
	at.Seek(off - p.Base)
	return treeReader{t, p, at, NewEntries(at, p.Size)}, true
}

// next returns the next entry; nil at the end, if the data is damaged, or if no more entries may be
// read.
func (r *treeReader) next() *dwarf.Entry {
	if r.t.Budget--; r.t.Budget < 0 {
		return nil
	}
	e, err := r.entries.Next()
	if err != nil || e == nil {
		return nil
	}
	return r.t.rebase(r.part, e)
}

// Entry returns the entry at an offset; nil if there is none.
func (t *Tree) Entry(off dwarf.Offset) *dwarf.Entry {
	if off == 0 {
		return nil
	}
	r, ok := t.readAt(off)
	if !ok {
		return nil
	}
	if e := r.next(); e != nil && e.Tag != 0 {
		return e
	}
	return nil
}

// Children calls visit for the entries directly below the entry at an offset until visit returns
// false.
func (t *Tree) Children(off dwarf.Offset, visit func(*dwarf.Entry) bool) {
	r, ok := t.readAt(off)
	if !ok {
		return
	}
	if e := r.next(); e == nil || !e.Children {
		return
	}
	for level := 0; level >= 0; {
		c := r.next()
		switch {
		case c == nil || c.Tag != 0 && level == 0 && !visit(c):
			return
		case c.Tag == 0:
			level--
		case c.Children:
			if next := Reference(c, dwarf.AttrSibling); next > c.Offset && level == 0 {
				r.r.Seek(next - r.part.Base)
			} else {
				level++
			}
		}
	}
}
