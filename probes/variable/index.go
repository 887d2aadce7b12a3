package variable

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// The index holds every variable of static storage that the debug information of one binary
// describes. Several entries may describe one variable: a declaration in a class or header, the
// definition that refers to it, and with link-time optimisation a third entry that has the address.
// Entries that refer to each other (DW_AT_specification, DW_AT_abstract_origin: DWARF 5, sections
// 2.13 and 3.3.8.2) are one variable. Its name is that of the last entry in the chain, and its
// address is that of the first entry that has one. The walk records entries in file order and
// resolves the chains afterwards, because an origin may come later in the file.

// storage is where a variable is stored, according to the debug information.
type storage uint8

const (
	nowhere    storage = iota
	inMemory           // at a fixed address
	perThread          // at an offset in thread-local storage
	asConstant         // it has a value but no address
	inPieces           // parts of it are at fixed addresses of their own
	scattered          // in registers, or at different addresses at different times
)

// rank orders the entries of one variable: an entry with an address ranks highest, one without any
// location lowest.
func (s storage) rank() int {
	switch s {
	case inMemory, perThread, inPieces:
		return 2
	case nowhere:
		return 0
	}
	return 1
}

// entry is the content of one variable's entry, not yet resolved.
type entry struct {
	off, typ, origin dwarf.Offset
	scope            *dw.Scope
	unit             *dw.CompileUnit
	name, linkage    string
	file, line       int64
	storage          storage
	addr             uint64
	pieces           []dw.Piece // inPieces
	declaration      bool
	external         bool
}

type index struct {
	*dw.Tree  // its Budget bounds the description of one type
	file      *bin.File
	missing   []string // sentences on debug information that could not be read
	addresses *dw.Locations
	entries   []entry
	byOff     map[dwarf.Offset]int // into entries
	scopes    map[dwarf.Offset]*dw.Scope
	atomics   map[dwarf.Offset]string // atomic types of the C++ and Rust libraries → name
	defs      *dw.Definitions         // nil until first used
}

// maxChain bounds chains of references between entries. Real chains have at most three links.
const maxChain = 16

// newIndex returns an index of the debug information of f. The error matches elf.ErrNoDWARF
// (errors.Is) if there is none.
func newIndex(f *bin.File) (x *index, err error) {
	defer func() {
		if r := recover(); r != nil {
			x, err = nil, fmt.Errorf("read debug information of %s: damaged: %v", f.Name(), r)
		}
	}()
	if x, err = openIndex(f); err != nil {
		return nil, err
	}
	return x, x.walk(x.visit)
}

// openIndex is newIndex without the walk: only types can be looked up.
func openIndex(f *bin.File) (*index, error) {
	found, missing, err := dw.Of(f).Parts()
	if err != nil {
		return nil, err
	}
	addresses, err := dw.Of(f).Addresses()
	if err != nil {
		return nil, err
	}
	x := &index{
		file: f, missing: missing, addresses: addresses, byOff: map[dwarf.Offset]int{},
		scopes: map[dwarf.Offset]*dw.Scope{}, atomics: map[dwarf.Offset]string{},
	}
	tree, all := dw.Of(f).NewTree(found)
	if !all {
		x.missing = append(x.missing, fmt.Sprintf("%s has more than 4 GiB of debug information: the rest is not read", f.Name()))
	}
	x.Tree, tree.Definition = tree, x.definition
	return x, nil
}

// maxText bounds the length of a variable's name, in bytes.
const maxText = 4096

// visit records an entry and returns the scope of its children.
func (x *index) visit(e *dwarf.Entry, u *dw.CompileUnit, in *dw.Scope) (*dw.Scope, error) {
	switch e.Tag {
	case dwarf.TagVariable, dwarf.TagMember:
		x.addVariable(e, u, in)
	case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagSubprogram:
		s := dw.ScopeOf(e, in)
		x.scopes[e.Offset] = s
		return s, nil
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		s := x.structScope(e, in)
		x.noteAtomic(e, s.Name, s.Parent)
		if dw.Flag(e, dwarf.AttrDeclaration) {
			x.scopes[e.Offset] = s
		}
		return s, nil
	}
	return dw.ScopeOf(e, in), nil
}

