package mine

import (
	"cmp"
	"fmt"
	"slices"
)

// stringTable has the k-strings of each state with their probabilities: those of state u are
// first[u] to first[u+1] in ids and probability. Strings are numbers, in the order of the
// strings: shorter ones before those that they begin, then by symbol.
type stringTable struct {
	first       []int
	ids         []int32
	probability []float64
	keys        [][]uint64 // by length of the strings allowed, by number; only if asked for
}

// A key is a string of length j: 0 for the empty one, otherwise 1 + symbol<<32 + the number of the rest
// among the strings of length j-1. So keys have the order of the strings.
func key(s Symbol, rest int32) uint64 { return uint64(s)<<32 + uint64(rest) + 1 }

// mostStrings bounds the strings of all states of an automaton by the states of the tree. In a
// tree, each state ends one string of length k at most; loops have any number.
func mostStrings(states int) int { return 1<<20 + 8*states }

// kStrings returns the strings of length k. keep has the keys kept, from which the strings can be
// read.
func (g *graph) kStrings(o Options, room int, keep bool) (*stringTable, error) {
	table := emptyStrings(len(g.ends))
	var keys [][]uint64
	var scratch []weighted
	for j := 1; j <= o.K; j++ {
		longer := &longer{shorter: table, first: make([]int, 1, len(g.ends)+1), scratch: scratch, room: room}
		for s := range g.ends {
			if !longer.add(g.of(int32(s)), g.ends[s], o.IgnoreEnds) {
				return nil, fmt.Errorf("compare states by the calls that can follow: there are more than %d sequences "+
					"of them: use a k below %d", room, o.K)
			}
		}
		scratch = longer.scratch
		var level []uint64
		table, level = longer.table()
		if keep {
			keys = append(keys, level)
		}
	}
	table.keys = keys
	return table, nil
}

// emptyStrings returns the table in which each state has one string, the empty one, with probability 1.
func emptyStrings(states int) *stringTable {
	t := &stringTable{first: make([]int, states+1), ids: make([]int32, states), probability: make([]float64, states)}
	for s := range states {
		t.first[s+1] = s + 1
		t.probability[s] = 1
	}
	return t
}

// longer collects the strings that are longer by one than those of a table.
type longer struct {
	shorter     *stringTable
	first       []int
	keys        []uint64
	probability []float64
	scratch     []weighted
	room        int // how many strings there may be
}

type weighted struct {
	key         uint64
	probability float64
}

// add adds the strings of the next state, which has these arcs and ends. It returns false if
// they are too many.
func (l *longer) add(arcs []arc, ends int64, ignoreEnds bool) bool {
	total := int64(0)
	for _, a := range arcs {
		total += a.count
	}
	if !ignoreEnds {
		total += ends
	}
	if ends > 0 {
		p := 1.0
		if !ignoreEnds {
			p = float64(ends) / float64(total)
		}
		l.keys, l.probability = append(l.keys, 0), append(l.probability, p)
	}
	for len(arcs) > 0 {
		same := 1
		for same < len(arcs) && arcs[same].symbol == arcs[0].symbol {
			same++
		}
		if !l.fits(arcs[:same]) {
			return false
		}
		l.after(arcs[:same], float64(total))
		arcs = arcs[same:]
	}
	l.first = append(l.first, len(l.keys))
	return true
}

// fits reports whether there is room for what can follow these arcs. Strings of several arcs count
// for each.
func (l *longer) fits(arcs []arc) bool {
	n := len(l.keys)
	for _, a := range arcs {
		n += l.shorter.first[a.to+1] - l.shorter.first[a.to]
	}
	return n <= l.room
}

// after adds the strings that begin with the one symbol of these arcs.
func (l *longer) after(arcs []arc, total float64) {
	if len(arcs) > 1 {
		l.joined(arcs, total)
		return
	}
	a, t := arcs[0], l.shorter
	p := float64(a.count) / total
	for i := t.first[a.to]; i < t.first[a.to+1]; i++ {
		l.keys = append(l.keys, key(a.symbol, t.ids[i]))
		l.probability = append(l.probability, p*t.probability[i])
	}
}

// joined is after for several arcs, along which a string's probabilities add up, in the order of
// the arcs.
func (l *longer) joined(arcs []arc, total float64) {
	l.scratch = l.scratch[:0]
	t := l.shorter
	for _, a := range arcs {
		p := float64(a.count) / total
		for i := t.first[a.to]; i < t.first[a.to+1]; i++ {
			l.scratch = append(l.scratch, weighted{key(a.symbol, t.ids[i]), p * t.probability[i]})
		}
	}
	slices.SortStableFunc(l.scratch, func(x, y weighted) int { return cmp.Compare(x.key, y.key) })
	for i, w := range l.scratch {
		if last := len(l.keys) - 1; i > 0 && l.scratch[i-1].key == w.key {
			l.probability[last] += w.probability
		} else {
			l.keys, l.probability = append(l.keys, w.key), append(l.probability, w.probability)
		}
	}
}

// table numbers the strings. It also returns the key of each number.
func (l *longer) table() (*stringTable, []uint64) {
	number := map[uint64]int32{}
	var distinct []uint64
	for _, k := range l.keys {
		if _, ok := number[k]; !ok {
			number[k] = 0
			distinct = append(distinct, k)
		}
	}
	slices.Sort(distinct)
	for i, k := range distinct {
		number[k] = int32(i)
	}
	t := &stringTable{first: l.first, ids: make([]int32, len(l.keys)), probability: l.probability}
	for i, k := range l.keys {
		t.ids[i] = number[k]
	}
	return t, distinct
}

// text returns the symbols of a string, if the keys were kept.
func (t *stringTable) text(id int32) []Symbol {
	s := []Symbol{}
	for j := len(t.keys) - 1; j >= 0; j-- {
		k := t.keys[j][id]
		if k == 0 {
			break
		}
		s = append(s, Symbol((k-1)>>32))
		id = int32(uint32(k - 1))
	}
	return s
}

func (t *stringTable) of(state int32) []int32 { return t.ids[t.first[state]:t.first[state+1]] }

// tops has the top strings of each state, by falling probability: those of state u are first[u] to
// first[u+1].
type tops struct {
	first []int
	ids   []int32
}

func (t *tops) of(state int32) []int32 { return t.ids[t.first[state]:t.first[state+1]] }

// tolerance is below which probabilities are equal.
const tolerance = 1e-12

// top returns the top strings that reach s percent.
func (t *stringTable) top(s int) *tops {
	states := len(t.first) - 1
	out := &tops{first: make([]int, 1, states+1)}
	var order []int
	for u := range states {
		order = order[:0]
		for i := t.first[u]; i < t.first[u+1]; i++ {
			order = append(order, i)
		}
		t.sort(order)
		reached := 0.0
		for _, i := range order {
			if reached >= float64(s)/100-tolerance {
				break
			}
			out.ids = append(out.ids, t.ids[i])
			reached += t.probability[i]
		}
		out.first = append(out.first, len(out.ids))
	}
	return out
}

// sort sorts entries by falling probability. Those that are equal but for tolerance, each to the
// next one, keep the order of their strings.
func (t *stringTable) sort(order []int) {
	if len(order) < 2 {
		return
	}
	slices.SortFunc(order, func(x, y int) int {
		if c := cmp.Compare(t.probability[y], t.probability[x]); c != 0 {
			return c
		}
		return cmp.Compare(x, y)
	})
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && t.probability[order[to-1]]-t.probability[order[to]] < tolerance {
			to++
		}
		slices.Sort(order[from:to])
		from = to
	}
}
