package suite

// Bounds says what the analyses of races and the predictions kept of a run, and what
// they forgot to bound their memory.
type Bounds struct {
	Sections int    // critical sections kept for each lock and thread, about
	Events   int    // kept in all, at most
	Thinned  uint64 // critical sections that predictions do not know any more
	Evicted  uint64 // likewise events, in sections or not
	Accesses uint64 // last accesses that the lockset analysis forgot
	Pairs    uint64 // races beyond those kept of a variable
	// Unsettled are the candidates for which not all schedules were looked at in which
	// critical sections change places, for want of steps (Options.Reversals).
	Unsettled uint64
}

// Bounds gives what was kept and forgotten so far.
func (s *Suite) Bounds() Bounds {
	kept, locks := s.history.Bounds(), s.eraser.Stats()
	return Bounds{
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
