package attempt

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// op is an operation that is understood.
type op uint8

const (
	opOther op = iota
	opExchange
	opCompareExchange
)

// operation is an atomic instruction.
type operation struct {
	op   op
	reg  insn.Reg // its register operand
	size int8
}

// operation decodes an atomic instruction: an exchange or a compare-and-exchange.
func (x *explorer) operation(in *insn.Inst) (operation, bool) {
	d, ok := x.decode(in)
	if !ok || in.NMem != 1 {
		return operation{}, false
	}
	var o operation
	switch d.Op {
	case x86asm.XCHG:
		o.op = opExchange
	case x86asm.CMPXCHG:
		o.op = opCompareExchange
	default:
		return operation{}, false
	}
	for _, a := range d.Args {
		if r, ok := a.(x86asm.Reg); ok {
			var known bool
			if o.reg, o.size, known = register(r); !known {
				return operation{}, false
			}
		}
	}
	return o, o.size > 0
}

// decode decodes an instruction with its operands.
func (x *explorer) decode(in *insn.Inst) (x86asm.Inst, bool) {
	bytes, err := x.code.Bytes(in.Addr, in.Len)
	if err != nil || len(bytes) != in.Len {
		return x86asm.Inst{}, false
	}
	d, err := x86asm.Decode(bytes, 64)
	return d, err == nil && d.Op != 0 && d.Len == in.Len
}

// register returns a general register by the name of its lower bytes; false if it is none.
func register(r x86asm.Reg) (reg insn.Reg, width int8, ok bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return insn.Reg(r - x86asm.AL), 1, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return insn.Reg(r-x86asm.SPB) + insn.RSP, 1, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return insn.Reg(r - x86asm.AX), 2, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return insn.Reg(r - x86asm.EAX), 4, true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return insn.Reg(r - x86asm.RAX), 8, true
	}
	return insn.NoReg, 0, false
}

// execute executes an instruction that is followed by the next one, and no atomic one. It returns false if it has an
// effect beyond registers and the frame, or uses what failures left.
func (x *explorer) execute(s *state, in *insn.Inst) bool {
	if in.Kind == insn.Nop {
		return true
	}
	if !in.Known || in.Repeats > 0 {
		return false
	}
	d, ok := x.decode(in)
	if !ok || !x.understand(s, in, &d) {
		return x.other(s, in)
	}
	return !s.used
}

// other executes an instruction of which only what it reads and writes is known.
func (x *explorer) other(s *state, in *insn.Inst) bool {
	s.used = false
	if s.taints(in.Reads) || in.SPChange != 0 || in.SPLost || in.StackWrite || in.Writes.Has(insn.RSP) {
		return false
	}
	for i := range in.NMem {
		one := *in
		one.Mem[0], one.NMem = in.Mem[i], 1
		at, known := s.place(&one)
		stack := known && at.stack(x.frame)
		switch {
		case in.Mem[i].Write && !stack && !x.after, in.Mem[i].Write && in.Mem[i].Size == 0:
			return false
		case in.Mem[i].Read && stack && s.load(at).kind == tainted:
			return false
		case in.Mem[i].Write && stack:
			s.store(at, value{})
		case known && at == x.word:
			x.looks[in.Addr] = true
		}
	}
	for r := range insn.Reg(numRegs) {
		if in.Writes.Has(r) {
			s.set(r, value{})
		}
	}
	if !in.KeepsFlags {
		s.zf, s.zfReg = maybeZero, insn.NoReg
	}
	return true
}

// read returns the value of an operand.
func (x *explorer) read(s *state, in *insn.Inst, d *x86asm.Inst, a x86asm.Arg) (v value, width int8, ok bool) {
	switch a := a.(type) {
	case x86asm.Imm:
		return value{kind: constant, width: 8, n: int64(a)}, 8, true
	case x86asm.Reg:
		r, width, known := register(a)
		if !known {
			return value{}, 0, false
		}
		v = s.regs[r]
		s.used = s.used || v.kind == tainted
		return v.truncate(width), width, true
	case x86asm.Mem:
		if in.NMem != 1 || in.Mem[0].Segment || in.Mem[0].Size > 8 || in.Mem[0].Size == 0 {
			return value{}, 0, false
		}
		width = int8(in.Mem[0].Size)
		at, known := s.place(in)
		switch {
		case !known:
		case at.stack(x.frame):
			v = s.load(at)
			s.used = s.used || v.kind == tainted
		case at == x.word && !x.after:
			x.looks[in.Addr] = true
		}
		if !known && s.taints(in.Reads) {
			s.used = true
		}
		return v, width, true
	}
	return value{}, 0, false
}

// write writes an operand. A register of four bytes is extended with zeroes.
func (x *explorer) write(s *state, in *insn.Inst, a x86asm.Arg, v value) bool {
	switch a := a.(type) {
	case x86asm.Reg:
		r, width, known := register(a)
		if !known {
			return false
		}
		if r == insn.RSP && v.kind != initial {
			return false
		}
		v = v.truncate(width)
		if width == 4 && v.kind == constant && v.width == 4 {
			v.width = 8
		}
		s.set(r, v)
		return true
	case x86asm.Mem:
		at, known := s.place(in)
		if !known || !at.stack(x.frame) {
			return x.after && !s.taints(in.Reads)
		}
		s.store(at, v)
		return true
	}
	return false
}

