package ir

import (
	"fmt"
	"slices"
	"strings"
)

// MaxInstructions is the largest number of instructions of an expression's code.
const MaxInstructions = 1 << 15

// Registers hold values while code runs. An expression that needs n of them has at least 2ⁿ⁻¹
// inputs (see needs), so that all but one suffice for MaxInstructions.
const (
	registers = 16
	zero      = registers - 1 // this one is always 0
)

// instruction is an operation on registers. It computes dst from a and b, where b is the value of
// a register or an immediate value.
type instruction struct {
	op        op
	dst, a, b uint8
	n         uint32 // for a load: the index of the input; for a jump: where code continues
	imm       uint64 // added to b. For an immediate value, b is the register zero, else imm is 0.
}

// immediate reports whether the second operand is an immediate value.
func (i *instruction) immediate() bool { return i.b == zero }

// Code is the code of an expression. It ends with its last instruction, and the result is then in
// register 0. Any number of goroutines may share it.
type Code struct {
	code      []instruction
	typ       Type
	inputs    int
	registers int // number of registers used, from 0
}

// Inputs returns the number of inputs that Eval needs: one more than the largest index of an
// input.
func (c *Code) Inputs() int { return c.inputs }

// Reads reports whether the code reads an input.
func (c *Code) Reads(input int) bool {
	return slices.ContainsFunc(c.code, func(i instruction) bool { return i.op.isLoad() && int(i.n) == input })
}

// SizeError is the error that an expression is too large.
type SizeError struct{}

// Error returns the message, with the bound.
func (SizeError) Error() string {
	return fmt.Sprintf("the expression needs more than %d instructions", MaxInstructions)
}

// Compile makes the code of an expression. It returns a SizeError if there are more than
// MaxInstructions instructions, and another error if the types of operands do not fit. It takes
// time and memory in proportion to the length of the code.
func Compile(x *Expr) (*Code, error) {
	switch {
	case x.err != nil:
		return nil, x.err
	case x.size > MaxInstructions:
		return nil, SizeError{}
	}
	g := generator{need: map[*Expr]int{}}
	g.expr(x, 0)
	g.thread()
	return &Code{code: g.code, typ: x.typ, inputs: g.inputs, registers: g.registers}, nil
}

// generator makes code.
type generator struct {
	code      []instruction
	need      map[*Expr]int // the results of needs
	inputs    int
	registers int
}

func (g *generator) emit(i instruction) {
	g.registers = max(g.registers, int(i.dst)+1)
	g.code = append(g.code, i)
}

// needs returns the number of registers that an expression needs, if of two operands the one that
// needs more is computed first (R. Sethi and J. D. Ullman, The generation of optimal code for
// arithmetic expressions, 1970).
func (g *generator) needs(x *Expr) int {
	if x.a == nil {
		return 1
	}
	if n, ok := g.need[x]; ok {
		return n
	}
	n := g.needs(x.a)
	if x.b != nil && x.b.op != opConst {
		m := g.needs(x.b)
		if n == m && x.op != opBoth && x.op != opEither {
			n++
		}
		n = max(n, m)
	}
	g.need[x] = n
	return n
}

// expr adds the code that computes an expression in a register. It may use those after it.
func (g *generator) expr(x *Expr, dst uint8) {
	switch {
	case x.op == opConst:
		g.emit(instruction{op: opConst, dst: dst, a: zero, b: zero, imm: x.imm})
	case x.op.isLoad():
		g.inputs = max(g.inputs, x.at+1)
		g.emit(instruction{op: x.op, dst: dst, a: zero, b: zero, n: uint32(x.at), imm: x.imm})
	case x.op == opConvert:
		g.expr(x.a, dst)
	case x.op == opBoth || x.op == opEither:
		g.lazy(x, dst)
	case x.b == nil:
		g.expr(x.a, dst)
		g.emit(instruction{op: x.op, dst: dst, a: dst, b: zero})
	default:
		g.binary(x, dst)
	}
}

// lazy adds the code of an operation that does not always compute its second operand. The result
// is then that of the first one.
func (g *generator) lazy(x *Expr, dst uint8) {
	g.expr(x.a, dst)
	jump := opJumpZero
	if x.op == opEither {
		jump = opJumpNotZero
	}
	at := len(g.code)
	g.emit(instruction{op: jump, dst: dst, a: dst, b: zero})
	g.expr(x.b, dst)
	g.code[at].n = uint32(len(g.code))
}

func (g *generator) binary(x *Expr, dst uint8) {
	o, a, b := x.op, x.a, x.b
	if m, ok := o.mirrored(); ok && a.op == opConst {
		o, a, b = m, b, a
	}
	switch {
	case b.op == opConst:
		g.expr(a, dst)
		g.emit(instruction{op: o, dst: dst, a: dst, b: zero, imm: b.imm})
	case g.needs(a) >= g.needs(b):
		g.expr(a, dst)
		g.expr(b, dst+1)
		g.emit(instruction{op: o, dst: dst, a: dst, b: dst + 1})
	default:
		g.expr(b, dst)
		g.expr(a, dst+1)
		g.emit(instruction{op: o, dst: dst, a: dst + 1, b: dst})
	}
}

// thread lets jumps that lead to jumps on the same register lead to where those lead.
func (g *generator) thread() {
	for at := len(g.code) - 1; at >= 0; at-- {
		i := &g.code[at]
		if !i.op.isJump() || int(i.n) == len(g.code) {
			continue
		}
		switch to := g.code[i.n]; {
		case to.a != i.a:
		case to.op == i.op:
			i.n = to.n
		case to.op.isJump():
			i.n++
		}
	}
}

// String returns the code, one instruction a line. An input of fewer than 64 bits is followed by a
// colon and their number.
func (c *Code) String() string {
	var b strings.Builder
	for at := range c.code {
		i := &c.code[at]
		fmt.Fprintf(&b, "%d: ", at)
		switch {
		case i.op.isJump():
			fmt.Fprintf(&b, "%s r%d, %d\n", i.op, i.a, i.n)
		case i.op == opConst:
			fmt.Fprintf(&b, "r%d = %#x\n", i.dst, i.imm)
		case i.op.isLoad() && i.imm > 0:
			fmt.Fprintf(&b, "r%d = %s in%d:%d\n", i.dst, i.op, i.n, 64-i.imm)
		case i.op.isLoad():
			fmt.Fprintf(&b, "r%d = %s in%d\n", i.dst, i.op, i.n)
		case i.op.unary():
			fmt.Fprintf(&b, "r%d = %s r%d\n", i.dst, i.op, i.a)
		case i.immediate():
			fmt.Fprintf(&b, "r%d = %s r%d, %#x\n", i.dst, i.op, i.a, i.imm)
		default:
			fmt.Fprintf(&b, "r%d = %s r%d, r%d\n", i.dst, i.op, i.a, i.b)
		}
	}
	return b.String()
}
