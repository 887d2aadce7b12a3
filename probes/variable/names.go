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

// Named is the name of a synchronisation object according to the debug information.
type Named struct {
	// Name is an expression for the object as in the source: server.lock, table[3].mu, or
	// cache.c:mu for a static that is not the only one of its name; "" if not known.
	Name string
	// Class is the member that the object is, with the type that declares it: struct account.mu,
	// Pool::Shard.mu_; or the array of which it is an element: table[]; "" if it is neither, or
	// that is not known.
	Class string
	// Size is the size in bytes of the type of which DataMember has found a member, and At how far behind its
	// beginning the object lies; 0 of other names.
	Size, At int64
}

// Names looks up the names of synchronisation objects in the debug information of one file. The
// debug information of a large program has hundreds of megabytes, so only the units that a lookup
// needs are read. They are found by the bytes that they must contain. Objects whose debug
// information is damaged or too large to read have no name. Names is not safe for concurrent use.
type Names struct {
	file   *bin.File
	opened bool
	index  *index           // nil: there is no debug information
	known  map[uint64]found // by address; without a type: no variable is known there
	walked map[dwarf.Offset]bool
	// The fields below describe the units already read.
	types   map[dwarf.Offset]*dw.Scope       // structures
	aliases map[dwarf.Offset]string          // names of structures by typedef
	units   map[dwarf.Offset]*dw.CompileUnit // by their first entries
}

// NewNames returns Names for a file, which must stay open.
func NewNames(f *bin.File) *Names { return &Names{file: f} }

func (n *Names) open() (ok bool) {
	if !n.opened {
		n.opened = true
		if x, err := openIndex(n.file); err == nil {
			n.index, n.walked, n.types = x, map[dwarf.Offset]bool{}, map[dwarf.Offset]*dw.Scope{}
			n.known, n.aliases, n.units = map[uint64]found{}, map[dwarf.Offset]string{}, map[dwarf.Offset]*dw.CompileUnit{}
		}
	}
	return n.index != nil
}

// Static returns the name of the object off bytes into the variable of static storage at addr. Base
// is the variable's name in the symbol table. Shared reports that several variables have that name.
func (n *Names) Static(base string, addr, off uint64, shared bool) (named Named) {
	named.Name = withOffset(base, off)
	defer func() { _ = recover() }() // damaged data: the symbol's name is used
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

// Member returns the name of the object at offset at in an object of type typ (an offset in the
// debug information), where only the type is known: by type and member, such as struct job.mu. If
// local is not "", the object lies in that variable of a function's frame, and is named by it.
// Elements of arrays are not distinguished. ok is false if no member of a synchronisation type is
// known at that offset, or if the type is one of the C++ library's own.
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
	owner := n.ownerName(typ, u)
	path := anyElement(l.path)
	switch {
	case !ok || ofLibrary(l.class):
		return Named{}, false
	case local != "":
		return Named{Name: local + path, Class: l.class}, true
	}
	return Named{Name: owner + path, Class: l.class}, l.class != "" && l.certain && owner != "" && !ofLibrary(owner)
}

// DataMember is as Member, of data: it returns the name of the scalar that contains the byte at offset at.
// In a union, and between members, it is that of the outermost member that begins there.
func (n *Names) DataMember(typ dwarf.Offset, at int64, local string) (named Named, ok bool) {
	defer func() {
		if recover() != nil { // damaged
			named, ok = Named{}, false
		}
	}()
	if !n.open() {
		return Named{}, false
	}
	u := n.unitAt(typ)
	m, ok := n.index.memberAt(typ, u, at)
	if !ok {
		named, _ = n.Member(typ, at, local)
		return named, named.Name != ""
	}
	path := anyElement(m.path)
	if local != "" {
		return Named{Name: local + path}, true
	}
	owner := n.ownerName(typ, u)
	if owner == "" || path == "" {
		return Named{}, false // the name of a type alone says little
	}
	return Named{Name: owner + path, Class: owner + path, Size: n.index.Size(typ), At: at}, true
}

// Size returns the size in bytes of a type, 0 if it is not known.
func (n *Names) Size(typ dwarf.Offset) (size int64) {
	defer func() {
		if recover() != nil { // damaged
			size = 0
		}
	}()
	if !n.open() {
		return 0
	}
	if t := n.index.TypeAt(typ).Unqualified(); t != nil {
		return t.Bytes
	}
	return 0
}

// Atomic reports whether the scalar that contains the byte at offset at of an object of type typ is of an
// atomic type.
func (n *Names) Atomic(typ dwarf.Offset, at int64) (atomic bool) {
	defer func() {
		if recover() != nil { // damaged
			atomic = false
		}
	}()
	if !n.open() {
		return false
	}
	n.index.Budget = maxTypeEntries
	return n.index.atomicAt(typ, at, 0)
}

