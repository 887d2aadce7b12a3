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
		switch i.op { // All calls are inlined, so that variables stay in registers of the machine.
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
			v = floatBits(float64(math.Float32frombits(uint32(in[i.n]))))
		case opAdd:
			v = a + b
		case opSub:
			v = a - b
		case opMul:
			v = a * b
		case opDivI:
			if b == 0 {
				return 0, false
			}
			v = uint64(int64(a) / int64(b))
		case opDivU:
			if b == 0 {
				return 0, false
			}
			v = a / b
		case opModI:
			if b == 0 {
				return 0, false
			}
			v = uint64(int64(a) % int64(b))
		case opModU:
			if b == 0 {
				return 0, false
			}
			v = a % b
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
		case opAddF:
			v = floatBits(float(a) + float(b))
		case opSubF:
			v = floatBits(float(a) - float(b))
		case opMulF:
			v = floatBits(float(a) * float(b))
		case opDivF:
			if float(b) == 0 {
				return 0, false
			}
			v = floatBits(float(a) / float(b))
		case opNegateF:
			v = a ^ 1<<63
		case opFloatI:
			v = floatBits(float64(int64(a)))
		case opFloatU:
			v = floatBits(float64(a))
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
		case opEqM: // A negative Int is less than any Uint.
			v = one(a == b) &^ (a >> 63)
		case opNeM:
			v = one(a != b) | a>>63
		case opLtM:
			v = one(a < b) | a>>63
		case opLeM:
			v = one(a <= b) | a>>63
		case opGtM:
			v = one(a > b) &^ (a >> 63)
		case opGeM:
			v = one(a >= b) &^ (a >> 63)
		case opEqF:
			v = one(float(a) == float(b))
		case opNeF:
			v = one(float(a) != float(b))
		case opLtF:
			v = one(float(a) < float(b))
		case opLeF:
			v = one(float(a) <= float(b))
		case opGtF:
			v = one(float(a) > float(b))
		case opGeF:
			v = one(float(a) >= float(b))
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
		}
		r[i.dst%registers] = v
	}
	return r[0], true
}

// float returns the Float that has these bits.
func float(bits uint64) float64 { return math.Float64frombits(bits) }

// floatBits returns the bits of a Float.
func floatBits(v float64) uint64 { return math.Float64bits(v) }
