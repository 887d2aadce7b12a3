package monitor

import (
	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// The future part of formulas is unfolded one step at a time, the tableau of Couvreur,
// On-the-fly Verification of Linear Temporal Logic: f until g is g now, or f now and f until
// g next, with the promise that g comes. A way to satisfy a formula by the next letter is a
// pair: the formulas that the rest of the word must satisfy, and the promises. A word satisfies
// the formula when some sequence of ways exists that makes no promise forever. The set of
// formulas, together with the memory of the past, is a state of a generalised Büchi automaton
// (see goal).

// wanted is a formula that the rest of the word must satisfy, in negation normal form with past
// parts as its propositions. Equal ones have one number in futures.
type wanted struct {
	op          ltl.Op
	positive    bool // of ltl.Atom: the past part holds, rather than not
	past        int  // of ltl.Atom: a node of past
	left, right uint32
}

// way is one way to satisfy a formula by the next letter.
type way struct {
	next     set // of wanted, all of which the rest of the word must satisfy
	promises set // of wanted: until and strong release, to be fulfilled later
}

// futures unfolds formulas. Its diagrams have sets of ways at their leaves: each way satisfies
// the formula, and none requires less than another in both its parts.
type futures struct {
	past          *past
	table         *decision.Table
	wants         []wanted
	unique        map[wanted]uint32
	origins       []*ltl.Formula // by wanted: a formula that it represents
	done          map[signedFormula]uint32
	weaken        func(*ltl.Formula) bool // reports whether an eventuality is weakened: it need not come true
	eventualities []signedFormula         // eventualities, in the order found

	sets                  *sets
	ways                  []way
	wayOf                 map[way]uint32
	unfolded              map[unfolding]decision.Node
	together              map[unfolding]decision.Node // by set of wanted formulas
	negated               map[uint32]uint32
	compared, comparisons int  // number of pairs of ways: so far, and at most
	tooLarge              bool // a set of ways was too large

	any, all *decision.Operation
}

// signedFormula is a formula, or its negation.
type signedFormula struct {
	formula  *ltl.Formula
	negative bool
}

type unfolding struct {
	want   uint32
	memory memory
}

// noWay is the set of ways to satisfy false.
const noWay set = noElements

// waysLimit bounds a set of ways. comparisonsPerState bounds the number of comparisons of
// ways for each state that a monitor may have, which takes some seconds at most.
const (
	waysLimit           = 1024
	comparisonsPerState = 2000
)

func newFutures(p *past, limit int, weaken func(*ltl.Formula) bool) *futures {
	u := &futures{
		past: p, table: p.table, weaken: weaken, comparisons: comparisonsPerState * limit,
		unique: map[wanted]uint32{}, done: map[signedFormula]uint32{},
		sets: newSets(), wayOf: map[way]uint32{}, unfolded: map[unfolding]decision.Node{}, together: map[unfolding]decision.Node{}, negated: map[uint32]uint32{},
	}
	u.any = u.table.Operation(u.either)
	u.all = u.table.Operation(u.both)
	return u
}

func (u *futures) want(w wanted, origin *ltl.Formula) uint32 {
	n, ok := u.unique[w]
	if !ok {
		n = uint32(len(u.wants))
		u.wants = append(u.wants, w)
		u.origins = append(u.origins, origin)
		u.unique[w] = n
	}
	return n
}

// hasFuture reports whether a future operator is in f.
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

// normal returns f, or its negation, in normal form. No future operator of f is
// under a past one.
func (u *futures) normal(f *ltl.Formula, negative bool, future map[*ltl.Formula]bool) uint32 {
	key := signedFormula{f, negative}
	if w, ok := u.done[key]; ok {
		return w
	}
	var w uint32
	if !hasFuture(f, future) {
		w = u.want(wanted{op: ltl.Atom, positive: !negative, past: u.past.node(f)}, f)
	} else {
		w = u.normalFuture(f, negative, func(g *ltl.Formula, negative bool) uint32 { return u.normal(g, negative, future) })
	}
	u.done[key] = w
	return w
}

func (u *futures) normalFuture(f *ltl.Formula, negative bool, normal func(*ltl.Formula, bool) uint32) uint32 {
	l, r := f.Left, f.Right
	switch f.Op {
	case ltl.Not:
		return normal(l, !negative)
	case ltl.Next:
		return u.want(wanted{op: ltl.Next, left: normal(l, negative)}, f)
	case ltl.And:
		return u.junction(f, ltl.And, negative, normal(l, negative), normal(r, negative))
	case ltl.Or:
		return u.junction(f, ltl.Or, negative, normal(l, negative), normal(r, negative))
	case ltl.Implies:
		return u.junction(f, ltl.Or, negative, normal(l, !negative), normal(r, negative))
	case ltl.Xor, ltl.Iff:
		alike := (f.Op == ltl.Iff) != negative
		one := u.want(wanted{op: ltl.Or, left: normal(l, true), right: normal(r, !alike)}, f)
		other := u.want(wanted{op: ltl.Or, left: normal(l, false), right: normal(r, alike)}, f)
		return u.want(wanted{op: ltl.And, left: one, right: other}, f)
	case ltl.Always, ltl.Eventually:
		return u.unending(f, negative, normal(l, negative))
	default:
		return u.unfoldable(f, negative, normal(l, negative), normal(r, negative))
	}
}

func (u *futures) junction(f *ltl.Formula, op ltl.Op, negative bool, l, r uint32) uint32 {
	if negative {
		op = dual[op]
	}
	return u.want(wanted{op: op, left: l, right: r}, f)
}

// unending returns always or eventually l.
func (u *futures) unending(f *ltl.Formula, negative bool, l uint32) uint32 {
	never := u.want(wanted{op: ltl.False}, f)
	if (f.Op == ltl.Always) != negative {
		return u.want(wanted{op: ltl.WeakUntil, left: l, right: never}, f)
	}
	ever := u.want(wanted{op: ltl.True}, f)
	return u.want(wanted{op: u.addEventuality(f, negative, ltl.Until, ltl.WeakUntil), left: ever, right: l}, f)
}

// unfoldable returns one of the binary operators; each is the dual of another.
func (u *futures) unfoldable(f *ltl.Formula, negative bool, l, r uint32) uint32 {
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
	return u.want(wanted{op: op, left: l, right: r}, f)
}

// addEventuality records an eventuality and returns its operator, the weak one if it is weakened.
func (u *futures) addEventuality(f *ltl.Formula, negative bool, strong, weak ltl.Op) ltl.Op {
	u.eventualities = append(u.eventualities, signedFormula{f, negative})
	if u.weaken(f) {
		return weak
	}
	return strong
}

// unfold returns the ways to satisfy a wanted formula by the next letter, read
// with memory m.
func (u *futures) unfold(w uint32, m memory) decision.Node {
	key := unfolding{w, m}
	if n, ok := u.unfolded[key]; ok {
		return n
	}
	n := u.unfoldNew(w, m)
	u.unfolded[key] = n
	return n
}

func (u *futures) unfoldNew(w uint32, m memory) decision.Node {
	f := u.wants[w]
	switch f.op {
	case ltl.True:
		return u.now(noElements, noElements)
	case ltl.Atom:
		return u.table.Map(u.past.value(f.past, m), func(holds uint32) uint32 {
			if (holds == 1) == f.positive {
				return u.oneWay(noElements, noElements)
			}
			return noWay
		})
	case ltl.Next:
		return u.now(u.obligations(f.left), noElements)
	case ltl.And:
		return u.all.Apply(u.unfold(f.left, m), u.unfold(f.right, m))
	case ltl.Or:
		return u.any.Apply(u.unfold(f.left, m), u.unfold(f.right, m))
	case ltl.Until, ltl.WeakUntil:
		later := u.all.Apply(u.unfold(f.left, m), u.later(w, f.op == ltl.Until))
		return u.any.Apply(u.unfold(f.right, m), later)
	case ltl.Release, ltl.StrongRelease:
		done := u.any.Apply(u.unfold(f.left, m), u.later(w, f.op == ltl.StrongRelease))
		return u.all.Apply(u.unfold(f.right, m), done)
	default:
		return u.table.Leaf(noWay)
	}
}

// later returns the way to satisfy w by the rest of the word, with or without a promise.
func (u *futures) later(w uint32, promise bool) decision.Node {
	promises := noElements
	if promise {
		promises = u.sets.of([]uint32{w})
	}
	return u.now(u.obligations(w), promises)
}

// obligations returns w as a set, one formula for each part of a conjunction.
func (u *futures) obligations(w uint32) set {
	var parts []uint32
	var open func(w uint32)
	open = func(w uint32) {
		switch f := u.wants[w]; f.op {
		case ltl.And:
			open(f.left)
			open(f.right)
		case ltl.True:
		default:
			parts = append(parts, w)
		}
	}
	open(w)
	return u.sets.of(parts)
}

func (u *futures) now(next, promises set) decision.Node {
	return u.table.Leaf(u.oneWay(next, promises))
}

func (u *futures) oneWay(next, promises set) set {
	return u.sets.of([]uint32{u.way(way{next, promises})})
}

func (u *futures) way(w way) uint32 {
	n, ok := u.wayOf[w]
	if !ok {
		n = uint32(len(u.ways))
		u.ways = append(u.ways, w)
		u.wayOf[w] = n
	}
	return n
}

// easier reports whether way a requires no more than way b, in both parts. A run that
// always takes the easiest ways fulfils a promise whenever a run that takes others does.
func (u *futures) easier(a, b uint32) bool {
	return u.sets.within(u.ways[a].next, u.ways[b].next) && u.sets.within(u.ways[a].promises, u.ways[b].promises)
}

func (u *futures) either(a, b set) set {
	return u.least(append(append([]uint32{}, u.sets.elements[a]...), u.sets.elements[b]...))
}

func (u *futures) both(a, b set) set {
	if len(u.sets.elements[a])*len(u.sets.elements[b]) > 4*waysLimit {
		u.tooLarge = true
		return noWay
	}
	var joined []uint32
	for _, x := range u.sets.elements[a] {
		for _, y := range u.sets.elements[b] {
			joined = append(joined, u.way(way{
				next:     u.sets.union(u.ways[x].next, u.ways[y].next),
				promises: u.sets.union(u.ways[x].promises, u.ways[y].promises),
			}))
		}
	}
	return u.least(joined)
}

func (u *futures) least(ways []uint32) set {
	if u.compared += len(ways) * len(ways); u.compared > u.comparisons {
		u.tooLarge = true
		return noWay
	}
	ways = minimal(ways, u.easier)
	if len(ways) > waysLimit {
		u.tooLarge = true
		return noWay
	}
	return u.sets.of(ways)
}

// unfoldAll returns the ways to satisfy all of a set of wanted formulas.
func (u *futures) unfoldAll(wants set, m memory) decision.Node {
	key := unfolding{wants, m}
	if n, ok := u.together[key]; ok {
		return n
	}
	n := u.now(noElements, noElements)
	for _, w := range u.sets.elements[wants] {
		n = u.all.Apply(n, u.unfold(w, m))
	}
	u.together[key] = n
	return n
}

// negate returns the negation of a wanted formula, weakened where that is weakened.
func (u *futures) negate(w uint32) uint32 {
	if n, ok := u.negated[w]; ok {
		return n
	}
	f := u.wants[w]
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
	n := u.want(f, u.origins[w])
	u.negated[w] = n
	return n
}

var dual = map[ltl.Op]ltl.Op{
	ltl.And: ltl.Or, ltl.Or: ltl.And,
	ltl.Until: ltl.Release, ltl.Release: ltl.Until,
	ltl.WeakUntil: ltl.StrongRelease, ltl.StrongRelease: ltl.WeakUntil,
}
