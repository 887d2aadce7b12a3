// Package insn decodes machine instructions into what probes need to know of
// them: length, how control leaves them, which registers and memory they read
// and write, and whether the kernel can emulate them under a uprobe. It decodes by
// tables of its own: golang.org/x/arch answers some instructions wrongly or not at
// all (endbr64; arm64's LSE atomics), so that package only spells instructions for
// people, in Format, and serves the tests as an oracle. Where Decode is not sure it
// returns an instruction with Known false, which stops every argument about the code.
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

// NoReg is the absence of a register.
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

// Only returns the register of a set of one, NoReg for other sets.
func (s RegSet) Only() Reg {
	if bits.OnesCount64(uint64(s)) != 1 {
		return NoReg
	}
	return Reg(bits.TrailingZeros64(uint64(s)))
}

// Kind is how control leaves an instruction.
type Kind uint8

// The kinds.
const (
	Plain        Kind = iota // falls through
	Nop                      // falls through and does nothing
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

// FallsThrough reports whether control may go on with the instruction behind; behind a
// call, once that returns.
func (k Kind) FallsThrough() bool {
	switch k {
	case Jump, IndirectJump, Return, Stop:
		return false
	}
	return true
}

// Straight reports whether control always goes on with the instruction behind, and
// nobody else has it meanwhile.
func (k Kind) Straight() bool { return k == Plain || k == Nop || k == Push }

// Mem is a memory operand.
type Mem struct {
	Base, Index Reg // NoReg where absent, and for PC-relative operands
	Scale       uint8
	Disp        int64
	// Fixed is true if the address does not depend on registers (PC-relative
	// or absolute); Addr is then the address.
	Fixed   bool
	Addr    uint64
	Segment bool // relative to fs or gs: thread-local
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
	// Cond, of a CondJump of AMD64 that tests the flags (jcc), is one more than
	// its condition code, the low four bits of its opcode; else 0.
	Cond uint8
	// Known is false if length and control flow are right but effects are
	// not (an instruction that this package does not model): Reads, Writes
	// and Mem are then empty.
	Known         bool
	Reads, Writes RegSet
	Mem           [2]Mem // memory operands, stack pushes and pops excluded
	NMem          int
	StackWrite    bool // writes memory at or below its new stack pointer (push, call)
	Locked        bool // indivisible read-modify-write, or a fence
	// Emulated: the kernel emulates this instruction under a uprobe instead
	// of stepping a copy of it out of line, at about a twentieth of the price.
	Emulated bool
	// ValueReg, ValueImm: for an instruction that plainly stores (mov to
	// memory), where the stored value comes from. ValueReg is NoReg if it is
	// not a general register; HasImm if it is the constant ValueImm.
	// For a plain load into a general register, ValueReg is that register.
	ValueReg Reg
	HasImm   bool
	ValueImm uint64
	Text     string // empty unless asked for by Format
	// Sum, where Sum.Dst is not NoReg: the one effect on general registers
	// is Dst = Src + Add + Imm in 64 bits, NoReg standing for 0. It covers
	// mov and lea, add and sub of constants, add of a register, ADR and ADRP.
	Sum Sum
	// Derived, where Derived.Dst is not NoReg and Sum has none: the whole new
	// value of Dst is computed from registers, and from memory perhaps, so that
	// it may be an address where one of them is (add, sub, and, or, xor, cmov,
	// lea with an index).
	Derived Derived
	// Repeats is the size of the elements that a string instruction with a
	// repeat prefix goes over, from the first on; RCX has their number. 0 for others.
	Repeats int
	// BitIndex is the register of a bit test whose memory operand is only the
	// start of a string of bits, BitWord its size in bytes; NoReg for others.
	BitIndex Reg
	BitWord  int
	// WritesIf, of a compare-and-exchange: it writes its memory operand only if
	// the flags then meet the condition of which this is one more than the code
	// (see Cond), and reads it alone otherwise; RAX is then what it read, in as
	// many bytes as the operand has. 0 for others.
	WritesIf uint8
	// KeepsFlags: it certainly leaves the flags as they are.
	KeepsFlags bool
	// Tests: the instruction only sets flags (cmp, test, bt): what it reads goes
	// nowhere.
	Tests bool
	// SPChange is what the instruction adds to the stack pointer when it
	// falls through (push -8, pop +8; 0 for a call, which returns). SPLost
	// is true if it writes the stack pointer by an amount not known here.
	SPChange int64
	SPLost   bool
	// Refused: the kernel takes no uprobe here (a lock or segment prefix, an
	// opcode missing from its table) or would execute the instruction
	// wrongly under one (VEX, see x86kernel.go). No probe may sit here.
	Refused bool
	// RedZone: a uprobe here overwrites stack just below the stack pointer,
	// which a leaf function may be using (Linux 6.18 turns a nop of 5 bytes
	// into a call). A probe may sit here only where a function begins.
	RedZone bool
}

// End returns the address behind the instruction.
func (in *Inst) End() uint64 { return in.Addr + uint64(in.Len) }

// Next returns the addresses at which control may go on, as far as the instruction names
// them: a direct jump's target, then what it falls into. An indirect jump names none.
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

// Sum is a register's new value, Dst = Src + Add + Imm, of old ones.
type Sum struct {
	Dst, Src, Add Reg
	Imm           int64
}

// Const reports whether the sum sets Dst to the constant Imm.
func (s Sum) Const() bool { return s.Dst != NoReg && s.Src == NoReg && s.Add == NoReg }

// Offset reports whether the sum sets Dst to Src plus the constant Imm.
func (s Sum) Offset() bool { return s.Dst != NoReg && s.Src != NoReg && s.Add == NoReg }

// Derived is what a register's new value is made of.
type Derived struct {
	Dst   Reg
	From  RegSet // of which an address may come through
	Minus RegSet // subtracted: the difference of two addresses is none
	Imm   int64  // added, of lea
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

// MaxLen is the longest instruction of the architecture in bytes.
func (a Arch) MaxLen() int {
	if a == ARM64 {
		return 4
	}
	return 15
}

// Decode decodes the first instruction of code, which lies at addr. It fails
// with an *Error if the bytes are cut short or are no instruction; where the
// length alone is certain it succeeds with Known false.
func Decode(arch Arch, code []byte, addr uint64) (Inst, error) {
	switch arch {
	case AMD64:
		return decodeX86(code, addr)
	case ARM64:
		return decodeARM(code, addr)
	}
	return Inst{}, &Error{addr, "unknown architecture"}
}

// Unknown is an instruction of which only the length is known.
func Unknown(addr uint64, n int) Inst {
	return Inst{Addr: addr, Len: n, ValueReg: NoReg, Sum: noSum, Derived: noDerived, BitIndex: NoReg}
}

// Error is an instruction that cannot be decoded.
type Error struct {
	Addr   uint64
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("decode at 0x%x: %s", e.Addr, e.Reason) }
