package variable

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// A census finds all writable data objects of a binary at once, for a user who does not know yet
// which of them threads share. One pass over the code treats the whole span of the objects as one
// variable. The accesses that it finds are then assigned to the objects and, where there is debug
// information, to their members and elements. Where there is none, and in unions, they are assigned to
// the bytes that they divide the object into, which are named by their offset in it.

// Census is what code does with the writable data of its own file.
type Census struct {
	Variables []Accessed // by address; those that code accesses directly
	// Arrays are the arrays whose elements code indexes, by address. None of Variables is inside
	// one.
	Arrays  []IndexedArray
	Objects int // writable data objects looked at
	// Escaped are the names, sorted, of objects whose address escapes, so that they may be accessed
	// through a pointer that is not followed.
	Escaped []string
	// Unnamed is the number of data symbols that were left out because they have no debug
	// information while other objects have.
	Unnamed int
	// Unknown is the number of instructions that may access an object and were not understood.
	// Doubtful is the number of those that may access one of several objects.
	Unknown, Doubtful int
}

// Accessed is a variable and the instructions that access it.
type Accessed struct {
	Variable Variable
	Accesses []Access // by address
}

// object is a writable data object.
type object struct {
	name string
	lo   uint64
	hi   uint64 // the address after its last byte
	v    *found // nil without debug information
}

// maxObjects bounds the objects of a census, maxCensus their accesses. The largest program measured
// (a browser) has a third of that.
const (
	maxObjects = 1 << 18
	maxCensus  = 1 << 20
)

// Survey finds the writable data objects of the file and the direct accesses to them. It fails only
// if code cannot be read. The result counts the code that was not understood.
func (code *Code) Survey() (c *Census, err error) {
	f := code.file
	defer func() { // the standard library's reader of debug information can panic
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("look for the variables of %s: the debug information is damaged: %v", f.Name(), r)
		}
	}()
	c = &Census{}
	t := &surveyor{census: c, file: f, leaves: map[uint64]leaf{}}
	t.collect()
	c.Objects = len(t.objects)
	if len(t.objects) == 0 {
		return c, nil
	}
	span := t.span()
	all := newTarget(code, span)
	all.several = true
	res, err := all.accesses()
	if err != nil {
		return nil, err
	}
	c.Unknown = len(res.Unknown) + len(res.Undecoded)
	left := t.findArrays(all.indexedAccesses, res.Accesses, span)
	t.assign(span, res.Accesses)
	c.Arrays = t.arrays
	for _, at := range res.AddressTaken {
		left = append(left, t.mentioned(at)...)
	}
	t.escaped(left)
	return c, nil
}

// surveyor performs one census.
type surveyor struct {
	census  *Census
	file    *bin.File
	objects []object // by address, not overlapping
	leaves  map[uint64]leaf
	index   *index
	arrays  []IndexedArray // arrays whose elements code indexes, by address
	// structured are the objects, by address, that code accesses at many constant addresses.
	structured map[uint64]bool
}

// leaf is a variable within an object.
type leaf struct {
	name string
	lo   uint64
	size int
	info typeInfo
	ok   bool      // the debug information describes it
	bits bin.Range // see innerScalar.bits; as addresses
}

// collect finds the objects. Symbols count only where no object has debug information. In a program
// with debug information, the other symbols belong to the C library or the compiler.
func (t *surveyor) collect() {
	ranges := t.file.Writable()
	writable := func(lo, hi uint64) bool {
		return slices.ContainsFunc(ranges, func(r bin.Range) bool { return r.Contains(lo) && hi <= r.Hi })
	}
	keep := func(o object) {
		if len(t.objects) < maxObjects && writable(o.lo, o.hi) {
			t.objects = append(t.objects, o)
		}
	}
	if x, err := newIndex(t.file); err == nil {
		t.index = x
		t.described(keep)
	}
	described := len(t.objects)
	for _, s := range t.file.Symbols() {
		if s.Kind != bin.Object || s.Size == 0 || internal(s) || !writable(s.Addr, s.Addr+s.Size) {
			continue
		}
		if described == 0 {
			keep(object{name: plainName(s.Name), lo: s.Addr, hi: s.Addr + s.Size})
		} else if !s.Dynamic && !t.known(s.Addr, described) {
			t.census.Unnamed++
		}
	}
	t.sortObjects()
}

