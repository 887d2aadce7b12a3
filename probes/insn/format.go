package insn

import (
	"fmt"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"
)

// Format returns the instruction in the syntax of the GNU assembler, with PC-relative operands
// resolved. It never fails: for an instruction that the disassemblers of golang.org/x/arch do not
// know it returns the bytes ("(vector or rare) c5 f8 77").
func Format(arch Arch, code []byte, addr uint64) string {
	in, err := Decode(arch, code, addr)
	if err != nil {
		return fmt.Sprintf("(bad) % x", code[:min(len(code), arch.MaxLen())])
	}
	code = code[:in.Len]
	if arch == ARM64 {
		return formatARM(code, in)
	}
	return formatX86(code, in)
}

func formatX86(code []byte, in Inst) string {
	if n := len(code); n >= 4 && string(code[n-4:n-1]) == "\xf3\x0f\x1e" {
		switch code[n-1] {
		case 0xfa:
			return "endbr64"
		case 0xfb:
			return "endbr32"
		}
	}
	x, err := x86asm.Decode(code, 64)
	if err == nil && x.Op != 0 && x.Len == in.Len {
		return modern(x86asm.GNUSyntax(x, in.Addr, nil))
	}
	switch in.Kind {
	case Jump, CondJump, Call:
		return fmt.Sprintf("(branch) % x to 0x%x", code, in.Target)
	}
	return fmt.Sprintf("(vector or rare) % x", code)
}

// modern removes the suffix that binutils no longer writes: jmp for jmpq.
func modern(text string) string {
	for _, op := range [...]string{"jmp", "call", "ret"} {
		if rest, ok := strings.CutPrefix(text, op+"q"); ok {
			return op + rest
		}
	}
	return text
}

func formatARM(code []byte, in Inst) string {
	x, err := arm64asm.Decode(code)
	if err == nil && x.Op != 0 {
		return strings.TrimSpace(arm64asm.GNUSyntax(x))
	}
	if name := atomicName(le32(code)); name != "" {
		return name
	}
	return fmt.Sprintf("(rare) .inst 0x%08x", le32(code))
}

func le32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
