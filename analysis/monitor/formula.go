package monitor

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// Eventuality is a part of a formula that no beginning of a run can refute.
type Eventuality struct {
	Formula *ltl.Formula
	// Negated reports that it is the negation of Formula, as in
	// !(always f), which is eventually !f.
	Negated bool
}

// String names the part with p0, p1, … for the propositions.
func (e Eventuality) String() string { return e.Text(nil) }

// Text names the part with the given name for each proposition.
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
	Eventuality // a part because of which it is none
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

// FromLTL returns the monitor of a formula: it is in its bad state exactly when
// no continuation of what was read satisfies the formula. Where the formula is
// not a safety property the error is a *NotSafetyError, or, by o.Partial, the
// monitor has the bad prefixes that there are, and unreported names the parts
// whose violations it cannot see. Other errors are *FutureUnderPastError,
// *SizeError, and that of Check.
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

// futureUnderPast finds a future operator under a past one.
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

// firstFuture returns the first part of f, which has one, that is a future
// operator.
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

// culprits returns the eventualities of a formula that is not a safety property, each of which
// is enough to make it none even if all others are weakened. It returns all eventualities if no
// single one is enough.
func culprits(f *ltl.Formula, eventualities []signedFormula, limit int) []Eventuality {
	var all, alone []Eventuality
	seen := map[signedFormula]bool{}
	for _, h := range eventualities {
		if seen[h] {
			continue
		}
		seen[h] = true
		e := Eventuality{h.formula, h.negative}
		all = append(all, e)
		if len(all) > maxEventualities || !safeWithOnly(f, h, limit) {
			alone = append(alone, e)
		}
	}
	if alone == nil {
		return all
	}
	return alone
}

// safeWithOnly reports whether the formula is a safety property when all its
// eventualities but one are weakened.
func safeWithOnly(f *ltl.Formula, eventuality signedFormula, limit int) bool {
	b := newBuilder(f, limit, func(g *ltl.Formula) bool { return g != eventuality.formula })
	x, err := b.build()
	if err != nil {
		return false
	}
	safe, err := b.isSafety(x)
	return err == nil && safe
}

// A builder makes the monitor of a formula by four steps: the generalised Büchi
// automaton of the formula (futures); the states of that from which some word
// is accepted; the sets of such states that words lead to, where the empty set
// is bad; and from these the smallest automaton. So a prefix is bad exactly
// when no continuation is accepted.
type builder struct {
	*futures
	goal    uint32 // the formula, as a wanted
	limit   int
	goals   pairs // states of the Büchi automaton: memory, set of wanted
	buchi   buchi
	moves   pairs // memory, set of ways
	move    *decision.Operation
	macros  pairs // states of the monitor: memory, set of sets of wanted
	reduce  *decision.Operation
	badKey  uint32 // of macros
	goodKey uint32 // of macros: every continuation satisfies the formula
}

func newBuilder(f *ltl.Formula, limit int, weaken func(*ltl.Formula) bool) *builder {
	table := decision.New(room(limit))
	b := &builder{futures: newFutures(newPast(table), limit, weaken), limit: limit}
	b.goal = b.normal(f, false, map[*ltl.Formula]bool{})
	b.moves, b.goals, b.macros = newPairs(), newPairs(), newPairs()
	b.goals.number(nothingRead, noElements) // the accepting state, with any memory
	b.move = table.Operation(b.moves.number)
	b.reduce = table.Operation(func(move, _ uint32) uint32 { return b.macro(b.moves.both[move]) })
	b.badKey = b.macros.number(nothingRead, noElements)
	b.goodKey = b.macros.number(nothingRead, b.sets.of([]uint32{noElements}))
	return b
}

// pairs numbers pairs of numbers.
type pairs struct {
	both   [][2]uint32
	unique map[[2]uint32]uint32
}

func newPairs() pairs { return pairs{unique: map[[2]uint32]uint32{}} }

func (p *pairs) number(a, b uint32) uint32 {
	key := [2]uint32{a, b}
	n, ok := p.unique[key]
	if !ok {
		n = uint32(len(p.both))
		p.both = append(p.both, key)
		p.unique[key] = n
	}
	return n
}

// full reports whether a bound was reached. Results computed since then are wrong.
func (b *builder) full() bool {
	return b.table.Full() || b.tooLarge || b.sets.size > room(b.limit)
}

// build returns the states of the monitor that words lead to.
func (b *builder) build() (*exploration, error) {
	b.goalOf(nothingRead, b.obligations(b.goal))
	if !b.exploreGoals() {
		return nil, &SizeError{b.limit, b.blame(b.goals.both[accepting+1:], func(wants set) []set { return []set{wants} })}
	}
	b.buchi.findLive()
	start := b.macroOf(nothingRead, []set{b.obligations(b.goal)})
	x, ok := explore(b.table, start, b.macroEdges, b.full, b.limit)
	if !ok {
		return nil, &SizeError{b.limit, b.blame(b.macros.both[b.goodKey+1:], func(family set) []set { return b.sets.elements[family] })}
	}
	return x, nil
}

