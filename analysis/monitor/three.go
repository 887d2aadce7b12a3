package monitor

import "github.com/tracepredict/tracepredict/analysis/monitor/ltl"

// Verdict is what the beginning of a word says of a formula in LTL₃ (Bauer, Leucker, Schallhart, Runtime Verification for
// LTL and TLTL).
type Verdict uint8

// The verdicts. True and False are never left.
const (
	Unknown Verdict = iota // some continuations satisfy the formula, and others do not
	True                   // every continuation satisfies it
	False                  // no continuation satisfies it
)

// String returns the verdict as a specification spells it.
func (v Verdict) String() string { return [...]string{"?", "T", "F"}[v] }

// ThreeValued judges the beginnings of words in LTL₃. It is the product of the monitor of a formula and that of its
// negation. It is never changed once made.
type ThreeValued struct {
	violated, satisfied *Deterministic
}

// Pair is a state of a ThreeValued: one of each monitor.
type Pair [2]State

// FromLTL3 returns the monitor of a formula in LTL₃. Any formula has one, also one that is no safety property. The errors
// are those of FromLTL but *NotSafetyError.
func FromLTL3(f *ltl.Formula, o Options) (*ThreeValued, error) {
	o.Partial = true
	violated, _, err := FromLTL(f, o)
	if err != nil {
		return nil, err
	}
	satisfied, _, err := FromLTL(ltl.Unary(ltl.Not, f), o)
	if err != nil {
		return nil, err
	}
	return &ThreeValued{violated, satisfied}, nil
}

// Start returns the state before the first letter.
func (m *ThreeValued) Start() Pair { return Pair{} }

// Next returns the state after letter l. It allocates nothing.
func (m *ThreeValued) Next(from Pair, l Letter) Pair {
	return Pair{m.violated.next(from[0], l), m.satisfied.next(from[1], l)}
}

// Verdict returns the verdict on the words that lead to a state.
func (m *ThreeValued) Verdict(at Pair) Verdict {
	switch {
	case m.violated.Bad(at[0]):
		return False
	case m.satisfied.Bad(at[1]):
		return True
	}
	return Unknown
}

// CanBeFalse reports whether some word has the verdict False.
func (m *ThreeValued) CanBeFalse() bool {
	_, ok := m.violated.ShortestBad()
	return ok
}

// States returns the number of states of both monitors.
func (m *ThreeValued) States() int { return m.violated.States() + m.satisfied.States() }
