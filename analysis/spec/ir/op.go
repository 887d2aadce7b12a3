package ir

import "math"

// op is an operation of expressions and of instructions.
type op uint8

// The operations. Each has one type: the suffixes I, U and F stand for Int, Uint and Float, M
// (mixed) for the comparison of an Int, on the left, with a Uint. Operations without suffix are
// the same for Int and Uint.
const (
	opConst    op = iota // the immediate value
	opLoad               // an input, as it is
	opLoadI              // an input, shifted left by the immediate value and right with its sign
	opLoadU              // an input, shifted left by the immediate value and right
	opLoadBool           // 1 if an input, shifted left by the immediate value, is not 0
	opLoadF              // an input that is a float of 32 bits

	opAdd
	opSub
	opMul
	opDivI
	opDivU
	opModI
	opModU
	opAnd
	opOr
	opXor
	opShl
	opShrI
	opShrU
	opNegate
	opComplement

	opAddF
	opSubF
	opMulF
	opDivF
	opNegateF
	opFloatI // the Float nearest to an Int
	opFloatU // the Float nearest to a Uint

	opEq
	opNe
	opLtI
	opLeI
	opGtI
	opGeI
	opLtU
	opLeU
	opGtU
	opGeU
	opEqM
	opNeM
	opLtM
	opLeM
	opGtM
	opGeM
	opEqF
	opNeF
	opLtF
	opLeF
	opGtF
	opGeF

	opJumpZero    // continues at n if a is 0
	opJumpNotZero // continues at n if a is not 0

	opBoth    // of expressions alone: the second operand if the first is true, else false
	opEither  // of expressions alone: true if the first operand is, else the second
	opConvert // of expressions alone: the same bits as another type
)

var opNames = [...]string{
	"const", "load", "load.i", "load.u", "load.bool", "load.f",
	"add", "sub", "mul", "div.i", "div.u", "mod.i", "mod.u", "and", "or", "xor", "shl", "shr.i", "shr.u", "neg", "not",
	"add.f", "sub.f", "mul.f", "div.f", "neg.f", "float.i", "float.u",
	"eq", "ne", "lt.i", "le.i", "gt.i", "ge.i", "lt.u", "le.u", "gt.u", "ge.u", "eq.m", "ne.m", "lt.m", "le.m", "gt.m", "ge.m",
	"eq.f", "ne.f", "lt.f", "le.f", "gt.f", "ge.f",
	"jz", "jnz", "both", "either", "convert",
}

func (o op) String() string { return opNames[o] }

// isLoad reports whether the operation reads an input.
func (o op) isLoad() bool { return opLoad <= o && o <= opLoadF }

// isFloat reports whether the operation computes with floats.
func (o op) isFloat() bool {
	return o == opLoadF || opAddF <= o && o <= opFloatU || opEqF <= o && o <= opGeF
}

// mirrored returns the operation that computes the same with its operands exchanged; false if
// there is none.
func (o op) mirrored() (op, bool) {
	switch o {
	case opAdd, opMul, opAnd, opOr, opXor, opEq, opNe:
		return o, true
	case opLtI, opLtU:
		return o + (opGtI - opLtI), true
	case opLeI, opLeU:
		return o + (opGeI - opLeI), true
	case opGtI, opGtU:
		return o - (opGtI - opLtI), true
	case opGeI, opGeU:
		return o - (opGeI - opLeI), true
	}
	return o, false
}

// read computes a load: it returns the value of an input.
func read(o op, bits, shift uint64) uint64 {
	switch o {
	case opLoadI:
		return uint64(int64(bits<<shift) >> shift)
	case opLoadU:
		return bits << shift >> shift
	case opLoadBool:
		return one(bits<<shift != 0)
	case opLoadF:
		return math.Float64bits(float64(math.Float32frombits(uint32(bits))))
	}
	return bits
}

// one returns a truth value as a number.
func one(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// isJump reports whether the operation is a jump.
func (o op) isJump() bool { return o == opJumpZero || o == opJumpNotZero }

// unary reports whether the operation has one operand, which is a register.
func (o op) unary() bool {
	return o == opNegate || o == opComplement || o == opNegateF || o == opFloatI || o == opFloatU
}
