package between

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// A Detour asks whether a thread still does what it did in the run, if it reads other values.
//
// The code behind From is executed with the values of the run, on all paths that lead to the calls of To. What the
// branches of such a path say about numbers that are not known (registers, the thread's own memory) holds in the
// other execution, too: before the reads it was the same. Then the code is executed with the other values. If on no
// path it comes to the same calls, for the same locks, the thread goes elsewhere.
//
// Memory of which other threads may know is known only where the thread has written or read it since it last waited;
// a store through a pointer that is not understood may have changed it.
type Detour struct {
	// From is the call stack of an event of the thread, as in a Query; Reads are what the thread reads next, until
	// the first of To; To are the call stacks of the calls that it makes next and that are events, in order.
	From  []uint64
	Reads []Seen
	To    [][]uint64
	// Changed means that the thread may have read other values already before From.
	Changed bool
	// Unrecorded is that of Query.
	Unrecorded bool
}

// Seen is a read of memory that was recorded.
type Seen struct {
	Addr         uint64 // in the process
	Size         int    // bytes, at most 8
	Value, Other uint64 // in the run, and in the other execution
}

// Course says what a thread does in a Detour.
type Course uint8

// The courses.
const (
	Unclear   Course = iota // the code is not understood, or is too much
	Same                    // it may do the same
	Elsewhere               // it certainly does something else
)

const (
	maxDetour = 4000    // instructions executed for one Detour
	maxForks  = 64      // branches of which both ways are followed
	maxCells  = 256     // words of memory of one path
	maxBlocks = 1 << 14 // bytes of a function whose basic blocks are found
)

// Course answers a Detour.
func (x *Examiner) Course(d Detour) Course {
	if len(d.From) < 2 || len(d.To) == 0 || x.Budget <= 0 {
		return Unclear
	}
	x.left = min(maxQuery, x.Budget)
	before := x.left
	defer func() { x.Budget -= before - max(x.left, 0) }()
	e := engine{x: x, Detour: d, left: min(maxDetour, x.left)}
	defer func() { x.left -= min(maxDetour, before) - max(e.left, 0) }()
	if e.understands() {
		return e.course()
	}
	return Unclear
}

// understands reports whether all events are made by calls.
func (e *engine) understands() bool {
	for _, to := range append([][]uint64{e.From}, e.To...) {
		if len(to) < 2 || !e.x.inCall(to[0]) {
			return false
		}
		if l, ok := e.x.locate(to[0]); !ok || e.x.process.Inlined(l.image.File, l.pc) != InlinedNone {
			return false
		}
	}
	return true
}

func (e *engine) course() Course {
	m := e.start()
	if m == nil {
		return Unclear
	}
	m.see(e.Reads, false)
	runs, ok := e.run(m, nil)
	if !ok || len(runs) == 0 {
		return Unclear
	}
	for _, r := range runs {
		c := e.start()
		c.facts = r.facts
		c.see(e.Reads, true)
		same, ok := e.run(c, r.calls)
		if !ok {
			return Unclear
		}
		if len(same) > 0 {
			return Same
		}
	}
	return Elsewhere
}

// engine executes code for a Detour.
type engine struct {
	Detour
	x       *Examiner
	left    int
	forks   int
	unknown uint64 // counts the numbers of which nothing is known
	// before means that what is executed was executed before From, so that nothing that is read differs; copies
	// counts the numbers that are not known there.
	before bool
	copies uint64
	// allocated has the symbols of addresses of memory that was allocated behind From.
	allocated map[uint64]bool
	// calls has, of the execution with the values of the run, what the calls of To are made for; nil there.
	calls   []call
	waiting []*machine // paths that were left for later
}

// call is a call of To: the function, if a register or memory has its address, and its first argument, if it is a
// lock.
type call struct{ function, lock term }

// run executes a path and all those that fork from it. It returns the machines that come to the last call of To, the
// first one only if calls is set; ok is false if there may be more.
func (e *engine) run(m *machine, calls []call) (arrived []*machine, ok bool) {
	e.calls, e.waiting, e.forks = calls, []*machine{m}, 0
	for len(e.waiting) > 0 {
		m := e.waiting[len(e.waiting)-1]
		e.waiting = e.waiting[:len(e.waiting)-1]
		for next := goes; next == goes; {
			if e.left--; e.left < 0 {
				return nil, false
			}
			switch next = e.step(m); next {
			case lost:
				return nil, false
			case arrives:
				arrived = append(arrived, m)
				if calls != nil {
					return arrived, true
				}
			}
		}
	}
	return arrived, true
}

