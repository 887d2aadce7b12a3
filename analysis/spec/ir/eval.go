package ir

import (
	"math"
)

// Eval computes the expression from the bits of its inputs, of which there are at least Inputs.
// It returns 0 and false if a division by zero leaves the expression without a value. It retains
// and allocates nothing.
func (c *Code) Eval(in []uint64) (uint64, bool) {
	var r [registers]uint64
	code := c.code
	for pc := 0; pc < len(code); pc++ {
		i := &code[pc]
		a, b := r[i.a%registers], r[i.b%registers]+i.imm
		var v uint64
		switch i.op {
		case opConst:
			v = b
		case opLoad:
			v = in[i.n]
		case opLoadI:
			v = uint64(int64(in[i.n]<<(b&63)) >> (b & 63))
		case opLoadU:
			v = in[i.n] << (b & 63) >> (b & 63)
		case opLoadBool:
			v = one(in[i.n]<<(b&63) != 0)
		case opLoadF:
			v = math.Float64bits(float64(math.Float32frombits(uint32(in[i.n]))))
		case opAdd:
			v = a + b
		case opSub:
			v = a - b
		case opMul:
			v = a * b
		case opDivI, opDivU, opModI, opModU, opDivF:
			var ok bool
			if v, ok = divide(i.op, a, b); !ok {
				return 0, false
			}
		case opAnd:
			v = a & b
		case opOr:
			v = a | b
		case opXor:
			v = a ^ b
		case opShl:
			v = a << b
		case opShrI:
			v = uint64(int64(a) >> b)
		case opShrU:
			v = a >> b
		case opNegate:
			v = -a
		case opComplement:
			v = ^a
		case opEq:
			v = one(a == b)
		case opNe:
			v = one(a != b)
		case opLtI:
			v = one(int64(a) < int64(b))
		case opLeI:
			v = one(int64(a) <= int64(b))
		case opGtI:
			v = one(int64(a) > int64(b))
		case opGeI:
			v = one(int64(a) >= int64(b))
		case opLtU:
			v = one(a < b)
		case opLeU:
			v = one(a <= b)
		case opGtU:
			v = one(a > b)
		case opGeU:
			v = one(a >= b)
		case opJumpZero:
			if a == 0 {
				pc = int(i.n) - 1
			}
			continue
		case opJumpNotZero:
			if a != 0 {
				pc = int(i.n) - 1
			}
			continue
		case opEqM, opNeM, opLtM, opLeM, opGtM, opGeM:
			v = mixed(i.op, a, b)
		case opAddF:
			v = math.Float64bits(math.Float64frombits(a) + math.Float64frombits(b))
		case opSubF:
			v = math.Float64bits(math.Float64frombits(a) - math.Float64frombits(b))
		case opMulF:
			v = math.Float64bits(math.Float64frombits(a) * math.Float64frombits(b))
		case opNegateF:
			v = a ^ 1<<63
		case opFloatI:
			v = math.Float64bits(float64(int64(a)))
		case opFloatU:
			v = math.Float64bits(float64(a))
		default:
			v = compareFloats(i.op, math.Float64frombits(a), math.Float64frombits(b))
		}
		r[i.dst%registers] = v
	}
	return r[0], true
}

// divide computes a division or a remainder; false if the divisor is 0.
func divide(o op, a, b uint64) (uint64, bool) {
	if o == opDivF {
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		return math.Float64bits(x / y), y != 0
	}
	if b == 0 {
		return 0, false
	}
	switch o {
	case opDivI:
		return uint64(int64(a) / int64(b)), true
	case opModI:
		return uint64(int64(a) % int64(b)), true
	case opModU:
		return a % b, true
	}
	return a / b, true
}

// compareFloats computes a comparison of floats.
func compareFloats(o op, x, y float64) uint64 {
	switch o {
	case opEqF:
		return one(x == y)
	case opNeF:
		return one(x != y)
	case opLtF:
		return one(x < y)
	case opLeF:
		return one(x <= y)
	case opGtF:
		return one(x > y)
	}
	return one(x >= y)
}

// mixed compares an Int with a Uint.
func mixed(o op, a, b uint64) uint64 {
	negative := a >> 63
	switch o {
	case opEqM:
		return one(a == b) &^ negative
	case opNeM:
		return one(a != b) | negative
	case opLtM:
		return one(a < b) | negative
	case opLeM:
		return one(a <= b) | negative
	case opGtM:
		return one(a > b) &^ negative
	}
	return one(a >= b) &^ negative
}
