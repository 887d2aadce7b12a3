package unwind

import (
	"github.com/tracepredict/tracepredict/probes/insn"
)

// End is the reason why a call stack has no more frames.
type End uint8

// The ends.
const (
	endNone      End = iota
	EndOutermost     // the frame is a thread's or the program's first
	EndNoFrames      // the code has neither call frame information nor a usable frame pointer
	EndMemory        // memory or a register that is needed is not known
	EndLoop          // the stack pointer would not increase
	EndBound         // the requested number of frames is reached
	EndDamaged       // the call frame information is invalid
)

// String returns the reason in words.
func (e End) String() string {
	switch e {
	case EndOutermost:
		return "outermost frame"
	case EndNoFrames:
		return "no call frame information"
	case EndMemory:
		return "memory or a register is not known"
	case EndLoop:
		return "the stack does not rise"
	case EndBound:
		return "bound reached"
	case EndDamaged:
		return "damaged call frame information"
	}
	return "not ended"
}

// MaxFrames bounds the number of frames of every walk.
const MaxFrames = 1024

// Machine is what a walk needs to know of the process: its architecture, modules and memory.
type Machine struct {
	Arch insn.Arch
	// Find returns the table of the module that contains pc, and the bias: pc minus bias is the
	// address as linked.
	Find func(pc uint64) (t *Table, bias uint64, ok bool)
	// Memory returns the little-endian number of size (1, 2, 4 or 8) bytes at addr.
	Memory func(addr uint64, size int) (uint64, bool)
}

// Walk appends to out the return addresses of the frames above that of regs, innermost first, at
// most max (and MaxFrames), and returns the reason why it ended. A frame that a signal interrupted
// has no return address: Walk appends the address where it was interrupted, plus one, so that the
// byte before each address of the result is always in the instruction that the frame executes.
//
// On x86-64 regs should have RSP and, if known, RBX, RBP and R12 to R15; on arm64 SP, LR, FP and
// X19 to X28. What a signal frame or a stub needs beyond that is in memory.
func (m *Machine) Walk(regs Regs, max int, out []uint64) ([]uint64, End) {
	w := walker{Machine: m, abi: abiOf(m.Arch), regs: regs, exact: true}
	for range min(max, MaxFrames) {
		if end := w.step(); end != endNone {
			return out, end
		}
		pc := w.regs.PC
		if w.exact {
			pc++
		}
		out = append(out, pc)
	}
	return out, EndBound
}

// walker is the state of a walk.
type walker struct {
	*Machine
	abi   abi
	regs  Regs
	exact bool // the program counter is the address of the next instruction, not a return address
}

// step moves to the calling frame.
func (w *walker) step() End {
	row := w.row()
	if row == nil {
		return w.withoutCFI()
	}
	sp, ok := w.regs.get(w.abi.sp)
	if !ok {
		return EndMemory
	}
	cfa, end := w.cfa(row)
	if end != endNone {
		return end
	}
	next, end := w.caller(row, cfa)
	if end != endNone {
		return end
	}
	top, _ := next.get(w.abi.sp)
	if !row.signal && (top < sp || top == sp && !w.leaf(row)) {
		return EndLoop // a signal handler may have a stack of its own, at any address
	}
	w.regs, w.exact = next, row.signal
	return endNone
}

// leaf reports whether a frame may be empty: its return address is still in a register, which is
// possible only for the innermost frame.
func (w *walker) leaf(row *row) bool {
	switch row.rule(row.ra).kind {
	case unspecified, sameValue, inRegister:
		return w.exact
	}
	return false
}

// row returns the row of the frame. If the call was the last instruction of a function, the return
// address is the first of the next one, so the row is that of the byte before. But the code to
// which a signal handler returns was not called, and may begin at the return address.
func (w *walker) row() *row {
	if w.exact {
		return w.rowOf(w.regs.PC)
	}
	row := w.rowOf(w.regs.PC - 1)
	if row == nil {
		if at := w.rowOf(w.regs.PC); at != nil && at.signal {
			return at
		}
	}
	return row
}

func (w *walker) rowOf(pc uint64) *row {
	t, bias, ok := w.Find(pc)
	if !ok || t == nil {
		return nil
	}
	return t.row(pc - bias)
}

// cfa returns the canonical frame address: the stack pointer before the call.
func (w *walker) cfa(row *row) (uint64, End) {
	if row.cfa.kind == isExpr {
		return evaluate(w.Machine, &w.regs, row.cfa.expr)
	}
	base, ok := w.abi.get(&w.regs, row.base)
	if !ok {
		return 0, EndMemory
	}
	return base + uint64(row.cfa.n), endNone
}

