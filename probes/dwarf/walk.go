package dwarf

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"slices"
	"strings"
)

// CompileUnit is what the first entry of a unit states about the other entries.
type CompileUnit struct {
	// Entry is the first entry; of a unit of split debug information the skeleton, which has the
	// line table.
	Entry    *dwarf.Entry
	Name     string
	Language int64
	Base     Base

	info  *Info
	files []*dwarf.LineFile // nil until first used
}

// compileUnit returns the unit of a first entry.
func (t *Tree) compileUnit(p *TreePart, e *dwarf.Entry) *CompileUnit {
	u := &CompileUnit{Entry: e, Name: Name(e), Language: Number(e, dwarf.AttrLanguage), info: t.info}
	header := Unit{}
	i, found := slices.BinarySearchFunc(p.Units, e.Offset-p.Base, func(u Unit, off dwarf.Offset) int { return cmp.Compare(u.Entry, off) })
	if found {
		header = p.Units[i]
	}
	u.Base = baseOf(header, e)
	if p.Skeleton != nil && e.Tag == dwarf.TagCompileUnit {
		u.Entry, u.Base.Addr = p.Skeleton, p.AddrBase
	}
	return u
}

// Source returns the path of a file by its number in the unit's line table, as the compiler wrote
// it; the unit's own file if there is none of that number.
func (u *CompileUnit) Source(file int64) string {
	if u.files == nil {
		u.files = []*dwarf.LineFile{}
		if lr, err := u.info.LineReader(u.Entry); err == nil && lr != nil {
			u.files = lr.Files()
		}
	}
	if file > 0 && file < int64(len(u.files)) && u.files[file] != nil {
		return u.files[file].Name
	}
	return u.Name
}

// Scope is a namespace, a structure or a function, which encloses other entries.
type Scope struct {
	Parent *Scope       // nil: the unit
	Name   string       // "" if its entry states none
	Origin dwarf.Offset // the entry that it completes; 0: none
	Kind   ScopeKind
}

// ScopeKind is the kind of a Scope.
type ScopeKind uint8

// The kinds of scope.
const (
	NamespaceScope ScopeKind = iota // includes modules
	InlineNamespace
	StructureScope
	FunctionScope // includes inlined copies
)

// ScopeOf returns the scope of the children of an entry that is itself enclosed by the scope in.
func ScopeOf(e *dwarf.Entry, in *Scope) *Scope {
	kind := NamespaceScope
	switch e.Tag {
	case dwarf.TagNamespace, dwarf.TagModule:
		if Flag(e, dwarf.AttrExportSymbols) {
			kind = InlineNamespace
		}
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		kind = StructureScope
	case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
		kind = FunctionScope
	default:
		return in
	}
	return &Scope{Parent: in, Name: Name(e), Origin: Origin(e), Kind: kind}
}

// InFunction reports whether the scope is in a function, or is one; false if it is nil.
func (s *Scope) InFunction() bool {
	for ; s != nil; s = s.Parent {
		if s.Kind == FunctionScope {
			return true
		}
	}
	return false
}

// AnonymousNamespace is the name of a namespace that has none, as demanglers write it.
const AnonymousNamespace = "(anonymous namespace)"

// maxScopes bounds the scopes that Qualify adds to a name.
const maxScopes = 256

// Qualify returns a name preceded by those of the scopes that enclose it. Scopes without a name are
// left out, except that an anonymous namespace has the given name.
func (s *Scope) Qualify(name, anonymous string) string {
	names := []string{name}
	for ; s != nil && len(names) < maxScopes; s = s.Parent {
		switch {
		case s.Name != "":
			names = append(names, s.Name)
		case anonymous != "" && s.Kind <= InlineNamespace:
			names = append(names, anonymous)
		}
	}
	slices.Reverse(names)
	return strings.Join(names, "::")
}

// ErrStop ends a walk without an error.
var ErrStop = errors.New("stop")

