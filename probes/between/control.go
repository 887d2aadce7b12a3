package between

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// step executes one instruction.
func (e *engine) step(m *machine) outcome {
	in, code := m.image.at(m.pc - m.bias)
	if in == nil {
		return lost
	}
	switch {
	case in.Kind.Straight():
		if e.x.process.Inlined(m.image.File, in.Addr) == InlinedLock {
			return lost
		}
		o := e.operation(m, in, code)
		if !o.execute() {
			return lost
		}
		m.pc += uint64(in.Len)
		return goes
	case in.Kind == insn.CondJump:
		return e.branch(m, in)
	case in.Kind == insn.Return:
		return e.back(m)
	case in.Kind == insn.Stop:
		return ends
	case in.Kind.Calls():
		return e.call(m, in, code, m.pc+uint64(in.Len))
	case in.Kind == insn.Jump:
		if to := in.Target + m.bias; m.image.imported(in) == "" && m.image.sameFunction(in.Addr, in.Target) {
			m.pc = to
			return goes
		}
		return e.tailCall(m, in, code)
	case in.Kind == insn.IndirectJump:
		return e.tailCall(m, in, code)
	}
	return lost
}

func (e *engine) branch(m *machine, in *insn.Inst) outcome {
	if in.Cond == 0 {
		return lost
	}
	holds, ok := e.condition(m, in.Cond-1)
	switch {
	case !ok:
		return lost
	case !holds:
		m.pc += uint64(in.Len)
	case !m.jump(e.x, in.Target+m.bias):
		return lost
	}
	return goes
}

// target returns where a call or jump leads.
func (e *engine) target(m *machine, in *insn.Inst, code []byte) term {
	if in.Kind == insn.Call || in.Kind == insn.Jump {
		return number(in.Target + m.bias)
	}
	if to := m.image.slotTarget(in); to != 0 {
		return number(to + m.bias)
	}
	o := e.operation(m, in, code)
	return o.rm(wordSize)
}

// tailCall handles a jump out of the function, or by an address that is computed.
func (e *engine) tailCall(m *machine, in *insn.Inst, code []byte) outcome {
	name := m.image.imported(in)
	if to, ok := e.target(m, in, code).constant(); name == "" && ok {
		l, ok := e.x.locate(to)
		if !ok {
			return lost
		}
		fn, ok := l.image.FunctionAt(l.pc)
		if !ok {
			return lost
		}
		if l.image == m.image && (m.image.sameFunction(in.Addr, l.pc) || fn.Lo != l.pc || strings.HasSuffix(l.image.FunctionName(l.pc), ".cold")) {
			m.pc = to // within the function, or to a part of it that the compiler split off, or back
			return goes
		}
	} else if name == "" {
		return lost
	}
	if len(m.frames) == 0 {
		return lost
	}
	ret := m.frames[0]
	m.frames = m.frames[1:]
	m.regs[insn.RSP] = m.regs[insn.RSP].plus(wordSize)
	return e.call(m, in, code, ret)
}

// isNext reports whether a call from frames is made where a call stack was.
func (e *engine) isNext(frames, stack []uint64) bool { return slices.Equal(frames, stack[1:]) }

// call handles a call that returns to ret.
func (e *engine) call(m *machine, in *insn.Inst, code []byte, ret uint64) outcome {
	next := e.To[len(m.calls)]
	frames := append([]uint64{ret}, m.frames...)
	target := term{sym: symbol(11)}
	if in.Kind == insn.IndirectCall || in.Kind == insn.IndirectJump {
		target = e.target(m, in, code)
	}
	if e.isNext(frames, next) {
		return e.arrive(m, next[0], target, ret)
	}
	if n := len(next) - len(frames); n > 1 && slices.Equal(next[n:], frames) {
		return e.descend(m, next[n-1], target, frames)
	}
	name := m.image.imported(in)
	event := name != "" && e.x.process.Imports(name)
	if to, ok := e.target(m, in, code).constant(); ok && name == "" {
		if l, ok := e.x.locate(to); ok {
			name, event = l.image.FunctionName(l.pc), e.x.process.Synchronises(l.image.File, l.pc)
		}
	}
	if m.image.endsPath(in) || in.Kind.Calls() && m.image.stopsBehind(in) || endsPath(name) {
		return e.leaves(m, name)
	}
	if event && acquires(name) && !e.Unrecorded {
		return ends // another event than the next of To
	}
	compared, decided := e.compared(m, name)
	e.pass(m, name, event && releases(name))
	if decided {
		e.returns(m, compared)
	} else if allocates(name) {
		m.regs[insn.RAX] = e.allocation()
	}
	return e.resume(m, ret)
}

// resume goes on behind a call.
func (e *engine) resume(m *machine, ret uint64) outcome {
	l, ok := e.x.locate(ret)
	switch {
	case !ok:
		return lost
	case e.endsThread(l, m.frames):
		return ends
	case !m.jump(e.x, ret):
		return lost
	}
	return goes
}

// arrive handles the next call of To.
func (e *engine) arrive(m *machine, function uint64, target term, ret uint64) outcome {
	c := call{function: target, lock: term{sym: symbol(12)}}
	if l, ok := e.x.locate(function); ok && locks(l.image.FunctionName(l.pc)) {
		c.lock = m.regs[insn.RDI]
	}
	if e.calls != nil && e.apart(c, e.calls[len(m.calls)]) {
		return ends
	}
	if m.calls = append(m.calls, c); len(m.calls) == len(e.To) {
		return arrives
	}
	m.forget()
	e.afterCall(m, function)
	return e.resume(m, ret)
}

