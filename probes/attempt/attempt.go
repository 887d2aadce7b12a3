// Package attempt finds the atomic instructions by which code tries to make a word other than 0 and does
// nothing else until it has: those of locks whose code is inlined, or written by hand. A thread whose attempt
// fails comes back to one on the same word on every path, and neither returns on the way, nor writes memory
// but its own frame, nor calls anything but functions that pause, sleep or yield. It finds the calls of functions
// that try to acquire a lock, and that code repeats in the same way (calls.go).
//
// The input is code and the address of an instruction; the output is whether its attempt is repeated, which
// instructions look at the word on the way, and whether the failures leave something that the thread uses after
// it has succeeded, such as their number. The proof is by symbolic execution of all paths: it knows constants,
// zeroes, and what registers and the frame had before. What it does not understand ends it without a result.
// It knows x86-64 only, no variable and no process, and does not know which words are locks.
package attempt

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// Image decodes the code of one file; see package cheapsite.
type Image interface {
	Decode(addr uint64) (insn.Inst, error)
	// Bytes returns up to n bytes of code from an address on.
	Bytes(addr uint64, n int) ([]byte, error)
	// LineBefore returns the instructions before an address that are certain to be executed, one after the
	// other, whenever it is reached.
	LineBefore(addr uint64) []insn.Inst
	// Arrivals is as code.Arrivals.
	Arrivals(r elf.Range) (at []uint64, open bool)
	// Sweep calls f for the instructions of a range until it returns false.
	Sweep(r elf.Range, f func(*insn.Inst) bool) bool
}

// File is the file of the code, as elf.File.
type File interface {
	PLTTargets() map[uint64]string
	GOTSlots() map[uint64]string
	FunctionAt(addr uint64) (elf.Range, bool)
}

// Code is the code of one file.
type Code struct {
	Image
	// Results returns the registers in which the function that contains an address returns its result. Nil: RAX
	// and RDX.
	Results func(addr uint64) insn.RegSet
	file    File
	plt     map[uint64]string // names of imports, by the addresses of their stubs
	slots   map[uint64]string // and of their slots
	frames  map[uint64]bool   // framePointer, by the beginning of the function
	flows   map[uint64]*flow
	steps   int // that were executed for all proofs
}

// NewCode returns the code of a file.
func NewCode(f File, im Image) *Code {
	return &Code{Image: im, file: f, plt: f.PLTTargets(), slots: f.GOTSlots(), frames: map[uint64]bool{}, flows: map[uint64]*flow{}}
}

// imported returns the name of the function of another file that an instruction calls or jumps to; "" if it is
// none.
func (c *Code) imported(in *insn.Inst) string {
	switch in.Kind {
	case insn.Call, insn.Jump, insn.CondJump:
		return c.plt[in.Target]
	case insn.IndirectCall, insn.IndirectJump:
		if in.NMem == 1 && in.Mem[0].Fixed {
			return c.slots[in.Mem[0].Addr]
		}
	}
	return ""
}

// results returns the registers in which the function that contains an address returns its result.
func (c *Code) results(addr uint64) insn.RegSet {
	if c.Results == nil {
		return 1<<insn.RAX | 1<<insn.RDX
	}
	return c.Results(addr)
}

// framePointer reports whether RBP points to the frame in the function that contains an address.
func (c *Code) framePointer(addr uint64) bool {
	fn, ok := c.file.FunctionAt(addr)
	if !ok {
		return false
	}
	frame, known := c.frames[fn.Lo]
	if !known {
		c.Sweep(fn, func(in *insn.Inst) bool {
			frame = frame || in.Sum.Dst == insn.RBP && in.Sum.Src == insn.RSP && in.Sum.Offset()
			return !frame && in.Addr < addr
		})
		c.frames[fn.Lo] = frame
	}
	return frame
}

// Loop is a loop of attempts.
type Loop struct {
	// Looks are the addresses of plain loads of the word after a failure, sorted.
	Looks []uint64
	// Attempts are the addresses of the attempts that may follow a failure, sorted.
	Attempts []uint64
	// Traceless reports that a thread does the same after it has succeeded, however often it failed before.
	Traceless bool
}

