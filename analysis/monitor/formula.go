package monitor

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// Eventuality is a part of a formula that no finite prefix of a run can refute.
type Eventuality struct {
	Formula *ltl.Formula
	// Negated means that the part is the negation of Formula, as in !(always f), which is
	// eventually !f.
	Negated bool
}

// String returns the text of the part, with p0, p1, … for the propositions.
func (e Eventuality) String() string { return e.Text(nil) }

// Text returns the text of the part, with the given name for each proposition.
func (e Eventuality) Text(name func(int) string) string {
	text := e.Formula.Text(name)
	if e.Negated {
		return "!(" + text + ")"
	}
	return text
}

// NotSafetyError reports that a formula is not a safety property: some words violate it, but
// none of their prefixes does.
type NotSafetyError struct {
	Eventuality // a part that keeps the formula from being one
}

// Error names the part.
func (e *NotSafetyError) Error() string {
	return fmt.Sprintf("not a safety property: no beginning of a run refutes %v", e.Eventuality)
}

// FutureUnderPastError reports that a future operator is an operand of a past one.
type FutureUnderPastError struct {
	Future, Past *ltl.Formula
}

// Error names both.
func (e *FutureUnderPastError) Error() string {
	return fmt.Sprintf("a future operator under a past one: %v in %v", e.Future, e.Past)
}

// FromLTL returns the monitor of a formula. It is in its bad state exactly when no continuation
// of the word read so far satisfies the formula. If the formula is not a safety property, the
// error is a *NotSafetyError. With o.Partial there is no such error: the monitor then reports
// the bad prefixes that the formula has, and unreported lists the parts whose violations no
// finite run shows. Other errors are *FutureUnderPastError, *SizeError, and that of Check.
func FromLTL(f *ltl.Formula, o Options) (m *Deterministic, unreported []Eventuality, err error) {
	if err := f.Check(); err != nil {
		return nil, nil, err
	}
	if err := futureUnderPast(f); err != nil {
		return nil, nil, err
	}
	b := newBuilder(f, o.limit(), func(*ltl.Formula) bool { return false })
	x, err := b.build()
	if err != nil {
		return nil, nil, err
	}
	if len(b.eventualities) > 0 {
		safe, err := b.isSafety(x)
		if err != nil {
			return nil, nil, err
		}
		if !safe {
			unreported = culprits(f, b.eventualities, o.limit())
		}
	}
	if len(unreported) > 0 && !o.Partial {
		return nil, nil, &NotSafetyError{unreported[0]}
	}
	return x.draft(b.table, func(key uint32) bool { return key == b.badKey }).finish(minimisationWork), unreported, nil
}

// futureUnderPast returns an error if f has a future operator under a past one.
func futureUnderPast(f *ltl.Formula) error {
	future, seen := map[*ltl.Formula]bool{}, map[*ltl.Formula]bool{}
	var find func(f *ltl.Formula) error
	find = func(f *ltl.Formula) error {
		if seen[f] || !hasFuture(f, future) {
			return nil
		}
		seen[f] = true
		if f.Op.IsPast() {
			return &FutureUnderPastError{Future: firstFuture(f, future), Past: f}
		}
		for _, operand := range f.Operands() {
			if err := find(operand); err != nil {
				return err
			}
		}
		return nil
	}
	return find(f)
}

// firstFuture returns the first part of f whose outermost operator is a future one. There must
// be such a part.
func firstFuture(f *ltl.Formula, future map[*ltl.Formula]bool) *ltl.Formula {
	for !f.Op.IsFuture() {
		for _, operand := range f.Operands() {
			if hasFuture(operand, future) {
				f = operand
				break
			}
		}
	}
	return f
}

// maxEventualities bounds the number of eventualities that are tried one by one.
const maxEventualities = 16

// culprits returns the eventualities because of which a formula is not a safety property: those
// with which it is none even if all other eventualities are weakened. If there are no such
// eventualities, it returns all. Those beyond the first maxEventualities it returns untried.
func culprits(f *ltl.Formula, eventualities []signedFormula, limit int) []Eventuality {
	var all, alone []Eventuality
	seen := map[signedFormula]bool{}
	for _, eventuality := range eventualities {
		if seen[eventuality] {
			continue
		}
		seen[eventuality] = true
		e := Eventuality{eventuality.formula, eventuality.negative}
		all = append(all, e)
		if len(all) > maxEventualities || !safeWithOnly(f, eventuality, limit) {
			alone = append(alone, e)
		}
	}
	if alone == nil {
		return all
	}
	return alone
}

