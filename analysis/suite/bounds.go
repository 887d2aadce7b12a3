package suite

import (
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Bounds returns what was kept and discarded so far.
func (s *Suite) Bounds() run.Bounds {
	kept, locks := s.history.Bounds(), s.eraser.Stats()
	return run.Bounds{
		Sections: kept.Sections, Events: kept.Events, Thinned: s.history.Thinned(), Evicted: s.history.Evicted(),
		Accesses: locks.EvictedAccesses, Pairs: locks.DroppedPairs + s.order.Stats().DroppedPairs,
		Unsettled: s.history.Unsettled(),
	}
}

const defaultEvents = 1 << 18

// eventsFor is how many events are kept where more than the default of sections are:
// as many more.
func eventsFor(sections int) int {
	if sections <= predict.DefaultSections {
		return defaultEvents
	}
	return int(min(uint64(sections)*(defaultEvents/predict.DefaultSections+1), 1<<31))
}
