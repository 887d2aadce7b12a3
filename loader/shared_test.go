package loader

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// TestPlaces: places has one entry for each chain of sites of variables that the user did not
// name, in the order of the variables. Sites of other variables have their probes elsewhere.
func TestPlaces(t *testing.T) {
	m := &Module{Base: 10, Plan: &probes.Plan{Sites: []probes.Site{
		{Addr: 0x100, Offset: 1},
		{Addr: 0x100, Offset: 1, Program: probes.ProgramShared, BPF: bpf.Site{Access: bpf.AccessSite{Watched: 2}}},
		{Addr: 0x100, Offset: 1, Program: probes.ProgramShared},
		{Addr: 0x200, Offset: 2, Program: probes.ProgramShared, BPF: bpf.Site{Access: bpf.AccessSite{Watched: 1}}},
		{Addr: 0x300, Offset: 3, Program: probes.ProgramShared, BPF: bpf.Site{Access: bpf.AccessSite{Watched: 1}}},
	}}}
	m.keep(100)
	const shared = probes.ProgramShared
	want := []place{
		{attach.Probe{Offset: 2, Site: 13, Program: shared}, []uint32{101}}, {attach.Probe{Offset: 3, Site: 14, Program: shared}, []uint32{101}}, {attach.Probe{Offset: 1, Site: 11, Program: shared}, []uint32{102, 100}},
	}
	if diff := cmp.Diff(want, m.places(), cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]attach.Probe{{Offset: 1, Site: 10}}, m.probesOf()); diff != "" {
		t.Errorf("what was named (-want +got):\n%s", diff)
	}
}

func TestFate(t *testing.T) {
	letGo := DefaultLetGo()
	aloneHits, loneHits := letGo.Unshared, letGo.Alone
	for name, c := range map[string]struct {
		v    kept
		t    bpf.Tally
		want Fate
	}{
		"not accessed":               {kept{}, bpf.Tally{}, FateKept},
		"little":                     {kept{}, bpf.Tally{Hits: aloneHits, Crowd: aloneHits - 1}, FateKept},
		"hot, one of several":        {kept{}, bpf.Tally{Hits: aloneHits, Crowd: aloneHits}, FateUnshared},
		"hot before there are two":   {kept{}, bpf.Tally{Hits: loneHits - 1}, FateKept},
		"too hot before":             {kept{}, bpf.Tally{Hits: loneHits}, FateUnshared},
		"hot, several":               {kept{}, bpf.Tally{Hits: loneHits, Crowd: loneHits, Shared: 1}, FateKept},
		"guarded":                    {kept{steady: true}, bpf.Tally{Shared: 1}, FateGuarded},
		"guarded, but of one thread": {kept{steady: true}, bpf.Tally{}, FateKept},
		"enough of an array":         {kept{}, bpf.Tally{Shared: 1, Recorded: uint32(letGo.Enough)}, FateEnough},
		"nearly enough":              {kept{}, bpf.Tally{Shared: 1, Recorded: uint32(letGo.Enough) - 1}, FateKept},
		"hot, but it orders threads": {kept{Watched: Watched{Variable: variable.Variable{Atomic: true}}}, bpf.Tally{Hits: loneHits, Crowd: loneHits}, FateKept},
	} {
		if got := letGo.fate(&c.v, c.t); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		never := LetGo{}
		if got := never.fate(&c.v, c.t); got == FateUnshared || got == FateEnough {
			t.Errorf("%s: %s, though that is never", name, got)
		}
	}
}
