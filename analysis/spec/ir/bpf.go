package ir

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/cilium/ebpf/asm"
)

// The bounds of code for the kernel. An instruction becomes at most some 20 of eBPF, whose jumps
// reach 32,767 of them, and offsets in memory are as many bytes.
const (
	maxKernelInstructions = 1500
	maxKernelInputs       = 4096
)

// UserOnly returns why an expression cannot be computed in the kernel; "" if it can. Floats cannot,
// nor can very long expressions.
func (c *Code) UserOnly() string {
	for i := range c.code {
		if c.code[i].op.isFloat() {
			return "it computes with floats, for which eBPF has no instructions"
		}
	}
	switch {
	case c.typ == Float:
		return "its value is a float, with which eBPF cannot compute"
	case len(c.code) > maxKernelInstructions:
		return fmt.Sprintf("it has %d instructions: at most %d are made for the kernel", len(c.code), maxKernelInstructions)
	case c.inputs > maxKernelInputs:
		return fmt.Sprintf("it reads input %d: in the kernel there are at most %d", c.inputs-1, maxKernelInputs)
	}
	return ""
}

// BPFOptions say how the instructions of an expression fit into a program.
type BPFOptions struct {
	// Inputs is the register with the address of the inputs, of 64 bits each. It is one of R6
	// to R9.
	Inputs asm.Register
	// Stack is the offset from the frame pointer below which the instructions may write: at
	// most 0, and a multiple of 8. They use StackSize bytes.
	Stack int16
	// Label begins the names of all labels of the instructions. An expression that is part of
	// the same program must have another.
	Label string
}

// The registers of eBPF that the instructions write. The program may not use them across the
// expression, as it may not across a call.
var (
	machine           = [...]asm.Register{asm.R0, asm.R1, asm.R2} // hold the first registers of Code
	left, right, work = asm.R3, asm.R4, asm.R5                    // hold the operands of one instruction, and what it needs besides
)

// StackSize returns how many bytes of the stack the instructions of BPF use.
func (c *Code) StackSize() int { return 8 * max(c.registers-len(machine), 0) }

// BPF returns eBPF instructions that compute the expression. They leave its value in R0 and 1 in
// R1, or 0 in both if a division by zero leaves it without a value. Then they continue with the
// instruction after them. They write R0 to R5. They are of the first version of the instruction
// set, with the jumps of the second (Linux 4.14): divisions are without sign, and no divisor is 0. BPF returns an error for code that is for user space alone (see UserOnly), and
// for options that do not fit.
func (c *Code) BPF(o BPFOptions) (asm.Instructions, error) {
	if why := c.UserOnly(); why != "" {
		return nil, errors.New("the expression is for user space alone: " + why)
	}
	const frame = 512 // bytes of a program's stack
	switch {
	case o.Inputs < asm.R6 || o.Inputs > asm.R9:
		return nil, fmt.Errorf("the inputs are at %v: it must be one of r6 to r9", o.Inputs)
	case o.Stack > 0 || o.Stack%8 != 0 || int(o.Stack)-c.StackSize() < -frame:
		return nil, fmt.Errorf("the stack has no room below offset %d for what the registers need, %d", o.Stack, c.StackSize())
	case o.Label == "":
		return nil, errors.New("the labels have no name")
	}
	e := emitter{BPFOptions: o, targets: map[int]bool{}}
	for i := range c.code {
		if c.code[i].op.isJump() {
			e.targets[int(c.code[i].n)] = true
		}
	}
	for at := range c.code {
		e.begin(at)
		e.instruction(&c.code[at])
	}
	e.begin(len(c.code))
	e.end()
	return e.out, nil
}

// emitter makes eBPF instructions.
type emitter struct {
	BPFOptions
	out     asm.Instructions
	targets map[int]bool // the indices in Code.code where jumps lead
	pending string       // label of the next instruction
	labels  int
	divides bool // there is a jump to the label fault
}

// add adds instructions.
func (e *emitter) add(all ...asm.Instruction) {
	for _, i := range all {
		if e.pending != "" {
			i, e.pending = i.WithSymbol(e.pending), ""
		}
		e.out = append(e.out, i)
	}
}

