package loader

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// Ends of memory are recorded while that is cheap. A program may free memory millions of times a
// second, and each time hits a probe, whether there is an object in the memory or not. So the BPF
// programs count what the hits cost, and the probes are removed once they have cost too much. From
// then on it is not known whether an object is one or several, one after the other in the same
// memory, and the findings say so.

// The bounds on the cost of the probes of the heap of all processes together, in hits of an emulated
// probe, each of which takes less than a microsecond: per second in the long run, and in a burst.
const (
	heapRate  = 20_000
	heapBurst = 1 << 17
)

// heapProbes are the probes that record ends of memory, and the account of their cost, which the
// reader's goroutine alone uses.
type heapProbes struct {
	removableProbes
	remover *remover
	account bucket
	factor  uint64 // how many times the bounds count; 0: there are none
}

func newHeapProbes(r *remover, opts *Options) *heapProbes {
	return &heapProbes{removableProbes: removableProbes{name: "what frees memory"}, remover: r, factor: heapFactor(opts)}
}

// livesProbes returns the module's probes that record ends of memory: those at entries and other
// instructions, and the uretprobes.
func (m *Module) livesProbes() (entries, returns []attach.Probe) {
	for i, s := range m.Plan.Sites {
		if s.Program != probes.ProgramLives {
			continue
		}
		p := attach.Probe{Offset: s.Offset, Site: m.Base + uint32(i), Program: s.Program}
		if !m.Plan.Chained(i) {
			entries = append(entries, p)
		}
		if s.Return {
			p.Return = true
			returns = append(returns, p)
		}
	}
	return entries, returns
}

// attach attaches the module's probes that record ends of memory.
func (h *heapProbes) attach(m *Module, to attach.LinkTarget) error {
	entries, returns := m.livesProbes()
	for _, ps := range [][]attach.Probe{returns, entries} {
		if len(ps) == 0 {
			continue
		}
		if err := h.remover.attach(&h.removableProbes, to, ps); err != nil {
			return err
		}
	}
	return nil
}

// heapBudget is how many times the bounds count for each part of the time that Options.Budget adds: with
// accesses through pointers, the ends of memory are part of that cost.
const heapBudget = 10

// heapFactor returns how many times the bounds count; 0: there are none.
func heapFactor(opts *Options) uint64 {
	switch {
	case !opts.Plan.Pointers:
		return 1
	case opts.Budget == 0:
		return 0
	}
	return max(1, uint64(heapBudget*(opts.Budget-1)))
}

// cost handles a record of what the probes of the heap have cost. It starts to remove them when
// that is too much, and reports whether it does. The reader's goroutine alone calls it.
func (h *heapProbes) cost(r *bpf.Record) bool {
	if h.removed || h.factor == 0 || !h.account.add(r.Value, r.Time, h.factor*heapRate, h.factor*heapBurst) {
		return false
	}
	h.removed = true
	h.remover.start(&h.removableProbes, h.name, nil)
	return true
}

// recordsLives reports whether the plan records ends of blocks of memory.
func (m *Module) recordsLives() bool {
	m.freesOnce.Do(func() {
		m.frees = slices.ContainsFunc(m.Plan.Sites, func(s probes.Site) bool {
			return (s.Program == probes.ProgramLives || s.Program == probes.ProgramHeap) && bpf.Op(s.BPF.Op) == bpf.OpFree && s.BPF.Flags&bpf.SiteRange == 0
		})
	})
	return m.frees
}
