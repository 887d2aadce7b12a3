package loader

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// TestTogether checks that, of probes of accesses at one offset, the one of the last instruction is in the first
// round, and that these probes are in no other link.
func TestTogether(t *testing.T) {
	site := func(offset, at uint64, program probes.Program, variable string) probes.Site {
		return probes.Site{Addr: 0x100 * offset, Offset: offset, At: at, Program: program, Variable: variable}
	}
	m := &Module{Base: 10, Plan: &probes.Plan{Sites: []probes.Site{
		site(1, 0x101, probes.ProgramPointer, "p"),
		site(2, 0x1f0, probes.ProgramPointerAtomic, "p"),
		site(2, 0x1f8, probes.ProgramPointer, "p"),
		site(2, 0x1fc, probes.ProgramPointer, "p"), // chained
		site(2, 0x200, probes.ProgramNamed, "x"),
		site(3, 0x300, probes.ProgramNamed, ""), // a call
		site(3, 0x300, probes.ProgramNamed, "y"),
		site(4, 0x3f0, probes.ProgramShared, "z"),
		site(4, 0x400, probes.ProgramAtomic, "a"),
	}}}
	if diff := cmp.Diff([][]int{{4, 8}, {2, 7}, {1}}, m.together()); diff != "" {
		t.Errorf("rounds (-want +got):\n%s", diff)
	}
	want := []attach.Probe{{Offset: 1, Site: 10, Program: probes.ProgramPointer}, {Offset: 3, Site: 15, Program: probes.ProgramNamed}}
	if diff := cmp.Diff(want, m.permanentProbes(false)); diff != "" {
		t.Errorf("permanent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], m.permanentProbes(true)); diff != "" {
		t.Errorf("permanent, with a budget (-want +got):\n%s", diff)
	}
	if got := m.sharedProbes(); len(got) != 0 {
		t.Errorf("shared: %v", got)
	}
}
