package field

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// function is a function with code, and the locations of its pointers to objects.
type function struct {
	name   string
	ranges []bin.Range
	// base is what offsets in the frame count from: the canonical frame address, or the frame
	// pointer.
	base frameBase
	// seeds are the registers that hold pointers, each for a range of code addresses.
	seeds []seed
	// slots are the variables in the frame.
	slots      []slot
	lifetimeOf *dw.Type // the watched type whose constructor or destructor this is; or nil
}

type frameBase uint8

const (
	noBase frameBase = iota
	fromCFA
	fromFramePointer
)

// seed states that a register holds a pointer to an object, plus off, within a range of code.
type seed struct {
	bin.Range
	reg insn.Reg
	to  *dw.Type // the type pointed to
	off int64
}

// slot is a variable in the frame, off bytes from the frame's base, within a range of code.
type slot struct {
	bin.Range
	off  int64
	typ  *dw.Type
	name string // "" if the source has no such variable
}

// global is a variable in static memory.
type global struct {
	bin.Range
	typ *dw.Type
}

// program is the content of the debug information for the code that uses the type.
type program struct {
	db        *database
	lists     *dw.Locations
	functions []*function
	globals   []global
	// results are the types that functions return pointers to, by the address of the function;
	// named are the same by name and linkage name.
	results   map[uint64]*dw.Type
	named     map[string]*dw.Type
	lifetimes []Lifetime
	// inlined is the number of inlined constructors and destructors, by the function that contains
	// them.
	inlined map[string]int
	seen    map[uint64]bool // addresses of functions already collected
}

const (
	maxFunctions = 1 << 18
	maxSeeds     = 1 << 14 // of one function
)

// collect reads the units that define the type. It reads all units where types are in other units
// than code, as with link-time optimisation.
func (db *database) collect() (*program, error) {
	l, err := db.locations()
	if err != nil {
		return nil, err
	}
	p := &program{db: db, lists: l, results: map[uint64]*dw.Type{}, named: map[string]*dw.Type{}, inlined: map[string]int{}, seen: map[uint64]bool{}}
	for _, u := range db.Parts[0].Units {
		if !u.HasCode() || !db.relevant(u) {
			continue
		}
		if err := p.unit(u); err != nil {
			return nil, err
		}
	}
	p.sortGlobals()
	return p, nil
}

func (p *program) sortGlobals() {
	slices.SortFunc(p.globals, func(a, b global) int { return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(b.Hi, a.Hi)) })
}

func (db *database) relevant(u dw.Unit) bool {
	if db.partial {
		return true
	}
	for off := range db.targets {
		if u.Entry <= off && off < u.End {
			return true
		}
	}
	e := db.Entry(u.Entry)
	return e != nil && dw.Name(e) == "<artificial>" // a unit of gcc's for link-time optimisation
}

// scope is the function or block that encloses an entry.
type scope struct {
	fn     *function
	ranges []bin.Range // of the function, inlined function or block
}

func (p *program) unit(u dw.Unit) error {
	return dw.WalkUnit(p.db.Tree, &p.db.Parts[0], u, func(e *dwarf.Entry, u *dw.CompileUnit, in scope) (scope, error) {
		if p.db.Budget--; p.db.Budget < 0 {
			return in, dw.ErrStop
		}
		return p.visit(e, u.Base, in), nil
	})
}

// maxLocations bounds the location list entries that are read for one file.
const maxLocations = 1 << 22

func (db *database) locations() (*dw.Locations, error) {
	return dw.Of(db.file).Locations(maxLocations, maxLocations)
}

// visit processes one entry, and returns the scope of its children.
func (p *program) visit(e *dwarf.Entry, base dw.Base, in scope) scope {
	switch e.Tag {
	case dwarf.TagSubprogram:
		return p.subprogram(e)
	case dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock:
		if in.fn == nil {
			return scope{}
		}
		if e.Tag == dwarf.TagInlinedSubroutine {
			p.inline(e, in.fn)
		}
		if rs := p.ranges(e); len(rs) > 0 {
			return scope{fn: in.fn, ranges: rs}
		}
	case dwarf.TagFormalParameter, dwarf.TagVariable:
		p.variable(e, base, in)
	}
	return in
}