// atomicAt reports whether the byte at an offset of a type is part of an object of an _Atomic type. Of a union,
// one member is enough.
func (x *index) atomicAt(typ dwarf.Offset, at int64, depth int) bool {
	t := x.TypeAt(typ)
	for ; t != nil && t.IsName() && depth < maxChain; depth++ {
		if t.Tag == dwarf.TagAtomicType {
			return true
		}
		t = x.TypeAt(t.Of)
	}
	if t == nil || depth >= maxChain {
		return false
	}
	switch t = t.Complete(); {
	case t.IsStructure():
		return slices.ContainsFunc(t.Members(), func(m dw.Member) bool {
			return m.Type != 0 && m.Bits == 0 && at >= m.Start && at < m.Start+x.Size(m.Type) && x.atomicAt(m.Type, at-m.Start, depth+1)
		})
	case t.Tag == dwarf.TagArrayType:
		size := x.Size(t.Of)
		return size > 0 && at >= 0 && x.atomicAt(t.Of, at%size, depth+1)
	}
	return false
}

// ownerName returns the name of a type of which an object is a member; "" if it has none.
func (n *Names) ownerName(typ dwarf.Offset, u *dw.CompileUnit) string {
	owner := ""
	if t := n.index.Type(typ); t != nil {
		owner = n.typeName(t, u)
	}
	return cmp.Or(owner, n.aliases[typ])
}

// ofLibrary reports whether a member belongs to the C++ library. Such a member is part of the
// implementation of std::mutex, not the program's name for its lock.
func ofLibrary(class string) bool { return strings.HasPrefix(class, "std::") }

// anyElement removes the numbers in subscripts from a path: table[3].mu becomes table[].mu.
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