// outcome is what an instruction leads to.
type outcome uint8

const (
	goes    outcome = iota
	arrives         // at the last call of To
	ends            // the path is none that leads there
	lost            // it is not known where it leads
)

// machine is one path of an execution: what is known of the thread's registers and memory.
type machine struct {
	regs    [numRegs]term
	vectors [16][2]term
	flags   comparison
	cells   []cell // the newest last
	facts   []fact
	// shared is the lowest offset from stackSymbol from which other code may know the stack.
	shared int64
	image  *image
	bias   uint64
	pc     uint64   // in the process
	frames []uint64 // return addresses, innermost first
	calls  []call   // that were passed, of To
	// refused means that the condition of the next instruction does not hold.
	refused bool
	// tooMuch means that memory was written of which no more can be known.
	tooMuch bool
}

// cell is memory of size bytes. What is saved no code changes by a pointer.
type cell struct {
	at    term
	size  int
	value term
	saved bool
}

func (m *machine) clone() *machine {
	c := *m
	c.cells, c.facts, c.frames, c.calls = slices.Clone(m.cells), slices.Clone(m.facts), slices.Clone(m.frames), slices.Clone(m.calls)
	return &c
}

// see makes memory hold what the thread reads next.
func (m *machine) see(reads []Seen, other bool) {
	for _, r := range reads {
		v := r.Value
		if other {
			v = r.Other
		}
		m.cells = append(m.cells, cell{at: number(r.Addr), size: r.Size, value: number(v & mask(r.Size))})
	}
}

// fresh returns a number of which nothing is known, not even that it is the same in both executions.
func (e *engine) fresh() term {
	if e.before && !e.Changed {
		e.copies++
		return e.own(11, e.copies)
	}
	e.unknown++
	return term{sym: symbol(5, e.unknown)}
}

// own returns a number that is the same in both executions, if the thread has read no other values before.
func (e *engine) own(parts ...uint64) term {
	if e.Changed {
		return e.fresh()
	}
	return term{sym: symbol(append(parts, 6)...)}
}

// maxComposed bounds the frames of which more is known than where they are.
const maxComposed = 8

// start returns the machine behind the call of From.
func (e *engine) start() *machine {
	frames := e.From[1:]
	e.copies = 0
	m := &machine{shared: 1 << 62, frames: slices.Clone(frames[1:])}
	cfa := term{sym: stackSymbol}
	m.anyRegisters(e, maxComposed)
	for i := e.composed() - 1; i >= 0; i-- {
		if !e.enter(m, frames[i], &cfa, uint64(i)) {
			m.anyRegisters(e, uint64(i))
			cfa = term{sym: stackSymbol}
			m.regs[insn.RSP] = cfa
			m.cells, m.shared = nil, 0
		}
	}
	if !m.jump(e.x, frames[0]) {
		return nil
	}
	e.afterCall(m, e.From[0])
	return m
}

// anyRegisters sets the registers to any numbers, which a key names.
func (m *machine) anyRegisters(e *engine, key uint64) {
	for r := range m.regs {
		m.regs[r] = e.own(13, key, uint64(r))
	}
}

// composed returns the number of frames that are not only returned to.
func (e *engine) composed() int {
	n := 1
	for _, to := range e.To {
		common, frames := 0, e.From[1:]
		for common < min(len(frames), len(to)-1) && frames[len(frames)-1-common] == to[len(to)-1-common] {
			common++
		}
		n = max(n, len(frames)-common)
	}
	return min(n, maxComposed)
}

