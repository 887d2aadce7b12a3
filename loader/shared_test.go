package loader

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// TestSharedProbes: sharedProbes has one entry for each chain of sites of variables that the
// user did not name, in the order of the variables. Sites of other variables have their
// probes elsewhere.
func TestSharedProbes(t *testing.T) {
	m := &Module{Base: 10, Plan: &probes.Plan{Sites: []probes.Site{
		{Addr: 0x100, Offset: 1},
		{Addr: 0x100, Offset: 1, Program: probes.ProgramShared, BPF: bpf.Site{Access: bpf.AccessSite{Watched: 2}}},
		{Addr: 0x100, Offset: 1, Program: probes.ProgramShared},
		{Addr: 0x200, Offset: 2, Program: probes.ProgramShared, BPF: bpf.Site{Access: bpf.AccessSite{Watched: 1}}},
		{Addr: 0x300, Offset: 3, Program: probes.ProgramShared, BPF: bpf.Site{Access: bpf.AccessSite{Watched: 1}}},
	}}}
	m.offsetWatched(100)
	const shared = probes.ProgramShared
	want := []chainedProbe{
		{attach.Probe{Offset: 2, Site: 13, Program: shared}, []uint32{101}}, {attach.Probe{Offset: 3, Site: 14, Program: shared}, []uint32{101}}, {attach.Probe{Offset: 1, Site: 11, Program: shared}, []uint32{102, 100}},
	}
	if diff := cmp.Diff(want, m.sharedProbes(), cmp.AllowUnexported(chainedProbe{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]attach.Probe{{Offset: 1, Site: 10}}, m.permanentProbes(false)); diff != "" {
		t.Errorf("what was named (-want +got):\n%s", diff)
	}
}

func TestFate(t *testing.T) {
	limits := DefaultRemovalLimits()
	aloneHits, loneHits := limits.Unshared, limits.SingleThread
	for name, c := range map[string]struct {
		v    unnamedVariable
		t    bpf.Tally
		want Outcome
	}{
		"not accessed":               {unnamedVariable{}, bpf.Tally{}, OutcomeKept},
		"little":                     {unnamedVariable{}, bpf.Tally{Hits: aloneHits, Crowd: aloneHits - 1}, OutcomeKept},
		"hot, one of several":        {unnamedVariable{}, bpf.Tally{Hits: aloneHits, Crowd: aloneHits}, OutcomeUnshared},
		"hot before there are two":   {unnamedVariable{}, bpf.Tally{Hits: loneHits - 1}, OutcomeKept},
		"too hot before":             {unnamedVariable{}, bpf.Tally{Hits: loneHits}, OutcomeUnshared},
		"hot, several":               {unnamedVariable{}, bpf.Tally{Hits: loneHits, Crowd: loneHits, Shared: 1}, OutcomeKept},
		"guarded":                    {unnamedVariable{guarded: true}, bpf.Tally{Shared: 1}, OutcomeGuarded},
		"guarded, but of one thread": {unnamedVariable{guarded: true}, bpf.Tally{}, OutcomeKept},
		"enough of an array":         {unnamedVariable{}, bpf.Tally{Shared: 1, Recorded: uint32(limits.ArrayAccesses)}, OutcomeEnough},
		"nearly enough":              {unnamedVariable{}, bpf.Tally{Shared: 1, Recorded: uint32(limits.ArrayAccesses) - 1}, OutcomeKept},
		"hot, but it orders threads": {unnamedVariable{Watched: Watched{Variable: variable.Variable{Atomic: true}}}, bpf.Tally{Hits: loneHits, Crowd: loneHits}, OutcomeKept},
	} {
		if got := limits.outcome(&c.v, c.t); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		never := RemovalLimits{}
		if got := never.outcome(&c.v, c.t); got == OutcomeUnshared || got == OutcomeEnough {
			t.Errorf("%s: %s, though that is never", name, got)
		}
	}
}

// TestIsNeeded: a probe stays while it observes a variable that is watched, or was hit seldom.
func TestIsNeeded(t *testing.T) {
	w := &unnamedWatcher{hits: []uint64{0, seldomHits - 1, seldomHits}, variables: []unnamedVariable{
		{}, {Watched: Watched{Outcome: OutcomeGuarded}},
	}}
	for name, c := range map[string]struct {
		site      uint32
		variables []uint32
		want      bool
	}{
		"of a watched variable":               {2, []uint32{0}, true},
		"of one that is not watched any more": {2, []uint32{1}, false},
		"of both":                             {2, []uint32{1, 0}, true},
		"hit seldom":                          {1, []uint32{1}, true},
	} {
		if got := w.isNeeded(chainedProbe{attach.Probe{Site: c.site}, c.variables}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	p := chainedProbe{attach.Probe{Site: 2}, []uint32{0, 1}}
	if w.ignored(p); len(w.variables[0].Removed) != 0 || len(w.variables[1].Removed) != 1 {
		t.Errorf("ignored: %v, %v", w.variables[0].Removed, w.variables[1].Removed)
	}
}