func (t *surveyor) known(addr uint64, n int) bool {
	i := sort.Search(n, func(i int) bool { return t.objects[i].lo > addr })
	return i > 0 && (t.objects[i-1].lo == addr || addr < t.objects[i-1].hi)
}

// internal reports whether a symbol is one of the compiler's or the linker's own.
func internal(s bin.Symbol) bool {
	for _, p := range []string{"_ZTV", "_ZTI", "_ZTS", "_ZTT", "_ZGV", "__dso_handle", "__TMC_END__", "completed."} {
		if strings.HasPrefix(s.Name, p) {
			return true
		}
	}
	return s.Version != "" // a copy of a variable of the C library
}

// described passes the objects that have debug information to keep, sorted by address.
func (t *surveyor) described(keep func(object)) {
	all := t.index.all(func([]component) bool { return true })
	all = slices.DeleteFunc(all, func(v found) bool { return v.storage != inMemory || v.addr == 0 })
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.addr, b.addr) })
	names := map[string]int{}
	for i := range all {
		names[qualified(all[i].name)]++
	}
	for i := range all {
		v := &all[i]
		name := qualified(v.name)
		if source := v.source(); names[name] > 1 && source != "" {
			name = path.Base(source) + ":" + name
		}
		t.index.Budget = maxTypeEntries
		size := t.index.Size(v.typ)
		keep(object{name: name, lo: v.addr, hi: v.addr + uint64(max(size, 1)), v: v})
	}
}

// sortObjects sorts the objects and makes their names unique. Of objects that overlap it keeps the
// first, and of those with the same beginning the longest.
func (t *surveyor) sortObjects() {
	slices.SortStableFunc(t.objects, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(b.hi, a.hi))
	})
	kept := t.objects[:0]
	for _, o := range t.objects {
		if len(kept) == 0 || o.lo >= kept[len(kept)-1].hi {
			kept = append(kept, o)
		}
	}
	names := map[string]int{}
	for _, o := range kept {
		names[o.name]++
	}
	for i := range kept {
		if o := &kept[i]; names[o.name] > 1 {
			o.name = fmt.Sprintf("%s@0x%x", o.name, o.lo)
		}
	}
	t.objects = kept
}

// span returns a variable that contains all objects.
func (t *surveyor) span() Variable {
	lo, hi := t.objects[0].lo, t.objects[len(t.objects)-1].hi
	return Variable{Name: "the data", File: t.file, Addr: lo, Size: int(hi - lo)}
}

// objectsIn returns the objects that [lo, hi) overlaps.
func (t *surveyor) objectsIn(lo, hi uint64) []object {
	i := sort.Search(len(t.objects), func(i int) bool { return t.objects[i].hi > lo })
	j := i
	for j < len(t.objects) && t.objects[j].lo < hi {
		j++
	}
	return t.objects[i:j]
}

// assign assigns each access to the variables that it touches.
func (t *surveyor) assign(span Variable, accesses []Access) {
	if len(accesses) > maxCensus {
		t.census.Unknown += len(accesses) - maxCensus
		accesses = accesses[:maxCensus]
	}
	groups := t.unknown(span, accesses)
	by := map[uint64]*Accessed{}
	for _, a := range accesses {
		if a.Maybe {
			t.census.Doubtful++
			continue
		}
		lo := span.Addr + uint64(a.Offset)
		if array := t.arrayOver(lo); array != nil {
			array.add(a, lo)
			continue
		}
		bytes := t.used(a, bin.Range{Lo: lo, Hi: lo + uint64(max(a.Width, 1))})
		for _, l := range t.leavesIn(bytes.Lo, bytes.Hi, groups) {
			v := by[l.lo]
			if v == nil {
				v = &Accessed{Variable: t.variable(l)}
				by[l.lo] = v
			}
			v.Accesses = append(v.Accesses, within(a, span, v.Variable))
		}
	}
	for i := range t.arrays {
		slices.SortStableFunc(t.arrays[i].Accesses, func(a, b Access) int { return cmp.Compare(a.Addr, b.Addr) })
	}
	for _, v := range by {
		t.census.Variables = append(t.census.Variables, *v)
	}
	slices.SortFunc(t.census.Variables, func(a, b Accessed) int { return cmp.Compare(a.Variable.Addr, b.Variable.Addr) })
}

