package eraser

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxPruned bounds the pairs of call stacks, of all variables together, that are kept for each of
// the two reasons why accesses are no race.
const maxPruned = 1000

// prunedKey identifies a candidate: accesses with equal keys are one. The lock is 0 for ordered
// accesses.
type prunedKey struct {
	variable, lock event.ObjectID
	stacks         pairKey
}

// prunedPairs collects the pairs of accesses that are no race. A nil *prunedPairs collects nothing.
type prunedPairs struct {
	excluded, ordered prunedSet // pruned since a lock excludes them, or since they are ordered
	latest            access    // reused, to avoid an allocation
}

// prunedSet holds the candidates pruned for one reason.
type prunedSet struct {
	pairs   map[prunedKey]*finding.Pruned
	dropped uint64 // number of occurrences of candidates for which there was no room
}

func newPrunedPairs() *prunedPairs {
	return &prunedPairs{excluded: prunedSet{pairs: map[prunedKey]*finding.Pruned{}}, ordered: prunedSet{pairs: map[prunedKey]*finding.Pruned{}}}
}

// count counts an occurrence of a candidate, and returns the candidate. For a new one it returns
// nil, and whether there is room to keep it; without room, it counts the occurrence as dropped.
func (k *prunedSet) count(key prunedKey) (known *finding.Pruned, room bool) {
	if c := k.pairs[key]; c != nil {
		c.Count++
		return c, true
	}
	if len(k.pairs) >= maxPruned {
		k.dropped++
		return nil, false
	}
	return nil, true
}

// addExcluded records x and e, whose locksets exclude each other.
func (p *prunedPairs) addExcluded(sets *table, x *access, t *thread, e *event.Event) {
	k := prunedKey{e.Object, sets.sets[sets.guards(x.set, t.set)][0].Lock(), keyOf(x, e)}
	if known, room := p.excluded.count(k); known != nil || !room {
		return
	}
	p.excluded.pairs[k] = &finding.Pruned{
		Kind: finding.Race, Why: finding.CommonLock, Lock: k.lock, Objects: []event.ObjectID{e.Object},
		Evidence: steps(x, t, e), Count: 1,
	}
}

// addOrdered records x and e, which are no race, if that is so because x is ordered before e: if
// one of them is a write, and not both are atomic.
func (p *prunedPairs) addOrdered(x *access, t *thread, e *event.Event) {
	if p == nil || !x.op.IsWrite() && !e.Op.IsWrite() || event.BothAtomic(x.flags, e.Flags) {
		return
	}
	k := prunedKey{variable: e.Object, stacks: keyOf(x, e)}
	known, room := p.ordered.count(k)
	switch {
	case known != nil:
		p.latest.version = ^t.locks.Changes // differs from Changes, so that record copies the held locks
		p.latest.record(t, e)
		x.fill(&known.Evidence[0], e.Object)
		p.latest.fill(&known.Evidence[1], e.Object)
	case room:
		p.ordered.pairs[k] = &finding.Pruned{
			Kind: finding.Race, Why: finding.Ordered, Objects: []event.ObjectID{e.Object}, Evidence: steps(x, t, e), Count: 1,
		}
	}
}

// fill overwrites the step s with x and reuses its slices.
func (x *access) fill(s *finding.Step, object event.ObjectID) {
	held, heldAt := append(s.Held[:0], x.held...), append(s.HeldAt[:0], x.heldAt...)
	*s = x.withoutLocks(object)
	s.Held, s.HeldAt = held, heldAt
}

// Excluded returns, with Options.CollectPruned, the pairs of conflicting accesses of two threads
// that a lock excludes from each other and nothing else orders. Accesses at the same two call
// stacks are one pair; the pairs are sorted by their first accesses. Pruned.Lock is the lock with
// the least identifier. Pruned.Count is the number of occurrences: of an access together with the
// last access of another thread before it. At most 1,000 pairs are returned; dropped is the number
// of occurrences of other pairs.
func (a *Analysis) Excluded() (pairs []finding.Pruned, dropped uint64) {
	if a.pruned == nil {
		return nil, 0
	}
	return a.pruned.excluded.sorted()
}

// Ordered returns, in the same way, the pairs of accesses of which one happens before the other in
// every schedule. The evidence of a pair is its latest accesses, by which the pairs are sorted.
// Pruned.By is not set. Other accesses at the same two call stacks may race, or a lock may exclude
// them from each other.
func (a *Analysis) Ordered() (pairs []finding.Pruned, dropped uint64) {
	if a.pruned == nil {
		return nil, 0
	}
	return a.pruned.ordered.sorted()
}

// sorted returns the candidates by the positions of their evidence, and the number of dropped
// occurrences.
func (k *prunedSet) sorted() (pairs []finding.Pruned, dropped uint64) {
	for _, c := range k.pairs {
		pairs = append(pairs, *c)
	}
	slices.SortFunc(pairs, func(x, y finding.Pruned) int {
		return cmp.Or(cmp.Compare(x.Evidence[1].Seq, y.Evidence[1].Seq), cmp.Compare(x.Evidence[0].Seq, y.Evidence[0].Seq), cmp.Compare(x.Lock, y.Lock))
	})
	return pairs, k.dropped
}

// remember adds the threads and objects that a candidate may still name.
func (p *prunedPairs) remember(n *event.Names) {
	if p == nil {
		return
	}
	for _, k := range []*prunedSet{&p.excluded, &p.ordered} {
		for _, c := range k.pairs {
			n.AddObject(c.Lock)
			for i := range c.Evidence {
				c.Evidence[i].Remember(n)
			}
		}
	}
}