// The bounds of one proof, and of all those of a file.
const (
	maxWork   = 1 << 19 // instructions
	maxSteps  = 3000    // instructions
	maxStates = 24      // different states at one instruction
	wideFrom  = 4       // states after which those that follow cover the one before
)

// Find returns the loop of an atomic instruction that tries to change a word from 0. It returns false if the
// attempt is not certain to be repeated, or is none.
func Find(c *Code, addr uint64) (Loop, bool) {
	x := explorer{code: c, looks: map[uint64]bool{}, attempts: map[uint64]bool{}, seen: map[uint64][]state{}}
	s, ok := x.before(addr)
	if !ok {
		return Loop{}, false
	}
	in, err := c.Decode(addr)
	if err != nil || !x.begin(&in, &s) {
		return Loop{}, false
	}
	if !x.run() || len(x.arrivals) == 0 {
		return Loop{}, false
	}
	return Loop{Looks: sorted(x.looks), Attempts: sorted(x.attempts), Traceless: x.traceless(&s)}, true
}

// Leads reports whether a plain load of a word certainly leads to an attempt on the same word, whatever it
// loads: one of attempts, which have been proven.
func Leads(c *Code, load uint64, attempts []uint64) bool {
	x := explorer{code: c, looks: map[uint64]bool{}, attempts: map[uint64]bool{}, seen: map[uint64][]state{}, accept: attempts}
	s, ok := x.before(load)
	if !ok {
		return false
	}
	in, err := c.Decode(load)
	if err != nil || in.NMem != 1 || in.Locked {
		return false
	}
	if x.word, ok = s.place(&in); !ok || x.word.stack(x.frame) {
		return false
	}
	x.add(load, s)
	return x.run() && len(x.arrivals) > 0
}

func sorted(set map[uint64]bool) (all []uint64) {
	for at := range set {
		all = append(all, at)
	}
	slices.Sort(all)
	return all
}

// explorer explores the paths from a failed attempt.
type explorer struct {
	code     *Code
	frame    bool  // RBP is a frame pointer
	word     place // of the attempts
	stores   value // by the first attempt
	accept   []uint64
	looks    map[uint64]bool
	attempts map[uint64]bool
	arrivals []arrival
	seen     map[uint64][]state
	todo     []node
	steps    int
	callee   *Callee // whose calls are the attempts; nil: they are atomic instructions
	lock     value   // that all calls have passed, if any was found
	// after is set for the paths after a success, of which the question is whether they use what failures leave.
	after bool
}

type node struct {
	pc uint64
	state
}

// arrival is the state at an attempt that follows a failure.
type arrival struct {
	pc uint64
	state
}

// before returns the state before an instruction: what is known after those that always come before it.
func (x *explorer) before(addr uint64) (state, bool) {
	x.frame = x.code.framePointer(addr)
	s := initialState()
	line := x.code.LineBefore(addr)
	first := addr
	if len(line) > 0 {
		first = line[0].Addr
	}
	same := map[uint8]insn.Reg{} // a register that has what a register had at the entry of the function
	for r, c := range x.code.constantsAt(first) {
		reg := insn.Reg(r)
		as, known := same[c.entry]
		switch {
		case c.width > 0:
			s.regs[r] = value{kind: constant, width: c.width, n: c.n}
		case c.entry == 0 || reg == insn.RSP || reg == insn.RBP:
		case known:
			s.regs[r].reg = as
		default:
			same[c.entry] = reg
		}
	}
	for _, in := range line {
		if in.Locked || !x.execute(&s, &in) {
			s.forget(&in) // it is before the attempt: only what it leaves matters
		}
	}
	return s, true
}

// begin adds what follows the failure of the attempt at an instruction.
func (x *explorer) begin(in *insn.Inst, s *state) bool {
	if !in.Known || !in.Locked || in.NMem != 1 {
		return false
	}
	var ok bool
	if x.word, ok = s.place(in); !ok || x.word.stack(x.frame) {
		return false
	}
	kind := x.attempt(in, s, true)
	if kind == noAttempt {
		return false
	}
	m, _ := x.operation(in)
	x.stores = s.regs[m.reg].truncate(m.size)
	failed := *s
	x.fail(in, &failed, kind)
	x.add(in.End(), failed)
	return true
}

