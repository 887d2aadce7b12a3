package monitor

import (
	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// The future part of formulas is unfolded one letter at a time into the tableau of Couvreur,
// On-the-fly Verification of Linear Temporal Logic: f until g is g now, or f now and f until
// g next, with the promise that g comes. (Promise is Couvreur's word.) The tableau is a
// generalised Büchi automaton. A state of it is a set of obligations, formulas that the rest
// of the word must satisfy, together with the memory of the past (see builder.buchiState). A
// transition leads to a set of obligations, and carries promises. A word satisfies the formula
// when some run of the automaton on it has no promise that all transitions from some point on
// carry.

// obligation is a formula that the rest of the word must satisfy, in negation normal form, with
// formulas without future operators as its atoms. Equal obligations have one number in a
// tableau.
type obligation struct {
	op          ltl.Op
	past        int    // for ltl.Atom: the node of past that is the atom
	positive    bool   // for ltl.Atom: the atom must hold, rather than not hold
	left, right uint32 // the operands, by their number as obligations
}

// transition is one way to satisfy obligations: by the next letter, and then by the rest of
// the word.
type transition struct {
	next     set // of obligations, all of which the rest of the word must satisfy
	promises set // of obligations with until or strong release: their right operand must come
}

// tableau unfolds obligations. Its decision diagrams have sets of transitions at their leaves.
// A word satisfies an obligation if it satisfies one of the transitions for its first letter.
// No transition of a set subsumes another.
type tableau struct {
	past          *past
	table         *decision.Table
	obligations   []obligation
	unique        map[obligation]uint32    // the number of each obligation
	origins       []*ltl.Formula           // by obligation: a formula that it represents
	normalForms   map[signedFormula]uint32 // the obligation of a formula or of its negation
	weaken        func(*ltl.Formula) bool  // reports whether an eventuality is weakened: it need not come true
	eventualities []signedFormula          // in the order found, perhaps more than once

	sets                  *sets
	transitions           []transition
	transitionOf          map[transition]uint32       // the number of each transition
	unfolded              map[unfolding]decision.Node // the results of unfold
	unfoldedSets          map[unfolding]decision.Node // the results of unfoldAll
	negated               map[uint32]uint32           // the negation of an obligation
	compared, maxCompared int                         // pairs of transitions: compared so far, and at most
	tooLarge              bool                        // a set of transitions was too large

	disjunction, conjunction *decision.Operation // on sets of transitions
}

// signedFormula is a formula, or its negation.
type signedFormula struct {
	formula  *ltl.Formula
	negative bool
}

// unfolding is what is unfolded: an obligation or a set of obligations, by its number, after a
// memory of the past.
type unfolding struct {
	of     uint32
	memory memory
}

// noTransitions is the set of transitions that satisfy false.
const noTransitions set = noElements

// maxTransitions bounds the size of a set of transitions. comparisonsPerState bounds the number
// of comparisons of transitions for each state that a monitor may have, which takes some
// seconds at most.
const (
	maxTransitions      = 1024
	comparisonsPerState = 2000
)

func newTableau(p *past, limit int, weaken func(*ltl.Formula) bool) *tableau {
	u := &tableau{
		past: p, table: p.table, weaken: weaken, maxCompared: comparisonsPerState * limit,
		unique: map[obligation]uint32{}, normalForms: map[signedFormula]uint32{},
		sets: newSets(), transitionOf: map[transition]uint32{}, unfolded: map[unfolding]decision.Node{}, unfoldedSets: map[unfolding]decision.Node{}, negated: map[uint32]uint32{},
	}
	u.disjunction = u.table.Operation(u.disjoin)
	u.conjunction = u.table.Operation(u.conjoin)
	return u
}

// intern returns the number of an obligation that represents the formula origin.
func (u *tableau) intern(o obligation, origin *ltl.Formula) uint32 {
	n, ok := u.unique[o]
	if !ok {
		n = uint32(len(u.obligations))
		u.obligations = append(u.obligations, o)
		u.origins = append(u.origins, origin)
		u.unique[o] = n
	}
	return n
}

// hasFuture reports whether a future operator is in f. It caches its results in done.
func hasFuture(f *ltl.Formula, done map[*ltl.Formula]bool) bool {
	has, ok := done[f]
	if !ok {
		has = f.Op.IsFuture()
		for _, o := range f.Operands() {
			has = hasFuture(o, done) || has
		}
		done[f] = has
	}
	return has
}

// normal returns the obligation of f, or of its negation. No future operator of f may be under
// a past one. The map future caches the results of hasFuture.
func (u *tableau) normal(f *ltl.Formula, negative bool, future map[*ltl.Formula]bool) uint32 {
	key := signedFormula{f, negative}
	if o, ok := u.normalForms[key]; ok {
		return o
	}
	var o uint32
	if !hasFuture(f, future) {
		o = u.intern(obligation{op: ltl.Atom, positive: !negative, past: u.past.node(f)}, f)
	} else {
		o = u.normalFuture(f, negative, func(g *ltl.Formula, negative bool) uint32 { return u.normal(g, negative, future) })
	}
	u.normalForms[key] = o
	return o
}

// normalFuture returns the obligation of a formula with a future operator, or of its negation.
// The function normal does so for its operands.
func (u *tableau) normalFuture(f *ltl.Formula, negative bool, normal func(*ltl.Formula, bool) uint32) uint32 {
	l, r := f.Left, f.Right
	switch f.Op {
	case ltl.Not:
		return normal(l, !negative)
	case ltl.Next:
		return u.intern(obligation{op: ltl.Next, left: normal(l, negative)}, f)
	case ltl.And:
		return u.normalJunction(f, ltl.And, negative, normal(l, negative), normal(r, negative))
	case ltl.Or:
		return u.normalJunction(f, ltl.Or, negative, normal(l, negative), normal(r, negative))
	case ltl.Implies:
		return u.normalJunction(f, ltl.Or, negative, normal(l, !negative), normal(r, negative))
	case ltl.Xor, ltl.Iff:
		alike := (f.Op == ltl.Iff) != negative
		one := u.intern(obligation{op: ltl.Or, left: normal(l, true), right: normal(r, !alike)}, f)
		other := u.intern(obligation{op: ltl.Or, left: normal(l, false), right: normal(r, alike)}, f)
		return u.intern(obligation{op: ltl.And, left: one, right: other}, f)
	case ltl.Always, ltl.Eventually:
		return u.normalUnary(f, negative, normal(l, negative))
	default:
		return u.normalBinary(f, negative, normal(l, negative), normal(r, negative))
	}
}

// normalJunction returns the conjunction or disjunction of l and r, the dual one if negative.
func (u *tableau) normalJunction(f *ltl.Formula, op ltl.Op, negative bool, l, r uint32) uint32 {
	if negative {
		op = dual[op]
	}
	return u.intern(obligation{op: op, left: l, right: r}, f)
}

// normalUnary returns always l or eventually l. Both are expressed by binary operators.
func (u *tableau) normalUnary(f *ltl.Formula, negative bool, l uint32) uint32 {
	falseFormula := u.intern(obligation{op: ltl.False}, f)
	if (f.Op == ltl.Always) != negative {
		return u.intern(obligation{op: ltl.WeakUntil, left: l, right: falseFormula}, f)
	}
	trueFormula := u.intern(obligation{op: ltl.True}, f)
	return u.intern(obligation{op: u.addEventuality(f, negative, ltl.Until, ltl.WeakUntil), left: trueFormula, right: l}, f)
}

// normalBinary returns until, release or one of their weak and strong forms between l and r,
// the dual one if negative.
func (u *tableau) normalBinary(f *ltl.Formula, negative bool, l, r uint32) uint32 {
	op := f.Op
	if negative {
		op = dual[op]
	}
	switch op {
	case ltl.Until:
		op = u.addEventuality(f, negative, op, ltl.WeakUntil)
	case ltl.StrongRelease:
		op = u.addEventuality(f, negative, op, ltl.Release)
	}
	return u.intern(obligation{op: op, left: l, right: r}, f)
}

// addEventuality records an eventuality and returns its operator: weak if it is weakened, else
// strong.
func (u *tableau) addEventuality(f *ltl.Formula, negative bool, strong, weak ltl.Op) ltl.Op {
	u.eventualities = append(u.eventualities, signedFormula{f, negative})
	if u.weaken(f) {
		return weak
	}
	return strong
}

// unfold returns, for each next letter, the set of transitions that satisfy an obligation after
// memory m.
func (u *tableau) unfold(o uint32, m memory) decision.Node {
	key := unfolding{o, m}
	if n, ok := u.unfolded[key]; ok {
		return n
	}
	n := u.unfoldNew(o, m)
	u.unfolded[key] = n
	return n
}

func (u *tableau) unfoldNew(o uint32, m memory) decision.Node {
	f := u.obligations[o]
	switch f.op {
	case ltl.True:
		return u.forAnyLetter(noElements, noElements)
	case ltl.Atom:
		return u.table.Map(u.past.value(f.past, m), func(holds uint32) uint32 {
			if (holds == 1) == f.positive {
				return u.oneTransition(noElements, noElements)
			}
			return noTransitions
		})
	case ltl.Next:
		return u.forAnyLetter(u.conjuncts(f.left), noElements)
	case ltl.And:
		return u.conjunction.Apply(u.unfold(f.left, m), u.unfold(f.right, m))
	case ltl.Or:
		return u.disjunction.Apply(u.unfold(f.left, m), u.unfold(f.right, m))
	case ltl.Until, ltl.WeakUntil:
		later := u.conjunction.Apply(u.unfold(f.left, m), u.postpone(o, f.op == ltl.Until))
		return u.disjunction.Apply(u.unfold(f.right, m), later)
	case ltl.Release, ltl.StrongRelease:
		done := u.disjunction.Apply(u.unfold(f.left, m), u.postpone(o, f.op == ltl.StrongRelease))
		return u.conjunction.Apply(u.unfold(f.right, m), done)
	default:
		return u.table.Leaf(noTransitions)
	}
}

// postpone returns the transition that satisfies an obligation by the rest of the word, with or
// without a promise.
func (u *tableau) postpone(o uint32, promise bool) decision.Node {
	promises := noElements
	if promise {
		promises = u.sets.of([]uint32{o})
	}
	return u.forAnyLetter(u.conjuncts(o), promises)
}

// conjuncts returns an obligation as a set: a conjunction becomes the set of its operands.
func (u *tableau) conjuncts(o uint32) set {
	var parts []uint32
	var split func(o uint32)
	split = func(o uint32) {
		switch f := u.obligations[o]; f.op {
		case ltl.And:
			split(f.left)
			split(f.right)
		case ltl.True:
		default:
			parts = append(parts, o)
		}
	}
	split(o)
	return u.sets.of(parts)
}

// forAnyLetter returns the diagram that has one transition, for any letter.
func (u *tableau) forAnyLetter(next, promises set) decision.Node {
	return u.table.Leaf(u.oneTransition(next, promises))
}

func (u *tableau) oneTransition(next, promises set) set {
	return u.sets.of([]uint32{u.internTransition(transition{next, promises})})
}

func (u *tableau) internTransition(t transition) uint32 {
	n, ok := u.transitionOf[t]
	if !ok {
		n = uint32(len(u.transitions))
		u.transitions = append(u.transitions, t)
		u.transitionOf[t] = n
	}
	return n
}

// subsumes reports whether transition a requires no more than transition b: neither more
// obligations nor more promises. A subsumed transition can be left out: if a run with it is
// accepted, so is the run with the other in its stead.
func (u *tableau) subsumes(a, b uint32) bool {
	return u.sets.within(u.transitions[a].next, u.transitions[b].next) && u.sets.within(u.transitions[a].promises, u.transitions[b].promises)
}

// disjoin returns the transitions that satisfy one of two obligations, from those of each.
func (u *tableau) disjoin(a, b set) set {
	return u.withoutSubsumed(append(append([]uint32{}, u.sets.elements[a]...), u.sets.elements[b]...))
}

// conjoin returns the transitions that satisfy both of two obligations, from those of each.
func (u *tableau) conjoin(a, b set) set {
	if len(u.sets.elements[a])*len(u.sets.elements[b]) > 4*maxTransitions {
		u.tooLarge = true
		return noTransitions
	}
	var joined []uint32
	for _, x := range u.sets.elements[a] {
		for _, y := range u.sets.elements[b] {
			joined = append(joined, u.internTransition(transition{
				next:     u.sets.union(u.transitions[x].next, u.transitions[y].next),
				promises: u.sets.union(u.transitions[x].promises, u.transitions[y].promises),
			}))
		}
	}
	return u.withoutSubsumed(joined)
}

// withoutSubsumed returns the set of the transitions that no other one subsumes. If that takes
// too long or the set is too large, it sets tooLarge, and the result is wrong.
func (u *tableau) withoutSubsumed(transitions []uint32) set {
	if u.compared += len(transitions) * len(transitions); u.compared > u.maxCompared {
		u.tooLarge = true
		return noTransitions
	}
	transitions = minimal(transitions, u.subsumes)
	if len(transitions) > maxTransitions {
		u.tooLarge = true
		return noTransitions
	}
	return u.sets.of(transitions)
}

// unfoldAll returns, for each next letter, the transitions that satisfy all of a set of
// obligations after memory m.
func (u *tableau) unfoldAll(obligations set, m memory) decision.Node {
	key := unfolding{obligations, m}
	if n, ok := u.unfoldedSets[key]; ok {
		return n
	}
	n := u.forAnyLetter(noElements, noElements)
	for _, o := range u.sets.elements[obligations] {
		n = u.conjunction.Apply(n, u.unfold(o, m))
	}
	u.unfoldedSets[key] = n
	return n
}

// negate returns the negation of an obligation. Where an eventuality was weakened, that of the
// weak form.
func (u *tableau) negate(o uint32) uint32 {
	if n, ok := u.negated[o]; ok {
		return n
	}
	f := u.obligations[o]
	switch f.op {
	case ltl.Atom:
		f.positive = !f.positive
	case ltl.Next:
		f.left = u.negate(f.left)
	case ltl.True, ltl.False:
		f.op = ltl.True + ltl.False - f.op
	default:
		f.op, f.left, f.right = dual[f.op], u.negate(f.left), u.negate(f.right)
	}
	n := u.intern(f, u.origins[o])
	u.negated[o] = n
	return n
}

// dual maps an operator to the one that replaces it when a negation is moved to the operands.
var dual = map[ltl.Op]ltl.Op{
	ltl.And: ltl.Or, ltl.Or: ltl.And,
	ltl.Until: ltl.Release, ltl.Release: ltl.Until,
	ltl.WeakUntil: ltl.StrongRelease, ltl.StrongRelease: ltl.WeakUntil,
}
