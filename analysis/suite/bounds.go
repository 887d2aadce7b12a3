package suite

import (
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Bounds returns the numbers of what was kept and what was discarded so far.
func (s *Suite) Bounds() run.Bounds {
	kept, locks := s.history.Bounds(), s.eraser.Stats()
	return run.Bounds{
		Sections: kept.Sections, Events: kept.Events, EvictedSections: s.history.Thinned(), EvictedEvents: s.history.Evicted(),
		EvictedAccesses: locks.EvictedAccesses, DroppedPairs: locks.DroppedPairs + s.order.Stats().DroppedPairs,
		Unsettled: s.history.Unsettled(), NotAsked: s.notAsked, NotSearched: s.search.left, CutShortBy: s.cutShortBy(),
		MemoryFull: s.memory.shrunk, EvictedVariables: s.memory.variables, EvictedLocks: s.order.Stats().EvictedLocks,
	}
}

// cutShortBy returns why the time for the analysis was over before all candidates were searched; "" if it was not.
func (s *Suite) cutShortBy() string {
	if s.search.left == 0 {
		return ""
	}
	return s.search.done()
}

const defaultEvents = 1 << 18

// eventsFor returns the number of events to keep if the given number of critical sections is kept
// for each lock and thread: defaultEvents, or proportionally more if that number exceeds the
// default of analysis/predict.
func eventsFor(sections int) int {
	if sections <= predict.DefaultSections {
		return defaultEvents
	}
	return int(min(uint64(sections)*(defaultEvents/predict.DefaultSections+1), 1<<31))
}
