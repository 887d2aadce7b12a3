package cheapsite

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// TestPassed checks that the probe that records the execution of an instruction sits at it, or
// after it where control goes straight on.
func TestPassed(t *testing.T) {
	const (
		xchg  = "8707"       // xchg %eax,(%rdi)
		inc   = "f0ff07"     // lock incl (%rdi)
		mov   = "4889c8"     // mov %rcx,%rax
		jne   = "75fe"       //
		ret   = "c3"         //
		enter = "0f05"       // syscall
		call  = "e800000000" //
	)
	tests := []struct {
		name  string
		code  string
		at    uint64
		taken []uint64
		want  uint64 // 0 for none
	}{
		{"at the instruction", xchg + ret, 0, nil, base},
		{"at the instruction, whoever is there", xchg + ret, 0, []uint64{base}, base},
		{"behind it", inc + mov + ret, 0, nil, base + 3},
		{"behind it, at a jump", inc + jne + ret, 0, nil, base + 3},
		{"behind it, at a return", inc + ret, 0, nil, base + 3},
		{"behind it, at a call", inc + call + ret, 0, nil, base + 3},
		{"behind several", inc + inc + mov + ret, 0, nil, base + 6},
		{"not past another probe", inc + mov + ret, 0, []uint64{base + 3}, 0},
		{"not at a system call", inc + enter + ret, 0, nil, 0},
		{"a system call", mov + enter + ret, 3, nil, 0},
		{"not in the next function", inc + "|" + mov + ret, 0, nil, 0},
		{"not where nothing decodes", inc + "06", 0, nil, 0},
		{"in no function", ret + "/" + xchg, 1, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			im := NewImage(machineCode(t, tt.code))
			got, ok := im.ExecutionSite(base+tt.at, func(addr uint64) bool { return slices.Contains(tt.taken, addr) })
			if ok != (tt.want != 0) || got.Addr != tt.want {
				t.Errorf("%#x %v, want %#x", got.Addr, ok, tt.want)
			}
		})
	}
}

// TestPassedARM64 checks that no probe moves on arm64: between an exclusive load and its store it
// would make the store fail every time.
func TestPassedARM64(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       bool
	}{
		{"ldadd", "210020b8" + "c0035fd6", true},
		{"ldaxr", "00fc5fc8" + "1f2003d5" + "02fc01c8" + "c0035fd6", false},
	} {
		m := machineCode(t, c.code)
		m.arch = insn.ARM64
		if got, ok := NewImage(m).ExecutionSite(base, func(uint64) bool { return false }); ok != c.want || ok && got.Addr != base {
			t.Errorf("%s: %#x %v", c.name, got.Addr, ok)
		}
	}
}
