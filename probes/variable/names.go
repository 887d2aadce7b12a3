package variable

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// Named is what debug information calls an object of synchronisation.
type Named struct {
	// Name leads to it as the source would: server.lock, table[3].mu, cache.c:mu of a
	// static that shares its name; "" if not known.
	Name string
	// Class is the member that it is, by the type that declares it: struct account.mu,
	// Pool::Shard.mu_; or the array of which it is an element: table[]; "" if it is
	// neither, or that is not known.
	Class string
}

// Names answers what debug information calls the objects of synchronisation in one
// file. Debug information of a large program has hundreds of megabytes: only units
// that are needed for an answer are read, and found by the bytes that they would
// have. What is damaged, or too much to read, has no name. Not for concurrent use.
type Names struct {
	file   *bin.File
	opened bool
	index  *index           // nil: there is none
	known  map[uint64]found // by address; no type: none is known there
	walked map[dwarf.Offset]bool
	// Of the units walked:
	types   map[dwarf.Offset]*scope // structures
	aliases map[dwarf.Offset]string // what typedefs call structures
	units   map[dwarf.Offset]*unit  // by their first entries
}

// NewNames makes Names of a file, which must stay open.
func NewNames(f *bin.File) *Names { return &Names{file: f} }

func (n *Names) open() (ok bool) {
	if !n.opened {
		n.opened = true
		if x, err := openIndex(n.file); err == nil {
			n.index, n.walked, n.types = x, map[dwarf.Offset]bool{}, map[dwarf.Offset]*scope{}
			n.known, n.aliases, n.units = map[uint64]found{}, map[dwarf.Offset]string{}, map[dwarf.Offset]*unit{}
		}
	}
	return n.index != nil
}

// Static names what lies off bytes into the variable of static storage at an
// address, that symbols call base; shared says that there are several of that name.
func (n *Names) Static(base string, addr, off uint64, shared bool) (named Named) {
	named.Name = withOffset(base, off)
	defer func() { _ = recover() }() // damaged data: the symbol's name does
	if !n.open() {
		return named
	}
	v, ok := n.variableAt(addr)
	if !ok {
		return named
	}
	if source := v.source(); shared && source != "" && v.name != nil {
		base = path.Base(source) + ":" + qualified(v.name)
		named.Name = withOffset(base, off)
	}
	if l, ok := n.lockIn(v.typ, v.typUnit, int64(off)); ok {
		named = Named{Name: base + l.path, Class: l.class}
		if any := anyElement(l.path); l.class == "" && any != l.path {
			named.Class = base + any
		}
	}
	return named
}

// Member names what lies so many bytes into an object of a type, described at typ in
// the debug information, of which only that is known: by the type and the member, such
// as struct job.mu, or within a variable of a function's frame, local, by that. Which
// element of an array it is stays open. ok is false where it is no member, or one of
// the C++ library's own types.
func (n *Names) Member(typ dwarf.Offset, at int64, local string) (named Named, ok bool) {
	defer func() {
		if recover() != nil { // damaged
			named, ok = Named{}, false
		}
	}()
	if !n.open() {
		return Named{}, false
	}
	u := n.unitAt(typ)
	l, ok := n.lockIn(typ, u, at)
	owner := ""
	if e := n.index.Type(typ); e != nil {
		owner = n.typeName(e, u)
	}
	if owner == "" {
		owner = n.aliases[typ]
	}
	path := anyElement(l.path)
	switch {
	case !ok || ofLibrary(l.class):
		return Named{}, false
	case local != "":
		return Named{Name: local + path, Class: l.class}, true
	}
	return Named{Name: owner + path, Class: l.class}, l.class != "" && l.sure && owner != "" && !ofLibrary(owner)
}

// ofLibrary reports whether a member is one of C++'s library's own: that is how a
// std::mutex is made, not what the program calls its lock.
func ofLibrary(class string) bool { return strings.HasPrefix(class, "std::") }

// anyElement leaves open which elements a path leads through.
func anyElement(path string) string {
	var b strings.Builder
	for _, part := range strings.SplitAfter(path, "[") {
		if b.Len() > 0 {
			part = part[strings.IndexByte(part, ']'):]
		}
		b.WriteString(part)
	}
	return b.String()
}

// unitAt makes the unit that an entry is in, for its language.
func (n *Names) unitAt(off dwarf.Offset) *unit {
	c, ok := n.unitOf(off)
	if !ok {
		return nil
	}
	n.walk(c)
	return n.units[c.unit.Entry]
}

func withOffset(name string, off uint64) string {
	if off == 0 {
		return name
	}
	return fmt.Sprintf("%s+0x%x", name, off)
}

// variableAt finds the variable that begins at an address.
func (n *Names) variableAt(addr uint64) (found, bool) {
	v, ok := n.known[addr]
	if !ok {
		v = n.findAt(addr)
		n.known[addr] = v
	}
	return v, v.typ != 0
}