// safeWithOnly reports whether a formula is a safety property if all its eventualities but one
// are weakened. It returns false if that takes too many states to decide.
func safeWithOnly(f *ltl.Formula, eventuality signedFormula, limit int) bool {
	b := newBuilder(f, limit, func(g *ltl.Formula) bool { return g != eventuality.formula })
	x, err := b.build()
	if err != nil {
		return false
	}
	safe, err := b.isSafety(x)
	return err == nil && safe
}

// builder makes the monitor of a formula in four steps. It makes the generalised Büchi
// automaton of the formula (tableau), finds its live states, from which some word is accepted
// (buchi), makes an automaton whose states are the sets of live states that words lead to
// (macrostates), and minimises that. The empty macrostate is bad. So a prefix is bad exactly
// when no continuation is accepted.
type builder struct {
	*tableau
	root        uint32 // the obligation of the formula
	limit       int    // number of states that the monitor and the Büchi automaton may have
	buchiStates pairs  // states of the Büchi automaton: memory, set of obligations
	buchi       buchi
	moves       pairs               // what a letter leads to: memory, set of transitions
	pair        *decision.Operation // from memory and set of transitions to moves
	macros      pairs               // states of the monitor: memory, set of sets of obligations
	reduce      *decision.Operation // from moves to macros
	badKey      uint32              // of macros
	goodKey     uint32              // of macros: every continuation satisfies the formula
}

func newBuilder(f *ltl.Formula, limit int, weaken func(*ltl.Formula) bool) *builder {
	table := decision.New(room(limit))
	b := &builder{tableau: newTableau(newPast(table), limit, weaken), limit: limit}
	b.root = b.normal(f, false, map[*ltl.Formula]bool{})
	b.moves, b.buchiStates, b.macros = newPairs(), newPairs(), newPairs()
	b.buchiStates.number(nothingRead, noElements) // the accepting state, with any memory
	b.pair = table.Operation(b.moves.number)
	b.reduce = table.Operation(func(move, _ uint32) uint32 { return b.macro(b.moves.list[move]) })
	b.badKey = b.macros.number(nothingRead, noElements)
	b.goodKey = b.macros.number(nothingRead, b.sets.of([]uint32{noElements}))
	return b
}

// pairs numbers pairs of numbers, from 0 in the order of their first use.
type pairs struct {
	list   [][2]uint32
	unique map[[2]uint32]uint32
}

func newPairs() pairs { return pairs{unique: map[[2]uint32]uint32{}} }

func (p *pairs) number(a, b uint32) uint32 {
	key := [2]uint32{a, b}
	n, ok := p.unique[key]
	if !ok {
		n = uint32(len(p.list))
		p.list = append(p.list, key)
		p.unique[key] = n
	}
	return n
}

// full reports whether a bound was reached. Results computed since then are wrong.
func (b *builder) full() bool {
	return b.table.Full() || b.tooLarge || b.sets.size > room(b.limit)
}

// build returns the states of the monitor that words lead to. The keys are numbers of macros.
func (b *builder) build() (*exploration, error) {
	b.buchiState(nothingRead, b.conjuncts(b.root))
	if !b.exploreBuchi() {
		return nil, &SizeError{b.limit, b.blame(b.buchiStates.list[accepting+1:], func(obligations set) []set { return []set{obligations} })}
	}
	b.buchi.findLive()
	start := b.macroOf(nothingRead, []set{b.conjuncts(b.root)})
	x, ok := explore(b.table, start, b.macroEdges, b.full, b.limit)
	if !ok {
		return nil, &SizeError{b.limit, b.blame(b.macros.list[b.goodKey+1:], func(family set) []set { return b.sets.elements[family] })}
	}
	return x, nil
}

// buchiState returns the number of a state of the Büchi automaton.
func (b *builder) buchiState(m memory, obligations set) uint32 {
	if obligations == noElements {
		return accepting
	}
	return b.buchiStates.number(m, obligations)
}

// exploreBuchi finds the states of the Büchi automaton and their arcs. It returns false if a
// bound was reached.
func (b *builder) exploreBuchi() bool {
	b.buchi = buchi{sets: b.sets, arcs: [][]arc{nil}}
	numArcs := 0
	for i := accepting + 1; i < len(b.buchiStates.list); i++ {
		m, obligations := b.buchiStates.list[i][0], b.buchiStates.list[i][1]
		n := b.pair.Apply(b.past.after(m), b.unfoldAll(obligations, m))
		if b.full() {
			return false
		}
		var arcs []arc
		b.table.Leaves(n, func(move uint32) bool {
			after := b.moves.list[move]
			for _, t := range b.sets.elements[after[1]] {
				arcs = append(arcs, arc{b.buchiState(after[0], b.transitions[t].next), b.transitions[t].promises})
			}
			return true
		})
		b.buchi.arcs = append(b.buchi.arcs, arcs)
		if numArcs += len(arcs); numArcs > room(b.limit) || len(b.buchiStates.list) > b.limit {
			return false
		}
	}
	return true
}