// structScope returns the scope of a structure or enumeration. One that completes a declaration has
// the parent scope of the declaration: in a type unit it stands alone.
func (x *index) structScope(e *dwarf.Entry, in *dw.Scope) *dw.Scope {
	s := &dw.Scope{Parent: in, Name: dw.Name(e), Kind: dw.StructureScope}
	if declared := x.scopes[dw.Origin(e)]; declared != nil {
		s.Parent = declared.Parent
	}
	return s
}

// noteAtomic records the types of the C++ and Rust libraries that make a variable atomic.
func (x *index) noteAtomic(e *dwarf.Entry, name string, in *dw.Scope) {
	bare, _, _ := strings.Cut(name, "<")
	if in == nil || !strings.HasPrefix(bare, "atomic") && !strings.HasPrefix(bare, "Atomic") {
		return
	}
	where := qualified(x.path(in, nil))
	cpp := (where == "std" || strings.HasPrefix(where, "std::")) && (bare == "atomic" || bare == "atomic_flag")
	rust := where == "core::sync::atomic" && strings.HasPrefix(bare, "Atomic")
	switch {
	case cpp:
		x.atomics[e.Offset] = "std::" + name
	case rust:
		x.atomics[e.Offset] = where + "::" + name
	}
}

func (x *index) addVariable(e *dwarf.Entry, u *dw.CompileUnit, in *dw.Scope) {
	if u == nil || e.Tag == dwarf.TagMember && !dw.Flag(e, dwarf.AttrExternal) && !dw.Flag(e, dwarf.AttrDeclaration) {
		return // a member that each instance has
	}
	v := entry{
		off: e.Offset, scope: in, unit: u, origin: dw.Origin(e),
		name: dw.Name(e), linkage: dw.Text(e, dwarf.AttrLinkageName),
		file: dw.Number(e, dwarf.AttrDeclFile), line: dw.Number(e, dwarf.AttrDeclLine),
		declaration: dw.Flag(e, dwarf.AttrDeclaration) || e.Tag == dwarf.TagMember,
		external:    dw.Flag(e, dwarf.AttrExternal),
	}
	v.typ = dw.TypeOf(e)
	x.locate(&v, e)
	if in.InFunction() && v.storage.rank() < inMemory.rank() && !v.external {
		return // a local variable, as far as is known
	}
	x.byOff[e.Offset] = len(x.entries)
	x.entries = append(x.entries, v)
}

// locate sets where the variable is stored. Only what has a single fixed address can be watched.
func (x *index) locate(v *entry, e *dwarf.Entry) {
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil {
		v.storage = nowhere
		if e.AttrField(dwarf.AttrConstValue) != nil {
			v.storage = asConstant
		}
		return
	}
	expr, _ := f.Val.([]byte)
	switch p := x.addresses.Decode(expr, v.unit.Base); p.Kind {
	case dw.InMemory:
		v.storage, v.addr = inMemory, p.Addr
		return
	case dw.ThreadLocal:
		v.storage = perThread
		return
	}
	if v.pieces = x.addresses.Pieces(expr, v.unit.Base); len(v.pieces) > 0 {
		v.storage = inPieces
		return
	}
	v.storage = scattered
}

// maxNested bounds the depth of scopes in a qualified name.
const maxNested = 64

// path returns the qualified name of a scope, with the components of last appended.
func (x *index) path(s *dw.Scope, last []component) []component {
	var names []component
	for hops := 0; s != nil && hops < maxNested; hops++ {
		s = x.declared(s)
		c := component{s.Name, s.Kind == dw.InlineNamespace || s.Name == "" && s.Kind != dw.FunctionScope}
		if s.Name == "" && s.Origin == 0 && s.Kind <= dw.InlineNamespace {
			c.name = dw.AnonymousNamespace
		}
		if c.name != "" || c.optional {
			names = append(names, c)
		}
		s = s.Parent
	}
	slices.Reverse(names)
	return append(names, last...)
}