// within converts an access of the span to one of a variable in it.
func within(a Access, span, v Variable) Access {
	addr := span.Addr + uint64(a.Offset)
	a.Offset = int64(addr - v.Addr)
	if a.Base != insn.NoReg {
		a.Disp += int64(v.Addr - span.Addr)
	}
	if a.Offset != 0 || a.Width != v.Size {
		a.Value = Value{Source: FromMemory, Reg: insn.NoReg}
	}
	a.Partial = a.Width > 0 && (a.Offset > 0 || a.Offset+int64(a.Width) < int64(v.Size))
	return a
}

func (t *surveyor) variable(l leaf) Variable {
	v := Variable{Name: l.name, File: t.file, Addr: l.lo, Size: l.size, Type: l.info.text, Class: l.info.class, Atomic: l.info.atomic, Volatile: l.info.volatile,
		Signed: l.info.signed, Char: l.info.char, Constants: l.info.constants}
	if !l.ok {
		v.Type, v.Class, v.Assumed = fmt.Sprintf("uint%d", 8*l.size), Uint, true
	}
	return v
}

// leavesIn returns the variables in [lo, hi), at most maxTouched in each object.
func (t *surveyor) leavesIn(lo, hi uint64, groups []bin.Range) []leaf {
	var out []leaf
	for _, o := range t.objectsIn(lo, hi) {
		end := min(hi, o.hi)
		for at, n := max(lo, o.lo), 0; at < end && n < maxTouchedParts; n++ {
			l := t.leafAt(o, at)
			if !l.ok {
				l = grouped(o, at, groups)
			}
			if l.size > 0 && t.arrayOver(l.lo) == nil {
				out = append(out, l)
			}
			at = max(l.lo+uint64(l.size), at+1)
		}
	}
	return out
}

// maxTouchedParts bounds the variables that one access touches: a vector of 64 bytes over an array
// of characters touches 64.
const maxTouchedParts = 64

// leafAt returns the variable that contains an address, according to the debug information.
func (t *surveyor) leafAt(o object, at uint64) leaf {
	if l, ok := t.leaves[at]; ok {
		return l
	}
	l := leaf{}
	if o.v != nil {
		m, ok := t.index.memberAt(o.v.typ, o.v.typUnit, int64(at-o.lo))
		if ok {
			l = leaf{name: o.name + m.path, lo: o.lo + uint64(m.start), size: int(m.info.size), info: m.info, ok: true}
		} else if m.bits.Hi > m.bits.Lo {
			l.bits = bin.Range{Lo: o.lo + m.bits.Lo, Hi: o.lo + m.bits.Hi}
		}
	}
	t.leaves[at] = l
	return l
}

// unknown returns the ranges into which accesses divide the memory where the debug information describes
// no variable: each access covers some of them, and two accesses share one exactly where they share
// bytes. Accesses of more than 8 bytes, which copy or clear several variables, are left out.
func (t *surveyor) unknown(span Variable, accesses []Access) []bin.Range {
	var rs []bin.Range
	for _, a := range accesses {
		lo := span.Addr + uint64(a.Offset)
		objects := t.objectsIn(lo, lo+1)
		if a.Width > 8 || a.Maybe || len(objects) == 0 {
			continue
		}
		rs = t.undescribed(rs, objects[0], lo, min(lo+uint64(max(a.Width, 1)), objects[0].hi))
	}
	return divided(rs)
}