// macro returns the state of the monitor after a move.
func (b *builder) macro(after [2]uint32) uint32 {
	var next []set
	for _, t := range b.sets.elements[after[1]] {
		next = append(next, b.transitions[t].next)
	}
	return b.macroOf(after[0], next)
}

// macroOf returns the state of the monitor after memory m in which the rest of the word must
// satisfy one of several sets of obligations.
func (b *builder) macroOf(m memory, oneOf []set) uint32 {
	var live []uint32
	for _, obligations := range oneOf {
		if obligations == noElements {
			return b.goodKey
		}
		if b.isLive(m, obligations) {
			live = append(live, obligations)
		}
	}
	if live == nil {
		return b.badKey
	}
	return b.macros.number(m, b.sets.of(minimal(live, b.sets.within)))
}

// isLive reports whether some word satisfies the obligations after memory m. A state of the
// monitor leads only to what its members lead to, so that exploreBuchi has found the state of
// the Büchi automaton. It has not only if the table is full, and then the result is not used.
func (b *builder) isLive(m memory, obligations set) bool {
	state, ok := b.buchiStates.unique[[2]uint32{m, obligations}]
	return ok && int(state) < len(b.buchi.live) && b.buchi.live[state]
}

// macroEdges returns the edges of a state of the monitor, a diagram whose leaves are macros.
func (b *builder) macroEdges(key uint32) decision.Node {
	if key == b.badKey || key == b.goodKey {
		return b.table.Leaf(key)
	}
	m, family := b.macros.list[key][0], b.macros.list[key][1]
	n := b.table.Leaf(noTransitions)
	for _, obligations := range b.sets.elements[family] {
		n = b.disjunction.Apply(n, b.unfoldAll(obligations, m))
	}
	return b.reduce.Apply(b.pair.Apply(b.past.after(m), n), b.table.Leaf(0))
}

// isSafety reports whether every word that violates the formula has a bad prefix. x is the
// monitor that build returned. The product of the monitor with the Büchi automaton of the
// negation accepts the words that violate the formula and have no bad prefix: the formula is a
// safety property if there are none.
func (b *builder) isSafety(x *exploration) (bool, error) {
	states := newPairs()
	states.number(b.goodKey, noElements) // the accepting state
	negation := b.conjuncts(b.negate(b.root))
	if x.keys[0] == b.badKey || x.keys[0] == b.goodKey {
		return true, nil
	}
	if negation == noElements {
		return true, nil
	}
	states.number(x.keys[0], negation)
	joint := newPairs()
	join := b.table.Operation(joint.number)
	product := buchi{sets: b.sets, arcs: [][]arc{nil}}
	numArcs := 0
	for i := 1; i < len(states.list); i++ {
		key, obligations := states.list[i][0], states.list[i][1]
		n := join.Apply(x.roots[x.index[key]], b.unfoldAll(obligations, b.macros.list[key][0]))
		if b.full() || numArcs > room(b.limit) || len(states.list) > b.limit {
			return false, &SizeError{b.limit, b.origins[b.root]}
		}
		arcs := b.productArcs(n, &joint, &states)
		numArcs += len(arcs)
		product.arcs = append(product.arcs, arcs)
	}
	product.findLive()
	return !product.live[1], nil
}

// productArcs returns the arcs of a state of the product. The leaves of n are numbers in joint,
// pairs of a macrostate and a set of transitions. It adds new states of the product to states.
func (b *builder) productArcs(n decision.Node, joint, states *pairs) []arc {
	var arcs []arc
	b.table.Leaves(n, func(pair uint32) bool {
		key, transitions := joint.list[pair][0], joint.list[pair][1]
		if key == b.badKey || key == b.goodKey {
			return true
		}
		for _, t := range b.sets.elements[transitions] {
			next := b.transitions[t].next
			to := uint32(accepting)
			if next != noElements {
				to = states.number(key, next)
			}
			arcs = append(arcs, arc{to, b.transitions[t].promises})
		}
		return true
	})
	return arcs
}
