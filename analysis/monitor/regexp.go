package monitor

import (
	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
)

// Reading determines which words an expression makes bad.
type Reading uint8

const (
	// BadWords means that a word is bad if the expression matches a prefix of it; the empty
	// word and the word itself are prefixes too.
	BadWords Reading = iota
	// GoodWords means that a word is bad if the expression matches neither it nor any
	// continuation of it.
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

// exploreERE finds the derivatives of an expression; the keys are languages. With BadWords it
// does not explore beyond a match. It returns false beyond limit states.
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
	predecessors := make([][]State, len(e.keys))
	canMatch := make([]bool, len(e.keys))
	var todo []State
	for i, root := range e.roots {
		d.Table.Leaves(root, func(l uint32) bool {
			predecessors[e.index[l]] = append(predecessors[e.index[l]], State(i))
			return true
		})
		if d.Nullable(e.keys[i]) {
			canMatch[i] = true
			todo = append(todo, State(i))
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, b := range predecessors[s] {
			if !canMatch[b] {
				canMatch[b] = true
				todo = append(todo, b)
			}
		}
	}
	return func(l ere.Language) bool { return !canMatch[e.index[l]] }
}

// blameDepth bounds how deep largest descends.
const blameDepth = 12

// largest returns the part that makes an expression too large: from the expression down, the
// first operand that is too large alone, until no operand of the part is.
func largest(r *ere.Regexp, limit int) *ere.Regexp {
	for range blameDepth {
		part := r
		for _, operand := range r.Operands {
			if _, _, ok := exploreERE(operand, GoodWords, limit); !ok {
				part = operand
				break
			}
		}
		if part == r {
			break
		}
		r = part
	}
	return r
}