func (n *Names) findAt(addr uint64) found {
	if v, ok := n.read(addr); ok {
		return v
	}
	for _, c := range n.unitsWith(addr) {
		n.walk(c)
		if v, ok := n.read(addr); ok {
			return v
		}
	}
	return found{}
}

// read looks through what was read so far.
func (n *Names) read(addr uint64) (found, bool) {
	for i := range n.index.entries {
		if e := &n.index.entries[i]; e.storage == inMemory && e.addr == addr {
			v := n.index.resolve(i)
			n.typed(&v, e)
			return v, v.typ != 0
		}
	}
	return found{}, false
}

// typed finds the type of a variable whose description another unit completes.
func (n *Names) typed(v *found, e *entry) {
	off, u := e.origin, e.unit
	for range maxChain {
		if v.typ != 0 || off == 0 {
			return
		}
		n.index.Left = maxTypeEntries
		o := n.index.Entry(off)
		if o == nil {
			return
		}
		v.typ = dw.TypeOf(o)
		v.typUnit, off = u, dw.Origin(o)
	}
}

// place is a unit of a part.
type placedUnit struct {
	part int
	unit dw.Unit
}

// maxHits bounds the units that are read for one variable: inline variables are
// described in every unit that uses them, each time in full.
const maxHits = 16

// unitsWith finds the units that have a variable at an address, or bytes that look
// like it: DW_OP_addr and the address, or, where expressions have the number of an
// address in a table, a unit with that table.
func (n *Names) unitsWith(addr uint64) []placedUnit {
	var out []placedUnit
	info, err := dw.Of(n.file).Section("info")
	if err != nil || len(n.index.Parts) == 0 {
		return nil
	}
	expr := dw.AddressExpression(addr)
	for at := 0; len(out) < maxHits; {
		i := bytes.Index(info[at:], expr)
		if i < 0 {
			break
		}
		at += i + len(expr)
		if u, ok := n.unitOf(dwarf.Offset(at - 1)); ok && (len(out) == 0 || out[len(out)-1] != u) {
			out = append(out, u)
		}
	}
	return append(out, n.unitsWithTable(addr, maxHits-len(out))...)
}

// unitOf finds the unit of the program's own part that an offset is in.
func (n *Names) unitOf(off dwarf.Offset) (placedUnit, bool) {
	k := n.index.PartAt(off)
	if k < 0 {
		return placedUnit{}, false
	}
	part := &n.index.Parts[k]
	off -= part.Base
	i := sort.Search(len(part.Units), func(i int) bool { return part.Units[i].End > off })
	if part.Apart || i == len(part.Units) || part.Units[i].Entry > off {
		return placedUnit{}, false
	}
	return placedUnit{k, part.Units[i]}, true
}

// unitsWithTable finds the units whose part of .debug_addr has an address.
func (n *Names) unitsWithTable(addr uint64, most int) []placedUnit {
	var out []placedUnit
	var tables []table
	for at := 0; len(out) < most; at++ {
		i := n.index.places.IndexOf(addr, at)
		if i < 0 {
			break
		}
		if tables == nil {
			tables = n.tables()
		}
		at = i
		k := sort.Search(len(tables), func(k int) bool { return tables[k].base > int64(at) })
		for j := k - 1; j >= 0 && tables[j].base == tables[k-1].base && len(out) < most; j-- {
			out = append(out, tables[j].unit)
		}
	}
	return out
}

// table is where a unit's addresses begin in .debug_addr.
type table struct {
	base int64
	unit placedUnit
}

func (n *Names) tables() []table {
	var out []table
	for i := range n.index.Parts {
		p := &n.index.Parts[i]
		for _, u := range p.Units {
			base := p.AddrBase
			if p.Skeleton == nil && !p.Apart {
				r := p.Data.Reader()
				r.Seek(u.Entry)
				if root, err := r.Next(); err == nil && root != nil {
					base = dw.Number(root, dwarf.AttrAddrBase)
				}
			}
			out = append(out, table{base, placedUnit{i, u}})
		}
	}
	slices.SortStableFunc(out, func(a, b table) int { return int(max(-1, min(1, a.base-b.base))) })
	return out
}

// walk reads a unit, once.
func (n *Names) walk(c placedUnit) {
	part := &n.index.Parts[c.part]
	if n.walked[part.Base+c.unit.Entry] {
		return
	}
	n.walked[part.Base+c.unit.Entry] = true
	r := part.Data.Reader()
	r.Seek(c.unit.Entry)
	w := walker{x: n.index, part: part, visit: func(e *dwarf.Entry, u *unit, in *scope) *scope {
		inner := n.index.visit(e, u, in)
		n.units[part.Base+c.unit.Entry] = u
		switch e.Tag {
		case dwarf.TagTypedef:
			if off, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok && n.aliases[off] == "" {
				n.aliases[off] = dw.Name(e)
			}
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			n.types[e.Offset] = inner
		}
		return inner
	}}
	_ = w.run(dw.NewEntries(r, int(c.unit.End-c.unit.Entry)), true) // what was read is right
}