// inline counts the inlined constructors and destructors. One that is inlined into a constructor or
// destructor of the same type is not counted: the lifetime is already recorded there.
func (p *program) inline(e *dwarf.Entry, into *function) {
	if o := p.origin(e); o.special && p.db.targets[o.parent] != into.lifetimeOf {
		p.inlined[into.name]++
	}
}

func (p *program) ranges(e *dwarf.Entry) []bin.Range {
	rs, err := p.db.Parts[0].Data.Ranges(e)
	if err != nil {
		return nil
	}
	var out []bin.Range
	for _, r := range rs {
		if r[0] < r[1] && r[0] != 0 && len(out) < maxChain {
			out = append(out, bin.Range{Lo: r[0], Hi: r[1]})
		}
	}
	return out
}

func (p *program) subprogram(e *dwarf.Entry) scope {
	o := p.origin(e)
	result := p.pointee(o.typ)
	for _, n := range []string{o.linkage, o.name} {
		if n != "" && result != nil {
			p.named[n] = result
		}
	}
	rs := p.ranges(e)
	if len(rs) == 0 || len(p.functions) >= maxFunctions || p.seen[rs[0].Lo] {
		return scope{}
	}
	p.seen[rs[0].Lo] = true
	if result != nil {
		p.results[rs[0].Lo] = result
	}
	fn := &function{name: o.name, ranges: rs}
	if t := p.db.targets[o.parent]; t != nil && o.special && !isDeleting(o.linkage) {
		p.lifetimes = append(p.lifetimes, Lifetime{Name: o.name, Addr: rs[0].Lo, Size: t.Size(), Destructor: o.name[0] == '~'})
		fn.lifetimeOf = t
	}
	if expr, ok := e.Val(dwarf.AttrFrameBase).([]byte); ok && len(expr) == 1 {
		arch := p.db.file.Arch()
		switch w := p.lists.Decode(expr, dw.Base{}); {
		case dw.IsCallFrame(expr):
			fn.base = fromCFA
		case w.Kind == dw.InRegister && (w.Reg == insn.RBP && arch == insn.AMD64 || w.Reg == 29 && arch == insn.ARM64):
			fn.base = fromFramePointer
		}
	}
	p.functions = append(p.functions, fn)
	return scope{fn: fn, ranges: rs}
}

// described is the content of an entry, together with that of the entries that it completes.
type described struct {
	name, linkage string
	typ           dwarf.Offset
	parent        dwarf.Offset // for a method: its class
	special       bool         // a constructor or destructor of the watched type
}

// origin returns the content of an entry and of the entries that it completes (DWARF 5, sections
// 2.13 and 3.3.8.2).
func (p *program) origin(e *dwarf.Entry) described {
	var d described
	for range maxChain {
		if d.name == "" {
			d.name = dw.Name(e)
		}
		if d.linkage == "" {
			d.linkage, _ = e.Val(dwarf.AttrLinkageName).(string)
		}
		if d.typ == 0 {
			d.typ = dw.TypeOf(e)
		}
		if d.parent == 0 {
			d.parent = dw.Reference(e, dwarf.AttrObjectPointer)
		}
		next := dw.Origin(e)
		if next == 0 {
			break
		}
		if e = p.db.Entry(next); e == nil {
			break
		}
	}
	d.parent = p.class(d.parent)
	if t := p.db.targets[d.parent]; t != nil {
		d.special = strings.TrimPrefix(d.name, "~") == plainType(t.Name)
	}
	return d
}

// isDeleting reports whether a destructor is a deleting one, which also frees the object (Itanium
// C++ ABI, 5.1.4.3): when it returns, the memory may belong to another object. It calls a plain
// destructor.
func isDeleting(linkage string) bool { return strings.HasSuffix(linkage, "D0Ev") }

