package unwind

import "github.com/tracepredict/tracepredict/probes/insn"

// DWARF's numbers of the registers of x86-64 that a caller may want to set (System V ABI, AMD64
// supplement, figure 3.36). R8 to R15 are 8 to 15.
const (
	RAX = 0
	RDX = 1
	RCX = 2
	RBX = 3
	RSI = 4
	RDI = 5
	RBP = 6
	RSP = 7
	R8  = 8
	R12 = 12
	R15 = 15
	rip = 16
)

// DWARF's numbers of arm64's registers (DWARF for the Arm 64-bit Architecture,
// section 4.1): X0 to X30 are 0 to 30.
const (
	X19 = 19
	FP  = 29
	LR  = 30
	SP  = 31
)

// columns is the number of registers that are tracked: vector registers have higher numbers, and
// hold no address.
const columns = 32

// Regs holds the registers of a frame, as far as they are known. In the zero value none is known.
type Regs struct {
	PC     uint64
	values [columns]uint64
	known  uint32
}

// Set sets a register by its DWARF number; a register that is not tracked is ignored.
func (r *Regs) Set(n int, v uint64) {
	if n >= 0 && n < columns {
		r.values[n] = v
		r.known |= 1 << n
	}
}

// get returns a register by its DWARF number; ok is false if it is not known.
func (r *Regs) get(n int) (v uint64, ok bool) {
	if n < 0 || n >= columns || r.known&(1<<n) == 0 {
		return 0, false
	}
	return r.values[n], true
}

// abi holds the DWARF numbers of the registers with a role in an architecture's calling convention;
// -1: none.
type abi struct {
	sp, pc, lr, fp int
	saved          uint32 // set of the registers that a callee preserves
}

func abiOf(a insn.Arch) abi {
	if a == insn.ARM64 {
		const x19to29 = 1<<30 - 1<<19
		return abi{sp: SP, pc: -1, lr: LR, fp: FP, saved: x19to29}
	}
	const r12to15 = 1<<16 - 1<<12
	return abi{sp: RSP, pc: rip, lr: -1, fp: RBP, saved: 1<<RBX | 1<<RBP | r12to15}
}

// get is Regs.get, and returns the program counter too, if it has a number.
func (a abi) get(r *Regs, n int) (uint64, bool) {
	if n == a.pc {
		return r.PC, true
	}
	return r.get(n)
}
