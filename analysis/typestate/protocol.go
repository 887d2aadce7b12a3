package typestate

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// Protocol is how the objects of a type may be used: an automaton over calls, without cost if it is not deterministic, since
// an object is then in a set of states. It breaks where a call leads from none of these states anywhere.
type Protocol struct {
	Name   string
	Type   string // of the objects, as the program has it
	Calls  []Call // at most MaxCalls
	States []State
	// Mined: it was learned from runs. BornAtFirstUse: an object whose creation was not seen is in the first state, and not
	// in all of them. RebornAtNextUse: a call that breaks the protocol of an object at its end, of which no call leads out,
	// is of another object, whose creation was not seen: other functions than those of the protocol create some.
	Mined, BornAtFirstUse, RebornAtNextUse bool
	Unnamed                                bool // the names of its states tell a reader nothing
}

// MaxCalls is the largest number of calls of a protocol.
const MaxCalls = 64

// Call is a letter of a protocol.
type Call struct {
	Name    string
	Creates bool // an object begins with it, which is in the first state before
}

// beginsWith reports whether an object whose first call is known is in the first state before it.
func (p *Protocol) beginsWith(call int) bool { return p.Calls[call].Creates || p.BornAtFirstUse }

// State is a state of a protocol. Next has, by call, the indices of the states that follow.
type State struct {
	Name string
	Next [][]int
}

// set is a set of states of a protocol, as a bit mask.
type set []uint64

func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s set) key() string {
	b := make([]byte, 0, 8*len(s))
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}

// broken is the set without states: the protocol is broken, for good.
const broken lattice.State = 0

// automaton numbers the sets of states of a protocol as they are reached. It may be used concurrently.
type automaton struct {
	p *Protocol

	mu   sync.Mutex // guards the fields below
	sets []set      // by number
	ids  map[string]lattice.State
	next []lattice.State // by number and call: that of the set that follows, plus 1; 0: not known yet
}

func newAutomaton(p *Protocol) *automaton {
	a := &automaton{p: p, ids: map[string]lattice.State{}}
	a.number(a.empty()) // broken
	return a
}

func (a *automaton) empty() set { return make(set, (len(a.p.States)+63)/64) }

// number returns the number of a set. The caller holds a.mu, or has a alone.
func (a *automaton) number(s set) lattice.State {
	k := s.key()
	n, ok := a.ids[k]
	if !ok {
		n = lattice.State(len(a.sets))
		a.ids[k], a.sets = n, append(a.sets, s)
		a.next = append(a.next, make([]lattice.State, len(a.p.Calls))...)
	}
	return n
}

// start returns the set of states of an object before its first call.
func (a *automaton) start(created bool) lattice.State {
	s := a.empty()
	for i := range a.p.States {
		if i == 0 || !created {
			s.add(i)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.number(s)
}

// step returns the set of states after a call.
func (a *automaton) step(from lattice.State, call int) lattice.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := int(from)*len(a.p.Calls) + call
	if a.next[at] == 0 {
		to := a.empty()
		for i := range a.p.States {
			if !a.sets[from].has(i) || call >= len(a.p.States[i].Next) {
				continue
			}
			for _, n := range a.p.States[i].Next[call] {
				to.add(n)
			}
		}
		n := a.number(to)
		a.next[at] = n + 1
	}
	return a.next[at] - 1
}

// names returns the names of the states of a set.
func (a *automaton) names(n lattice.State) (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.p.States {
		if a.sets[n].has(i) {
			names = append(names, a.p.States[i].Name)
		}
	}
	return names
}

// ended reports whether no call leads out of a set of states, which is not empty.
func (a *automaton) ended(n lattice.State) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.p.States {
		if !a.sets[n].has(i) {
			continue
		}
		for _, next := range a.p.States[i].Next {
			if slices.ContainsFunc(next, func(to int) bool { return to != i }) {
				return false
			}
		}
	}
	return n != broken
}

// allowed returns the names of the calls that a set of states allows.
func (a *automaton) allowed(n lattice.State) (names []string) {
	for c := range a.p.Calls {
		if a.step(n, c) != broken {
			names = append(names, a.p.Calls[c].Name)
		}
	}
	return names
}

// monitor is the automaton of an object, which begins in a set of states.
type monitor struct {
	*automaton
	from lattice.State
}

// Start implements lattice.Monitor.
func (m monitor) Start(into []lattice.State) []lattice.State { return append(into, m.from) }

// Step implements lattice.Monitor. Bit i of a letter is call i. The first letter, before any call, is 0.
func (m monitor) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	if l != 0 {
		from = m.step(from, bits.TrailingZeros64(l))
	}
	return append(into, from)
}

// Bad implements lattice.Monitor.
func (m monitor) Bad(s lattice.State) bool { return s == broken }

// calls are the letters of a lattice whose declared events are the calls of a protocol.
type calls struct{}

// Letter implements lattice.Labels.
func (calls) Letter(_ []uint64, events uint64) lattice.Letter { return events }
