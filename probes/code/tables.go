package code

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file finds the targets of indirect jumps. The straight line before a jump is evaluated over
// a small lattice: a register holds a constant, a table entry loaded from a constant address, or
// such an entry plus the table's own address, as gcc and clang compile a switch:
//
// 	lea    table(%rip),%rdx        %rdx = c
// 	movslq (%rdx,%rax,4),%rax      %rax = entry of c
// 	add    %rdx,%rax               %rax = target of c
// 	jmp    *%rax
//
// or jmp *table(,%rax,8) where code is not position-independent. The length of the table does not
// matter: the table is read until an entry points to no instruction, which yields all of its targets and
// perhaps a few more. Small numbers behind a table are such entries: they point into the executable
// sections, but as often as not inside of instructions.

// JumpKind is the kind of an indirect jump, by its targets.
type JumpKind uint8

// The kinds.
const (
	JumpUnknown JumpKind = iota
	JumpTable            // within the function, to known targets
	JumpAway             // to another file, through a slot that the dynamic linker fills
	JumpMarked           // to another function, or to endbr64 in this one
)

// maxTable bounds the number of entries of a table.
const maxTable = 1 << 16

type valueKind uint8

const (
	unknownValue valueKind = iota
	constant
	entry4 // a 32-bit entry of the table at addr
	entry8 // a 64-bit entry
	target // addr + its 32-bit entry
)

type value struct {
	kind valueKind
	addr uint64
}

type registers [32]value

// IndirectJump returns the targets of the indirect jump at addr, which lies in e (nil: in no
// extent), and its kind. It returns all targets of a jump table, and perhaps a few more; for the
// other kinds it returns none.
func (im *Image) IndirectJump(addr uint64, e *Extent) ([]uint64, JumpKind) {
	from := addr
	if e != nil {
		var before lastFew
		im.Sweep(e.Range, func(in *insn.Inst) bool {
			if in.Addr < addr {
				before.add(in.Addr)
			}
			return in.Addr < addr
		})
		if im.Work != 0 {
			from = before.first(addr)
		}
	}
	return im.resolve(from, addr, e)
}

// resolve does the work of IndirectJump for the jump at the address at. It evaluates the
// instructions from the address from on.
func (im *Image) resolve(from, at uint64, e *Extent) ([]uint64, JumpKind) {
	in, err := im.Decode(at)
	if err != nil {
		return nil, JumpUnknown
	}
	if in.NMem == 1 && in.Mem[0].Fixed && in.Known {
		return nil, JumpAway
	}
	if to, ok := im.table(im.evaluate(from, at, &registers{}), &in); ok {
		return to, JumpTable
	}
	if to, ok := im.table(im.evaluate(from, at, im.kept(e)), &in); ok {
		return to, JumpTable
	}
	if e != nil && e.marked && !im.isNotrack(at) {
		return nil, JumpMarked
	}
	return nil, JumpUnknown
}

// isNotrack reports whether the jump at the address at has the notrack prefix, 3e, or cannot be
// read.
func (im *Image) isNotrack(at uint64) bool {
	b, err := im.Bytes(at, 3)
	for i := 0; err == nil && i < len(b); i++ {
		if b[i] == 0x3e {
			return true
		}
	}
	return err != nil
}

// kept returns the registers that have one value in all of a function: those that calls preserve, and that the
// function sets to one constant and otherwise only restores by pop. So compilers keep the address of a table
// where a loop goes through it:
//
//	lea    table(%rip),%rbx
//	...
//	movslq (%rbx,%rax,4),%rax
//	add    %rbx,%rax
//	jmp    *%rax
func (im *Image) kept(e *Extent) *registers {
	var regs registers
	if e == nil || im.arch != insn.AMD64 {
		return &regs
	}
	if known, ok := im.registers[e.Lo]; ok {
		return known
	}
	var other insn.RegSet // registers that have other values, too
	whole := im.Sweep(e.Range, func(in *insn.Inst) bool {
		if !in.Known {
			return false
		}
		for _, r := range preserved {
			v := value{constant, uint64(in.Sum.Imm)}
			switch {
			case !in.Writes.Has(r), im.pops(in, r):
			case in.Sum.Const() && in.Sum.Dst == r && (regs[r].kind == unknownValue || regs[r] == v):
				regs[r] = v
			default:
				other = other.With(r)
			}
		}
		return true
	})
	for _, r := range preserved {
		if !whole || other.Has(r) {
			regs[r] = value{}
		}
	}
	if im.registers == nil {
		im.registers = map[uint64]*registers{}
	}
	im.registers[e.Lo] = &regs
	return &regs
}

// preserved are the registers that calls preserve.
var preserved = [...]insn.Reg{insn.RBX, insn.RBP, insn.R12, insn.R13, insn.R14, insn.R15}

// pops reports whether an instruction is pop of a register.
func (im *Image) pops(in *insn.Inst, r insn.Reg) bool {
	return in.SPChange == 8 && in.Writes == insn.RegSet(0).With(r).With(insn.RSP)
}

// evaluate evaluates the straight line from..at; at a landing no more is known of any register than at the beginning.
func (im *Image) evaluate(from, at uint64, begin *registers) *registers {
	regs := *begin
	for pc := from; pc < at; {
		in, err := im.Decode(pc)
		if err != nil {
			return begin
		}
		if im.landings.Has(pc) {
			regs = *begin
		}
		im.step(&regs, &in, begin)
		pc += uint64(in.Len)
	}
	if im.landings.Has(at) {
		return begin
	}
	return &regs
}

