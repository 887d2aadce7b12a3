package engine

import (
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Bounds returns the numbers of what was kept and what was discarded so far.
func (e *Engine) Bounds() run.Bounds {
	h := e.shared.History
	kept := h.Bounds()
	b := run.Bounds{
		Sections: kept.Sections, Events: kept.Events, EvictedSections: h.Thinned(), EvictedEvents: h.Evicted(), Unsettled: h.Unsettled(),
		NotAsked: e.shared.NotAsked, MemoryFull: e.memory.shrunk, EvictedVariables: e.memory.variables, EvictedLocks: e.shared.Order.Stats().EvictedLocks,
		EvictedObjects: e.shared.Order.Stats().EvictedOthers, EvictedThreads: e.shared.Order.Stats().EvictedThreads, EvictedFindings: e.removed,
	}
	b.NotSearched, b.CutShortBy = e.shared.Search.Left()
	for _, p := range e.parts.all {
		p.Bounds(&b)
	}
	return b
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
