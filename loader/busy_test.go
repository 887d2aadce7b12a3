package loader

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes"
)

// TestBusy: a variable is too busy because of a burst, or of a rate that lasts, but never
// because of the total of its hits.
func TestBusy(t *testing.T) {
	const second = uint64(1_000_000_000)
	for _, c := range []struct {
		name string
		rate uint64 // hits per second
		hits int
		want int // the hit that is one too many; 0: none
	}{
		{"slow for long", busyRate, 100 * busyBurst, 0},
		{"a burst", 1e9, 2 * busyBurst, busyBurst + 1},
		{"fast", 2 * busyRate, 4 * busyBurst, 2*busyBurst + 1},
	} {
		b := &hitCounter{}
		got := 0
		for i := 1; i <= c.hits; i++ {
			if b.hit(10*second + uint64(i)*(second/c.rate)) {
				if got != 0 {
					t.Errorf("%s: reported twice", c.name)
				}
				got = i
			}
		}
		if got < c.want*99/100 || got > c.want*101/100+1 && c.want != 0 || c.want == 0 && got != 0 {
			t.Errorf("%s: too busy at hit %d, want %d", c.name, got, c.want)
		}
	}
}

// TestUnnamedAtomics checks which sites share a probe, and which probes are removed together: each
// alone, as long as there are few; then all loads of a variable, and all that change it.
func TestUnnamedAtomics(t *testing.T) {
	site := func(addr uint64, program probes.Program, variable string, op bpf.Op) probes.Site {
		return probes.Site{Addr: addr, Program: program, Variable: variable, BPF: bpf.Site{Op: uint8(op)}}
	}
	m := &Module{Base: 10, Plan: &probes.Plan{Sites: []probes.Site{
		site(0x10, probes.ProgramNamed, "", bpf.OpAcquire), site(0x10, probes.ProgramAtomic, "x", bpf.OpRead), site(0x10, probes.ProgramAtomic, "y", bpf.OpWrite),
		site(0x20, probes.ProgramNamed, "z", bpf.OpRead), site(0x30, probes.ProgramAtomic, "x", bpf.OpWrite),
	}}}
	want := []atomicProbe{{1, 3, hitGroup{site: 12}}, {4, 5, hitGroup{site: 15}}}
	if got := m.unnamedAtomics(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	m.Plan.Sites = nil
	for i := range uint64(maxAlone + 4) {
		m.Plan.Sites = append(m.Plan.Sites, site(0x10*i, probes.ProgramAtomic, "x", []bpf.Op{bpf.OpRead, bpf.OpUpdate}[i%2]))
	}
	groups := map[hitGroup]int{}
	for _, p := range m.unnamedAtomics() {
		groups[p.group]++
	}
	if len(groups) != maxAlone+2 || groups[hitGroup{variable: "x", loads: true}] != 2 || groups[hitGroup{variable: "x"}] != 2 {
		t.Errorf("%d groups, of the last %d and %d probes", len(groups), groups[hitGroup{variable: "x", loads: true}], groups[hitGroup{variable: "x"}])
	}
}

// TestAddTooBusy checks that removed probes of one variable are one entry, with their functions.
func TestAddTooBusy(t *testing.T) {
	s := &Session{atomics: newAtomicProbes(nil)}
	for _, c := range []struct {
		name, in string
		owner    uint32
	}{{"x", "look", 7}, {"y", "", 7}, {"x", "look", 8}, {"x", "add", 7}} {
		s.atomics.addTooBusy(&hitCounter{removableProbes: removableProbes{name: c.name, in: c.in}}, []uint32{c.owner})
	}
	want := []Blind{{Name: "x", In: []string{"add", "look"}, Processes: []uint32{7, 8}}, {Name: "y", In: []string{""}, Processes: []uint32{7}}}
	if diff := cmp.Diff(want, s.TooBusy()); diff != "" {
		t.Error(diff)
	}
}