// declared returns the scope that a scope without a name completes; any other scope unchanged.
func (x *index) declared(s *dw.Scope) *dw.Scope {
	for range maxChain {
		if s.Name != "" || s.Origin == 0 {
			break
		}
		next := x.scopes[s.Origin]
		if next == nil {
			break
		}
		s = next
	}
	return s
}

// found is a variable in the debug information, with the data of all of its entries.
type found struct {
	index    *index
	name     []component
	typ      dwarf.Offset
	typUnit  *dw.CompileUnit
	linkage  string
	external bool
	storage  storage
	addr     uint64
	pieces   []dw.Piece
	declUnit *dw.CompileUnit
	declFile int64
	declLine int64
	root     dwarf.Offset
}

// resolve follows the references of entry i to the entry that has the name.
func (x *index) resolve(i int) found {
	e := &x.entries[i]
	v := found{index: x, storage: e.storage, addr: e.addr, pieces: e.pieces}
	for range maxChain {
		v.fill(e)
		if e.name != "" || e.origin == 0 {
			break
		}
		next, ok := x.byOff[e.origin]
		if !ok {
			break
		}
		e = &x.entries[next]
	}
	v.root = e.off
	if e.name != "" {
		v.name = x.path(e.scope, []component{{e.name, false}})
	}
	return v
}

// fill copies from e what v lacks.
func (v *found) fill(e *entry) {
	if v.typ == 0 {
		v.typ, v.typUnit = e.typ, e.unit
	}
	if v.linkage == "" {
		v.linkage = e.linkage
	}
	if v.declLine == 0 || v.declFile == 0 {
		v.declUnit, v.declFile, v.declLine = e.unit, e.file, e.line
	}
	v.external = v.external || e.external
}

// base returns where the variable would begin whose part at an offset is where that part is, and the piece that it
// lies in; false if the variable is in pieces, and the part in none.
func (v *found) base(at uint64) (base uint64, piece bin.Range, ok bool) {
	if v.storage != inPieces {
		return v.addr, bin.Range{}, true
	}
	for _, p := range v.pieces {
		if at-p.Off < p.Size {
			return p.Addr - p.Off, bin.Range{Lo: p.Addr, Hi: p.Addr + p.Size}, true
		}
	}
	return 0, bin.Range{}, false
}

// source returns the path of the file that declares the variable, as the compiler wrote it; "" if
// unknown.
func (v *found) source() string {
	if v.declUnit == nil {
		return ""
	}
	return v.declUnit.Source(v.declFile)
}

// all returns the variables whose name matches, each once. Entries of the same variable are merged,
// and so are those at one address (every unit that uses an inline variable describes it).
func (x *index) all(match func(name []component) bool) []found {
	var out []found
	byRoot := map[dwarf.Offset]int{}
	byAddr := map[uint64]int{}
	for i := range x.entries {
		v := x.resolve(i)
		if v.name == nil || !match(v.name) {
			continue
		}
		if x.entries[i].declaration && v.storage == nowhere {
			continue
		}
		j, seen := byRoot[v.root]
		if v.storage == inMemory && !seen {
			j, seen = byAddr[v.addr]
		}
		if !seen {
			j = len(out)
			out = append(out, v)
		} else if out[j].storage.rank() < v.storage.rank() {
			out[j] = v
		}
		byRoot[v.root] = j
		if v.storage == inMemory {
			byAddr[v.addr] = j
		}
	}
	return out
}

// local returns the name of a function that has a parameter or local variable of that name.
func (x *index) local(name string) (function string, ok bool) {
	defer func() { _ = recover() }() // damaged data: not found
	_ = x.walk(func(e *dwarf.Entry, _ *dw.CompileUnit, in *dw.Scope) (*dw.Scope, error) {
		switch e.Tag {
		case dwarf.TagVariable, dwarf.TagFormalParameter:
			if !ok && in.InFunction() && dw.Name(e) == name && !dw.Flag(e, dwarf.AttrExternal) {
				function, ok = qualified(x.path(in, nil)), true
			}
		case dwarf.TagSubprogram, dwarf.TagNamespace:
			if s := x.scopes[e.Offset]; s != nil {
				return s, nil
			}
		}
		return in, nil
	})
	return function, ok
}
