package code

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Landings is the set of addresses at which control may arrive other than by falling through. It is
// computed for the whole text, because parts of one function lie in different places and jump into
// each other. There are three sources:
//
//   - direct branches: every extent is decoded from its start. Bytes that no extent covers, unless
//     they are the compiler's start-up code, and extents that do not decode to their end, are decoded
//     at every offset: that finds too many targets, never too few;
//   - indirect jumps: the entries of a jump table that is recognised (tables.go). A jump that is
//     not recognised opens the extents of its function to landings anywhere;
//   - endbr64, which marks targets of indirect jumps, the starts of extents, and what the Source
//     adds (Landmarks).
type Landings struct {
	all *addresses
	// certain is all without the landings that only the decoding at every offset has found.
	certain *addresses
	begins  *addresses // the instructions of the extents
	called  *addresses // the targets of direct calls, which are certainly entries of functions
	// crossings holds the jumps between extents, then the entries of jump tables.
	crossings []Crossing
	arrivals  []uint64   // the targets of crossings, sorted
	inward    []Crossing // crossings, sorted by target
	marks     []uint64   // endbr64 and landmarks, sorted
	entries   []uint64   // endbr64 and the Source's Entries, sorted
	// tables holds the entries of each jump table, by the address of the jump.
	tables map[uint64][]uint64
}

// Crossing is a jump from one extent to another, or through a jump table.
type Crossing struct{ From, To uint64 }

// Has reports whether control may arrive at addr other than by falling through.
func (l *Landings) Has(addr uint64) bool { return l.all.has(addr) }

// Certain is Has without the branches that bytes between functions would be if they were code:
// those lead inside instructions as often as not.
func (l *Landings) Certain(addr uint64) bool { return l.certain.has(addr) }

// Called reports whether addr is the target of a direct call.
func (l *Landings) Called(addr uint64) bool { return l.called.has(addr) }

// Marked reports whether control may arrive at addr without a direct branch.
func (l *Landings) Marked(addr uint64) bool {
	_, ok := slices.BinarySearch(l.marks, addr)
	return ok
}

// Marks returns the addresses of r that are Marked, sorted. The slice is shared: do not
// change it.
func (l *Landings) Marks(r elf.Range) []uint64 { return within(l.marks, r) }

// Crossings returns the jumps between extents and those through jump tables. The slice
// is shared: do not change it.
func (l *Landings) Crossings() []Crossing { return l.crossings }

// within returns the part of a sorted slice that lies in r.
func within(sorted []uint64, r elf.Range) []uint64 {
	i, _ := slices.BinarySearch(sorted, r.Lo)
	j, _ := slices.BinarySearch(sorted, r.Hi)
	return sorted[i:max(i, j)]
}

// Arrivals returns the addresses of r at which control may arrive other than by falling through or
// by a direct branch from the same range: by jump tables, exceptions, or from other parts of a
// function. They are sorted. open means that control may arrive anywhere, because an indirect jump
// is not understood or the bytes are not code alone.
func (im *Image) Arrivals(r elf.Range) (at []uint64, open bool) {
	l := im.Landings()
	at = append(slices.Clone(within(l.marks, r)), within(l.arrivals, r)...)
	if e := im.ExtentAt(r.Lo); e != nil {
		open = e.Open || e.Untiled
	}
	slices.Sort(at)
	return slices.Compact(at), open
}

// Entries returns the addresses of r at which control certainly may arrive from elsewhere, sorted: those
// of functions, of landing pads and of endbr64. The slice is shared: do not
// change it.
func (im *Image) Entries(r elf.Range) []uint64 { return within(im.Landings().entries, r) }

// Table returns the targets of the jump at an address through a table; none if it is no such jump, or the
// table was not recognised. The slice is shared: do not change it.
func (im *Image) Table(jump uint64) []uint64 { return im.Landings().tables[jump] }

// collector is the state while landings are computed.
type collector struct {
	*Landings
	im           *Image
	landmarks    []uint64   // of the Source, sorted
	tableEntries []Crossing // the entries of jump tables
	jumps        []indirect
}

// indirect is an indirect jump.
type indirect struct {
	extent int    // index of the extent that contains it
	from   uint64 // address from which the instructions before it are decoded
	at     uint64 // its address
}

// window is the number of instructions before an indirect jump that are examined to find its
// targets.
const window = 24

// lastFew holds the addresses of the last window instructions.
type lastFew struct {
	addrs [window]uint64
	n     int
}

func (l *lastFew) add(at uint64) {
	l.addrs[l.n%window] = at
	l.n++
}

