package bpf

import "fmt"

// Bounds of scope.h, which TestScopeBounds compares.
const (
	ScopeLocals  = 6       // local properties of a scope
	ScopeThreads = 1024    // threads whose states are kept
	ScopeEntries = 1 << 16 // of ScopeAutomata.Next
)

// scopeRegion is where, in a word of a thread, the number of a region begins.
const scopeRegion = 48

// States returns the state of each property.
func (s *TracepredictScopeState) States() (states [ScopeLocals]uint8) {
	for i := range states {
		states[i] = uint8(s.Word >> (8 * i))
	}
	return states
}

// State returns the state of a thread in a region; ok is false if none of its properties has left its first state.
func (t *TracepredictScopeThread) State(region uint64) (s ScopeState, ok bool) {
	word := t.Word[region&1]
	s = ScopeState{Tid: uint32(t.Thread), Ended: uint32(t.Ended), Word: word}
	return s, t.Thread != 0 && uint16(word>>scopeRegion) == uint16(region) && word<<(64-scopeRegion) != 0
}

// ScopeTable is the automaton of a local property. Its first state is 0.
type ScopeTable struct {
	Shift uint32  // binary logarithm of the number of letters, at most 7
	Next  []uint8 // by state<<Shift + letter
}

// NewScopeAutomata puts automata together. It returns an error if they are too many or too large.
func NewScopeAutomata(tables []ScopeTable) (*ScopeAutomata, error) {
	if len(tables) > ScopeLocals {
		return nil, fmt.Errorf("%d local properties are too many for the kernel: at most %d", len(tables), ScopeLocals)
	}
	a := &ScopeAutomata{}
	at := 0
	for i, t := range tables {
		if t.Shift > 7 || len(t.Next) > 256<<t.Shift || at+len(t.Next) > ScopeEntries {
			return nil, fmt.Errorf("local property %d is too large for the kernel: its table has %d entries, and all of them at most %d", i+1, len(t.Next), ScopeEntries)
		}
		a.Local[i].From, a.Local[i].Shift = uint32(at), t.Shift
		at += copy(a.Next[at:], t.Next)
	}
	return a, nil
}
