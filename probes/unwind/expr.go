package unwind

import (
	elffile "github.com/tracepredict/tracepredict/probes/elf"
)

// Bounds of an expression: the number of steps, and of stack entries. The longest expression in
// use, that of a linkage table's entry, has nine steps.
const (
	maxSteps = 256
	maxDepth = 64
)

// evaluator evaluates DWARF expressions (DWARF 5, section 2.5) with the operations that call frame
// information may use (section 6.4.2).
type evaluator struct {
	abi    abi
	regs   *Regs
	memory func(addr uint64, size int) (uint64, bool)
	r      elffile.Cursor
	length int
	stack  []uint64
	failed bool
	lost   bool // a memory word or register that is needed is not known
}

// evaluate returns the top of the stack at the end of an expression; the stack begins with first,
// if it is given.
func evaluate(m *Machine, regs *Regs, expr []byte, first ...uint64) (uint64, End) {
	e := evaluator{abi: abiOf(m.Arch), regs: regs, memory: m.Memory, length: len(expr), stack: append(make([]uint64, 0, 8), first...)}
	e.r = elffile.NewCursor(expr, 0, 0)
	for range maxSteps {
		if e.r.Left() == 0 {
			v := e.pop()
			return v, e.end()
		}
		e.step(expr)
		if e.failed || e.lost || e.r.Failed() {
			return 0, e.end()
		}
	}
	return 0, EndDamaged
}

func (e *evaluator) end() End {
	switch {
	case e.failed || e.r.Failed():
		return EndDamaged
	case e.lost:
		return EndMemory
	}
	return endNone
}

func (e *evaluator) push(v uint64) {
	if len(e.stack) >= maxDepth {
		e.failed = true
		return
	}
	e.stack = append(e.stack, v)
}

func (e *evaluator) pop() uint64 {
	if len(e.stack) == 0 {
		e.failed = true
		return 0
	}
	v := e.stack[len(e.stack)-1]
	e.stack = e.stack[:len(e.stack)-1]
	return v
}

// peek returns the n-th entry from the top.
func (e *evaluator) peek(n int) uint64 {
	if n >= len(e.stack) {
		e.failed = true
		return 0
	}
	return e.stack[len(e.stack)-1-n]
}

func (e *evaluator) register(n uint64, offset uint64) {
	v, ok := e.abi.get(e.regs, int(min(n, 1<<16)))
	e.lost = e.lost || !ok
	e.push(v + offset)
}

func (e *evaluator) deref(size int) {
	v, ok := e.memory(e.pop(), size)
	e.lost = e.lost || !ok
	e.push(v)
}

// Operations of DWARF 5, section 7.7.1.
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opBreg0      = 0x70
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

func (e *evaluator) step(expr []byte) {
	op := e.r.U8()
	switch {
	case op >= opLit0 && op < opLit0+32:
		e.push(uint64(op - opLit0))
	case op >= opBreg0 && op < opBreg0+32:
		e.register(uint64(op-opBreg0), e.r.LEB(true))
	case op >= opConst1u && op <= opConsts || op == opAddr:
		e.push(e.constant(op))
	case op >= opDup && op <= opRot:
		e.shuffle(op)
	case op == opBra, op == opSkip:
		e.jump(op, expr)
	default:
		e.compute(op)
	}
}

func (e *evaluator) constant(op byte) uint64 {
	switch op {
	case opConst1u:
		return uint64(e.r.U8())
	case opConst1s:
		return uint64(int64(int8(e.r.U8())))
	case opConst2u:
		return uint64(e.r.U16())
	case opConst2s:
		return uint64(int64(int16(e.r.U16())))
	case opConst4u:
		return uint64(e.r.U32())
	case opConst4s:
		return uint64(int64(int32(e.r.U32())))
	case opConstu:
		return e.r.LEB(false)
	case opConsts:
		return e.r.LEB(true)
	}
	return e.r.U64()
}

func (e *evaluator) shuffle(op byte) {
	switch op {
	case opDup:
		e.push(e.peek(0))
	case opDrop:
		e.pop()
	case opOver:
		e.push(e.peek(1))
	case opPick:
		e.push(e.peek(int(e.r.U8())))
	case opSwap:
		a, b := e.pop(), e.pop()
		e.push(a)
		e.push(b)
	case opRot:
		a, b, c := e.pop(), e.pop(), e.pop()
		e.push(a)
		e.push(c)
		e.push(b)
	}
}

// jump continues at another position of the expression; evaluate bounds the number of steps.
func (e *evaluator) jump(op byte, expr []byte) {
	by := int(int16(e.r.U16()))
	if op == opBra && e.pop() == 0 || e.r.Failed() {
		return
	}
	to := e.length - e.r.Left() + by
	if to < 0 || to > len(expr) {
		e.failed = true
		return
	}
	e.r = elffile.NewCursor(expr[to:], 0, 0)
}

func (e *evaluator) compute(op byte) {
	switch op {
	case opNop:
	case opDeref:
		e.deref(8)
	case opDerefSize:
		switch n := e.r.U8(); n {
		case 1, 2, 4, 8:
			e.deref(int(n))
		default:
			e.failed = true
		}
	case opBregx:
		n := e.r.LEB(false)
		e.register(n, e.r.LEB(true))
	case opPlusUconst:
		e.push(e.pop() + e.r.LEB(false))
	case opAbs:
		v := int64(e.pop())
		e.push(uint64(max(v, -v)))
	case opNeg:
		e.push(-e.pop())
	case opNot:
		e.push(^e.pop())
	default:
		b, a := e.pop(), e.pop()
		v, ok := binaryOp(op, a, b)
		e.failed = e.failed || !ok
		e.push(v)
	}
}

// binaryOp returns the result of an operation on the second entry of the stack, a, and its top, b;
// false if there is none.
func binaryOp(op byte, a, b uint64) (uint64, bool) {
	switch op {
	case opAnd:
		return a & b, true
	case opOr:
		return a | b, true
	case opXor:
		return a ^ b, true
	case opPlus:
		return a + b, true
	case opMinus:
		return a - b, true
	case opMul:
		return a * b, true
	case opDiv:
		if b == 0 {
			return 0, false
		}
		return uint64(int64(a) / int64(b)), true
	case opMod:
		if b == 0 {
			return 0, false
		}
		return a % b, true
	case opShl:
		return a << b, true
	case opShr:
		return a >> b, true
	case opShra:
		return uint64(int64(a) >> b), true
	}
	return compare(op, int64(a), int64(b))
}

func compare(op byte, a, b int64) (uint64, bool) {
	holds := false
	switch op {
	case opEq:
		holds = a == b
	case opGe:
		holds = a >= b
	case opGt:
		holds = a > b
	case opLe:
		holds = a <= b
	case opLt:
		holds = a < b
	case opNe:
		holds = a != b
	default:
		return 0, false
	}
	if holds {
		return 1, true
	}
	return 0, true
}