// class returns the type that `this` points to.
func (p *program) class(this dwarf.Offset) dwarf.Offset {
	e := p.db.Entry(this)
	if e == nil {
		return 0
	}
	off := dw.TypeOf(e)
	if o := dw.Reference(e, dwarf.AttrAbstractOrigin); off == 0 && o != 0 {
		if e = p.db.Entry(o); e != nil {
			off = dw.TypeOf(e)
		}
	}
	if t := p.pointee(off); t != nil {
		return t.Offset
	}
	return 0
}

// plainType returns a class's name without template arguments, which is its constructor's name.
func plainType(name string) string {
	for i, c := range name {
		if c == '<' {
			return name[:i]
		}
	}
	return name
}

// pointee returns the target of a type; nil if it is not a pointer or has none.
func (p *program) pointee(off dwarf.Offset) *dw.Type {
	t := p.db.Type(off)
	if t == nil || !t.IsPointer() {
		return nil
	}
	return p.db.target(t)
}

// variable records the location of a variable that is, or points to, a type with parts.
func (p *program) variable(e *dwarf.Entry, base dw.Base, in scope) {
	d := described{typ: dw.TypeOf(e), name: dw.Name(e)}
	if d.typ == 0 {
		d = p.origin(e)
	}
	t := p.db.Type(d.typ)
	if d.typ == 0 || t == nil || !hasParts(t) || t.IsPointer() && p.pointee(d.typ) == nil {
		return
	}
	for _, l := range p.lists.Of(e, base, in.ranges) {
		p.addLocation(l, t, d.name, in)
	}
	if in.fn == nil {
		if expr, ok := e.Val(dwarf.AttrLocation).([]byte); ok {
			if w := p.lists.Decode(expr, base); w.Kind == dw.InMemory && t.Size() > 0 {
				p.globals = append(p.globals, global{bin.Range{Lo: w.Addr, Hi: w.Addr + uint64(t.Size())}, t})
			}
		}
	}
}

func (p *program) addLocation(l dw.ListedLocation, t *dw.Type, name string, in scope) {
	switch {
	case l.Kind == dw.InMemory && t.Size() > 0 && in.fn != nil:
		p.globals = append(p.globals, global{bin.Range{Lo: l.Addr, Hi: l.Addr + uint64(t.Size())}, t})
	case in.fn == nil || len(in.fn.seeds)+len(in.fn.slots) >= maxSeeds:
	case l.Kind == dw.InFrame:
		in.fn.slots = append(in.fn.slots, slot{l.Range, l.Off, t, name})
	case l.Kind == dw.PointedFromFrame: // passed by reference because of the ABI
		in.fn.slots = append(in.fn.slots, slot{l.Range, l.Off, &dw.Type{Tag: dwarf.TagPointerType, Bytes: 8, Of: t.Offset}, ""})
	case l.Kind == dw.AtRegister:
		in.fn.seeds = append(in.fn.seeds, seed{l.Range, l.Reg, t, l.Off})
	case l.Kind == dw.InRegister && (t.IsPointer() || t.Size() == 8 && l.Off == 0): // or an object that is a pointer
		if to := p.db.pointerAt(t, 0); to != nil {
			in.fn.seeds = append(in.fn.seeds, seed{l.Range, l.Reg, to, l.Off})
		}
	}
}

// globalAt returns the type of the variable that contains an address, and the offset in it.
func (p *program) globalAt(addr uint64) (t *dw.Type, off int64, ok bool) {
	i, _ := slices.BinarySearchFunc(p.globals, addr, func(g global, a uint64) int {
		if g.Lo <= a {
			return -1
		}
		return 1
	})
	if i--; i < 0 || !p.globals[i].Contains(addr) {
		return nil, 0, false
	}
	g := p.globals[i]
	return g.typ, int64(addr - g.Lo), true
}
