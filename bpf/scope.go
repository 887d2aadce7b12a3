package bpf

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Bounds of scope.h, which TestScopeBounds compares.
const (
	ScopeLocals  = 6       // local properties of a scope
	ScopeThreads = 1024    // threads whose states are kept
	ScopeEntries = 1 << 16 // of ScopeAutomata.Next
	ScopeWhens   = 4       // events of a site that have conditions
	ScopeInputs  = 7       // of a condition: parameters, and the result
)

// ScopeResult is, in ScopeWhen.From, the result of the call.
const ScopeResult = ScopeInputs - 1

// ScopeWhen is an event that has a condition.
type ScopeWhen struct {
	Letter [ScopeLocals]uint8 // as of a site, if the condition holds
	Number uint8              // of the condition, for the code of SetScopeConditions
	From   []uint8            // what it reads: parameters by number, or ScopeResult
}

// AddWhen adds an event that has a condition.
func (s *TracepredictScopeSite) AddWhen(w ScopeWhen) error {
	if s.Whens == ScopeWhens || len(w.From) > ScopeInputs {
		return fmt.Errorf("more than %d events of a function have conditions, or one reads more than %d values", ScopeWhens, ScopeInputs)
	}
	to := &s.When[s.Whens]
	to.Letter, to.Number, to.Inputs = w.Letter, w.Number, uint8(copy(to.From[:], w.From))
	s.Whens++
	return nil
}

// SetScopeConditions makes the programs of a collection that has not been loaded compute conditions: the body finds the
// inputs at R1, in eight bytes each, puts the value at ScopeOut behind R1, and has the number of the condition in R2. R1 may
// be 0.
func SetScopeConditions(spec *ebpf.CollectionSpec, body asm.Instructions) error {
	return replace(spec, "on_when", body)
}

// ScopeOut is where the value of a condition goes.
const ScopeOut = 8 * ScopeInputs

// scopeRegion is where, in a word of a thread, the number of a region begins.
const scopeRegion = 48

// States returns the state of each property.
func (s *TracepredictScopeState) States() (states [ScopeLocals]uint8) {
	for i := range states {
		states[i] = uint8(s.Word >> (8 * i))
	}
	return states
}

// Named reports whether the thread got a name behind events that the states have.
func (s *TracepredictScopeState) Named() bool { return s.Ended&scopeNamed != 0 }

// scopeNamed is SCOPE_NAMED of scope.h.
const scopeNamed = 2

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