// begin begins the instruction at an index of Code.code.
func (e *emitter) begin(at int) {
	if e.targets[at] {
		e.place(e.target(at))
	}
}

// target returns the label of the instruction at an index of Code.code.
func (e *emitter) target(at int) string { return e.Label + "_" + strconv.Itoa(at) }

// label returns a new label.
func (e *emitter) label() string {
	e.labels++
	return e.Label + "_local_" + strconv.Itoa(e.labels)
}

// place puts a label before the next instruction.
func (e *emitter) place(label string) { e.pending = label }

// fault returns the label of what follows a division by zero.
func (e *emitter) fault() string {
	e.divides = true
	return e.Label + "_fault"
}

// end leaves in R1 whether there is a value.
func (e *emitter) end() {
	e.add(asm.Mov.Imm(work, 1))
	if e.divides {
		end := e.label()
		e.add(asm.Ja.Label(end))
		e.place(e.fault())
		e.add(asm.Mov.Imm(asm.R0, 0), asm.Mov.Imm(work, 0))
		e.place(end)
	}
	e.add(asm.Mov.Reg(asm.R1, work))
}

// slot returns the offset from the frame pointer of a register of Code that is on the stack.
func (e *emitter) slot(r uint8) int16 {
	return e.Stack - 8*(int16(r)-int16(len(machine))+1)
}

// load puts the value of a register of Code into a machine register.
func (e *emitter) load(to asm.Register, r uint8) {
	if int(r) < len(machine) {
		e.add(asm.Mov.Reg(to, machine[r]))
		return
	}
	e.add(asm.LoadMem(to, asm.RFP, e.slot(r), asm.DWord))
}

// store puts the value of a machine register into a register of Code.
func (e *emitter) store(r uint8, from asm.Register) {
	if int(r) < len(machine) {
		e.add(asm.Mov.Reg(machine[r], from))
		return
	}
	e.add(asm.StoreMem(asm.RFP, e.slot(r), from, asm.DWord))
}

// constant puts a constant into a machine register.
func (e *emitter) constant(to asm.Register, v uint64) {
	if small(v) {
		e.add(asm.Mov.Imm(to, int32(v)))
		return
	}
	e.add(asm.LoadImm(to, int64(v), asm.DWord))
}

// small reports whether a value is a number of 32 bits whose sign eBPF extends.
func small(v uint64) bool { return int64(v) >= math.MinInt32 && int64(v) <= math.MaxInt32 }

// instruction adds what computes one instruction. The operands are put into left and right, and
// the result is made in left.
func (e *emitter) instruction(i *instruction) {
	switch {
	case i.op == opConst:
		e.constant(left, i.imm)
	case i.op.isLoad():
		e.input(i)
	case i.op.isJump():
		e.jump(i)
		return
	default:
		e.load(left, i.a)
		if i.immediate() {
			e.constant(right, i.imm)
		} else {
			e.load(right, i.b)
		}
		e.operation(i.op)
	}
	e.store(i.dst, left)
}

// jump adds a jump.
func (e *emitter) jump(i *instruction) {
	e.load(left, i.a)
	op := asm.JEq
	if i.op == opJumpNotZero {
		op = asm.JNE
	}
	e.add(op.Imm(left, 0, e.target(int(i.n))))
}

// input reads an input.
func (e *emitter) input(i *instruction) {
	e.add(asm.LoadMem(left, e.Inputs, int16(8*i.n), asm.DWord))
	if i.imm > 0 {
		e.add(asm.LSh.Imm(left, int32(i.imm)))
	}
	switch {
	case i.op == opLoadBool:
		e.constant(right, 0)
		e.compare(opNe)
	case i.op == opLoadI && i.imm > 0:
		e.add(asm.ArSh.Imm(left, int32(i.imm)))
	case i.op == opLoadU && i.imm > 0:
		e.add(asm.RSh.Imm(left, int32(i.imm)))
	}
}

