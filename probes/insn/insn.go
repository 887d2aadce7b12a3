// Package insn decodes machine instructions into what probes need: length, how control leaves them,
// which registers and memory they read and write, and whether the kernel can emulate them under a
// uprobe. It decodes by tables of its own: golang.org/x/arch decodes some instructions wrongly or
// not at all (endbr64; arm64's LSE atomics), so that module only formats instructions for people,
// in Format, and is an oracle for the tests. Where Decode is not sure it returns an instruction
// with Known false, and a proof about code that contains such an instruction must stop there.
package insn

import (
	"fmt"
	"math/bits"
)

// Arch is a machine architecture.
type Arch uint8

// The architectures that probes can be placed on.
const (
	ArchUnknown Arch = iota
	AMD64
	ARM64
)

// String returns the name as Go and Debian spell it.
func (a Arch) String() string {
	switch a {
	case AMD64:
		return "amd64"
	case ARM64:
		return "arm64"
	}
	return "unknown"
}

// Reg is a general-purpose register by its hardware number (AMD64: rax 0, rcx
// 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 to r15; ARM64: x0 to x30,
// 31 is sp).
type Reg uint8

// NoReg means that there is no register.
const NoReg Reg = 0xff

// RegSet is a set of general-purpose registers, bit n for register n. Flags
// and vector registers are not in it: no probe reads them.
type RegSet uint64

// Has reports whether the set contains r.
func (s RegSet) Has(r Reg) bool { return r < 64 && s&(1<<r) != 0 }

// With returns the set with r added.
func (s RegSet) With(r Reg) RegSet {
	if r >= 64 {
		return s
	}
	return s | 1<<r
}

// Only returns the register of a set that has exactly one, NoReg for other sets.
func (s RegSet) Only() Reg {
	if bits.OnesCount64(uint64(s)) != 1 {
		return NoReg
	}
	return Reg(bits.TrailingZeros64(uint64(s)))
}

// Kind says how control leaves an instruction.
type Kind uint8

// The kinds.
const (
	Plain        Kind = iota // falls through
	Nop                      // falls through and has no effect
	Push                     // AMD64 push of a 64-bit general register
	Jump                     // unconditional, direct
	CondJump                 // conditional, direct
	IndirectJump             // target in a register or in memory
	Call                     // direct
	IndirectCall
	Return
	Syscall // enters the kernel and falls through
	Stop    // does not continue: hlt, ud2, int3, brk
)

// Branches reports whether the instruction is a direct jump, with or without a
// condition.
func (k Kind) Branches() bool { return k == Jump || k == CondJump }

// Calls reports whether the instruction is a call.
func (k Kind) Calls() bool { return k == Call || k == IndirectCall }

// FallsThrough reports whether control may go on at the next instruction; for a call, once it
// returns.
func (k Kind) FallsThrough() bool {
	switch k {
	case Jump, IndirectJump, Return, Stop:
		return false
	}
	return true
}

// Straight reports whether control always goes on at the next instruction and executes no other
// code in between.
func (k Kind) Straight() bool { return k == Plain || k == Nop || k == Push }

// Mem is a memory operand.
type Mem struct {
	Base, Index Reg // NoReg if absent, and in PC-relative operands
	Scale       uint8
	Disp        int64
	// Fixed is true if the address does not depend on registers (PC-relative
	// or absolute); Addr is then the address.
	Fixed   bool
	Addr    uint64
	Segment bool // relative to fs or gs, which is thread-local
	Size    int  // bytes; 0 if unknown
	Read    bool
	Write   bool
}