// unitAt returns the unit that contains an entry, for its language.
func (n *Names) unitAt(off dwarf.Offset) *dw.CompileUnit {
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

// variableAt returns the variable that begins at an address.
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

// read looks for the variable in the units read so far.
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

// typed sets the type of a variable whose description refers to an entry of another unit.
func (n *Names) typed(v *found, e *entry) {
	off, u := e.origin, e.unit
	for range maxChain {
		if v.typ != 0 || off == 0 {
			return
		}
		n.index.Budget = maxTypeEntries
		o := n.index.Entry(off)
		if o == nil {
			return
		}
		v.typ = dw.TypeOf(o)
		v.typUnit, off = u, dw.Origin(o)
	}
}

// partUnit is a unit and the index of the part that contains it.
type partUnit struct {
	part int
	unit dw.Unit
}

// maxHits bounds the units that are read for one variable: every unit that uses an inline variable
// describes it in full.
const maxHits = 16

// unitsWith returns the units that describe a variable at an address, or that contain the same
// bytes by chance: DW_OP_addr and the address or, where expressions use an index into .debug_addr,
// a unit with that part of the table.
func (n *Names) unitsWith(addr uint64) []partUnit {
	var out []partUnit
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

// unitOf returns the unit of the program's own part that contains an offset.
func (n *Names) unitOf(off dwarf.Offset) (partUnit, bool) {
	k := n.index.PartAt(off)
	if k < 0 {
		return partUnit{}, false
	}
	part := &n.index.Parts[k]
	off -= part.Base
	i := sort.Search(len(part.Units), func(i int) bool { return part.Units[i].End > off })
	if part.SeekEachUnit || i == len(part.Units) || part.Units[i].Entry > off {
		return partUnit{}, false
	}
	return partUnit{k, part.Units[i]}, true
}

// unitsWithTable returns the units whose part of .debug_addr contains an address.
func (n *Names) unitsWithTable(addr uint64, most int) []partUnit {
	var out []partUnit
	var tables []table
	for at := 0; len(out) < most; at++ {
		i := n.index.addresses.IndexOf(addr, at)
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

// table is the start of a unit's addresses in .debug_addr.
type table struct {
	base int64
	unit partUnit
}

func (n *Names) tables() []table {
	var out []table
	for i := range n.index.Parts {
		p := &n.index.Parts[i]
		for _, u := range p.Units {
			base := p.AddrBase
			if p.Skeleton == nil && !p.SeekEachUnit {
				r := p.Data.Reader()
				r.Seek(u.Entry)
				if root, err := r.Next(); err == nil && root != nil {
					base = dw.Number(root, dwarf.AttrAddrBase)
				}
			}
			out = append(out, table{base, partUnit{i, u}})
		}
	}
	slices.SortStableFunc(out, func(a, b table) int { return int(max(-1, min(1, a.base-b.base))) })
	return out
}

// walk reads a unit, unless it was read before.
func (n *Names) walk(c partUnit) {
	part := &n.index.Parts[c.part]
	if n.walked[part.Base+c.unit.Entry] {
		return
	}
	n.walked[part.Base+c.unit.Entry] = true
	_ = dw.WalkUnit(n.index.Tree, part, c.unit, func(e *dwarf.Entry, u *dw.CompileUnit, in *dw.Scope) (*dw.Scope, error) {
		inner, err := n.index.visit(e, u, in)
		n.units[part.Base+c.unit.Entry] = u
		switch e.Tag {
		case dwarf.TagTypedef:
			if off := dw.TypeOf(e); off != 0 && n.aliases[off] == "" {
				n.aliases[off] = dw.Name(e)
			}
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			n.types[e.Offset] = inner
		}
		return inner, err
	}) // after an error, what was read so far is valid
}

// typeName returns the name of a structure with its scopes, as its language writes it: struct
// account, bank::Account; "" if it has none.
func (n *Names) typeName(t *dw.Type, u *dw.CompileUnit) string {
	name := t.Name
	if name == "" {
		return ""
	}
	if n.types[t.Offset] == nil {
		if c, ok := n.unitOf(t.Offset); ok {
			n.walk(c)
		}
	}
	if s := n.types[t.Offset]; s != nil && s.Name == name {
		name = qualified(n.index.path(s, nil))
	}
	if t.Tag == dwarf.TagUnionType {
		return tagged("union", name, u)
	}
	return tagged("struct", name, u)
}

// lock is a synchronisation object within a type.
type lock struct {
	path    string // ".stats.mu", "[3].mu"; "" for the type itself
	class   string // the member of the innermost enclosing type that has a name
	certain bool   // its type is a synchronisation type of the C or C++ library
	// part reports that the path leads only to an object that contains it as a base or as a member
	// without a name.
	part bool
}

// synchronising are the types of synchronisation objects. Their members are not examined.
var synchronising = map[string]bool{
	"pthread_mutex_t": true, "pthread_rwlock_t": true, "pthread_spinlock_t": true, "pthread_cond_t": true, "pthread_barrier_t": true, "pthread_once_t": true,
	"sem_t": true, "mtx_t": true, "cnd_t": true, "once_flag": true,
	"mutex": true, "recursive_mutex": true, "timed_mutex": true, "recursive_timed_mutex": true, "shared_mutex": true, "shared_timed_mutex": true,
	"condition_variable": true, "condition_variable_any": true,
}

// descent is the state of a search for a lock in a type.
type descent struct {
	n     *Names
	unit  *dw.CompileUnit
	found []lock // candidates that are sure or, if there is none, the first other one
}

// lockIn returns the lock that begins at an offset in a type: a member of a synchronisation type
// or, if there is none, the outermost member that begins there. In a union the result must be the
// same for all of its members.
func (n *Names) lockIn(typ dwarf.Offset, u *dw.CompileUnit, at int64) (lock, bool) {
	n.index.Budget = maxTypeEntries
	d := descent{n: n, unit: u}
	d.into(typ, at, lock{}, "", 0)
	if len(d.found) == 0 || n.index.Budget < 0 {
		return lock{}, false
	}
	for _, l := range d.found[1:] {
		if l != d.found[0] {
			return lock{}, false
		}
	}
	return d.found[0], true
}

// into descends into a type. Alias is the name of the last typedef that led to it.
func (d *descent) into(typ dwarf.Offset, at int64, so lock, alias string, depth int) {
	x := d.n.index
	t := x.TypeAt(typ)
	if x.Budget--; t == nil || depth > 4*maxChain || at < 0 || x.Budget < 0 {
		return
	}
	switch {
	case at == 0 && synchronising[t.Name]:
		so.certain, so.part = true, false
		d.add(so)
		return
	case t.IsName():
		d.into(t.Of, at, so, cmp.Or(t.Name, alias), depth+1)
		return
	case at == 0 && len(d.found) == 0 && !so.part && t.Tag != dwarf.TagArrayType:
		d.found = append(d.found, so)
	}
	switch t = t.Complete(); {
	case t.IsStructure():
		d.members(t, at, so, alias, depth)
	case t.Tag == dwarf.TagArrayType:
		var m innerScalar
		if next, ok := x.elementAt(t, at, &m); ok {
			so.path, so.part = so.path+m.path, false
			if so.class != "" {
				so.class += "[]"
			}
			d.into(next, at-m.start, so, "", depth+1)
		}
	}
}

// members descends into the members and bases that contain the offset.
func (d *descent) members(t *dw.Type, at int64, so lock, alias string, depth int) {
	owner := cmp.Or(d.n.typeName(t, d.unit), alias, d.n.aliases[t.Offset])
	for _, f := range t.Members() {
		within := at - f.Start
		if f.Type == 0 || !f.Known || f.Bits > 0 || within < 0 || !d.reaches(f.Type, within) {
			continue
		}
		next := so
		if owner != "" {
			next.class = owner
		}
		if f.Name != "" {
			next.path += "." + f.Name
			next.class += "." + f.Name
		}
		next.part = f.Name == ""
		d.into(f.Type, within, next, "", depth+1)
	}
}

// reaches reports whether offset at lies inside a type, or whether the type is an array without an
// end, or has unknown size and at is 0: clang leaves the description of library classes to the
// debug information of the libraries.
func (d *descent) reaches(typ dwarf.Offset, at int64) bool {
	x := d.n.index
	size := x.Size(typ)
	if t := x.TypeAt(typ).Unqualified(); size == 0 && t != nil && t.Tag == dwarf.TagArrayType {
		return true
	}
	return at < size || at == 0 && size == 0
}

// add records a lock of a synchronisation type. It replaces a candidate that only begins there.
func (d *descent) add(l lock) {
	if len(d.found) > 0 && !d.found[0].certain {
		d.found = d.found[:0]
	}
	if !slices.Contains(d.found, l) {
		d.found = append(d.found, l)
	}
}
