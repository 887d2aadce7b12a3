package probes

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
)

// TestSelected checks that loads whose value a conditional move may leave out or replace are recorded
// under its condition, and only these.
func TestSelected(t *testing.T) {
	source := `
long left, right, both, kept;
#define CODE(name, text) __attribute__((noinline)) void name(void) { __asm__ volatile (text ::: "rax", "rcx", "rdx", "memory", "cc"); }
CODE(moved, "test %%ecx, %%ecx\n cmove left(%%rip), %%rax")
CODE(replaced, "test %%ecx, %%ecx\n mov right(%%rip), %%rax\n cmove left(%%rip), %%rax")
CODE(by_register, "mov right(%%rip), %%rax\n test %%ecx, %%ecx\n cmovne %%rdx, %%rax")
CODE(used, "mov both(%%rip), %%rax\n test %%rax, %%rax\n cmovne %%rdx, %%rax")
CODE(another, "mov kept(%%rip), %%rax\n test %%ecx, %%ecx\n cmovne %%rdx, %%rcx")
CODE(landing, "mov kept(%%rip), %%rax\n test %%ecx, %%ecx\n je 1f\n xor %%eax, %%eax\n 1: cmove %%rdx, %%rax")
int main(void) { moved(); replaced(); by_register(); used(); another(); landing(); left = right = both = kept = 1; return 0; }
`
	const equal, notEqual = 1 + 4, 1 + 5
	want := map[string]uint8{
		"moved left": equal, "replaced left": equal, "replaced right": notEqual, "by_register right": equal,
		"used both": 0, "another kept": 0, "landing kept": 0,
	}
	got := map[string]uint8{}
	for _, s := range plan(t, build(t, "gcc", source, "-O1", "-no-pie", "-g"), Options{Shared: true}).Sites {
		if bpf.Op(s.BPF.Op) == bpf.OpRead && s.Variable != "" {
			got[s.Function+" "+s.Variable] = s.BPF.When
		}
	}
	for name, when := range want {
		if g, ok := got[name]; !ok || g != when {
			t.Errorf("%s: condition %d, %v, want %d", name, g, ok, when)
		}
	}
}
