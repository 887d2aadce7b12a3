package elf

import (
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// No instruction to which a disassembler assigns a lock prefix is missed because of its bytes.
func TestLockableKnowsAllThatIsLocked(t *testing.T) {
	code := make([]byte, 16)
	found := 0
	for _, prefix := range [][]byte{{}, {0x48}, {0x66}, {0x66, 0x41}, {0xf2}} {
		for op := range 1 << 9 {
			for modrm := range 1 << 8 {
				bytes := append([]byte{0xf0}, prefix...)
				if op > 0xff {
					bytes = append(bytes, 0x0f)
				}
				bytes = append(bytes, byte(op), byte(modrm))
				n := copy(code, bytes)
				clear(code[n:])
				in, err := x86asm.Decode(code, 64)
				if err != nil || !locks(in) {
					continue
				}
				found++
				if !lockable(code[1:]) {
					t.Fatalf("% x is %+v", code[:n+1], in)
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d indivisible instructions", found)
	}
}

// lockableOps are the instructions in the manual that accept a lock prefix.
var lockableOps = []x86asm.Op{
	x86asm.ADC, x86asm.ADD, x86asm.AND, x86asm.BTC, x86asm.BTR, x86asm.BTS, x86asm.CMPXCHG, x86asm.CMPXCHG8B, x86asm.CMPXCHG16B,
	x86asm.DEC, x86asm.INC, x86asm.NEG, x86asm.NOT, x86asm.OR, x86asm.SBB, x86asm.SUB, x86asm.XADD, x86asm.XCHG, x86asm.XOR,
}

// locks reports whether the instruction accepts a lock prefix and has an operand in memory.
func locks(in x86asm.Inst) bool {
	_, memory := in.Args[0].(x86asm.Mem)
	return memory && slices.Contains(lockableOps, in.Op)
}
