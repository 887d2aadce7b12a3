package mine

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
)

// naive is an automaton in which everything is computed from its arcs by definition, with
// exact probabilities. Its order of merging is the one of the package, or the first pair of
// equivalent states in number order, after which all is computed again.
type naive struct {
	states []int
	arcs   map[naiveArc]int64
	final  map[int]int64
}

type naiveArc struct {
	from   int
	symbol Symbol
	to     int
}

func newNaive(sequences [][]Symbol) *naive {
	m := &naive{states: []int{0}, arcs: map[naiveArc]int64{}, final: map[int]int64{}}
	for _, s := range sequences {
		at := 0
		for _, a := range s {
			next := -1
			for arc := range m.arcs {
				if arc.from == at && arc.symbol == a {
					next = arc.to
				}
			}
			if next < 0 {
				next = len(m.states)
				m.states = append(m.states, next)
			}
			m.arcs[naiveArc{at, a, next}]++
			at = next
		}
		m.final[at]++
	}
	return m
}

// spell writes a string so that strings compare as their symbols do.
func spell(s []Symbol) string {
	var b strings.Builder
	for _, a := range s {
		b.WriteRune('a' + rune(a))
	}
	return b.String()
}

// kStrings follows the paths of k arcs, or those that end earlier, one by one.
func (m *naive) kStrings(q int, o Options) map[string]*big.Rat {
	out := map[string]*big.Rat{}
	var walk func(u int, word []Symbol, p *big.Rat)
	add := func(word []Symbol, p *big.Rat) {
		z := spell(word)
		if out[z] == nil {
			out[z] = new(big.Rat)
		}
		out[z].Add(out[z], p)
	}
	walk = func(u int, word []Symbol, p *big.Rat) {
		if len(word) == o.K {
			add(word, p)
			return
		}
		total := int64(0)
		for arc, f := range m.arcs {
			if arc.from == u {
				total += f
			}
		}
		end := big.NewRat(1, 1)
		if !o.IgnoreEnds {
			total += m.final[u]
			end = big.NewRat(m.final[u], max(total, 1))
		}
		if m.final[u] > 0 {
			add(word, new(big.Rat).Mul(p, end))
		}
		for arc, f := range m.arcs {
			if arc.from == u {
				walk(arc.to, append(slices.Clone(word), arc.symbol), new(big.Rat).Mul(p, big.NewRat(f, total)))
			}
		}
	}
	walk(q, nil, big.NewRat(1, 1))
	return out
}

func (m *naive) top(all map[string]*big.Rat, s int) []string {
	var order []string
	for z := range all {
		order = append(order, z)
	}
	slices.SortFunc(order, func(x, y string) int {
		return cmp.Or(all[y].Cmp(all[x]), strings.Compare(x, y))
	})
	total, enough := new(big.Rat), big.NewRat(int64(s), 100)
	for i, z := range order {
		if total.Cmp(enough) >= 0 {
			return order[:i]
		}
		total.Add(total, all[z])
	}
	return order
}

// views are all strings and the top strings of all states.
type views struct {
	all map[int]map[string]*big.Rat
	top map[int][]string
}

func (m *naive) views(o Options) views {
	v := views{map[int]map[string]*big.Rat{}, map[int][]string{}}
	for _, q := range m.states {
		v.all[q] = m.kStrings(q, o)
		v.top[q] = m.top(v.all[q], o.S)
	}
	return v
}

func (v views) equivalent(p, q int, rule Rule) bool {
	within := func(p, q int) bool {
		return !slices.ContainsFunc(v.top[p], func(z string) bool { return v.all[q][z] == nil })
	}
	switch rule {
	case Strict:
		return slices.Equal(v.top[p], v.top[q])
	case Equal:
		return slices.Equal(slices.Sorted(slices.Values(v.top[p])), slices.Sorted(slices.Values(v.top[q])))
	case And:
		return within(p, q) && within(q, p)
	}
	return within(p, q) || within(q, p)
}

