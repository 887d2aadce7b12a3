package replay

import (
	"time"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/analysis/suite"
)

// Stats returns the figures of a run that has ended, in the form of a report. The caller adds the
// processor time and memory of the processes. Properties and latency may be nil.
func Stats(c *stats.Counter, s *suite.Suite, properties *bind.Run, latency *stats.Latency) *report.Stats {
	out := &report.Stats{Variables: c.Variables(), Locks: c.Locks()}
	for _, n := range c.Events() {
		out.Events = append(out.Events, report.OpCount{Operation: n.Op.String(), Events: n.Events})
	}
	w := s.Witnesses()
	if properties != nil {
		w.Add(properties.Witnesses())
	}
	out.Witnesses = report.Witnesses{Checked: w.Checked, Refused: w.Refused, Unseen: w.Unseen}
	if properties == nil {
		return out
	}
	l := properties.Stats()
	out.Lattice = &report.Lattice{
		Levels: l.Levels, States: l.Cuts, Edges: l.Edges, Dropped: l.Dropped, CutLevels: l.Cut, Late: l.Late, Widest: l.Widest, Queue: l.Queue,
	}
	if latency != nil {
		h := latency.Spread()
		ns := func(n uint64) time.Duration { return time.Duration(min(n, 1<<63-1)) }
		out.Latency = &report.LatencyTime{Events: h.N(), Median: ns(h.Quantile(0.5)), P99: ns(h.Quantile(0.99)), Max: ns(h.Max())}
	}
	return out
}
