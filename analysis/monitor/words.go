package monitor

import "slices"

// ShortestBad returns a bad word of the fewest letters; ok is false if there is none. The word
// is empty if all words are bad. Propositions whose value makes no difference do not hold in
// it.
func (d *Deterministic) ShortestBad() (word []Letter, ok bool) {
	if d.bad == noState {
		return nil, false
	}
	type arrival struct {
		from   State
		letter Letter
	}
	arrivals := make([]arrival, len(d.roots))
	for i := range arrivals {
		arrivals[i].from = noState
	}
	arrivals[0].from = 0
	for todo := []State{0}; arrivals[d.bad].from == noState; todo = todo[1:] {
		d.successors(todo[0], func(l Letter, to State) {
			if arrivals[to].from == noState {
				arrivals[to] = arrival{todo[0], l}
				todo = append(todo, to)
			}
		})
	}
	word = []Letter{}
	for s := d.bad; s != 0; s = arrivals[s].from {
		word = append(word, arrivals[s].letter)
	}
	slices.Reverse(word)
	return word, true
}

// ShortestBad returns a bad word of the fewest letters; ok is false if there is none. The word
// is empty if the initial state is bad. Propositions whose value makes no difference do not
// hold in it.
func (a *Automaton) ShortestBad() (word []Letter, ok bool) {
	type arrival struct {
		from   int
		letter Letter
	}
	arrivals := map[int]arrival{0: {from: -1}}
	for todo := []int{0}; len(todo) > 0; todo = todo[1:] {
		from := todo[0]
		if a.states[from].Bad {
			word = []Letter{}
			for s := from; s != 0; s = arrivals[s].from {
				word = append(word, arrivals[s].letter)
			}
			slices.Reverse(word)
			return word, true
		}
		for _, e := range a.states[from].Edges {
			if _, seen := arrivals[e.To]; !seen && e.Guard.True&e.Guard.False == 0 {
				arrivals[e.To] = arrival{from, e.Guard.True}
				todo = append(todo, e.To)
			}
		}
	}
	return nil, false
}

// successors calls visit once with each state that follows s, and with a letter that leads
// there.
func (d *Deterministic) successors(s State, visit func(l Letter, to State)) {
	seen := map[ref]bool{}
	var walk func(r ref, l Letter)
	walk = func(r ref, l Letter) {
		if seen[r] {
			return
		}
		seen[r] = true
		if r&isState != 0 {
			visit(l, r&^isState)
			return
		}
		c := d.choices[r]
		walk(c.low, l)
		walk(c.high, l|1<<c.proposition)
	}
	walk(d.roots[s], 0)
}

// cubes calls visit with each path of a state's diagram until visit returns false. For a letter
// in which all propositions of trues and none of falses hold, the next state is to. Each letter
// is on one path.
func (d *Deterministic) cubes(s State, visit func(trues, falses uint64, to State) bool) {
	var walk func(r ref, trues, falses uint64) bool
	walk = func(r ref, trues, falses uint64) bool {
		if r&isState != 0 {
			return visit(trues, falses, r&^isState)
		}
		c := d.choices[r]
		bit := uint64(1) << c.proposition
		return walk(c.low, trues, falses|bit) && walk(c.high, trues|bit, falses)
	}
	walk(d.roots[s], 0, 0)
}
