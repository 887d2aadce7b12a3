package monitor

import (
	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
)

// Reading determines which words are bad, given the words that an expression matches.
type Reading uint8

const (
	// BadWords: the expression matches the bad prefixes. A word is bad when the
	// expression matches a beginning of it, the word without letters included.
	BadWords Reading = iota
	// GoodWords: a word that cannot be continued into a match is bad.
	GoodWords
)

// FromERE returns the monitor of an extended regular expression. The error is a
// *SizeError, or that of Check.
func FromERE(r *ere.Regexp, reading Reading, o Options) (*Deterministic, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	e, d, ok := exploreERE(r, reading, o.limit())
	if !ok {
		return nil, &SizeError{o.limit(), largest(r, o.limit())}
	}
	bad := d.Nullable
	if reading == GoodWords {
		bad = unmatchable(e, d)
	}
	return e.draft(d.Table, bad).finish(minimisationWork), nil
}

// exploreERE finds the derivatives of an expression. With BadWords it does not explore
// beyond a match.
func exploreERE(r *ere.Regexp, reading Reading, limit int) (*exploration, *ere.Derivatives, bool) {
	d := ere.NewDerivatives(limit)
	from := d.Language(r)
	e, ok := explore(d.Table, from, func(l uint32) decision.Node {
		if reading == BadWords && d.Nullable(l) {
			return d.Table.Leaf(l)
		}
		return d.Derivative(l)
	}, d.Full, limit)
	return e, d, ok
}

// unmatchable returns a function that reports whether an explored language is empty: no
// derivative that contains the empty word is reachable from it.
func unmatchable(e *exploration, d *ere.Derivatives) func(l ere.Language) bool {
	before := make([][]State, len(e.keys))
	hope := make([]bool, len(e.keys))
	var todo []State
	for i, root := range e.roots {
		d.Table.Leaves(root, func(l uint32) bool {
			before[e.index[l]] = append(before[e.index[l]], State(i))
			return true
		})
		if d.Nullable(e.keys[i]) {
			hope[i] = true
			todo = append(todo, State(i))
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, b := range before[s] {
			if !hope[b] {
				hope[b] = true
				todo = append(todo, b)
			}
		}
	}
	return func(l ere.Language) bool { return !hope[e.index[l]] }
}

// blameDepth bounds the search for the part that makes an expression too large.
const blameDepth = 12

// largest returns the part that makes an expression too large: the deepest part that is
// too large alone although none of its operands is.
func largest(r *ere.Regexp, limit int) *ere.Regexp {
	for range blameDepth {
		too := r
		for _, operand := range r.Operands {
			if _, _, ok := exploreERE(operand, GoodWords, limit); !ok {
				too = operand
				break
			}
		}
		if too == r {
			break
		}
		r = too
	}
	return r
}
