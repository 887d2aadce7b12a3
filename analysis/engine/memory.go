package engine

// memory has the analyses keep less of the run when memory is full.
type memory struct {
	full   func() bool              // Options.Full; nil: it never is
	others func(unused uint64) bool // that of ShrinkBy; nil: there is nothing else
	events int                      // since full was called; negative: it is called later
	shrunk int                      // how often less was kept
	still  bool                     // memory was full when full was called last
	// variables is the number of variables evicted, those of the analysis that evicted more.
	variables uint64
}

// memoryEvery is the number of events from one call of Options.Full to the next, and memoryLater that after a call at
// which nothing was left to be evicted: the caller may then end the analysis.
const (
	memoryEvery = 1 << 10
	memoryLater = 1 << 16
)

// ShrinkBy sets the function that evicts the oldest of what the caller keeps of the run, and reports whether there was
// any. It is called when memory is full, within Event, with what the analyses evict; of semaphores, conditions, barriers,
// onces and channels, that is those which were last used before event number unused.
func (e *Engine) ShrinkBy(others func(unused uint64) bool) { e.memory.others = others }

// event counts an event. When memory is full, the analyses evict the oldest of what they keep, and keep fewer events,
// lock orders and races from then on, until they keep so little that it does not matter.
func (m *memory) event(e *Engine) {
	if m.full == nil {
		return
	}
	if m.events++; m.events < memoryEvery {
		return
	}
	still := m.still
	if m.events, m.still = 0, m.full(); !m.still {
		return
	}
	if !m.shrink(e, still) {
		m.events = memoryEvery - memoryLater
		return
	}
	m.shrunk++
}

// shrink evicts the oldest of what is kept, and reports whether there was any. The history, which all predictions need,
// keeps its events unless the rest was not enough, or there is no rest.
func (m *memory) shrink(e *Engine, still bool) bool {
	history := still && e.shared.History.Shrink() // it asks for the candidates of the lockset analysis first
	most, rest := 0, false
	for _, p := range e.parts.all {
		n, some := p.Shrink()
		most, rest = max(most, n), rest || some
	}
	n, ordered := e.shared.Order.Shrink()
	unused := e.shared.Order.Unused()
	e.contradictions.Shrink(unused)
	e.shared.History.ShrinkOrders(unused)
	ordered = e.depend.Shrink() || ordered
	others := m.others != nil && m.others(unused)
	m.variables += uint64(max(most, n))
	if rest = rest || ordered || others; rest || still {
		return history || rest
	}
	return e.shared.History.Shrink()
}
