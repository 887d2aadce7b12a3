package suite

// memory has the analyses keep less of the run when memory is full.
type memory struct {
	full   func() bool // Options.Full; nil: it never is
	events uint64      // since full was called
	shrunk int         // how often the analyses kept less
}

// memoryEvery is the number of events from one call of Options.Full to the next.
const memoryEvery = 1 << 10

// event counts an event. When memory is full, the analyses evict the oldest of what they keep, and keep less from
// then on, until they keep so little that it does not matter.
func (m *memory) event(s *Suite) {
	if m.full == nil {
		return
	}
	if m.events++; m.events < memoryEvery {
		return
	}
	if m.events = 0; !m.full() {
		return
	}
	history, locks := s.history.Shrink(), s.goodlock.Shrink()
	if !history && !locks {
		m.full = nil
		return
	}
	m.shrunk++
}
