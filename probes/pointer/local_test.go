package pointer

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// TestLocal checks which accesses of thread-local memory are found, and of which offsets code makes addresses.
func TestLocal(t *testing.T) {
	for _, c := range []struct {
		name, code string
		local      int
		taken      []int64
	}{
		{"by offset", "mov eax, fs:[-4]; mov dword ptr fs:[-8], 1; add dword ptr fs:[-8], 1; ret", 3, nil},
		{"by an offset in a register", "mov eax, fs:[rdi]; ret", 1, nil},
		{"control block", "mov rax, fs:[40]; sub rax, fs:[40]; ret", 0, nil},
		{"address by lea", "mov rax, fs:[0]; lea rdi, [rax-12]; call g; ret", 0, []int64{-12}},
		{"address by add", "mov rax, fs:[0]; add rax, -16; ret", 0, []int64{-16}},
		{"two addresses", "mov rax, fs:[0]; lea rdi, [rax-12]; lea rsi, [rax-24]; xor eax, eax; call g; ret", 0, []int64{-12, -24}},
		{"accessed by the thread pointer", "mov rax, fs:[0]; mov ecx, [rax-12]; mov dword ptr [rax-8], 1; xor eax, eax; ret", 0, nil},
		{"computed", "mov rax, fs:[0]; lea rax, [rax+rdi*4]; ret", 0, []int64{anyOffset}},
		{"kept", "mov rax, fs:[0]; mov [rdi], rax; ret", 0, []int64{anyOffset}},
		{"returned", "mov rax, fs:[0]; ret", 0, []int64{anyOffset}},
		{"over a jump", "mov rax, fs:[0]; test edi, edi; jz 1f; lea rax, [rax-8]; 1: ret", 0, []int64{anyOffset}},
		{"added", "mov rax, [rip+f]; add rax, fs:[0]; ret", 0, []int64{anyOffset}},
	} {
		t.Run(c.name, func(t *testing.T) {
			census, err := Survey(assemble(t, c.code), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(census.Local) != c.local || !slices.Equal(census.Taken, c.taken) || census.TakesUnknown() != slices.Contains(c.taken, anyOffset) {
				t.Errorf("%d accesses, taken %d; want %d, %d", len(census.Local), census.Taken, c.local, c.taken)
			}
			for _, a := range census.Local {
				if a.Operand.Index != insn.NoReg || !a.Operand.Segment {
					t.Errorf("operand %+v", a.Operand)
				}
			}
		})
	}
}