// undescribed appends the ranges of [lo, hi) in an object that the debug information describes no variable
// in. Bit fields that are one memory location are a range as a whole.
func (t *surveyor) undescribed(rs []bin.Range, o object, lo, hi uint64) []bin.Range {
	open := false // the last range may go on
	for at := lo; at < hi; at++ {
		switch l := t.leafAt(o, at); {
		case l.ok:
			open = false
		case l.bits.Hi > l.bits.Lo:
			rs, open = append(rs, l.bits), false
			at = max(at, l.bits.Hi-1)
		case open:
			rs[len(rs)-1].Hi = at + 1
		default:
			rs, open = append(rs, bin.Range{Lo: at, Hi: at + 1}), true
		}
	}
	return rs
}

// used returns the bytes of an access whose values matter. A compiler may load more bytes than a bit
// field has, to extract it: then the bytes of other memory locations are not read.
func (t *surveyor) used(a Access, r bin.Range) bin.Range {
	objects := t.objectsIn(r.Lo, r.Lo+1)
	if a.Kind != Read || a.Atomic || a.Width > 8 || len(objects) == 0 {
		return r
	}
	var fields bin.Range
	for at := r.Lo; at < min(r.Hi, objects[0].hi); at++ {
		if bits := t.leafAt(objects[0], at).bits; bits.Hi > bits.Lo {
			if fields.Hi == 0 {
				fields.Lo = max(bits.Lo, r.Lo)
			}
			fields.Hi = min(bits.Hi, r.Hi)
		}
	}
	if fields.Hi == 0 || fields == r || !t.extracts(a) {
		return r
	}
	return fields
}

// maxUse is the number of instructions within which the use of a loaded value is looked for.
const maxUse = 16

// extracts reports whether an instruction that reads memory may do so for some of the bits only: whether
// it does not copy what it reads, which loads a vector register, or a general one to store it next.
func (t *surveyor) extracts(a Access) bool {
	in, ok := t.decode(a.Addr)
	if !ok || !in.Known || in.ValueReg == insn.NoReg {
		return ok && (in.Tests || in.Derived.Dst != insn.NoReg)
	}
	reg := in.ValueReg
	for range maxUse {
		if in, ok = t.decode(in.End()); !ok || !in.Known || !in.Kind.Straight() {
			return true
		}
		if in.Reads.Has(reg) {
			return !(in.NMem == 1 && in.Mem[0].Write && !in.Mem[0].Read && in.ValueReg == reg && in.Mem[0].Size == a.Width)
		}
		if in.Writes.Has(reg) {
			return true
		}
	}
	return true
}

// divided returns what ranges cover, cut wherever one of them begins or ends.
func divided(rs []bin.Range) (pieces []bin.Range) {
	slices.SortFunc(rs, func(a, b bin.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	for i := 0; i < len(rs); {
		var cuts []uint64
		end := rs[i].Lo
		for ; i < len(rs) && (rs[i].Lo < end || len(cuts) == 0); i++ {
			cuts, end = append(cuts, rs[i].Lo, rs[i].Hi), max(end, rs[i].Hi)
		}
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		for j := range cuts[1:] {
			pieces = append(pieces, bin.Range{Lo: cuts[j], Hi: cuts[j+1]})
		}
	}
	return pieces
}

// grouped returns the variable that accesses divide an object into at an address. Its size is 0 where
// there are only wide accesses.
func grouped(o object, at uint64, groups []bin.Range) leaf {
	i := sort.Search(len(groups), func(i int) bool { return groups[i].Hi > at })
	if i == len(groups) || !groups[i].Contains(at) {
		return leaf{lo: at}
	}
	g := groups[i]
	l := leaf{name: o.name, lo: g.Lo, size: int(g.Hi - g.Lo)}
	if g.Lo != o.lo || g.Hi != o.hi {
		l.name = fmt.Sprintf("%s+%d", o.name, g.Lo-o.lo)
	}
	return l
}

// escaped records the names of the objects that contain the addresses.
func (t *surveyor) escaped(addresses []uint64) {
	names := map[string]bool{}
	for _, addr := range addresses {
		for _, o := range t.objectsIn(addr, addr+1) {
			names[o.name] = true
		}
	}
	for name := range names {
		t.census.Escaped = append(t.census.Escaped, name)
	}
	slices.Sort(t.census.Escaped)
}