// Visit is called for each entry of a unit but the first, with the unit and the value that
// the visit of the entry which encloses it returned; for the children of the first entry that is
// the zero value. It returns the value for its own children. After an error the walk ends.
type Visit[S any] func(e *dwarf.Entry, u *CompileUnit, in S) (S, error)

// Walk visits the entries of a part.
func Walk[S any](t *Tree, p *TreePart, visit Visit[S]) error {
	r := p.Data.Reader()
	w := walker[S]{tree: t, part: p, entries: NewEntries(r, p.Size), visit: visit}
	if !p.SeekEachUnit {
		return w.run(0)
	}
	for _, u := range p.Units {
		r.Seek(u.Entry)
		if err := w.run(u.End); err != nil {
			return err
		}
	}
	return nil
}

// WalkUnit visits the entries of one unit of a part.
func WalkUnit[S any](t *Tree, p *TreePart, u Unit, visit Visit[S]) error {
	r := p.Data.Reader()
	r.Seek(u.Entry)
	w := walker[S]{tree: t, part: p, entries: NewEntries(r, int(u.End-u.Entry)), visit: visit}
	return w.run(u.End)
}

// walker walks over one part.
type walker[S any] struct {
	tree    *Tree
	part    *TreePart
	entries *Entries
	visit   Visit[S]
	unit    *CompileUnit
	around  []S // the values of the entries around the current list
	in      S
}

// run reads entries up to the end of the part or, if end is not 0, of the unit that ends there.
func (w *walker[S]) run(end dwarf.Offset) error {
	for depth := 0; ; {
		e, err := w.entries.Next()
		switch {
		case err != nil || e == nil || end != 0 && e.Offset >= end:
			return err
		case e.Tag == 0:
			depth--
		case e.Children:
			depth++
		}
		err = w.entry(w.tree.rebase(w.part, e))
		if errors.Is(err, ErrStop) {
			return nil
		}
		if err != nil || end != 0 && depth <= 0 {
			return err
		}
	}
}

func (w *walker[S]) entry(e *dwarf.Entry) error {
	switch e.Tag {
	case 0:
		if n := len(w.around); n > 0 {
			w.in, w.around = w.around[n-1], w.around[:n-1]
		}
		return nil
	case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagSkeletonUnit:
		var none S
		w.unit, w.around, w.in = w.tree.compileUnit(w.part, e), w.around[:0], none
		return nil
	}
	inner, err := w.visit(e, w.unit, w.in)
	if e.Children {
		w.around, w.in = append(w.around, w.in), inner
	}
	return err
}

// Definitions are the types that some entry defines, and those that others only declare, by their
// qualified names. A compiler may define a class in only one of the units that use it.
type Definitions struct {
	names    map[string]*dwarf.Offset       // the first entry that defines the name; 0: none so far
	declared map[dwarf.Offset]*dwarf.Offset // of a declaration: that of its name
	text     int                            // bytes of names
}

// maxDefinitions bounds the total bytes of the type names that are kept.
const maxDefinitions = 64 << 20

// NewDefinitions returns Definitions without a type.
func NewDefinitions() *Definitions {
	return &Definitions{names: map[string]*dwarf.Offset{}, declared: map[dwarf.Offset]*dwarf.Offset{}}
}

// Add adds the type of an entry. If several entries define a name, the first counts.
func (d *Definitions) Add(e *dwarf.Entry, qualified string) {
	definition := d.names[qualified]
	if definition == nil {
		if d.text += len(qualified) + 64; d.text > maxDefinitions {
			return
		}
		definition = new(dwarf.Offset)
		d.names[qualified] = definition
	}
	switch {
	case Flag(e, dwarf.AttrDeclaration):
		d.declared[e.Offset] = definition
	case *definition == 0:
		*definition = e.Offset
	}
}

// Of returns the offset of the type that defines the one declared at an offset; 0 if there is none.
func (d *Definitions) Of(declaration dwarf.Offset) dwarf.Offset {
	if definition := d.declared[declaration]; definition != nil {
		return *definition
	}
	return 0
}