// Inst is one decoded instruction.
type Inst struct {
	Addr   uint64
	Len    int
	Kind   Kind
	Target uint64 // of Jump, CondJump, Call
	// Cond, for a CondJump of AMD64 that tests the flags (jcc), is one more than its condition code,
	// the low four bits of its opcode; 0 for other instructions.
	Cond uint8
	// Known is false if the effects of the instruction are not known, because this package does not
	// model it. Length and control flow are right then, and Reads, Writes and Mem are empty, except
	// that Mem may have an operand at a fixed address.
	Known         bool
	Reads, Writes RegSet
	Mem           [2]Mem // memory operands, stack pushes and pops excluded
	NMem          int
	StackWrite    bool // writes memory at or below its new stack pointer (push, call)
	Locked        bool // atomic read-modify-write, or a fence
	// Emulated means that the kernel emulates this instruction under a uprobe instead of stepping a
	// copy of it out of line, at about a twentieth of the cost.
	Emulated bool
	// ValueReg, HasImm and ValueImm describe the stored value of an instruction that only stores
	// (mov to memory): ValueReg is its general register, or NoReg if there is none; if HasImm, the
	// value is the constant ValueImm. For an instruction that only loads a general register,
	// ValueReg is that register.
	ValueReg Reg
	HasImm   bool
	ValueImm uint64
	// Sum, if Sum.Dst is not NoReg, means that the only effect on general registers is Dst = Src +
	// Add + Imm in 64 bits, where NoReg stands for 0. It covers mov and lea, add and sub of
	// constants, add of a register, ADR and ADRP.
	Sum Sum
	// Derived, if Derived.Dst is not NoReg and Sum is not set, means that the whole new value of Dst
	// is computed from registers, and perhaps from memory, so that it may be an address if one of
	// them is (add, sub, and, or, xor, cmov, lea with an index).
	Derived Derived
	// Repeats is the size in bytes of the elements that a string instruction with a repeat prefix
	// accesses, at ascending addresses unless an instruction before it Descends; RCX has their number. 0 for other instructions.
	Repeats int
	// Descends means that string instructions access descending addresses from here on (std).
	Descends bool
	// BitIndex is the register of the bit number of a bit test whose memory operand is only the
	// start of a string of bits, and BitWord is the operand's size in bytes; NoReg and 0 for other
	// instructions.
	BitIndex Reg
	BitWord  int
	// WritesIf, for a compare-and-exchange, is one more than the code of the condition (see Cond)
	// that the flags meet afterwards if it has written its memory operand. Otherwise it has only
	// read the operand, and RAX holds what it read, in as many bytes as the operand has. 0 for other
	// instructions.
	WritesIf uint8
	// KeepsFlags means that the instruction certainly does not change the flags.
	KeepsFlags bool
	// Tests means that the instruction only sets flags (cmp, test, bt): the values that it reads go
	// nowhere else.
	Tests bool
	// SPChange is the number of bytes that the instruction adds to the stack pointer when it falls
	// through (push -8, pop +8; 0 for a call, which returns). SPLost is true if it changes the stack
	// pointer by an amount that is not known here.
	SPChange int64
	SPLost   bool
	// Refused means that the kernel accepts no uprobe here (a lock or segment prefix, an opcode
	// missing from its table) or would execute the instruction wrongly under one (VEX, see
	// x86kernel.go). No probe may sit here.
	Refused bool
	// RedZone means that a uprobe here overwrites stack just below the stack pointer, which a leaf
	// function may be using (Linux 6.18 turns a nop of 5 bytes into a call). A probe may sit here
	// only where a function begins.
	RedZone bool
}

// End returns the address just after the instruction.
func (in *Inst) End() uint64 { return in.Addr + uint64(in.Len) }

// Next returns the addresses at which control may go on, as far as the instruction encodes them: a
// direct jump's target, then the next instruction if it falls through. For an indirect jump it
// returns none.
func (in *Inst) Next() []uint64 {
	switch {
	case !in.Kind.Branches() && in.Kind.FallsThrough():
		return []uint64{in.End()}
	case in.Kind == CondJump:
		return []uint64{in.Target, in.End()}
	case in.Kind == Jump:
		return []uint64{in.Target}
	}
	return nil
}

// Sum is a register's new value as a sum of old ones: Dst = Src + Add + Imm.
type Sum struct {
	Dst, Src, Add Reg
	Imm           int64
}

// Const reports whether the sum sets Dst to the constant Imm.
func (s Sum) Const() bool { return s.Dst != NoReg && s.Src == NoReg && s.Add == NoReg }

// Offset reports whether the sum sets Dst to Src plus the constant Imm.
func (s Sum) Offset() bool { return s.Dst != NoReg && s.Src != NoReg && s.Add == NoReg }

// Derived describes what a register's new value is computed from.
type Derived struct {
	Dst   Reg
	From  RegSet // the registers through which Dst may become an address
	Minus RegSet // the registers that are subtracted: the difference of two addresses is no address
	Imm   int64  // the displacement that lea adds
}

var noDerived = Derived{Dst: NoReg}

var noSum = Sum{Dst: NoReg, Src: NoReg, Add: NoReg}

// SP returns the number of the stack pointer, NoReg for an unknown architecture.
func (a Arch) SP() Reg {
	switch a {
	case AMD64:
		return RSP
	case ARM64:
		return 31
	}
	return NoReg
}

// MaxLen returns the length of the longest instruction of the architecture in bytes.
func (a Arch) MaxLen() int {
	if a == ARM64 {
		return 4
	}
	return 15
}

// Decode decodes the first instruction of code, which lies at addr. It fails with an *Error if the
// bytes are cut short or are no instruction; if only the length is certain it succeeds with Known
// false.
func Decode(arch Arch, code []byte, addr uint64) (Inst, error) {
	switch arch {
	case AMD64:
		return decodeX86(code, addr)
	case ARM64:
		return decodeARM(code, addr)
	}
	return Inst{}, &Error{addr, "unknown architecture"}
}

// Unknown returns an instruction of which only the length, n bytes, is known.
func Unknown(addr uint64, n int) Inst {
	return Inst{Addr: addr, Len: n, ValueReg: NoReg, Sum: noSum, Derived: noDerived, BitIndex: NoReg}
}

// Error reports an instruction that cannot be decoded.
type Error struct {
	Addr   uint64
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("decode at 0x%x: %s", e.Addr, e.Reason) }
