package probes

import (
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file finds accesses of which the thread uses nothing but whether a value equals a constant: the count of
// owners that is decreased and compared with 0, the flag that is loaded and compared with 0. Such a thread does the
// same after it has seen any other value with the same answer.

// Test is what a thread uses of a value that it read.
type Test struct {
	Known bool   // it uses only whether the value equals Value
	Left  bool   // the value is the one that the access left in memory, not the one that it read
	Value uint64 // truncated to the width of the access
}

// tested is what is left of the value that an access read, and where control is.
type tested struct {
	left
	sum bool // the flags are those of the instruction that made the access, which say whether what it wrote is 0
}

// use returns what a thread uses of the value that an access read, if that is known, and whether the access is an
// update that adds a number which does not depend on what it read.
func (b *builder) use(a variable.Access) (t Test, adds bool) {
	adds = a.Kind == variable.Update && b.adds(a)
	if a.Kind == variable.Update && !adds {
		return Test{}, false
	}
	return b.resultTested(a), adds
}

// resultTested returns what a thread uses of the value that a read, or an update that adds, has read, if that is all
// that it uses.
func (b *builder) resultTested(a variable.Access) Test {
	if b.arch != insn.AMD64 || a.Kind == variable.Write || a.Callee != "" || a.Repeats || a.If != 0 || a.Width > 8 {
		return Test{}
	}
	in, err := b.image.Decode(a.Addr)
	if err != nil || !in.Known || in.WritesIf != 0 || in.StackWrite {
		return Test{}
	}
	t := testFinder{builder: b, width: a.Width}
	first := tested{left: left{pc: in.End(), regs: in.Writes, flags: !in.KeepsFlags}, sum: true}
	switch {
	case a.Kind == variable.Update:
	case in.Tests:
		if first.sum = false; !t.comparedInMemory(&in) {
			return Test{}
		}
	case in.ValueReg == insn.NoReg || in.Writes != 1<<in.ValueReg || a.Width < 4 && !extends(b, &in):
		return Test{} // in a vector register, or combined with another value
	default:
		first.sum = false
		first.flags = false
	}
	if _, ok := code.Reach([]tested{first}, t.after); ok && (t.returned == 0 || t.returned&b.resultRegs(a.Addr) == 0) {
		return t.Test
	}
	return Test{}
}

// adds reports whether an update adds a number that does not depend on what it read.
func (b *builder) adds(a variable.Access) bool {
	bytes, err := b.plan.File.Bytes(a.Addr, a.Len)
	if err != nil || b.arch != insn.AMD64 || a.Callee != "" || a.Repeats {
		return false
	}
	switch decodeModify(bytes).op {
	case modifyAdd, modifySubtract, modifyExchangeAdd:
		return true
	}
	return false
}

// extends reports whether a load of one or two bytes sets its whole register.
func extends(b *builder, in *insn.Inst) bool {
	bytes, err := b.plan.File.Bytes(in.Addr, in.Len)
	return err == nil && opcodeOf(bytes).wide && opcodeOf(bytes).setsRegister()
}

// testFinder collects the test of a value.
type testFinder struct {
	*builder
	Test
	width, steps int
	returned     insn.RegSet // registers in which what is left was when the function returned
}

// found records a comparison. It returns false if there was a different one before, or if it depends on how the
// load of a narrow value extends it.
func (t *testFinder) found(x Test) bool {
	x.Known = true
	switch {
	case t.width < 4 && x.Value > 0x7f:
		return false
	case t.width < 8:
		x.Value &= 1<<(8*t.width) - 1
	}
	if t.Known {
		return t.Test == x
	}
	t.Test = x
	return true
}

// after returns what is left after the instruction at l.pc, as builder.after does. An instruction may use what is
// left only to learn whether it equals a constant.
func (t *testFinder) after(l tested) (next []tested, ok bool) {
	if t.steps++; t.steps > maxUnusedSteps {
		return nil, false
	}
	in, err := t.image.Decode(l.pc)
	if err != nil || !in.Known && in.Kind != insn.Nop {
		return nil, l.regs == 0 && !l.flags
	}
	if r, value, compares := t.compares(&in); compares && l.regs.Has(r) {
		if !t.found(Test{Value: value}) {
			return nil, false
		}
		return []tested{{left: left{pc: in.End(), regs: l.regs, flags: true, inner: l.inner}}}, true
	}
	if l.flags && t.usesEqual(&in) {
		return t.afterEqual(l, &in)
	}
	to, returned, ok := t.builder.after(l.left)
	t.returned |= returned
	for _, n := range to {
		next = append(next, tested{n, l.sum})
	}
	return next, ok
}

// afterEqual is after for an instruction that uses whether the flags say that two numbers are equal.
func (t *testFinder) afterEqual(l tested, in *insn.Inst) (next []tested, ok bool) {
	if in.Reads&l.regs != 0 || l.sum && !t.found(Test{Left: true}) {
		return nil, false
	}
	for _, pc := range in.Next() {
		if t.stubs[pc] != "" {
			return nil, false
		}
		n := l
		n.pc = pc
		next = append(next, n)
	}
	return next, true
}

// compares decodes the comparison of a register, of the width of the access, with a constant.
func (t *testFinder) compares(in *insn.Inst) (r insn.Reg, value uint64, ok bool) {
	bytes, err := t.plan.File.Bytes(in.Addr, in.Len)
	if err != nil || !in.Tests || in.NMem != 0 {
		return insn.NoReg, 0, false
	}
	c, ok := decodeComparison(bytes)
	if !ok || c.size != max(t.width, 4) && c.size != t.width {
		return insn.NoReg, 0, false
	}
	switch {
	case c.constant:
		return c.reg, c.value, true
	case c.other == c.reg:
		return c.reg, 0, c.and
	case c.and:
		return insn.NoReg, 0, false
	}
	for _, r := range [2]insn.Reg{c.reg, c.other} {
		if v, known := t.constantBefore(in.Addr, r); known {
			return c.reg + c.other - r, v, true
		}
	}
	return insn.NoReg, 0, false
}

// comparedInMemory records the constant with which an instruction compares its memory operand.
func (t *testFinder) comparedInMemory(in *insn.Inst) bool {
	bytes, err := t.plan.File.Bytes(in.Addr, in.Len)
	if err != nil || in.NMem != 1 {
		return false
	}
	c, ok := decodeComparison(bytes)
	if !ok || c.size != t.width || c.and {
		return false
	}
	value, known := c.value, c.constant
	if !known {
		value, known = t.constantBefore(in.Addr, c.other)
	}
	return known && t.found(Test{Value: value})
}

// constantBefore returns the constant that a register holds at an address.
func (t *testFinder) constantBefore(addr uint64, r insn.Reg) (value uint64, ok bool) {
	line := t.image.LineBefore(addr)
	for i := len(line) - 1; i >= 0 && line[i].Known; i-- {
		if in := &line[i]; in.Writes.Has(r) {
			return uint64(in.Sum.Imm), in.Sum.Dst == r && in.Sum.Const()
		}
	}
	return 0, false
}

// usesEqual reports whether an instruction uses of the flags only whether they say that two numbers are equal.
func (t *testFinder) usesEqual(in *insn.Inst) bool {
	const equal = 4 // the condition code of je; that of jne is one more
	if in.Cond != 0 {
		return (in.Cond-1)&^1 == equal
	}
	bytes, err := t.plan.File.Bytes(in.Addr, in.Len)
	if err != nil {
		return false
	}
	o := opcodeOf(bytes)
	return o.wide && (o.op&0xf0 == 0x40 || o.op&0xf0 == 0x90) && o.op&0xe == equal
}

// comparison is a cmp or test of x86-64.
type comparison struct {
	and        bool     // test
	size       int      // bytes of the operands
	reg, other insn.Reg // the operands that are registers, the one of the r/m field first; NoReg for memory
	constant   bool     // the other operand is value
	value      uint64   // sign-extended
}

// decodeComparison decodes a cmp, or a test of registers. ok is false for any other instruction.
func decodeComparison(code []byte) (c comparison, ok bool) {
	c = comparison{size: 4, reg: insn.NoReg, other: insn.NoReg}
	rex := byte(0)
	for len(code) > 0 && (code[0] == 0x66 || code[0] == 0x2e || code[0] == 0x3e) {
		if code[0] == 0x66 {
			c.size = 2
		}
		code = code[1:]
	}
	if len(code) > 0 && code[0]&0xf0 == 0x40 {
		rex, code = code[0], code[1:]
	}
	if len(code) < 2 {
		return c, false
	}
	op, modrm := code[0], code[1]
	switch {
	case op == 0x3c || op == 0x3d: // cmp of rax
		c.reg, modrm = insn.RAX, 0xc0
		c.constant = true
	case op >= 0x38 && op <= 0x3b || op == 0x84 || op == 0x85:
		c.and = op >= 0x84
		c.other = insn.Reg(modrm>>3&7 | rex&4<<1)
	case (op == 0x80 || op == 0x81 || op == 0x83) && modrm>>3&7 == 7:
		c.constant = true
	default:
		return c, false
	}
	if modrm >= 0xc0 && c.reg == insn.NoReg {
		c.reg = insn.Reg(modrm&7 | rex&1<<3)
	}
	byteSized := op == 0x80 || op == 0x3c || op == 0x38 || op == 0x3a || op == 0x84
	switch {
	case byteSized:
		c.size = 1
		if rex == 0 && (c.other != insn.NoReg && c.other >= 4 || c.reg != insn.NoReg && c.reg >= 4) {
			return c, false // ah, ch, dh, bh
		}
	case rex&8 != 0:
		c.size = 8
	}
	if c.constant {
		c.value, ok = lastConstant(code, op, c.size)
		return c, ok
	}
	return c, true
}

// lastConstant returns the constant at the end of a comparison, sign-extended.
func lastConstant(code []byte, op byte, size int) (value uint64, ok bool) {
	n := min(size, 4)
	if op == 0x83 {
		n = 1
	}
	if len(code) < 1+n {
		return 0, false
	}
	for i := range n {
		value |= uint64(code[len(code)-n+i]) << (8 * i)
	}
	return uint64(int64(value<<(64-8*n)) >> (64 - 8*n)), true
}