// goalOf numbers a state of the Büchi automaton.
func (b *builder) goalOf(m memory, wants set) uint32 {
	if wants == noElements {
		return accepting
	}
	return b.goals.number(m, wants)
}

// exploreGoals finds the states of the Büchi automaton and their arcs.
func (b *builder) exploreGoals() bool {
	b.buchi = buchi{sets: b.sets, arcs: [][]arc{nil}}
	made := 0
	for i := accepting + 1; i < len(b.goals.both); i++ {
		m, wants := b.goals.both[i][0], b.goals.both[i][1]
		n := b.move.Apply(b.past.after(m), b.unfoldAll(wants, m))
		if b.full() {
			return false
		}
		var arcs []arc
		b.table.Leaves(n, func(move uint32) bool {
			after := b.moves.both[move]
			for _, w := range b.sets.elements[after[1]] {
				arcs = append(arcs, arc{b.goalOf(after[0], b.ways[w].next), b.ways[w].promises})
			}
			return true
		})
		b.buchi.arcs = append(b.buchi.arcs, arcs)
		if made += len(arcs); made > room(b.limit) || len(b.goals.both) > b.limit {
			return false
		}
	}
	return true
}

// macro returns the state of the monitor after a move.
func (b *builder) macro(move [2]uint32) uint32 {
	var next []set
	for _, w := range b.sets.elements[move[1]] {
		next = append(next, b.ways[w].next)
	}
	return b.macroOf(move[0], next)
}

// macroOf returns the state of the monitor in which one of the sets of wanted
// formulas is to be satisfied by the rest of the word.
func (b *builder) macroOf(m memory, oneOf []set) uint32 {
	var live []uint32
	for _, wants := range oneOf {
		if wants == noElements {
			return b.goodKey
		}
		if b.isLive(m, wants) {
			live = append(live, wants)
		}
	}
	if live == nil {
		return b.badKey
	}
	return b.macros.number(m, b.sets.of(minimal(live, b.sets.within)))
}

// isLive reports whether some word satisfies the wanted formulas after a memory.
// The members of a state of the monitor lead to everything that the state leads to, so
// exploreGoals has found it; what it has not found comes from a table that is full.
func (b *builder) isLive(m memory, wants set) bool {
	goal, ok := b.goals.unique[[2]uint32{m, wants}]
	return ok && int(goal) < len(b.buchi.live) && b.buchi.live[goal]
}

// macroEdges returns the edges of a state of the monitor.
func (b *builder) macroEdges(key uint32) decision.Node {
	if key == b.badKey || key == b.goodKey {
		return b.table.Leaf(key)
	}
	m, family := b.macros.both[key][0], b.macros.both[key][1]
	n := b.table.Leaf(noWay)
	for _, wants := range b.sets.elements[family] {
		n = b.any.Apply(n, b.unfoldAll(wants, m))
	}
	return b.reduce.Apply(b.move.Apply(b.past.after(m), n), b.table.Leaf(0))
}

// isSafety reports whether every word that violates the formula has a bad
// prefix: no word that the monitor, which was explored, never finds bad
// satisfies the negation. The product of the monitor with the Büchi automaton
// of the negation accepts such words.
func (b *builder) isSafety(x *exploration) (bool, error) {
	states := newPairs()
	states.number(b.goodKey, noElements) // the accepting state
	negation := b.obligations(b.negate(b.goal))
	if x.keys[0] == b.badKey || x.keys[0] == b.goodKey {
		return true, nil
	}
	if negation == noElements {
		return true, nil
	}
	states.number(x.keys[0], negation)
	meet := newPairs()
	both := b.table.Operation(meet.number)
	product := buchi{sets: b.sets, arcs: [][]arc{nil}}
	made := 0
	for i := 1; i < len(states.both); i++ {
		key, wants := states.both[i][0], states.both[i][1]
		n := both.Apply(x.roots[x.index[key]], b.unfoldAll(wants, b.macros.both[key][0]))
		if b.full() || made > room(b.limit) || len(states.both) > b.limit {
			return false, &SizeError{b.limit, b.origins[b.goal]}
		}
		arcs := b.productArcs(n, &meet, &states)
		made += len(arcs)
		product.arcs = append(product.arcs, arcs)
	}
	product.findLive()
	return !product.live[1], nil
}

func (b *builder) productArcs(n decision.Node, meet, states *pairs) []arc {
	var arcs []arc
	b.table.Leaves(n, func(met uint32) bool {
		key, ways := meet.both[met][0], meet.both[met][1]
		if key == b.badKey || key == b.goodKey {
			return true
		}
		for _, w := range b.sets.elements[ways] {
			next := b.ways[w].next
			to := uint32(accepting)
			if next != noElements {
				to = states.number(key, next)
			}
			arcs = append(arcs, arc{to, b.ways[w].promises})
		}
		return true
	})
	return arcs
}
