package replay

import (
	"time"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/stats"
)

// Stats are the figures of a run that has ended, as a report has them; what the
// processes took is left to the caller. Nil without a counter. Properties and latency
// may be nil.
func Stats(c *stats.Counter, properties *bind.Run, latency *stats.Latency) *report.Stats {
	if c == nil {
		return nil
	}
	out := &report.Stats{Variables: c.Variables(), Locks: c.Locks()}
	for _, n := range c.Events() {
		out.Events = append(out.Events, report.OpCount{Operation: n.Op.String(), Events: n.Events})
	}
	if properties == nil {
		return out
	}
	s := properties.Stats()
	out.Lattice = &report.Lattice{
		Levels: s.Levels, States: s.Cuts, Edges: s.Edges, Dropped: s.Dropped, CutLevels: s.Cut, Late: s.Late, Widest: s.Widest, Queue: s.Queue,
	}
	if latency != nil {
		h := latency.Spread()
		ns := func(n uint64) time.Duration { return time.Duration(min(n, 1<<63-1)) }
		out.Latency = &report.LatencyTime{Events: h.N(), Median: ns(h.Quantile(0.5)), Most99: ns(h.Quantile(0.99)), Max: ns(h.Max())}
	}
	return out
}