// add adds a state to be explored, unless it was.
func (x *explorer) add(pc uint64, s state) bool {
	known := x.seen[pc]
	if slices.Contains(known, s) {
		return true
	}
	if len(known) >= wideFrom && !s.widen(&known[len(known)-1]) || len(known) == maxStates {
		return false
	}
	if slices.Contains(known, s) {
		return true
	}
	x.seen[pc] = append(known, s)
	x.todo = append(x.todo, node{pc, s})
	return true
}

// run explores all paths. It returns false if one does not come back.
func (x *explorer) run() bool {
	for len(x.todo) > 0 {
		n := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		x.code.steps++
		if x.steps++; x.steps > maxSteps || x.code.steps > maxWork || !x.step(n.pc, n.state) {
			return false
		}
	}
	return true
}

// step executes one instruction.
func (x *explorer) step(pc uint64, s state) bool {
	in, err := x.code.Decode(pc)
	if err != nil {
		return false
	}
	if x.after && !s.tainted() {
		return true
	}
	switch {
	case x.callee != nil && x.callee.is(x.code, &in):
		return x.again(&in, s)
	case in.Kind == insn.CondJump:
		return x.branch(&in, s)
	case in.Kind == insn.Jump:
		if x.code.imported(&in) != "" {
			return false
		}
		return x.add(in.Target, s)
	case in.Kind == insn.Return:
		return x.back(pc, s)
	case in.Kind.Calls():
		return x.call(&in, s)
	case in.Kind == insn.Syscall:
		if x.after {
			return false
		}
		if nr := s.regs[insn.RAX]; nr.kind != constant || !harmlessCalls[nr.n] {
			return false
		}
		s.clobber(1<<insn.RAX | 1<<insn.RCX | 1<<insn.R11)
	case !in.Kind.Straight():
		return false
	case in.Locked && !x.after:
		return x.atomic(&in, s)
	default:
		if !x.execute(&s, &in) {
			return false
		}
	}
	return x.add(in.End(), s)
}

// branch follows a conditional jump: one way, if it is known which one.
func (x *explorer) branch(in *insn.Inst, s state) bool {
	const equal, notEqual = 1 + 4, 1 + 5
	if in.Cond != equal && in.Cond != notEqual {
		return in.Cond != 0 && x.add(in.Target, s) && x.add(in.End(), s)
	}
	zero, other := in.Target, in.End()
	if in.Cond == notEqual {
		zero, other = other, zero
	}
	if s.zf != isNonzero {
		t := s
		t.compared(true)
		if !x.add(zero, t) {
			return false
		}
	}
	if s.zf != isZero {
		s.compared(false)
		return x.add(other, s)
	}
	return true
}

// The numbers of the system calls that a waiting thread may make: sched_yield, nanosleep, futex, clock_nanosleep.
var harmlessCalls = map[int64]bool{24: true, 35: true, 202: true, 230: true}

const callerSaved insn.RegSet = 1<<insn.RAX | 1<<insn.RCX | 1<<insn.RDX | 1<<insn.RSI | 1<<insn.RDI | 1<<insn.R8 | 1<<insn.R9 | 1<<insn.R10 | 1<<insn.R11

const arguments insn.RegSet = 1<<insn.RDI | 1<<insn.RSI | 1<<insn.RDX | 1<<insn.RCX | 1<<insn.R8 | 1<<insn.R9

// call handles a call: of a function of the file it executes the code.
func (x *explorer) call(in *insn.Inst, s state) bool {
	name := x.code.imported(in)
	if x.after {
		if in.Kind == insn.IndirectCall && !x.execute(&s, in) || s.taints(arguments) {
			return false
		}
		s.clobber(callerSaved)
		return x.add(in.End(), s)
	}
	switch {
	case name == "syscall":
		if nr := s.regs[insn.RDI]; nr.kind != constant || !harmlessCalls[nr.n] {
			return false
		}
	case name != "":
		if !libname.Is(name, libname.Yields) && (x.callee == nil || name != readsErrno) {
			return false
		}
	case in.Kind != insn.Call || s.depth == maxDepth:
		return false
	default:
		s.push(value{kind: unknown}, x.frame)
		s.returns[s.depth] = in.End()
		s.depth++
		return x.add(in.Target, s)
	}
	s.clobber(callerSaved)
	return x.add(in.End(), s)
}