// first returns the earliest of the addresses, or at if there are none.
func (l *lastFew) first(at uint64) uint64 {
	if l.n == 0 {
		return at
	}
	return l.addrs[max(0, l.n-window)%window]
}

// Landings returns the landings, which it computes at the first call.
func (im *Image) Landings() *Landings {
	if im.landings != nil {
		return im.landings
	}
	l := &Landings{all: newAddresses(im.text), certain: newAddresses(im.text), begins: newAddresses(im.text), called: newAddresses(im.text)}
	c := &collector{Landings: l, im: im}
	for i := range im.extents {
		c.extent(i)
	}
	if s, ok := im.source.(Landmarks); ok {
		c.landmarks = slices.Sorted(slices.Values(s.Landmarks()))
	}
	c.gaps()
	c.entries = slices.Clone(c.marks)
	if s, ok := im.source.(Entries); ok {
		c.entries = append(c.entries, s.Entries()...)
	}
	slices.Sort(c.entries)
	c.entries = slices.Compact(c.entries)
	c.marks = append(c.marks, c.landmarks...)
	for _, m := range c.marks {
		c.addLanding(m)
	}
	im.landings = l
	c.tables()
	slices.Sort(l.marks)
	l.marks = slices.Compact(l.marks)
	l.tables = map[uint64][]uint64{}
	for _, x := range c.tableEntries {
		l.tables[x.From] = append(l.tables[x.From], x.To)
	}
	l.crossings = append(l.crossings, c.tableEntries...)
	for _, x := range l.crossings {
		l.arrivals = append(l.arrivals, x.To)
	}
	slices.Sort(l.arrivals)
	l.inward = slices.Clone(l.crossings)
	slices.SortFunc(l.inward, func(a, b Crossing) int { return cmp.Compare(a.To, b.To) })
	return l
}

// into returns the crossings whose targets are in r. The slice is shared: do not change it.
func (l *Landings) into(r elf.Range) []Crossing {
	to := func(c Crossing, addr uint64) int { return cmp.Compare(c.To, addr) }
	i, _ := slices.BinarySearchFunc(l.inward, r.Lo, to)
	j, _ := slices.BinarySearchFunc(l.inward, r.Hi, to)
	return l.inward[i:max(i, j)]
}

// addLanding adds a landing that is certain.
func (c *collector) addLanding(at uint64) {
	c.all.add(at)
	c.certain.add(at)
}

// extent adds the landings that the code of the i-th extent contributes.
func (c *collector) extent(i int) {
	e := &c.im.extents[i]
	c.all.add(e.Lo)
	var before lastFew
	tiles := c.im.skim(e.Range, func(at uint64, s insn.Step, code []byte) bool {
		c.begins.add(at)
		if c.branch(at, s, e.Range) {
			c.certain.add(s.Target)
		}
		if s.Len == 4 && c.im.mayMark(code) && c.im.IsMark(at) {
			c.marks = append(c.marks, at)
			e.marked = e.marked || at == e.Lo
		}
		if s.Kind == insn.IndirectJump {
			c.jumps = append(c.jumps, indirect{i, before.first(at), at})
		}
		before.add(at)
		return true
	})
	if !tiles {
		e.Untiled = true
		c.everyOffset(e.Range)
	}
}

// mayMark reports whether an instruction of four bytes may be one for which IsMark returns true.
func (im *Image) mayMark(code []byte) bool {
	return im.arch != insn.AMD64 || code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa
}

// IsMark reports whether the instruction at addr marks a target of indirect jumps:
// endbr64, or bti with any operand.
func (im *Image) IsMark(addr uint64) bool {
	in, err := im.Decode(addr)
	if err != nil || in.Kind != insn.Nop || in.Len != 4 {
		return false
	}
	b, err := im.Bytes(addr, 4)
	if err != nil || len(b) < 4 {
		return false
	}
	if im.arch == insn.AMD64 {
		return string(b) == "\xf3\x0f\x1e\xfa"
	}
	return b[3] == 0xd5 && b[2] == 0x03 && b[1] == 0x24 && b[0]&0x3f == 0x1f
}

// branch adds the target of a direct branch or call; it returns false if the instruction is
// neither.
func (c *collector) branch(at uint64, s insn.Step, from elf.Range) bool {
	switch s.Kind {
	case insn.Call:
		c.called.add(s.Target)
	case insn.Jump, insn.CondJump:
		if !from.Contains(s.Target) {
			c.crossings = append(c.crossings, Crossing{at, s.Target})
		}
	default:
		return false
	}
	c.all.add(s.Target)
	return true
}

