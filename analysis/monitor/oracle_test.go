package monitor

import (
	"math/rand/v2"

	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// The oracle of temporal logic is the classical global tableau (Lichtenstein, Pnueli, Zuck, The
// Glory of the Past), which shares nothing with the construction under test. An atom is a
// letter and a truth value for each temporal part of the formula, which are consistent. Which
// atom may follow which depends on the two alone. A path is fulfilling if every eventuality
// that it makes true comes true later; then its values are the true values of all parts along
// its word. Every word has exactly one fulfilling path. So a prefix is bad exactly when no
// fulfilling path begins with it and makes the formula true at its start: the answer is exact,
// for continuations of any length. TestOracleAgainstLassos compares the oracle with the
// definitions of the operators, on words that repeat.

// oracle decides one formula.
type oracle struct {
	parts   []*ltl.Formula // operands before operators; the formula last
	index   map[*ltl.Formula]int
	letters int
	atoms   []atom
	next    [][]int // by atom
	live    []bool  // by atom: a fulfilling path begins here
}

type atom struct {
	letter Letter
	value  []bool // by part
}

// newOracle returns the oracle of a formula over n propositions.
func newOracle(f *ltl.Formula, n int) *oracle {
	o := &oracle{index: map[*ltl.Formula]int{}, letters: 1 << n}
	o.collect(f)
	temporal := 0
	for _, p := range o.parts {
		if p.Op.IsPast() || p.Op.IsFuture() {
			temporal++
		}
	}
	for l := range o.letters {
		for guess := range 1 << temporal {
			o.atoms = append(o.atoms, o.atom(Letter(l), guess))
		}
	}
	o.next = make([][]int, len(o.atoms))
	for a := range o.atoms {
		for b := range o.atoms {
			if o.mayFollow(o.atoms[a], o.atoms[b]) {
				o.next[a] = append(o.next[a], b)
			}
		}
	}
	g := graph{next: o.next, fulfils: o.fulfils}
	o.live = g.live()
	return o
}

func (o *oracle) collect(f *ltl.Formula) {
	if _, ok := o.index[f]; ok {
		return
	}
	for _, operand := range f.Operands() {
		o.collect(operand)
	}
	o.index[f] = len(o.parts)
	o.parts = append(o.parts, f)
}

// atom returns the atom of a letter and guessed values for the temporal parts.
func (o *oracle) atom(l Letter, guess int) atom {
	a := atom{l, make([]bool, len(o.parts))}
	for i, p := range o.parts {
		if p.Op.IsPast() || p.Op.IsFuture() {
			a.value[i] = guess&1 == 1
			guess >>= 1
			continue
		}
		a.value[i] = plain(p, l, func(f *ltl.Formula) bool { return a.value[o.index[f]] })
	}
	return a
}

// plain evaluates a part that is not temporal.
func plain(f *ltl.Formula, l Letter, value func(*ltl.Formula) bool) bool {
	switch f.Op {
	case ltl.True:
		return true
	case ltl.Atom:
		return l>>f.Atom&1 == 1
	case ltl.Not:
		return !value(f.Left)
	case ltl.And:
		return value(f.Left) && value(f.Right)
	case ltl.Or:
		return value(f.Left) || value(f.Right)
	case ltl.Xor:
		return value(f.Left) != value(f.Right)
	case ltl.Implies:
		return !value(f.Left) || value(f.Right)
	case ltl.Iff:
		return value(f.Left) == value(f.Right)
	default:
		return false
	}
}

func (o *oracle) mayFollow(a, b atom) bool {
	for i, p := range o.parts {
		if p.Op.IsFuture() && a.value[i] != o.future(p, i, a, b) || p.Op.IsPast() && b.value[i] != o.past(p, i, a, b) {
			return false
		}
	}
	return true
}

// operands returns the values of a part's operands.
func (o *oracle) operands(p *ltl.Formula, a atom) (l, r bool) {
	l = a.value[o.index[p.Left]]
	if p.Right != nil {
		r = a.value[o.index[p.Right]]
	}
	return l, r
}

// future returns the value that part i must have in a when b follows.
func (o *oracle) future(p *ltl.Formula, i int, a, b atom) bool {
	l, r := o.operands(p, a)
	later := b.value[i]
	switch p.Op {
	case ltl.Always:
		return l && later
	case ltl.Eventually:
		return l || later
	case ltl.Next:
		return b.value[o.index[p.Left]]
	case ltl.Until, ltl.WeakUntil:
		return r || l && later
	default:
		return r && (l || later)
	}
}

// past returns the value that part i must have in b after a.
func (o *oracle) past(p *ltl.Formula, i int, a, b atom) bool {
	l, r := o.operands(p, b)
	before, was := a.value[i], a.value[o.index[p.Left]]
	switch p.Op {
	case ltl.Once:
		return l || before
	case ltl.Historically:
		return l && before
	case ltl.Start:
		return l && !was
	case ltl.End:
		return !l && was
	case ltl.Since, ltl.WeakSince:
		return r || l && before
	case ltl.Interval:
		return !r && (l || before)
	case ltl.WeakInterval: // (!r) weak_since (l && !r)
		return l && !r || !r && before
	default:
		return was
	}
}

// initial reports whether the past parts have the values of a first state.
func (o *oracle) initial(a atom) bool {
	for i, p := range o.parts {
		if !p.Op.IsPast() {
			continue
		}
		l, r := o.operands(p, a)
		want := l // prev, once and historically
		switch p.Op {
		case ltl.Yesterday, ltl.Start, ltl.End:
			want = false
		case ltl.WeakPrev:
			want = true
		case ltl.Since:
			want = r
		case ltl.WeakSince:
			want = l || r
		case ltl.Interval:
			want = l && !r
		case ltl.WeakInterval:
			want = !r
		}
		if a.value[i] != want {
			return false
		}
	}
	return true
}

// fulfils reports whether a path that visits all these atoms again and again is fulfilling: each
// future part is met at one of them.
func (o *oracle) fulfils(states []int) bool {
	for i, p := range o.parts {
		if !p.Op.IsFuture() || p.Op == ltl.Next {
			continue
		}
		met := false
		for _, s := range states {
			met = met || o.metAt(p, i, o.atoms[s])
		}
		if !met {
			return false
		}
	}
	return true
}

// metAt reports whether, at atom a, part i is not an eventuality that is still to come true.
func (o *oracle) metAt(p *ltl.Formula, i int, a atom) bool {
	l, r := o.operands(p, a)
	switch p.Op {
	case ltl.Always:
		return a.value[i] || !l
	case ltl.Eventually:
		return !a.value[i] || l
	case ltl.Until:
		return !a.value[i] || r
	case ltl.WeakUntil:
		return a.value[i] || !l && !r
	case ltl.Release:
		return a.value[i] || !r
	default: // strong release
		return !a.value[i] || l && r
	}
}

// start returns the initial atoms in which the formula has the given value.
func (o *oracle) start(value bool) []int {
	var states []int
	for s, a := range o.atoms {
		if o.live[s] && a.value[len(o.parts)-1] == value && o.initial(a) {
			states = append(states, s)
		}
	}
	return states
}

// read returns the atoms with the letter: among states if it is the first letter, else among
// the successors of states.
func (o *oracle) read(states []int, l Letter, first bool) []int {
	if !first {
		states = o.successors(states)
	}
	var of []int
	for _, s := range states {
		if o.atoms[s].letter == l {
			of = append(of, s)
		}
	}
	return of
}

func (o *oracle) successors(states []int) []int {
	seen := map[int]bool{}
	var all []int
	for _, s := range states {
		for _, n := range o.next[s] {
			if o.live[n] && !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	return all
}

// bad reports whether no continuation of the word satisfies the formula.
func (o *oracle) bad(word []Letter) bool {
	states := o.start(true)
	for i, l := range word {
		states = o.read(states, l, i == 0)
	}
	return len(states) == 0
}

// safety reports whether every word that violates the formula has a bad prefix: there is no
// fulfilling path that makes the formula false, along which the set of atoms that make it true
// never becomes empty.
func (o *oracle) safety() bool {
	type state struct {
		set  string
		atom int
	}
	index := map[state]int{}
	var states []state
	var sets [][]int
	number := func(set []int, a int) int {
		key := state{encode(set), a}
		n, ok := index[key]
		if !ok {
			n = len(states)
			index[key] = n
			states, sets = append(states, key), append(sets, set)
		}
		return n
	}
	good := o.start(true)
	for _, a := range o.start(false) {
		if set := o.read(good, o.atoms[a].letter, true); len(set) > 0 {
			number(set, a)
		}
	}
	first := len(states)
	var next [][]int
	for i := 0; i < len(states); i++ {
		var to []int
		for _, a := range o.next[states[i].atom] {
			if !o.live[a] {
				continue
			}
			if set := o.read(sets[i], o.atoms[a].letter, false); len(set) > 0 {
				to = append(to, number(set, a))
			}
		}
		next = append(next, to)
	}
	g := graph{next: next, fulfils: func(component []int) bool {
		var atoms []int
		for _, s := range component {
			atoms = append(atoms, states[s].atom)
		}
		return o.fulfils(atoms)
	}}
	live := g.live()
	for s := range first {
		if live[s] {
			return false
		}
	}
	return true
}

func encode(set []int) string {
	seen := map[int]bool{}
	largest := 0
	for _, s := range set {
		seen[s] = true
		largest = max(largest, s)
	}
	b := make([]byte, largest+1)
	for s := range seen {
		b[s] = 1
	}
	return string(b)
}

// graph finds the states from which a component that fulfils can be reached. It computes the
// strongly connected components by Kosaraju's algorithm.
type graph struct {
	next    [][]int
	fulfils func(states []int) bool
}

func (g *graph) live() []bool {
	before := make([][]int, len(g.next))
	for s, to := range g.next {
		for _, n := range to {
			before[n] = append(before[n], s)
		}
	}
	component := make([]int, len(g.next)) // 0: not known yet
	live := make([]bool, len(g.next))
	for _, s := range g.byFinish() {
		if component[s] != 0 {
			continue
		}
		states := spread(before, s, func(n int) bool { return component[n] == 0 })
		for _, n := range states {
			component[n] = s + 1
		}
		if g.hasEdge(states, component) && g.fulfils(states) {
			for _, n := range states {
				if !live[n] {
					for _, b := range spread(before, n, func(b int) bool { return !live[b] }) {
						live[b] = true
					}
				}
			}
		}
	}
	return live
}

func (g *graph) hasEdge(states, component []int) bool {
	for _, s := range states {
		for _, n := range g.next[s] {
			if component[n] == component[s] {
				return true
			}
		}
	}
	return false
}

// byFinish returns the states in the order in which a depth-first search leaves them, last
// first.
func (g *graph) byFinish() []int {
	seen := make([]bool, len(g.next))
	var order []int
	var visit func(s int)
	visit = func(s int) {
		seen[s] = true
		for _, n := range g.next[s] {
			if !seen[n] {
				visit(n)
			}
		}
		order = append(order, s)
	}
	for s := range g.next {
		if !seen[s] {
			visit(s)
		}
	}
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// spread returns s and the states that can be reached from it through allowed states.
func spread(edges [][]int, s int, allowed func(int) bool) []int {
	seen := map[int]bool{s: true}
	all := []int{s}
	for i := 0; i < len(all); i++ {
		for _, n := range edges[all[i]] {
			if !seen[n] && allowed(n) {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	return all
}

// holds evaluates a formula on the word stem loop loop … at position i, from the definitions of
// the operators. From position horizon on the values of all parts repeat with the loop, so that
// no later positions than one loop after it have to be examined.
func holds(f *ltl.Formula, w *lasso, i int) bool {
	key := evaluation{f, i}
	v, ok := w.done[key]
	if !ok {
		v = define(f, w, i)
		w.done[key] = v
	}
	return v
}

type lasso struct {
	stem, loop []Letter
	horizon    int
	done       map[evaluation]bool
}

type evaluation struct {
	formula  *ltl.Formula
	position int
}

// newLasso returns the word, for formulas whose temporal operators are nested up to depth. Each
// level of past operators can delay the repetition by the length of the loop and one.
func newLasso(stem, loop []Letter, depth int) *lasso {
	return &lasso{stem, loop, len(stem) + (depth+1)*(len(loop)+1), map[evaluation]bool{}}
}

func (w *lasso) letter(i int) Letter {
	if i < len(w.stem) {
		return w.stem[i]
	}
	return w.loop[(i-len(w.stem))%len(w.loop)]
}

// define evaluates the outermost operator by its definition, with quantifiers over positions.
func define(f *ltl.Formula, w *lasso, i int) bool {
	end := max(i, w.horizon) + len(w.loop)
	at := func(g *ltl.Formula) func(int) bool { return func(j int) bool { return holds(g, w, j) } }
	l, r := at(f.Left), at(f.Right)
	notL, notR := func(j int) bool { return !l(j) }, func(j int) bool { return !r(j) }
	until := func(l, r func(int) bool) bool {
		return exists(i, end, func(j int) bool { return r(j) && all(i, j-1, l) })
	}
	since := func(l, r func(int) bool) bool {
		return exists(0, i, func(j int) bool { return r(j) && all(j+1, i, l) })
	}
	switch f.Op {
	case ltl.Always:
		return all(i, end, l)
	case ltl.Eventually:
		return exists(i, end, l)
	case ltl.Next:
		return l(i + 1)
	case ltl.Until:
		return until(l, r)
	case ltl.WeakUntil:
		return until(l, r) || all(i, end, l)
	case ltl.Release:
		return !until(notL, notR)
	case ltl.StrongRelease:
		return until(r, func(j int) bool { return l(j) && r(j) })
	case ltl.Prev:
		return l(max(i-1, 0))
	case ltl.Yesterday:
		return i > 0 && l(i-1)
	case ltl.WeakPrev:
		return i == 0 || l(i-1)
	case ltl.Once:
		return exists(0, i, l)
	case ltl.Historically:
		return all(0, i, l)
	case ltl.Start:
		return l(i) && !l(max(i-1, 0))
	case ltl.End:
		return !l(i) && l(max(i-1, 0))
	case ltl.Since:
		return since(l, r)
	case ltl.WeakSince:
		return since(l, r) || all(0, i, l)
	case ltl.Interval, ltl.WeakInterval:
		inside := since(notR, func(j int) bool { return l(j) && !r(j) })
		return inside || f.Op == ltl.WeakInterval && all(0, i, notR)
	default:
		return plain(f, w.letter(i), func(g *ltl.Formula) bool { return holds(g, w, i) })
	}
}

func all(from, to int, is func(int) bool) bool {
	return !exists(from, to, func(j int) bool { return !is(j) })
}

func exists(from, to int, is func(int) bool) bool {
	for j := from; j <= to; j++ {
		if is(j) {
			return true
		}
	}
	return false
}

// randomFormula returns a formula of about size operators over n propositions;
// with no future operator under a past one.
func randomFormula(r *rand.Rand, size, n int, past bool) *ltl.Formula {
	if size <= 1 {
		if r.IntN(12) == 0 {
			return ltl.Constant(r.IntN(2) == 0)
		}
		return ltl.Proposition(r.IntN(n))
	}
	unary := []ltl.Op{ltl.Not, ltl.Prev, ltl.Yesterday, ltl.WeakPrev, ltl.Once, ltl.Historically, ltl.Start, ltl.End}
	binary := []ltl.Op{ltl.And, ltl.Or, ltl.Xor, ltl.Implies, ltl.Iff, ltl.Since, ltl.WeakSince, ltl.Interval, ltl.WeakInterval}
	if !past {
		unary = append(unary, ltl.Always, ltl.Always, ltl.Always, ltl.Eventually, ltl.Next, ltl.Next)
		binary = append(binary, ltl.And, ltl.Or, ltl.Until, ltl.WeakUntil, ltl.Release, ltl.StrongRelease, ltl.WeakUntil)
	}
	if size == 2 || r.IntN(2) == 0 {
		op := unary[r.IntN(len(unary))]
		return ltl.Unary(op, randomFormula(r, size-1, n, past || op.IsPast()))
	}
	op := binary[r.IntN(len(binary))]
	left := 1 + r.IntN(size-2)
	return ltl.Binary(op, randomFormula(r, left, n, past || op.IsPast()), randomFormula(r, size-1-left, n, past || op.IsPast()))
}

// temporalParts counts the temporal operators of a formula, and how deep they
// are nested.
func temporalParts(f *ltl.Formula) (count, depth int) {
	for _, operand := range f.Operands() {
		c, d := temporalParts(operand)
		count, depth = count+c, max(depth, d)
	}
	if f.Op.IsPast() || f.Op.IsFuture() {
		count, depth = count+1, depth+1
	}
	return count, depth
}
