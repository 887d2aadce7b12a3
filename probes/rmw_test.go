package probes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

func TestDecodeModify(t *testing.T) {
	tests := []struct {
		code string // f0 87 …
		want modify
	}{
		{"87 05 00 00 00 00", modify{op: modifyExchange, reg: insn.RAX}},                 // xchg %eax, x
		{"44 87 05 00 00 00 00", modify{op: modifyExchange, reg: 8}},                     // xchg %r8d, x
		{"86 0d 00 00 00 00", modify{op: modifyExchange, reg: insn.RCX}},                 // xchg %cl, x
		{"86 25 00 00 00 00", modify{reg: insn.NoReg}},                                   // xchg %ah, x
		{"40 86 35 00 00 00 00", modify{op: modifyExchange, reg: insn.RSI}},              // xchg %sil, x
		{"f0 0f c1 05 00 00 00 00", modify{op: modifyExchangeAdd, reg: insn.RAX}},        // lock xadd
		{"f0 48 0f b1 15 00 00 00 00", modify{op: modifyCompareExchange, reg: insn.RDX}}, // lock cmpxchg
		{"f0 01 0d 00 00 00 00", modify{op: modifyAdd, reg: insn.RCX}},                   // lock add %ecx, x
		{"f0 48 29 05 00 00 00 00", modify{op: modifySubtract, reg: insn.RAX}},
		{"f0 83 05 00 00 00 00 fe", modify{op: modifyAdd, reg: insn.NoReg, imm: ^uint64(1)}},   // lock addl $-2, x
		{"f0 83 2d 00 00 00 00 03", modify{op: modifyAdd, reg: insn.NoReg, imm: ^uint64(2)}},   // lock subl $3, x
		{"f0 81 05 00 00 00 00 00 01 00 00", modify{op: modifyAdd, reg: insn.NoReg, imm: 256}}, // lock addl $256, x
		{"f0 ff 05 00 00 00 00", modify{op: modifyAdd, reg: insn.NoReg, imm: 1}},               // lock incl x
		{"f0 ff 0d 00 00 00 00", modify{op: modifyAdd, reg: insn.NoReg, imm: ^uint64(0)}},      // lock decl x
		{"f0 09 05 00 00 00 00", modify{reg: insn.NoReg}},                                      // lock or %eax, x
		{"f0", modify{reg: insn.NoReg}}, {"", modify{reg: insn.NoReg}}, {"f0 83", modify{reg: insn.NoReg}},
	}
	for _, tt := range tests {
		var code []byte
		for _, b := range strings.Fields(tt.code) {
			var n byte
			fmt.Sscanf(b, "%x", &n)
			code = append(code, n)
		}
		if got := decodeModify(code); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.code, got, tt.want)
		}
	}
}

func FuzzDecodeModify(f *testing.F) {
	f.Add([]byte{0xf0, 0x83, 0x05, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, code []byte) {
		if m := decodeModify(code); m.reg != insn.NoReg && m.reg > 15 {
			t.Errorf("%+v", m)
		}
		copy32(code)
	})
}

// TestSyncValues checks that the recorded values of an atomic instruction are its own: the value of
// a register that it overwrites is taken from the constant or the register that it was copied from.
func TestSyncValues(t *testing.T) {
	source := `
int x, y;
#define CODE(name, text) __attribute__((noinline)) void name(void) { __asm__ volatile (text ::: "eax", "ecx", "edx", "esi", "memory", "cc"); y++; }
CODE(constant, "mov $7, %%eax\n xchg %%eax, x(%%rip)")
CODE(copied, "mov %%ecx, %%eax\n xchg %%eax, x(%%rip)")
CODE(cleared, "xor %%eax, %%eax\n xchg %%eax, x(%%rip)")
CODE(overwritten, "mov %%ecx, %%eax\n mov $1, %%ecx\n xchg %%eax, x(%%rip)")
CODE(unknown, "mov y(%%rip), %%eax\n xchg %%eax, x(%%rip)")
CODE(stored, "mov y(%%rip), %%eax\n xchg %%eax, x(%%rip)\n xor %%eax, %%eax")
CODE(landing, "mov $7, %%eax\n test %%ecx, %%ecx\n je 1f\n mov $8, %%eax\n 1: xchg %%eax, x(%%rip)")
CODE(loop, "mov $1, %%edx\n 1: mov %%edx, %%eax\n xchg %%eax, x(%%rip)\n test %%eax, %%eax\n jne 1b")
CODE(added, "mov $2, %%esi\n lock xadd %%esi, x(%%rip)")
CODE(swapped, "lock cmpxchg %%ecx, x(%%rip)\n jne 1f\n 1:")
CODE(increment, "lock incl x(%%rip)")
CODE(sum, "lock add %%ecx, x(%%rip)")
int main(void) { constant(); copied(); cleared(); overwritten(); unknown(); stored(); landing(); loop(); added(); swapped(); increment(); sum(); return 0; }
`
	want := map[string]string{
		"constant": "update both imm 7", "copied": "update both reg 1", "cleared": "update both imm 0", "overwritten": "update old", "unknown": "update old",
		"landing": "update old", "stored": "update both memory", "loop": "update both reg 2", "added": "update added 2", "swapped": "update both reg 1 je; read reg 0 jne",
		"increment": "update result 1", "sum": "update result of reg",
	}
	f := build(t, "gcc", source, "-O2", "-no-pie")
	got := map[string]string{}
	for _, s := range plan(t, f, Options{Atomics: true}).Sites {
		if !s.Sync {
			continue
		}
		if got[s.Function] != "" {
			got[s.Function] += "; "
		}
		got[s.Function] += describeSync(s)
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: %q, want %q", name, got[name], w)
		}
	}
}

func describeSync(s Site) string {
	text := bpf.Op(s.BPF.Op).String() + map[bpf.Values]string{bpf.ValuesBoth: " both", bpf.ValuesOld: " old", bpf.ValuesAdded: fmt.Sprint(" added ", s.Delta),
		bpf.ValuesResult: fmt.Sprint(" result ", s.Delta), bpf.ValuesResultReg: " result of reg"}[s.Values]
	switch bpf.Operand(s.BPF.Access.ValueFrom) {
	case bpf.FromImm:
		text += fmt.Sprint(" imm ", s.BPF.Access.Imm)
	case bpf.FromReg:
		text += fmt.Sprint(" reg ", s.BPF.Access.ValueReg)
	case bpf.FromMemory:
		if s.Values == bpf.ValuesBoth {
			text += " memory"
		}
	}
	return text + map[uint8]string{ifEqual: " je", ifNotEqual: " jne"}[s.BPF.When]
}
