package property

import (
	"encoding/binary"
	"slices"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// word follows a monitor along the run. It numbers the sets of its states as they are reached, so that the objects of a
// property share them. It is not safe for concurrent use.
type word struct {
	monitor lattice.Monitor
	sets    [][]lattice.State // by number; without bad states
	ids     map[string]uint32
	next    map[move]uint32 // a set, shifted by one; bit 0: a run has turned bad
	start   uint32          // before the first letter
	scratch []byte
}

// move is a step from a set of states.
type move struct {
	from   uint32
	letter lattice.Letter
}

func newWord(m lattice.Monitor) *word {
	w := &word{monitor: m, ids: map[string]uint32{}, next: map[move]uint32{}}
	w.start = w.number(m.Start(nil))
	return w
}

// number returns the number of a set of states, which it keeps.
func (w *word) number(states []lattice.State) uint32 {
	slices.Sort(states)
	states = slices.Compact(states)
	w.scratch = w.scratch[:0]
	for _, s := range states {
		w.scratch = binary.LittleEndian.AppendUint32(w.scratch, s)
	}
	n, ok := w.ids[string(w.scratch)]
	if !ok {
		n = uint32(len(w.sets))
		w.ids[string(w.scratch)], w.sets = n, append(w.sets, states)
	}
	return n
}

// step returns the set that follows by a letter, and whether a run of the monitor turns bad by it.
func (w *word) step(from uint32, l lattice.Letter) (to uint32, bad bool) {
	m := move{from, l}
	known, ok := w.next[m]
	if !ok {
		var states []lattice.State
		for _, s := range w.sets[from] {
			states = w.monitor.Step(states, s, l)
		}
		n := len(states)
		states = slices.DeleteFunc(states, w.monitor.Bad)
		if known = w.number(states) << 1; len(states) < n {
			known |= 1
		}
		w.next[m] = known
	}
	return known >> 1, known&1 != 0
}

// resumed is a monitor that begins in some of its states, whatever the first letter is. Its state 0 is before that letter;
// the others are those of the monitor, from 1.
type resumed struct {
	lattice.Monitor
	from []lattice.State
}

// Start implements lattice.Monitor.
func (r resumed) Start(into []lattice.State) []lattice.State { return append(into, 0) }

// Step implements lattice.Monitor.
func (r resumed) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	n := len(into)
	if from == 0 {
		into = append(into, r.from...)
	} else {
		into = r.Monitor.Step(into, from-1, l)
	}
	for i := n; i < len(into); i++ {
		into[i]++
	}
	return into
}

// Bad implements lattice.Monitor.
func (r resumed) Bad(s lattice.State) bool { return s > 0 && r.Monitor.Bad(s-1) }

// countedResumed is a resumed monitor with a known number of states.
type countedResumed struct {
	resumed
	states int
}

// States implements lattice.Counted.
func (r countedResumed) States() int { return r.states }

// resume returns a monitor that begins in some of its states.
func resume(m lattice.Monitor, from []lattice.State) lattice.Monitor {
	r := resumed{m, from}
	if c, ok := m.(lattice.Counted); ok {
		return countedResumed{r, c.States() + 1}
	}
	return r
}