// typeName is the name of a structure with its scopes, as types are called in its
// language: struct account, bank::Account; "" if it has none.
func (n *Names) typeName(e *dwarf.Entry, u *unit) string {
	name := dw.Name(e)
	if name == "" {
		return ""
	}
	if n.types[e.Offset] == nil {
		if c, ok := n.unitOf(e.Offset); ok {
			n.walk(c)
		}
	}
	if s := n.types[e.Offset]; s != nil && s.name == name {
		name = qualified(n.index.path(s, nil))
	}
	tag := map[dwarf.Tag]string{dwarf.TagUnionType: "union"}[e.Tag]
	if tag == "" {
		tag = "struct"
	}
	return tagged(tag, name, u)
}

// lock is an object of synchronisation within a type.
type lock struct {
	path  string // ".stats.mu", "[3].mu"; "" for the type itself
	class string // the member of the innermost type with a name
	sure  bool   // its type is one of the C or C++ library's for synchronisation
	part  bool   // the path leads to what has it as a base or a member without a name
}

// synchronising are the types that are objects of synchronisation: what they consist
// of is nobody's business.
var synchronising = map[string]bool{
	"pthread_mutex_t": true, "pthread_rwlock_t": true, "pthread_spinlock_t": true, "pthread_cond_t": true, "pthread_barrier_t": true, "pthread_once_t": true,
	"sem_t": true, "mtx_t": true, "cnd_t": true, "once_flag": true,
	"mutex": true, "recursive_mutex": true, "timed_mutex": true, "recursive_timed_mutex": true, "shared_mutex": true, "shared_timed_mutex": true,
	"condition_variable": true, "condition_variable_any": true,
}

// descent is how far a search for a lock has come into a type.
type descent struct {
	n     *Names
	unit  *unit
	found []lock // sure ones, or else the first
}

// lockIn finds the lock that begins so many bytes into a type: a member of a type for
// synchronisation, or else the largest that begins there. Of a union it must be the
// same whichever member is meant.
func (n *Names) lockIn(typ dwarf.Offset, u *unit, at int64) (lock, bool) {
	n.index.Left = maxTypeEntries
	d := descent{n: n, unit: u}
	d.into(typ, at, lock{}, "", 0)
	if len(d.found) == 0 || n.index.Left < 0 {
		return lock{}, false
	}
	for _, l := range d.found[1:] {
		if l != d.found[0] {
			return lock{}, false
		}
	}
	return d.found[0], true
}

// into goes into a type; alias is the name of the last typedef that led to it.
func (d *descent) into(typ dwarf.Offset, at int64, so lock, alias string, depth int) {
	x := d.n.index
	e := x.Entry(typ)
	if e == nil || depth > 4*maxChain || at < 0 {
		return
	}
	if at == 0 && synchronising[dw.Name(e)] {
		so.sure, so.part = true, false
		d.add(so)
		return
	}
	switch e.Tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		if name := dw.Name(e); name != "" {
			alias = name
		}
		next := dw.TypeOf(e)
		d.into(next, at, so, alias, depth+1)
		return
	}
	if at == 0 && len(d.found) == 0 && !so.part && e.Tag != dwarf.TagArrayType {
		d.found = append(d.found, so)
	}
	switch e = x.Complete(e); e.Tag {
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		d.members(e, at, so, alias, depth)
	case dwarf.TagArrayType:
		var m memberPlace
		if next, ok := x.elementAt(e, at, &m); ok {
			so.path, so.part = so.path+m.path, false
			if so.class != "" {
				so.class += "[]"
			}
			d.into(next, at-m.start, so, "", depth+1)
		}
	}
}

// members goes into the members and bases that lie there.
func (d *descent) members(e *dwarf.Entry, at int64, so lock, alias string, depth int) {
	owner := d.n.typeName(e, d.unit)
	if owner == "" {
		owner = cmp.Or(alias, d.n.aliases[e.Offset])
	}
	d.n.index.Members(e, func(f dw.Member) bool {
		within := at - f.Start
		if f.Type == 0 || !f.Known || f.Bits > 0 || within < 0 || !d.reaches(f.Type, within) {
			return true
		}
		next := so
		if owner != "" {
			next.class = owner
		}
		if f.Name != "" {
			next.path += "." + f.Name
			next.class += "." + f.Name
			next.part = false
		} else {
			next.part = true
		}
		d.into(f.Type, within, next, "", depth+1)
		return true
	})
}

// reaches reports whether a type is that long, or an array without an end, or one of
// unknown length that begins there: clang leaves the libraries' classes to the libraries.
func (d *descent) reaches(typ dwarf.Offset, at int64) bool {
	x := d.n.index
	size := x.Size(typ)
	if e := x.Bare(x.Entry(typ)); size == 0 && e != nil && e.Tag == dwarf.TagArrayType {
		return true
	}
	return at < size || at == 0 && size == 0
}

// add takes what is sure before what only begins there.
func (d *descent) add(l lock) {
	if len(d.found) > 0 && !d.found[0].sure {
		d.found = d.found[:0]
	}
	if !slices.Contains(d.found, l) {
		d.found = append(d.found, l)
	}
}