// enter sets the registers to what they are at the call, in a function, that returns to ret, and adds what is known
// of the words of its frame. The registers are those at the call of the function; cfa is the address of its frame, and
// becomes that of the function which it calls.
func (e *engine) enter(m *machine, ret uint64, cfa *term, depth uint64) bool {
	l, ok := e.x.locate(ret)
	if !ok {
		return false
	}
	fn, ok := l.image.FunctionAt(l.pc - 1)
	if !ok {
		return false
	}
	sum := e.x.summary(l.image, fn.Lo, followed)
	at := sum.calls[l.pc]
	if at == nil || !at.regs[insn.RSP].exact {
		return false
	}
	shared := sum.leaks&only(own) != 0
	caller, block := m.regs, e.block(l, fn, depth)
	within := func(v value, key uint64) term {
		n, certain := v.object()
		switch c, all := v.number(wordSize); {
		case all && !shared && v.in != nil:
			return number(c + l.bias)
		case all && !shared:
			return number(c)
		case certain && v.exact && n == own:
			return cfa.plus(uint64(v.off))
		case certain && v.exact && n <= numRegs && (!shared || isSaved(v)):
			return caller[n-1].plus(uint64(v.off))
		}
		return e.own(depth, key)
	}
	for r := range m.regs {
		if m.regs[r] = within(at.regs[r], uint64(r)); block != nil && at.regs[r].base == 0 && at.regs[r].bytes < wordSize {
			m.regs[r] = block[r]
		}
	}
	if shared && cfa.sym == stackSymbol {
		m.shared = min(m.shared, int64(m.regs[insn.RSP].off))
	}
	for _, w := range at.frames[own].words {
		if saved := isSaved(w.Value); saved || !shared && (w.Value.base != 0 || w.Value.bytes == wordSize) {
			m.cells = append(m.cells, cell{at: cfa.plus(uint64(w.At)), size: wordSize, value: within(w.Value, uint64(w.At)), saved: saved})
		}
	}
	*cfa = m.regs[insn.RSP]
	return true
}

// block returns the registers at the call before a place, from the beginning of the basic block: they show which hold
// the same; nil if that is not known.
func (e *engine) block(l located, fn elf.Range, depth uint64) *[numRegs]term {
	if fn.Hi-fn.Lo > maxBlocks {
		return nil
	}
	var run []*insn.Inst
	entered := map[uint64]bool{}
	for pc := fn.Lo; pc < fn.Hi; {
		in, _ := l.image.at(pc)
		if in == nil || in.Kind == insn.IndirectJump {
			return nil
		}
		if in.Kind.Branches() {
			entered[in.Target] = true
		}
		if pc = in.End(); pc <= l.pc {
			run = append(run, in)
		}
	}
	if len(run) == 0 || run[len(run)-1].End() != l.pc {
		return nil
	}
	run = run[:len(run)-1]
	first := len(run)
	for first > 0 && run[first-1].Kind.Straight() && !(first < len(run) && entered[run[first].Addr]) {
		first--
	}
	m := &machine{image: l.image, bias: l.bias, shared: -1 << 62}
	for r := range m.regs {
		m.regs[r] = e.own(12, depth, uint64(r))
	}
	e.before = true
	defer func() { e.before = false }()
	for _, in := range run[first:] {
		_, code := l.image.at(in.Addr)
		if m.pc = in.Addr + l.bias; !e.executes(m, in, code) {
			return nil
		}
	}
	return &m.regs
}

// executes applies an instruction that is Straight, as execute does, if no condition decides what it does.
func (e *engine) executes(m *machine, in *insn.Inst, code []byte) bool {
	waiting := len(e.waiting)
	o := e.operation(m, in, code)
	ok := o.execute() && len(e.waiting) == waiting
	e.waiting = e.waiting[:waiting]
	return ok
}

// followed has all registers, of which the state at a call says whether they hold what they did at the entry.
const followed objects = (1<<numRegs - 1) << 1

// jump goes to an address of the process.
func (m *machine) jump(x *Examiner, pc uint64) bool {
	if m.image != nil && m.pc != 0 && m.image.sameFunction(m.pc-m.bias, pc-m.bias) {
		m.pc = pc
		return true
	}
	l, ok := x.locate(pc)
	if !ok {
		return false
	}
	m.image, m.bias, m.pc = l.image, l.bias, pc
	return true
}

// private reports whether only the thread itself changes memory.
func (m *machine) private(at term) bool {
	return at.sym == localSymbol || at.sym == stackSymbol && int64(at.off) < m.shared
}

// load returns what memory holds.
func (e *engine) load(m *machine, at term, size int) term {
	overlaps := false
	for i := len(m.cells) - 1; i >= 0 && !overlaps; i-- {
		c := &m.cells[i]
		if c.at.sym != at.sym {
			continue
		}
		from := int64(at.off - c.at.off)
		if from >= 0 && from+int64(size) <= int64(c.size) {
			return c.part(int(from), size)
		}
		overlaps = from < int64(c.size) && from+int64(size) > 0
	}
	if overlaps {
		return e.assembled(m, at, size)
	}
	v := e.initial(m, at, size)
	if len(m.cells) < maxCells {
		m.cells = append(m.cells, cell{at: at, size: size, value: v})
	}
	return v
}

// part returns some bytes of a cell.
func (c *cell) part(from, size int) term {
	if n, ok := c.value.constant(); ok {
		return number(n >> (8 * from) & mask(size))
	}
	if from == 0 {
		return c.value.trunc(size)
	}
	return term{sym: symbol(9, c.value.sym, c.value.off, uint64(from), uint64(size)), wide: uint8(size)}
}