// understand executes an instruction whose result is computed. It returns false if it is not one of these.
func (x *explorer) understand(s *state, in *insn.Inst, d *x86asm.Inst) bool {
	s.used = false
	switch d.Op {
	case x86asm.MOV, x86asm.MOVZX:
		v, from, ok := x.read(s, in, d, d.Args[1])
		if d.Op == x86asm.MOVZX && v.kind != constant && v.kind != nonzero {
			v = value{kind: v.kind}
			if v.kind == initial || v.kind == content {
				v.kind = unknown
			}
		}
		switch {
		case d.Op != x86asm.MOVZX || v.kind != constant && v.kind != nonzero:
		case v.width >= from:
			v.n, v.width = cut(v.n, from), 8
		default:
			v = value{}
		}
		if r, isReg := d.Args[0].(x86asm.Reg); isReg && v.kind == nonzero {
			if _, width, _ := register(r); width < v.width {
				v.width = width
			}
		}
		return ok && x.write(s, in, d.Args[0], v)
	case x86asm.LEA:
		sum, v := in.Sum, value{}
		switch {
		case s.taints(in.Reads):
			s.used = true
		case sum.Const():
			v = value{kind: constant, width: 8, n: sum.Imm}
		case sum.Offset() && sum.Src < numRegs:
			v = s.regs[sum.Src].plus(sum.Imm)
		}
		return x.write(s, in, d.Args[0], v)
	case x86asm.TEST, x86asm.CMP:
		return x.compare(s, in, d)
	case x86asm.SETE, x86asm.SETNE:
		v := value{}
		if s.zf != maybeZero {
			v = value{kind: constant, width: 1}
			if (s.zf == isZero) == (d.Op == x86asm.SETE) {
				v.n = 1
			}
		}
		return x.write(s, in, d.Args[0], v)
	case x86asm.XOR, x86asm.AND, x86asm.ADD, x86asm.SUB, x86asm.OR:
		return x.compute(s, in, d)
	case x86asm.PUSH:
		v, _, ok := x.read(s, in, d, d.Args[0])
		s.used = false // it is popped again, or lost
		if _, isMem := d.Args[0].(x86asm.Mem); !ok || isMem || s.regs[insn.RSP].kind != initial {
			return false
		}
		s.push(v, x.frame)
		return true
	case x86asm.POP:
		r, isReg := d.Args[0].(x86asm.Reg)
		if !isReg || s.regs[insn.RSP].kind != initial {
			return false
		}
		v := s.pop(x.frame)
		return x.write(s, in, r, v)
	case x86asm.LEAVE:
		if s.regs[insn.RBP].kind != initial {
			return false
		}
		s.regs[insn.RSP] = s.regs[insn.RBP]
		s.set(insn.RBP, s.pop(x.frame))
		return true
	}
	return false
}

// compare executes a comparison.
func (x *explorer) compare(s *state, in *insn.Inst, d *x86asm.Inst) bool {
	a, width, ok := x.read(s, in, d, d.Args[0])
	b, _, ok2 := x.read(s, in, d, d.Args[1])
	if !ok || !ok2 || width == 0 {
		return false
	}
	s.zf, s.zfReg = maybeZero, insn.NoReg
	same := d.Args[0] == d.Args[1]
	switch {
	case d.Op == x86asm.TEST && same, d.Op == x86asm.CMP && b.is(0, width):
		s.zf = a.zero(width)
		if r, isReg := d.Args[0].(x86asm.Reg); isReg {
			s.zfReg, s.zfWidth, _ = register(r)
		}
	case a.kind != constant || b.kind != constant || a.width < width || b.width < width:
	case d.Op == x86asm.CMP:
		s.zf = isNonzero
		if cut(a.n, width) == cut(b.n, width) {
			s.zf = isZero
		}
	default:
		s.zf = isNonzero
		if cut(a.n&b.n, width) == 0 {
			s.zf = isZero
		}
	}
	return true
}

// compute executes an operation of arithmetic.
func (x *explorer) compute(s *state, in *insn.Inst, d *x86asm.Inst) bool {
	r, isReg := d.Args[0].(x86asm.Reg)
	if isReg && d.Op == x86asm.XOR && d.Args[0] == d.Args[1] {
		_, width, ok := register(r)
		s.zf, s.zfReg = isZero, insn.NoReg
		return ok && x.write(s, in, r, value{kind: constant, width: width})
	}
	a, width, ok := x.read(s, in, d, d.Args[0])
	b, _, ok2 := x.read(s, in, d, d.Args[1])
	if !ok || !ok2 || width == 0 {
		return false
	}
	v := value{}
	if isReg {
		if low, _, _ := register(r); s.regs[low].kind == constant && s.regs[low].width < width && b.kind == constant && b.width >= s.regs[low].width {
			a, width = s.regs[low], s.regs[low].width
			s.set(low, value{kind: constant, width: width, n: cut(arithmetic(d.Op, a.n, b.n), width)})
			s.zf, s.zfReg = maybeZero, insn.NoReg
			return true
		}
	}
	switch {
	case a.kind == constant && b.kind == constant && a.width >= width && b.width >= width:
		v = value{kind: constant, width: width, n: cut(arithmetic(d.Op, a.n, b.n), width)}
	case (a.kind == initial || a.kind == content) && width == 8 && b.kind == constant && (d.Op == x86asm.ADD || d.Op == x86asm.SUB):
		v = a.plus(arithmetic(d.Op, 0, b.n))
	}
	if !x.write(s, in, d.Args[0], v) {
		return false
	}
	s.zf, s.zfReg = v.zero(width), insn.NoReg
	return true
}

func arithmetic(o x86asm.Op, a, b int64) int64 {
	switch o {
	case x86asm.XOR:
		return a ^ b
	case x86asm.AND:
		return a & b
	case x86asm.OR:
		return a | b
	case x86asm.ADD:
		return a + b
	}
	return a - b
}