// operation computes an operation in left.
func (e *emitter) operation(o op) {
	switch o {
	case opAdd:
		e.add(asm.Add.Reg(left, right))
	case opSub:
		e.add(asm.Sub.Reg(left, right))
	case opMul:
		e.add(asm.Mul.Reg(left, right))
	case opAnd:
		e.add(asm.And.Reg(left, right))
	case opOr:
		e.add(asm.Or.Reg(left, right))
	case opXor:
		e.add(asm.Xor.Reg(left, right))
	case opNegate:
		e.add(asm.Neg.Imm(left, 0))
	case opComplement:
		e.add(asm.Xor.Imm(left, -1))
	case opShl:
		e.shift(asm.LSh)
	case opShrU:
		e.shift(asm.RSh)
	case opShrI:
		e.shiftSigned()
	case opDivU:
		e.divide(asm.Div)
	case opModU:
		e.divide(asm.Mod)
	case opDivI:
		e.divideSigned(asm.Div)
	case opModI:
		e.divideSigned(asm.Mod)
	default:
		e.compare(o)
	}
}

// shift shifts left by right bits, by 64 or more to 0.
func (e *emitter) shift(op asm.ALUOp) {
	end := e.label()
	e.add(
		asm.Mov.Reg(work, left),
		asm.Mov.Imm(left, 0),
		asm.JGT.Imm(right, 63, end),
		asm.Mov.Reg(left, work),
		op.Reg(left, right),
	)
	e.place(end)
}

// shiftSigned shifts left by right bits to the right, with its sign.
func (e *emitter) shiftSigned() {
	end := e.label()
	e.add(
		asm.JLE.Imm(right, 63, end),
		asm.Mov.Imm(right, 63),
	)
	e.place(end)
	e.add(asm.ArSh.Reg(left, right))
}

// divide divides left by right, as numbers without sign, unless right is 0.
func (e *emitter) divide(op asm.ALUOp) {
	e.add(
		asm.JEq.Imm(right, 0, e.fault()),
		op.Reg(left, right),
	)
}

// divideSigned divides left by right, as numbers with a sign: it divides their absolute values,
// and gives the result its sign. That of a quotient is the product of both signs, that of a
// remainder the dividend's. The absolute value of the least number, 2⁶³, is one without sign.
func (e *emitter) divideSigned(op asm.ALUOp) {
	dividend, divisor, end := e.label(), e.label(), e.label()
	e.add(
		asm.JEq.Imm(right, 0, e.fault()),
		asm.Mov.Reg(work, left),
	)
	if op == asm.Div {
		e.add(asm.Xor.Reg(work, right))
	}
	e.add(
		asm.JSGE.Imm(left, 0, dividend),
		asm.Neg.Imm(left, 0),
	)
	e.place(dividend)
	e.add(
		asm.JSGE.Imm(right, 0, divisor),
		asm.Neg.Imm(right, 0),
	)
	e.place(divisor)
	e.add(
		op.Reg(left, right),
		asm.JSGE.Imm(work, 0, end),
		asm.Neg.Imm(left, 0),
	)
	e.place(end)
}

// jumpOf has the jump of eBPF for each comparison of integers.
var jumpOf = map[op]asm.JumpOp{
	opEq: asm.JEq, opNe: asm.JNE, opLtI: asm.JSLT, opLeI: asm.JSLE, opGtI: asm.JSGT, opGeI: asm.JSGE,
	opLtU: asm.JLT, opLeU: asm.JLE, opGtU: asm.JGT, opGeU: asm.JGE,
	opEqM: asm.JEq, opNeM: asm.JNE, opLtM: asm.JLT, opLeM: asm.JLE, opGtM: asm.JGT, opGeM: asm.JGE,
}

// compare compares left with right. In a comparison of an Int with a Uint a negative left is less
// than, and not equal to, any right.
func (e *emitter) compare(o op) {
	holds, fails := e.label(), e.label()
	e.add(asm.Mov.Imm(work, 1))
	switch o {
	case opNeM, opLtM, opLeM:
		e.add(asm.JSLT.Imm(left, 0, holds))
	case opEqM, opGtM, opGeM:
		e.add(asm.JSLT.Imm(left, 0, fails))
	}
	e.add(jumpOf[o].Reg(left, right, holds))
	e.place(fails)
	e.add(asm.Mov.Imm(work, 0))
	e.place(holds)
	e.add(asm.Mov.Reg(left, work))
}