// apart reports whether two calls are certainly different ones. A lock in memory that was just allocated is another one
// than that at an address which was known before, even if it lies there: the lifetime of what lay there has ended.
func (e *engine) apart(c, d call) bool {
	return c.function.apart(d.function) || c.lock.apart(d.lock) ||
		c.lock.sym == noSymbol && e.allocated[d.lock.sym] || d.lock.sym == noSymbol && e.allocated[c.lock.sym]
}

// allocation returns the address of memory that was just allocated.
func (e *engine) allocation() term {
	t := e.fresh()
	if e.allocated == nil {
		e.allocated = map[uint64]bool{}
	}
	e.allocated[t.sym] = true
	return t
}

// descend enters the function, which contains the address inner, that makes the next call of To.
func (e *engine) descend(m *machine, inner uint64, target term, frames []uint64) outcome {
	l, ok := e.x.locate(inner)
	if !ok {
		return lost
	}
	fn, ok := l.image.FunctionAt(l.pc - 1)
	if !ok || strings.HasSuffix(l.image.FunctionName(fn.Lo), ".cold") {
		return lost
	}
	entry := fn.Lo + l.bias
	if number(entry).apart(target) {
		if e.jumpsOn(target.off) {
			return lost
		}
		return ends
	}
	sp := m.regs[insn.RSP].plus(^uint64(wordSize - 1))
	m.regs[insn.RSP] = sp
	e.store(m, sp, wordSize, number(frames[0]))
	m.cells[len(m.cells)-1].saved = true
	m.frames = frames
	if !m.jump(e.x, entry) {
		return lost
	}
	return goes
}

// jumpsOn reports whether the code at an address may only go on elsewhere, as a thunk does.
func (e *engine) jumpsOn(addr uint64) bool {
	l, ok := e.x.locate(addr)
	if !ok {
		return true
	}
	for range 4 {
		in, _ := l.image.at(l.pc)
		if in == nil || in.Kind == insn.Jump || in.Kind == insn.IndirectJump {
			return true
		}
		if l.pc = in.End(); !in.Kind.Straight() {
			return false
		}
	}
	return false
}

// back handles a return.
func (e *engine) back(m *machine) outcome {
	if len(m.frames) == 0 {
		return ends
	}
	m.regs[insn.RSP] = m.regs[insn.RSP].plus(wordSize)
	ret := m.frames[0]
	m.frames = m.frames[1:]
	return e.resume(m, ret)
}

// endsThread reports whether an address is in the function of the C library that has called a thread's own: outside
// it is only the frame that the thread begins with, and which ends it.
func (e *engine) endsThread(at located, outer []uint64) bool {
	if name := at.image.FunctionName(at.pc - 1); len(outer) != 1 || !strings.HasPrefix(at.image.SOName(), "libc.") && name != "start_thread" {
		return false
	}
	l, ok := e.x.locate(outer[0])
	if !ok {
		return false
	}
	const exit = 60 // the number of the system call
	number := uint64(0)
	for range 4 {
		in, _ := l.image.at(l.pc)
		switch {
		case in == nil:
			return false
		case in.Kind == insn.Syscall:
			return number == exit
		case !in.Kind.Straight():
			return false
		case in.Sum.Const() && in.Sum.Dst == insn.RAX:
			number = uint64(in.Sum.Imm)
		}
		l.pc = in.End()
	}
	return false
}

// leaves handles a call that does not return.
func (e *engine) leaves(m *machine, name string) outcome {
	if name != "" && !throws(name) {
		return ends
	}
	for _, pc := range append([]uint64{m.pc}, m.frames...) {
		l, ok := e.x.locate(pc)
		if !ok {
			return lost
		}
		if fn, ok := l.image.FunctionAt(l.pc - 1); !ok || e.x.summary(l.image, fn.Lo, followed).catches {
			return lost
		}
	}
	return ends
}

// pass applies a call that is not followed.
// keeps means that it changes no memory that is known.
func (e *engine) pass(m *machine, name string, keeps bool) {
	if !keeps && !writesNothing(name) {
		for _, r := range insn.AMD64.Arguments() {
			m.escapes(m.regs[r])
		}
		m.forget()
	}
	e.afterCall(m, 0)
}

// maxCompared bounds the bytes that a call compares.
const maxCompared = 256

// compared returns whether what a call of a function of the C library compares is below, equal or above, as -1, 0, 1;
// ok is false if it is no such function, or that is not known.
func (e *engine) compared(m *machine, name string) (order int, ok bool) {
	n, strings := uint64(maxCompared), name != "memcmp"
	switch name {
	case "strcmp":
	case "strncmp", "memcmp":
		length, known := m.regs[insn.RDX].constant()
		if !known || length > maxCompared {
			return 0, false
		}
		n = length
	default:
		return 0, false
	}
	for i := range n {
		a, ok := e.load(m, m.regs[insn.RDI].plus(i), 1).constant()
		b, ok2 := e.load(m, m.regs[insn.RSI].plus(i), 1).constant()
		switch {
		case !ok || !ok2:
			return 0, false
		case a < b:
			return -1, true
		case a > b:
			return 1, true
		case a == 0 && strings:
			return 0, true
		}
	}
	return 0, name != "strcmp"
}

// returns sets the result of a call, of which only the order with 0 is known.
func (e *engine) returns(m *machine, order int) {
	if order == 0 {
		m.regs[insn.RAX] = number(0)
		return
	}
	v := e.fresh()
	v.wide = 4
	f := anyNumber(v, 4)
	f.narrow(ifLess, order < 0, 0)
	f.narrow(ifEqual, false, 0)
	m.regs[insn.RAX], m.facts = v, append(m.facts, f)
}
