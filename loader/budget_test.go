package loader

import (
	"slices"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// TestThinNamesFirst checks that probes of calls that allocate are removed before those of accesses, however seldom
// they are hit, that they alone are where their own bound is exceeded, and that no function counts as sampled for them.
func TestThinNamesFirst(t *testing.T) {
	const µs = time.Microsecond
	for _, c := range []struct {
		name    string
		names   bool
		room    time.Duration
		removed []uint32
		sampled bool
	}{
		{"accesses stay", false, 2000 * µs, []uint32{1}, false},
		{"all", false, 0, []uint32{1, 2}, true},
		{"names alone", true, 0, []uint32{1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			th := &thinner{functions: map[string]bool{"f": false}, probes: map[uint32]*pointerProbe{
				1: {Probe: attach.Probe{Site: 1}, cost: µs, recent: 100, seen: 100},
				2: {Probe: attach.Probe{Site: 2}, function: "f", cost: µs, recent: 1000, seen: 1000},
			}}
			for _, p := range th.probes {
				th.all = append(th.all, p)
			}
			th.thin(time.Now(), 1100*µs, c.room, nil, c.names)
			for site, p := range th.probes {
				want := false
				for _, s := range c.removed {
					want = want || s == site
				}
				if p.removed.IsZero() == want {
					t.Errorf("site %d: removed %t, want %t", site, !want, want)
				}
			}
			if th.functions["f"] != c.sampled || len(th.functions) != 1 {
				t.Errorf("sampled: %v", th.functions)
			}
		})
	}
}

// TestAccessing checks which function's accesses a probe observes: none of one that only sees allocations.
func TestAccessing(t *testing.T) {
	site := func(addr uint64, op bpf.Op, function string) probes.Site {
		return probes.Site{Addr: addr, Program: probes.ProgramPointer, BPF: bpf.Site{Op: uint8(op)}, Function: function}
	}
	m := &Module{Plan: &probes.Plan{Sites: []probes.Site{site(1, bpf.OpAlloc, "a"), site(2, bpf.OpAlloc, "b"), site(2, bpf.OpRead, "c"), site(3, bpf.OpRead, "d")}}}
	for i, want := range map[int]string{0: "", 1: "c", 3: "d"} {
		if got := m.accessing(i); got != want {
			t.Errorf("site %d: %q, want %q", i, got, want)
		}
	}
}

// TestVariablesCountInTheBudget checks that the probes of variables are removed before those of pointers that cost less.
func TestVariablesCountInTheBudget(t *testing.T) {
	const ms = time.Millisecond
	hot := &pointerProbe{function: "f", cost: ms, recent: 100, seen: 100}
	cold := &pointerProbe{function: "f", cost: ms, recent: 65, seen: 65, Probe: attach.Probe{Site: 1}}
	th := &thinner{all: []*pointerProbe{cold, hot}}
	variables := []expense{{cost: 90 * ms, variable: 7}, {cost: 10 * ms, variable: 8}}
	for _, c := range []struct {
		room time.Duration
		want []expense
	}{
		{600 * ms, nil},
		{400 * ms, []expense{{cost: 100 * ms, probe: hot}}},
		{200 * ms, []expense{{cost: 100 * ms, probe: hot}, {cost: 90 * ms, variable: 7}}},
	} {
		if got := th.hottest(265*ms, c.room, variables, false); !slices.Equal(got, c.want) {
			t.Errorf("room %v: %+v, want %+v", c.room, got, c.want)
		}
	}
}

// TestCostOfAVariable checks that what a hit costs follows from the instructions at which the probes are.
func TestCostOfAVariable(t *testing.T) {
	costs := attach.Costs{Stepped: 4000, Emulated: 1000}
	for probes, want := range map[[2]int]time.Duration{{1, 0}: 4000, {0, 3}: 1000, {1, 2}: 2000, {}: 0} {
		v := unnamedVariable{probes: probes}
		if got := v.cost(costs); got != want+handling {
			t.Errorf("%v: %v, want %v", probes, got, want+handling)
		}
	}
}