// caller returns the registers of the calling frame.
func (w *walker) caller(row *row, cfa uint64) (next Regs, end End) {
	next = w.regs
	next.known &= w.abi.saved
	if row.signal {
		next.known = w.regs.known
	}
	next.Set(w.abi.sp, cfa)
	ra, end := w.returnAddress(row, cfa)
	if end != endNone {
		return next, end
	}
	for _, r := range row.rules {
		if r.column == w.abi.pc {
			continue
		}
		v, end := w.apply(r.rule, r.column, cfa)
		if end == endNone {
			next.Set(r.column, v)
		} else {
			next.known &^= 1 << r.column
		}
	}
	next.PC = ra
	return next, endNone
}

// returnAddress returns the address to which the frame returns.
func (w *walker) returnAddress(row *row, cfa uint64) (uint64, End) {
	r := row.rule(row.ra)
	if r.kind == undefined {
		return 0, EndOutermost
	}
	if (r.kind == unspecified || r.kind == sameValue) && (row.ra != w.abi.lr || !w.exact) {
		return 0, EndDamaged // the called function has overwritten the register
	}
	v, end := w.apply(r, row.ra, cfa)
	if end != endNone {
		return 0, end
	}
	if row.signed {
		v = withoutCode(v)
	}
	if v == 0 {
		return 0, EndOutermost
	}
	return v, endNone
}

// withoutCode removes the authentication code from a user address on arm64: it is in the bits above
// the address space, which has 48 bits unless the program asks for more.
func withoutCode(v uint64) uint64 { return v & (1<<48 - 1) }

// apply returns the value that a rule computes for a register.
func (w *walker) apply(r rule, column int, cfa uint64) (v uint64, end End) {
	ok := false
	switch r.kind {
	case unspecified, sameValue:
		v, ok = w.abi.get(&w.regs, column)
	case atOffset:
		v, ok = w.Memory(cfa+uint64(r.n), 8)
	case isOffset:
		return cfa + uint64(r.n), endNone
	case inRegister:
		v, ok = w.abi.get(&w.regs, int(r.n))
	case isExpr:
		return evaluate(w.Machine, &w.regs, r.expr, cfa)
	case atExpr:
		if v, end = evaluate(w.Machine, &w.regs, r.expr, cfa); end != endNone {
			return 0, end
		}
		v, ok = w.Memory(v, 8)
	}
	if !ok {
		return 0, EndMemory
	}
	return v, endNone
}

// withoutCFI moves to the calling frame without call frame information: what it finds must be an
// address to which a call returns, in a known module. The innermost function may not have set up
// its frame yet, as in a linkage table's stub; otherwise withoutCFI follows the frame pointer, if
// the function keeps one.
func (w *walker) withoutCFI() End {
	sp, ok := w.regs.get(w.abi.sp)
	if !ok {
		return EndNoFrames
	}
	if w.exact && w.leafWithoutCFI(sp) {
		return endNone
	}
	fp, ok := w.regs.get(w.abi.fp)
	if !ok || fp < sp || fp%8 != 0 {
		return EndNoFrames
	}
	ra, ok := w.Memory(fp+8, 8)
	outer, ok2 := w.Memory(fp, 8)
	if !ok || !ok2 || !w.afterCall(ra) {
		return EndNoFrames
	}
	w.enter(ra, fp+16)
	w.regs.known = 1<<w.abi.sp | 1<<w.abi.fp
	w.regs.Set(w.abi.fp, outer)
	return endNone
}

// leafWithoutCFI moves to the caller of a function that has not set up its frame: the return
// address is in lr, or on top of the stack.
func (w *walker) leafWithoutCFI(sp uint64) bool {
	if w.abi.lr >= 0 {
		ra, ok := w.regs.get(w.abi.lr)
		if ok && w.afterCall(ra) {
			w.enter(ra, sp)
			return true
		}
		return false
	}
	ra, ok := w.Memory(sp, 8)
	if ok && w.afterCall(ra) {
		w.enter(ra, sp+8)
		return true
	}
	return false
}

func (w *walker) enter(pc, sp uint64) {
	w.regs.known &= w.abi.saved
	w.regs.PC, w.exact = pc, false
	w.regs.Set(w.abi.sp, sp)
}

func (w *walker) afterCall(pc uint64) bool {
	t, bias, ok := w.Find(pc - 1)
	return ok && t != nil && t.AfterCall(pc-bias)
}