// back handles a return.
func (x *explorer) back(from uint64, s state) bool {
	if s.depth == 0 {
		return x.after && !s.taints(x.code.results(from))
	}
	s.depth--
	to := s.returns[s.depth]
	s.returns[s.depth] = 0
	s.pop(x.frame)
	s.forgetFrames()
	return x.add(to, s)
}

// attemptKind says what an atomic instruction tries.
type attemptKind uint8

const (
	noAttempt attemptKind = iota
	byExchange
	byComparing
)

// attempt returns how an instruction tries to make the word other than 0. first is set where the paths begin:
// what it expects there, the run shows.
func (x *explorer) attempt(in *insn.Inst, s *state, first bool) attemptKind {
	m, ok := x.operation(in)
	switch {
	case !ok:
	case m.op == opExchange && !s.regs[m.reg].is(0, m.size):
		return byExchange
	case m.op == opCompareExchange && (first && s.regs[insn.RAX].zero(m.size) != isNonzero || s.regs[insn.RAX].is(0, m.size)):
		return byComparing
	}
	return noAttempt
}

// fail executes an attempt that fails: it has read another value than 0.
func (x *explorer) fail(in *insn.Inst, s *state, kind attemptKind) {
	m, _ := x.operation(in)
	if kind == byExchange {
		old := value{kind: nonzero, width: m.size}
		if m.size == 1 && s.regs[m.reg].is(1, 1) {
			old = value{kind: constant, width: 1, n: 1} // a truth value, of which compilers test one bit
		}
		s.set(m.reg, old)
		return
	}
	s.set(insn.RAX, value{kind: nonzero, width: m.size})
	s.zf, s.zfReg = isNonzero, insn.NoReg
}

// atomic executes an atomic instruction after a failure: another attempt, or one that says that a thread waits.
func (x *explorer) atomic(in *insn.Inst, s state) bool {
	at, ok := s.place(in)
	if !ok || in.NMem != 1 || at != x.word {
		return false
	}
	if x.accept != nil && slices.Contains(x.accept, in.Addr) && x.attempt(in, &s, true) != noAttempt {
		x.arrivals = append(x.arrivals, arrival{in.Addr, s})
		return true // what it expects does not matter here
	}
	if kind := x.attempt(in, &s, false); kind != noAttempt {
		x.attempts[in.Addr] = true
		x.arrivals = append(x.arrivals, arrival{in.Addr, s})
		x.fail(in, &s, kind)
		return x.add(in.End(), s)
	}
	m, ok := x.operation(in)
	if !ok || m.op != opCompareExchange || s.regs[insn.RAX].kind != constant {
		return false
	}
	marked := s
	marked.zf, marked.zfReg = isZero, insn.NoReg
	s.set(insn.RAX, value{kind: unknown})
	s.zf, s.zfReg = isNonzero, insn.NoReg
	return x.add(in.End(), marked) && x.add(in.End(), s)
}

// traceless reports whether the failures leave nothing that is used after a success. s is the state at the
// first attempt.
func (x *explorer) traceless(s *state) bool {
	for i := range x.arrivals {
		a := &x.arrivals[i]
		in, err := x.code.Decode(a.pc)
		if err != nil {
			return false
		}
		m, _ := x.operation(&in)
		if !a.regs[m.reg].same() || m.size == 0 || a.regs[m.reg].truncate(m.size) != x.stores {
			return false // it stores another value than the first attempt
		}
		after := a.state
		after.taint(s, x.frame)
		if m.op == opExchange {
			after.set(m.reg, value{kind: constant, width: m.size})
		} else {
			after.zf, after.zfReg = isZero, insn.NoReg
			after.set(insn.RAX, value{kind: constant, width: m.size})
		}
		y := explorer{code: x.code, frame: x.frame, seen: map[uint64][]state{}, after: true}
		if y.add(in.End(), after); !y.run() {
			return false
		}
	}
	return true
}
