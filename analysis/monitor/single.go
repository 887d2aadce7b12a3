package monitor

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
)

// Single is a minimal deterministic automaton of words of which each letter is one proposition alone, as the calls of a
// protocol. Next has, by state and proposition, the state that follows; NoState: the word is bad. State 0 is the initial
// one, and the others are numbered in the order of a breadth-first search. Without states, the empty word is bad.
type Single struct {
	Next [][]int
}

// NoState in Single.Next is in place of the bad state.
const NoState = -1

// SingleFromERE returns the automaton of an expression over words of so many propositions, 64 at most, one alone in each
// letter. The error is a *SizeError, or that of Check.
func SingleFromERE(r *ere.Regexp, propositions int, reading Reading, o Options) (*Single, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if propositions < 0 || propositions > 64 {
		return nil, fmt.Errorf("an automaton over %d propositions: 64 at most", propositions)
	}
	d := ere.NewDerivatives(o.limit())
	x, ok := exploreSingle(d, d.Language(r), propositions, reading, o.limit())
	if !ok {
		return nil, &SizeError{o.limit(), largest(r, o.limit())}
	}
	return x.minimal(x.bad(d, reading)), nil
}

// singles is an automaton under construction: its languages, and by state and proposition the state that follows.
type singles struct {
	keys []ere.Language
	next [][]int
}

// exploreSingle finds the derivatives of a language. With BadWords it does not explore beyond a match. It returns false
// beyond limit states.
func exploreSingle(d *ere.Derivatives, from ere.Language, propositions int, reading Reading, limit int) (*singles, bool) {
	x, index := &singles{keys: []ere.Language{from}}, map[ere.Language]int{from: 0}
	for i := 0; i < len(x.keys); i++ {
		row := make([]int, propositions)
		for p := range row {
			to := x.keys[i]
			if reading != BadWords || !d.Nullable(to) {
				to = d.Table.Eval(d.Derivative(to), 1<<p)
			}
			if _, known := index[to]; !known {
				index[to] = len(x.keys)
				x.keys = append(x.keys, to)
			}
			row[p] = index[to]
		}
		x.next = append(x.next, row)
		if d.Full() || len(x.keys) > limit {
			return nil, false
		}
	}
	return x, true
}

// bad returns, by state, whether the words that lead there are bad.
func (x *singles) bad(d *ere.Derivatives, reading Reading) []bool {
	bad := make([]bool, len(x.keys))
	if reading == BadWords {
		for i, l := range x.keys {
			bad[i] = d.Nullable(l)
		}
		return bad
	}
	before := make([][]int, len(x.keys))
	var todo []int
	for i, row := range x.next {
		bad[i] = !d.Nullable(x.keys[i])
		if !bad[i] {
			todo = append(todo, i)
		}
		for _, to := range row {
			before[to] = append(before[to], i)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, i := range before[todo[0]] {
			if bad[i] {
				bad[i] = false
				todo = append(todo, i)
			}
		}
	}
	return bad
}

// minimal returns the minimal automaton by refining a partition of its states: first into bad ones and others, then by the
// classes of their successors, until the number of classes stays the same (Moore, "Gedanken-experiments on Sequential Machines").
func (x *singles) minimal(bad []bool) *Single {
	class, classes := make([]int, len(x.next)), 1
	for i := range bad {
		if bad[i] {
			class[i] = 1
		}
	}
	for {
		index, next := map[string]int{}, make([]int, len(class))
		for i, row := range x.next {
			key := fmt.Append(nil, class[i])
			for _, to := range row {
				if bad[i] {
					break
				}
				key = fmt.Append(key, " ", class[to])
			}
			if _, known := index[string(key)]; !known {
				index[string(key)] = len(index)
			}
			next[i] = index[string(key)]
		}
		class = next
		if len(index) == classes {
			return x.quotient(class, bad)
		}
		classes = len(index)
	}
}

// quotient returns the automaton of classes of states, without that of the bad ones.
func (x *singles) quotient(class []int, bad []bool) *Single {
	s := &Single{}
	if bad[0] {
		return s
	}
	number, first := map[int]int{class[0]: 0}, []int{0} // of a class; a state of it
	for i := 0; i < len(first); i++ {
		row := make([]int, len(x.next[first[i]]))
		for p, to := range x.next[first[i]] {
			if bad[to] {
				row[p] = NoState
				continue
			}
			if _, known := number[class[to]]; !known {
				number[class[to]] = len(first)
				first = append(first, to)
			}
			row[p] = number[class[to]]
		}
		s.Next = append(s.Next, row)
	}
	return s
}
