package cheapsite

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Where control may land is asked of the whole text, because parts of one
// function lie in different places and jump into each other. Three sources:
//
//   - direct branches: every extent is decoded from its start. Bytes that no
//     extent covers, and extents that do not decode to their end, are decoded
//     at every offset: that finds too many targets, never too few;
//   - indirect jumps: a table that is recognised (tables.go) gives its
//     entries; one that is not opens the extents of its function to landings
//     anywhere, so that nothing moves there;
//   - endbr64, which marks targets of indirect jumps, starts of extents, and
//     what the Code knows besides (Landmarks).
type landings struct {
	at *places
	// sure are those of at that no decoding at every offset made up.
	sure *places
	// How control comes there from elsewhere, for who must know (entered):
	called  *places     // by direct calls
	crosses [][2]uint64 // by jumps between extents, and by jump tables: from, to
	marks   []uint64    // by endbr64 and landmarks; sorted
	// arrivals are where the jumps of crosses lead; sorted
	arrivals []uint64
}

func (l *landings) has(addr uint64) bool { return l.at.has(addr) }

// window is how many instructions before an indirect jump are looked at for
// what it jumps to.
const window = 24

// indirect is an indirect jump and where to begin to read towards it.
type indirect struct {
	extent   int
	from, at uint64
}

// collector gathers landings.
type collector struct {
	im      *Image
	targets *places
	sure    *places     // of these, but for what is decoded at every offset
	called  *places     // targets of calls: entries of functions for sure
	crosses [][2]uint64 // jumps from one extent to another
	marks   []uint64    // targets of what is no direct branch
	tabled  [][2]uint64 // entries of jump tables: the jump, its target
	jumps   []indirect
}

// landings computes the landing set at the first need.
func (im *Image) landings() *landings {
	if im.land != nil {
		return im.land
	}
	c := &collector{im: im, targets: newPlaces(im.text), sure: newPlaces(im.text), called: newPlaces(im.text)}
	for i := range im.extents {
		c.extent(i)
	}
	c.gaps()
	if l, ok := im.code.(Landmarks); ok {
		c.marks = append(c.marks, l.Landmarks()...)
	}
	for _, m := range c.marks {
		c.targets.add(m)
		c.sure.add(m)
	}
	im.land = &landings{at: c.targets, sure: c.sure, called: c.called}
	c.tables()
	slices.Sort(c.marks)
	im.land.crosses, im.land.marks = append(c.crosses, c.tabled...), slices.Compact(c.marks)
	for _, x := range im.land.crosses {
		im.land.arrivals = append(im.land.arrivals, x[1])
	}
	slices.Sort(im.land.arrivals)
	return im.land
}

// extent sweeps one extent.
func (c *collector) extent(i int) {
	e := &c.im.extents[i]
	c.targets.add(e.Lo)
	var ring [window]uint64
	n := 0
	tiles := c.im.skim(e.Range, func(at uint64, s insn.Step, code []byte) bool {
		if c.branch(at, s, e.Range) {
			c.sure.add(s.Target)
		}
		if s.Len == 4 && c.im.mayMark(code) && c.im.marks(at) {
			c.marks = append(c.marks, at)
			e.marked = e.marked || at == e.Lo
		}
		if s.Kind == insn.IndirectJump {
			c.jumps = append(c.jumps, indirect{i, ring[max(0, n-window)%window], at})
			if n == 0 {
				c.jumps[len(c.jumps)-1].from = at
			}
		}
		ring[n%window] = at
		n++
		return true
	})
	if !tiles {
		e.untiled = true
		c.everyOffset(e.Range)
	}
}

// mayMark tells, of an instruction of four bytes, if isMark is worth asking.
func (im *Image) mayMark(code []byte) bool {
	return im.arch != insn.AMD64 || code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa
}

// isMark reports whether in marks a target of indirect jumps.
func (im *Image) isMark(in *insn.Inst) bool {
	if im.arch == insn.AMD64 {
		if in.Len != 4 || in.Kind != insn.Nop {
			return false
		}
		b, err := im.bytes(in.Addr, 4)
		return err == nil && string(b) == "\xf3\x0f\x1e\xfa"
	}
	if in.Kind != insn.Nop {
		return false
	}
	b, err := im.bytes(in.Addr, 4)
	// bti, bti c, bti j, bti jc
	return err == nil && len(b) == 4 && b[3] == 0xd5 && b[2] == 0x03 && b[1] == 0x24 && b[0]&0x3f == 0x1f
}