func (m *naive) merge(p, q int) {
	arcs := map[naiveArc]int64{}
	for arc, f := range m.arcs {
		if arc.from == q {
			arc.from = p
		}
		if arc.to == q {
			arc.to = p
		}
		arcs[arc] += f
	}
	m.arcs = arcs
	m.states = slices.DeleteFunc(m.states, func(s int) bool { return s == q })
	if f := m.final[q]; f > 0 {
		m.final[p] += f
		delete(m.final, q)
	}
}

// step is that state gone merged into state keep.
type step struct{ Keep, Gone int }

// firstPairs merges the first equivalent pair in number order until there is none. It calls merged
// for each, with the top strings of the state that is kept.
func (m *naive) firstPairs(o Options, merged func(keep, gone int, top []string)) {
	for {
		v := m.views(o)
		pair := func() *step {
			for i, p := range m.states {
				for _, q := range m.states[i+1:] {
					if v.equivalent(p, q, o.Rule) {
						return &step{p, q}
					}
				}
			}
			return nil
		}()
		if pair == nil {
			return
		}
		merged(pair.Keep, pair.Gone, v.top[pair.Keep])
		m.merge(pair.Keep, pair.Gone)
	}
}

// rounds merges in rounds, as the package does.
func (m *naive) rounds(o Options) (steps []step) {
	for {
		v := m.views(o)
		var kept []int
		var pairs []step
		for _, q := range m.states {
			i := slices.IndexFunc(kept, func(p int) bool { return v.equivalent(p, q, o.Rule) })
			if i < 0 {
				kept = append(kept, q)
			} else {
				pairs = append(pairs, step{kept[i], q})
			}
		}
		if len(pairs) == 0 {
			return steps
		}
		steps = append(steps, byKept(pairs)...)
		for _, p := range pairs {
			m.merge(p.Keep, p.Gone)
		}
	}
}

// byKept orders the merges of a round by the states that are kept.
func byKept(pairs []step) []step {
	slices.SortStableFunc(pairs, func(x, y step) int { return cmp.Compare(x.Keep, y.Keep) })
	return pairs
}

// kTails merges all states with the same sequences of at most k calls to an end.
func (m *naive) kTails(k int) {
	tails := map[int]map[string]bool{}
	for _, q := range m.states {
		tails[q] = map[string]bool{}
		var walk func(u int, word []Symbol)
		walk = func(u int, word []Symbol) {
			if m.final[u] > 0 {
				tails[q][spell(word)] = true
			}
			if len(word) < k {
				for arc := range m.arcs {
					if arc.from == u {
						walk(arc.to, append(slices.Clone(word), arc.symbol))
					}
				}
			}
		}
		walk(q, nil)
	}
	same := func(p, q int) bool {
		for z := range tails[p] {
			if !tails[q][z] {
				return false
			}
		}
		return len(tails[p]) == len(tails[q])
	}
	for i := 0; i < len(m.states); i++ {
		for j := i + 1; j < len(m.states); j++ {
			if p, q := m.states[i], m.states[j]; same(p, q) {
				m.merge(p, q)
				j--
			}
		}
	}
}

func (m *naive) accepts(word []Symbol) bool {
	at := map[int]bool{0: true}
	for _, a := range word {
		next := map[int]bool{}
		for arc := range m.arcs {
			if at[arc.from] && arc.symbol == a {
				next[arc.to] = true
			}
		}
		at = next
	}
	for q := range at {
		if m.final[q] > 0 {
			return true
		}
	}
	return false
}

// automaton returns the automaton of the states that are left, numbered from 0 in their order.
func (m *naive) automaton() *Automaton {
	a := &Automaton{States: make([]State, len(m.states))}
	for i, q := range m.states {
		a.States[i].Ends = m.final[q]
		a.States[i].Final = m.final[q] > 0
		for arc, f := range m.arcs {
			if arc.from == q {
				a.States[i].Edges = append(a.States[i].Edges, Edge{arc.symbol, slices.Index(m.states, arc.to), f})
			}
		}
		slices.SortFunc(a.States[i].Edges, func(x, y Edge) int {
			return cmp.Or(cmp.Compare(x.Symbol, y.Symbol), cmp.Compare(x.To, y.To))
		})
	}
	return a
}
