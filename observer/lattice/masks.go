package lattice

import "math/bits"

// masks represents the sets of states of a monitor with few states as bit masks: bit q is
// state q, and someBad is set if some run has turned bad. The union of sets is their bitwise
// or. Since the step of a union is the union of the steps, the sets that come to a cut by the
// same letter are united first and step once.
type masks struct {
	size       int      // number of states of the monitor; 0: its sets are not masks
	successors []uint32 // [letter*size + q]: the set that follows from state q
	turning    []uint32 // by letter: the states from which a run turns bad
}

const (
	someBad   = 1 << maxMasked
	maxMasked = 31 // the most states for which sets are masks
)

// newMasks returns the masks of a monitor; without any if it has too many states, or does not count
// them.
func newMasks(monitor Monitor) masks {
	if m, ok := monitor.(Counted); ok && m.States() <= maxMasked {
		return masks{size: m.States()}
	}
	return masks{}
}

// masked reports whether sets are masks.
func (m *masks) masked() bool { return m.size > 0 }

// learn computes the steps by the letters that are new.
func (m *masks) learn(monitor Monitor, letters []Letter) {
	var into []State
	for i := len(m.turning); i < len(letters); i++ {
		turning := uint32(0)
		for q := range State(m.size) {
			var set uint32
			if !monitor.Bad(q) {
				into = monitor.Step(into[:0], q, letters[i])
				set = setOf(into, monitor)
			}
			turning |= set & someBad >> (maxMasked - q) // moves someBad to the bit of q
			m.successors = append(m.successors, set)
		}
		m.turning = append(m.turning, turning)
	}
}

// setOf returns the set of some states. Bad ones are represented by someBad alone.
func setOf(states []State, monitor Monitor) (set uint32) {
	for _, q := range states {
		if monitor.Bad(q) {
			set |= someBad
		} else {
			set |= 1 << q
		}
	}
	return set
}

// successor returns the set that follows from a set by a letter.
func (m *masks) successor(set, letter uint32) uint32 {
	row, to := m.successors[int(letter)*m.size:][:m.size], set&someBad
	for rest := set &^ someBad; rest != 0; rest &= rest - 1 {
		if q := bits.TrailingZeros32(rest); q < len(row) {
			to |= row[q]
		}
	}
	return to
}

// maskOf returns the set of some states, none of which is bad. All are below maxMasked.
func maskOf(states []State) (set uint32) {
	for _, q := range states {
		set |= 1 << (q & maxMasked)
	}
	return set
}

// statesOf appends the states of a set to into.
func statesOf(into []State, set uint32) []State {
	for rest := set &^ someBad; rest != 0; rest &= rest - 1 {
		into = append(into, State(bits.TrailingZeros32(rest)))
	}
	return into
}

// pendingSet is the union of the sets that come to a cut by the same letter and have not stepped
// yet. Without masks it only caches the letter.
type pendingSet struct {
	letter  uint32 // its number plus 1; 0 is none
	set     uint32
	turning uint32 // masks.turning of the letter
	events  uint64 // the declared events that the letter was made of
}

// flush returns the set that follows from a pending set.
func (m *masks) flush(at *pendingSet) uint32 {
	if at.letter == 0 {
		return 0
	}
	return m.successor(at.set, at.letter-1)
}