// step evaluates an instruction. Behind one that is not modelled, no more is known than at the beginning.
func (im *Image) step(regs *registers, in *insn.Inst, begin *registers) {
	switch in.Kind {
	case insn.Plain, insn.Nop, insn.Push, insn.CondJump:
	default:
		*regs = *begin
		return
	}
	if !in.Known {
		*regs = *begin
		return
	}
	dst, v := im.result(regs, in)
	for r := insn.Reg(0); r < 32; r++ {
		if in.Writes.Has(r) {
			regs[r] = value{}
		}
	}
	if dst != insn.NoReg {
		regs[dst] = v
	}
}

// result returns the register that the instruction sets to a value of the lattice, and that value;
// NoReg if there is none.
func (im *Image) result(regs *registers, in *insn.Inst) (insn.Reg, value) {
	s := in.Sum
	switch {
	case s.Const():
		return s.Dst, value{constant, uint64(s.Imm)}
	case s.Offset() && s.Imm == 0:
		return s.Dst, regs[s.Src]
	case s.Dst != insn.NoReg && s.Add != insn.NoReg && s.Imm == 0:
		return s.Dst, add(regs[s.Src], regs[s.Add])
	case in.NMem == 1 && in.Mem[0].Read && !in.Mem[0].Write && in.ValueReg != insn.NoReg:
		return in.ValueReg, load(regs, &in.Mem[0])
	case in.NMem == 0 && im.signExtends(in.Addr):
		if r := in.Writes.Only(); r != insn.NoReg && in.Reads == in.Writes && regs[r].kind == entry4 {
			return r, regs[r]
		}
	}
	return insn.NoReg, value{}
}

// signExtends reports whether the instruction at addr is cltq or movslq between registers.
func (im *Image) signExtends(addr uint64) bool {
	b, err := im.Bytes(addr, 3)
	return err == nil && len(b) == 3 && im.arch == insn.AMD64 && b[0]&0xf8 == 0x48 && (b[1] == 0x98 || b[1] == 0x63)
}

func add(a, b value) value {
	if a.kind == entry4 {
		a, b = b, a
	}
	if a.kind == constant && b.kind == entry4 && a.addr == b.addr {
		return value{target, a.addr}
	}
	return value{}
}

// load returns the value loaded from m: an entry if the table's address is known.
func load(regs *registers, m *insn.Mem) value {
	at, ok := tableAt(regs, m)
	switch {
	case !ok:
	case m.Size == 4:
		return value{entry4, at}
	case m.Size == 8:
		return value{entry8, at}
	}
	return value{}
}

// tableAt returns the constant part of an address that has one unknown register; false if there is
// none.
func tableAt(regs *registers, m *insn.Mem) (uint64, bool) {
	if m.Segment || m.Fixed {
		return 0, false
	}
	base, index := known(regs, m.Base), known(regs, m.Index)
	switch {
	case m.Base == insn.NoReg && int(m.Scale) == m.Size:
		return uint64(m.Disp), true
	case base != nil && m.Index != insn.NoReg:
		return *base + uint64(m.Disp), true
	case index != nil && m.Base != insn.NoReg && m.Scale == 1:
		return *index + uint64(m.Disp), true
	}
	return 0, false
}

func known(regs *registers, r insn.Reg) *uint64 {
	if r < 32 && regs[r].kind == constant {
		return &regs[r].addr
	}
	return nil
}

// table returns the entries of the table through which an indirect jump goes; false if it finds
// none.
func (im *Image) table(regs *registers, in *insn.Inst) ([]uint64, bool) {
	if !in.Known || im.arch != insn.AMD64 {
		return nil, false
	}
	if in.NMem == 1 {
		if at, ok := tableAt(regs, &in.Mem[0]); ok && in.Mem[0].Size == 8 {
			return im.readTable(at, 8, 0)
		}
		return nil, false
	}
	r := in.Reads.Only()
	if r == insn.NoReg {
		return nil, false
	}
	switch v := regs[r]; v.kind {
	case target:
		return im.readTable(v.addr, 4, v.addr)
	case entry8:
		return im.readTable(v.addr, 8, 0)
	}
	return nil, false
}

// insideInstruction reports whether an address is certainly not the first of an instruction: it lies in an extent
// that decodes to its end.
func (im *Image) insideInstruction(addr uint64) bool {
	if im.landings == nil || im.landings.begins.has(addr) {
		return false
	}
	e := im.ExtentAt(addr)
	return e != nil && !e.Untiled
}

// entries returns the bytes of the first entries of a table; fewer than size if it cannot.
func (im *Image) entries(at uint64, size int) []byte {
	const several = 32
	if b, err := im.source.Bytes(at, several*size); err == nil {
		return b
	}
	b, _ := im.source.Bytes(at, size) // the file may end early
	return b
}

// readTable returns the targets in a table: entries of size bytes, added to base, until one does not
// point to an instruction in an executable section. It returns false if there are none or too many.
func (im *Image) readTable(at uint64, size int, base uint64) ([]uint64, bool) {
	var out []uint64
	var b []byte
	for ; len(out) < maxTable; b = b[size:] {
		if im.TableEntries == 0 {
			return nil, false
		}
		im.TableEntries--
		if len(b) < size {
			if b = im.entries(at+uint64(len(out)*size), size); len(b) < size {
				break
			}
		}
		to := base
		if size == 4 {
			to += uint64(int64(int32(binary.LittleEndian.Uint32(b))))
		} else {
			to += binary.LittleEndian.Uint64(b)
		}
		if _, ok := im.section(to); !ok || im.insideInstruction(to) {
			break
		}
		out = append(out, to)
	}
	return out, len(out) > 0 && len(out) < maxTable
}
