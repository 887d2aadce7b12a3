package field

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/code"
	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Which element of an array an address is in does not matter, but it must be at the same member in
// each element: &jobs[i].mu is 8 bytes into some struct job if the value added to jobs is 8 plus a
// multiple of the structure's size. Compilers multiply by shifts, sums and lea, so a register may
// hold
//
//	scaled  an unknown number (identified by typ), times by, plus at
//
// The sum of two such values with the same unknown number is such a value again. With different
// unknown numbers it is unknown. The number is the one that the last execution of an instruction
// produced. If the instruction is executed again, the values made from the old number become
// unknown.

// maxScale bounds a factor, and therefore the size of an element, in bytes.
const maxScale = 1 << 20

// term is a value in a sum, multiplied by times.
type term struct {
	value
	times int64
}

// scaling returns the register and the value that result from an instruction that multiplies or
// adds registers; ok is false for other instructions. It applies only to a flow that is certain.
func (f *flow) scaling(s *state, in *insn.Inst) (dst insn.Reg, v value, ok bool) {
	if f.fresh == nil || !f.strict || f.arch != insn.AMD64 || !in.Known {
		return 0, value{}, false
	}
	code := f.bytes(in)
	if len(code) < 3 || code[0]&0xf8 != 0x48 { // operands of 64 bits
		return 0, value{}, false
	}
	rex, op, modrm := code[0], code[1], code[2]
	reg, rm := insn.Reg(modrm>>3&7|rex&4<<1), insn.Reg(modrm&7|rex&1<<3)
	direct := modrm >= 0xc0
	switch {
	case (op == 0x89 || op == 0x8b) && direct: // mov
		if op == 0x89 {
			reg, rm = rm, reg
		}
		v = f.get(s, rm, in.Addr)
		return reg, f.number(s, rm, in.Addr), v.kind == unknown || v.kind == scaled
	case op == 0xc1 && modrm>>3 == 0xc0>>3|4 && len(code) == 4 && code[3] < 20: // shl rm, imm8
		return rm, f.total(0, term{f.number(s, rm, in.Addr), 1 << code[3]}), true
	case op == 0xd1 && modrm>>3 == 0xc0>>3|4: // shl rm, 1
		return rm, f.total(0, term{f.number(s, rm, in.Addr), 2}), true
	case op == 0x6b && direct && len(code) == 4: // imul reg, rm, imm8
		return reg, f.total(0, term{f.number(s, rm, in.Addr), int64(int8(code[3]))}), true
	case op == 0x69 && direct && len(code) == 7: // imul reg, rm, imm32
		return reg, f.total(0, term{f.number(s, rm, in.Addr), int64(int32(binary.LittleEndian.Uint32(code[3:])))}), true
	case op == 0x01 && direct: // add rm, reg
		return rm, f.added(s, rm, reg, 1, in), true
	case op == 0x03 && direct: // add reg, rm
		return reg, f.added(s, reg, rm, 1, in), true
	case op == 0x29 && direct: // sub rm, reg
		return rm, f.added(s, rm, reg, -1, in), rm != reg
	case op == 0x2b && direct: // sub reg, rm
		return reg, f.added(s, reg, rm, -1, in), rm != reg
	case op == 0x03 && in.NMem == 1: // add reg, memory
		return reg, f.total(0, term{f.number(s, reg, in.Addr), 1}, term{f.declared(f.address(s, &in.Mem[0], in.Addr), in.Addr), 1}), true
	case op == 0x8d && !direct && modrm&7 == 4 && modrm>>6 != 3: // lea with an index
		return f.indexed(s, in, reg, code)
	}
	return 0, value{}, false
}

func (f *flow) added(s *state, a, b insn.Reg, times int64, in *insn.Inst) value {
	x := f.number(s, a, in.Addr)
	return f.total(0, term{x, 1}, term{f.number(s, b, in.Addr), times})
}

// indexed returns the value of a lea with a SIB byte (Intel's manual, volume 2, 2.1.5).
func (f *flow) indexed(s *state, in *insn.Inst, dst insn.Reg, code []byte) (insn.Reg, value, bool) {
	rex, mod, sib := code[0], code[2]>>6, code[3]
	scale := int64(1) << (sib >> 6)
	base, index := insn.Reg(sib&7|rex&1<<3), insn.Reg(sib>>3&7|rex&2<<2)
	if index == f.sp || in.Derived.Dst != dst {
		return 0, value{}, false // no index, or an ordinary sum
	}
	terms := []term{{f.number(s, index, in.Addr), scale}}
	if sib&7 != 5 || mod != 0 {
		terms = append(terms, term{f.number(s, base, in.Addr), 1})
	}
	return dst, f.total(in.Derived.Imm, terms...), true
}

// number returns the value of a register as an operand of arithmetic. An unknown value becomes a
// new unknown number.
func (f *flow) number(s *state, r insn.Reg, pc uint64) value {
	v := f.get(s, r, pc)
	switch {
	case v.kind == unknown:
		x := f.fresh(pc<<5 | 1<<63 | uint64(r))
		s.forget(x)
		v = value{kind: scaled, typ: x, by: 1}
		s.regs[r] = v
	case v.kind == object && isUnknown(v.typ):
		return value{kind: scaled, typ: v.typ, by: 1, at: v.at}
	}
	return v
}

// forget marks as unknown the values made from a number that is about to change.
func (s *state) forget(number *dw.Type) {
	for r := range s.regs {
		if s.regs[r].kind == scaled && s.regs[r].typ == number {
			s.regs[r] = value{kind: unknown}
		}
	}
	s.spills = s.spills.Filter(func(w *code.Word[value]) bool { return w.Value.kind != scaled || w.Value.typ != number })
}

// total returns the sum of the terms and a constant.
func (f *flow) total(add int64, terms ...term) value {
	base, sum := value{}, value{kind: scaled, at: add}
	var factors []int64
	for _, t := range terms {
		switch {
		case t.kind == object && t.times == 1 && base.kind == none && t.typ != nil && !isUnknown(t.typ):
			base = t.value
		case t.kind == scaled && t.times != 0 && abs(t.times) < maxScale && abs(t.by) < maxScale && abs(t.at) < maxAway:
			by := t.by * t.times
			factors = append(factors, by)
			sum.at += t.at * t.times
			if sum.typ != nil && sum.typ != t.typ {
				sum.kind = unknown // of two unknown numbers: only an address can result
			}
			sum.typ, sum.by = t.typ, sum.by+by
		default:
			return value{kind: unknown}
		}
	}
	if base.kind == object {
		return f.elementOf(base, sum.at, factors)
	}
	if sum.kind == unknown || sum.typ == nil || abs(sum.by) >= maxScale || abs(sum.at) >= maxAway {
		return value{kind: unknown}
	}
	return sum
}

// elementOf returns the address that is add bytes plus multiples of factors away from base.
func (f *flow) elementOf(base value, add int64, factors []int64) value {
	base.at += add
	if abs(base.at) > maxAway {
		return value{kind: unknown}
	}
	size, next := base.typ.Size(), len(factors) > 0
	for _, by := range factors {
		if size > 0 && by%size == 0 {
			continue
		}
		next = false
		stride := int64(0)
		if base.at >= 0 && base.at < size {
			stride = f.p.db.locate(base.typ, base.at).stride
		}
		if stride <= 0 || by%stride != 0 {
			return value{kind: unknown}
		}
	}
	if next { // it leads to any element: the first one represents all
		base.at = (base.at%size + size) % size
	}
	return base
}

func abs(n int64) int64 { return max(n, -n) }