// gaps decodes the text that no extent covers: in one line if that certainly is code, else at every
// offset.
func (c *collector) gaps() {
	rest := c.im.extents
	for _, t := range c.im.text {
		at := t.Lo
		for ; len(rest) > 0 && rest[0].Lo < t.Hi; rest = rest[1:] { // both are sorted
			e := &rest[0]
			if e.Hi <= at {
				continue
			}
			if e.Lo > at {
				c.gap(elf.Range{Lo: at, Hi: e.Lo})
			}
			at = e.Hi
		}
		if at < t.Hi {
			c.gap(elf.Range{Lo: at, Hi: t.Hi})
		}
	}
}

// maxLine bounds the bytes of a gap that is decoded in one line: the start-up code of the C compiler, which
// has no entries in the unwind tables.
const maxLine = 1 << 10

// gap decodes a gap. It is code in one line if it decodes to its end, and each landmark in it, of which
// there is at least one, begins an instruction.
func (c *collector) gap(r elf.Range) {
	landmarks := within(c.landmarks, r)
	found := 0
	line := len(landmarks) > 0 && r.Hi-r.Lo <= maxLine && c.im.skim(r, func(at uint64, _ insn.Step, _ []byte) bool {
		if found < len(landmarks) && landmarks[found] == at {
			found++
		}
		return true
	})
	if !line || found < len(landmarks) {
		c.everyOffset(r)
		return
	}
	c.im.skim(r, func(at uint64, s insn.Step, _ []byte) bool {
		if c.branch(at, s, r) {
			c.certain.add(s.Target)
		}
		return true
	})
}

// everyOffset adds the targets of all branches that decode at any offset of r.
func (c *collector) everyOffset(r elf.Range) {
	step := uint64(1)
	if c.im.arch == insn.ARM64 {
		step = 4
	}
	b, err := c.im.Bytes(r.Lo, int(r.Hi-r.Lo)+c.im.arch.MaxLen())
	if err != nil {
		return
	}
	for at := uint64(0); at < min(uint64(len(b)), r.Hi-r.Lo); at += step {
		if !insn.MayBranch(c.im.arch, b[at:]) {
			continue
		}
		if s, ok := insn.Skim(c.im.arch, b[at:], r.Lo+at); ok {
			c.branch(r.Lo+at, s, r)
		}
	}
}

// tables adds the targets of indirect jumps and opens the extents of those that are not understood.
// The second round repeats the jumps for which a landing found in the first round lies on the
// straight line that the first round relied on.
func (c *collector) tables() {
	unknown := map[int]bool{}
	var found []uint64 // targets found in the first round, sorted
	for round := range 2 {
		var now []uint64 // targets found in this round, which are added to the landings at its end
		for _, j := range c.jumps {
			if i, _ := slices.BinarySearch(found, j.from); round > 0 && (i == len(found) || found[i] > j.at) {
				continue // no new target is on the line before the jump
			}
			to, kind := c.im.resolve(j.from, j.at, &c.im.extents[j.extent])
			now = append(now, to...)
			for _, t := range to {
				c.tableEntries = append(c.tableEntries, Crossing{j.at, t})
			}
			if kind == JumpUnknown {
				unknown[j.extent] = true
			}
		}
		for _, t := range now {
			c.addLanding(t)
		}
		slices.Sort(now)
		found = now
	}
	if len(unknown) > 0 {
		c.open(unknown)
	}
}

// open sets Open for the extents given and for all that belong to the same functions: those
// connected by jumps into their middle, by conditional jumps, or by jumps to a start that no direct
// call targets.
func (c *collector) open(unknown map[int]bool) {
	parts := newPartition(len(c.im.extents))
	for _, x := range c.crossings {
		from, to := c.im.ExtentAt(x.From), c.im.ExtentAt(x.To)
		if from == nil || to == nil || to.Lo == x.To && c.called.has(x.To) {
			continue
		}
		parts.join(c.im.extentIndex(x.From), c.im.extentIndex(x.To))
	}
	bad := map[int]bool{}
	for i := range unknown {
		bad[parts.find(i)] = true
	}
	for i := range c.im.extents {
		if bad[parts.find(i)] {
			c.im.extents[i].Open = true
		}
	}
}

// partition is a union-find over small numbers.
type partition []int

func newPartition(n int) partition {
	p := make(partition, n)
	for i := range p {
		p[i] = i
	}
	return p
}

func (p partition) find(i int) int {
	for p[i] != i {
		p[i] = p[p[i]]
		i = p[i]
	}
	return i
}

func (p partition) join(i, j int) { p[p.find(i)] = p.find(j) }
