package probes

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// TestContendedPlan checks that the plan of the C library has two sites for each of its calls of futex(2) and nothing else, that
// none is at an instruction that enters the kernel, and that such sites come on top of the others where both are asked for.
func TestContendedPlan(t *testing.T) {
	lib := glibc(t)
	p := plan(t, lib, Options{Contended: true})
	if len(p.Sites) != 2*p.Calls || p.Calls < 20 {
		t.Errorf("%d sites for %d calls", len(p.Sites), p.Calls)
	}
	begins := map[uint64]int{}
	for i := range p.Sites {
		s := &p.Sites[i]
		switch bpf.Action(s.BPF.Action) {
		case bpf.ActionSave:
			begins[s.At]++
		case bpf.ActionReturn:
			begins[s.At]--
		}
		if s.Program != ProgramFutex {
			t.Errorf("a site at %#x is of another program", s.Addr)
		}
		code, err := lib.Bytes(s.Addr, 15)
		if err != nil {
			t.Fatal(err)
		}
		if in, err := insn.Decode(lib.Arch(), code, s.Addr); err != nil || in.Kind == insn.Syscall {
			t.Errorf("a probe is at %#x, which enters the kernel: %v", s.Addr, err)
		}
	}
	for at, n := range begins {
		if n != 0 {
			t.Errorf("the call at %#x has no two sites", at)
		}
	}
	all, futexes := plan(t, lib, Options{Futexes: true}), 0
	for i := range all.Sites {
		if all.Sites[i].Program == ProgramFutex {
			futexes++
		}
	}
	if futexes != len(p.Sites) || futexes == len(all.Sites) {
		t.Errorf("%d of %d sites are of futexes, and alone %d", futexes, len(all.Sites), len(p.Sites))
	}
}