// assembled returns what memory holds, of several cells: the low bytes that are known.
func (e *engine) assembled(m *machine, at term, size int) term {
	v := e.fresh()
	v.wide = uint8(size)
	for ; size > 1 && int(v.n) < size; v.n++ {
		b, ok := e.load(m, at.plus(uint64(v.n)), 1).constant()
		if !ok {
			return v
		}
		v.low |= b << (8 * v.n)
	}
	if size == 1 {
		return v
	}
	return number(v.low)
}

// initial returns what memory holds that was not accessed before.
func (e *engine) initial(m *machine, at term, size int) term {
	switch {
	case at.sym == localSymbol && at.off == 0 && size == wordSize:
		return term{sym: localSymbol}
	case m.private(at):
		v := e.own(10, at.sym, at.off, uint64(size))
		v.wide = uint8(size)
		return v
	case at.sym == noSymbol:
		if v, ok := m.constantAt(at.off, size); ok {
			return v
		}
	}
	v := e.fresh()
	v.wide = uint8(size)
	return v
}

// constantAt returns what memory holds that nothing changes while the program runs.
func (m *machine) constantAt(addr uint64, size int) (term, bool) {
	linked := addr - m.bias
	p, whole := m.image.pointerAt(linked)
	switch {
	case whole && size == wordSize && (m.image.constant(linked, size) || m.image.ofVirtual(p)):
		return number(p + m.bias), true
	case whole || !m.image.constant(linked, size):
		return term{}, false
	}
	if _, ok := m.image.got[linked]; ok {
		return term{}, false
	}
	v, ok := m.image.Content(linked, size)
	return number(v), ok
}

// pointerAt returns what the loader writes to an address: an address as linked.
func (im *image) pointerAt(addr uint64) (to uint64, ok bool) {
	if im.pointers == nil {
		im.pointers = im.RelativePointers()
	}
	to, ok = im.pointers[addr]
	return to, ok
}

// ofVirtual reports whether an address is that of a table of virtual functions: objects of static storage that the
// loader makes point there do so until they are destroyed.
func (im *image) ofVirtual(addr uint64) bool {
	const offset = 2 * wordSize // of what objects point to
	return im.constant(addr, wordSize) && addr > offset && im.IsVirtualTable(addr-offset)
}

// store records that memory is written.
func (e *engine) store(m *machine, at term, size int, v term) {
	private := m.private(at)
	m.cells = slices.DeleteFunc(m.cells, func(c cell) bool {
		switch from := int64(at.off - c.at.off); {
		case c.at.sym == at.sym:
			return from <= 0 && from+int64(size) >= int64(c.size) // covered; load finds the newest of those that overlap
		case private || c.saved:
			return false
		}
		return !m.private(c.at) && (c.at.sym != noSymbol || at.sym != noSymbol)
	})
	if len(m.cells) >= maxCells {
		m.tooMuch = true
		return
	}
	m.cells = append(m.cells, cell{at: at, size: size, value: v.trunc(min(size, wordSize))})
	if v.sym == stackSymbol && !private {
		m.escapes(v)
	}
}

// escapes records that other code may know an address of the stack, and so all of the stack above it.
func (m *machine) escapes(t term) {
	if t.sym == stackSymbol && int64(t.off) < m.shared {
		m.shared = int64(t.off)
	}
}

// forget removes what is known of memory that other threads, or functions that are called, may have changed.
func (m *machine) forget() {
	m.cells = slices.DeleteFunc(m.cells, func(c cell) bool { return !c.saved && !m.private(c.at) })
}

// afterCall applies what any function does that keeps to the calling convention. In is an address in the function if
// it is one that synchronises.
func (e *engine) afterCall(m *machine, in uint64) {
	changes := insn.AMD64.CallerSaved()
	for r := range m.regs {
		if changes.Has(insn.Reg(r)) {
			m.regs[r] = e.fresh()
		}
	}
	for i := range m.vectors {
		m.vectors[i] = [2]term{e.fresh(), e.fresh()}
	}
	m.flags = comparison{}
	if l, ok := e.x.locate(in); in != 0 && ok && l.succeeds() {
		m.regs[insn.RAX] = number(0)
	}
}

// succeeds reports whether an address is in a function that returns 0 if it returns: no mutex is robust.
func (l located) succeeds() bool {
	return alwaysSucceeds(l.image.FunctionName(l.pc))
}
