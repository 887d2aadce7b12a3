package suite

import "github.com/tracepredict/tracepredict/observer/run"

// Bounds returns what was kept and discarded so far.
func (s *Suite) Bounds() run.Bounds {
	kept, locks := s.history.Bounds(), s.eraser.Stats()
	return run.Bounds{
		Sections: kept.Sections, Events: kept.Events, Thinned: s.history.Thinned(), Evicted: s.history.Evicted(),
		Accesses: locks.EvictedAccesses, Pairs: locks.DroppedPairs + s.order.Stats().DroppedPairs,
		Unsettled: s.history.Unsettled(),
	}
}

const (
	defaultSections = 1000
	defaultEvents   = 1 << 18
)

// eventsFor is how many events are kept where more than the default of sections are:
// as many more.
func eventsFor(sections int) int {
	if sections <= defaultSections {
		return defaultEvents
	}
	return int(min(uint64(sections)*(defaultEvents/defaultSections+1), 1<<31))
}