// marks is isMark of the instruction at addr.
func (im *Image) marks(addr uint64) bool {
	in, err := im.decode(addr)
	return err == nil && im.isMark(&in)
}

// branch notes where a direct branch goes; false if it is none.
func (c *collector) branch(at uint64, s insn.Step, from elf.Range) bool {
	switch s.Kind {
	case insn.Call:
		c.called.add(s.Target)
	case insn.Jump, insn.CondJump:
		if !from.Contains(s.Target) {
			c.crosses = append(c.crosses, [2]uint64{at, s.Target})
		}
	default:
		return false
	}
	c.targets.add(s.Target)
	return true
}

// gaps decodes what no extent covers, at every offset.
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
				c.everyOffset(elf.Range{Lo: at, Hi: e.Lo})
			}
			at = e.Hi
		}
		if at < t.Hi {
			c.everyOffset(elf.Range{Lo: at, Hi: t.Hi})
		}
	}
}

// everyOffset notes the branches that could begin at any offset of r.
func (c *collector) everyOffset(r elf.Range) {
	step := uint64(1)
	if c.im.arch == insn.ARM64 {
		step = 4
	}
	b, err := c.im.bytes(r.Lo, int(r.Hi-r.Lo)+c.im.arch.MaxLen())
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

// tables adds the targets of indirect jumps and opens the extents of those
// that are not understood. The second round sees whether what the first found
// breaks one of the straight lines that the first relied on.
func (c *collector) tables() {
	unknown := map[int]bool{}
	var found []uint64 // in the first round, sorted
	for round := range 2 {
		var now []uint64 // not among the landings before the round is over
		for _, j := range c.jumps {
			if i, _ := slices.BinarySearch(found, j.from); round > 0 && (i == len(found) || found[i] > j.at) {
				continue // nothing new lands on its line
			}
			to, how := c.im.resolve(j.from, j.at, &c.im.extents[j.extent])
			now = append(now, to...)
			for _, t := range to {
				c.tabled = append(c.tabled, [2]uint64{j.at, t})
			}
			if how == jumpUnknown {
				unknown[j.extent] = true
			}
		}
		for _, t := range now {
			c.targets.add(t)
			c.sure.add(t)
		}
		slices.Sort(now)
		found = now
	}
	if len(unknown) > 0 {
		c.open(unknown)
	}
}

// open marks the extents given and all that belong to the same functions:
// connected by jumps into their middle, or conditional ones, or to a start
// that nobody calls.
func (c *collector) open(unknown map[int]bool) {
	parts := newPartition(len(c.im.extents))
	for _, x := range c.crosses {
		from, to := c.im.extentAt(x[0]), c.im.extentAt(x[1])
		if from == nil || to == nil || to.Lo == x[1] && c.called.has(x[1]) {
			continue
		}
		parts.join(c.im.index(from), c.im.index(to))
	}
	bad := map[int]bool{}
	for i := range unknown {
		bad[parts.find(i)] = true
	}
	for i := range c.im.extents {
		if bad[parts.find(i)] {
			c.im.extents[i].open = true
		}
	}
}

func (im *Image) index(e *extent) int {
	i, _ := slices.BinarySearchFunc(im.extents, e.Lo, func(x extent, lo uint64) int {
		switch {
		case x.Lo < lo:
			return -1
		case x.Lo > lo:
			return 1
		}
		return 0
	})
	return i
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

// Landings gives the addresses in a range where control may arrive otherwise
// than by falling through or by a direct branch from the same range, sorted:
// from jump tables, exceptions, other parts of a function. Open says that it
// may arrive anywhere: an indirect jump is not understood, or the bytes are not
// code alone.
func (im *Image) Landings(r elf.Range) (at []uint64, open bool) {
	l := im.landings()
	i, _ := slices.BinarySearch(l.marks, r.Lo)
	j, _ := slices.BinarySearch(l.marks, r.Hi)
	at = slices.Clone(l.marks[i:max(i, j)])
	i, _ = slices.BinarySearch(l.arrivals, r.Lo)
	j, _ = slices.BinarySearch(l.arrivals, r.Hi)
	at = append(at, l.arrivals[i:max(i, j)]...)
	if e := im.extentAt(r.Lo); e != nil {
		open = e.open || e.untiled
	}
	slices.Sort(at)
	return slices.Compact(at), open
}
