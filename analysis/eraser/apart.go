package eraser

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxApart bounds the pairs of places that locks keep apart, and those that are ordered,
// of all variables together.
const maxApart = 1000

// apartKey says which accesses are one candidate. The lock is 0 if they are ordered.
type apartKey struct {
	variable, lock event.ObjectID
	places         pairKey
}

// apart collects the pairs of accesses that are no race. Nil collects nothing.
type apart struct {
	locked, ordered kept
	latest          access // for its room
}

// kept is the candidates of one reason, and how many accesses were of others.
type kept struct {
	pairs map[apartKey]*finding.Pruned
	more  uint64
}

func newApart() *apart {
	return &apart{locked: kept{pairs: map[apartKey]*finding.Pruned{}}, ordered: kept{pairs: map[apartKey]*finding.Pruned{}}}
}

// again counts one more of a candidate and gives it; nil if it is new. Room says whether it
// can be kept then.
func (k *kept) again(key apartKey) (known *finding.Pruned, room bool) {
	if c := k.pairs[key]; c != nil {
		c.Count++
		return c, true
	}
	if len(k.pairs) >= maxApart {
		k.more++
		return nil, false
	}
	return nil, true
}

// add takes x and e, which hold locks that exclude one another.
func (p *apart) add(sets *table, x *access, t *thread, e *event.Event) {
	k := apartKey{e.Object, sets.sets[sets.guards(x.set, t.set)][0].Lock(), keyOf(x, e)}
	if known, room := p.locked.again(k); known != nil || !room {
		return
	}
	p.locked.pairs[k] = &finding.Pruned{
		Kind: finding.Race, Why: finding.CommonLock, Lock: k.lock, Objects: []event.ObjectID{e.Object},
		Evidence: steps(x, t, e), Count: 1,
	}
}

// order takes x and e if they would conflict, were x not before e in every schedule.
func (p *apart) order(x *access, t *thread, e *event.Event) {
	if p == nil || !x.op.IsWrite() && !e.Op.IsWrite() || x.flags&e.Flags&event.Atomic != 0 {
		return
	}
	k := apartKey{variable: e.Object, places: keyOf(x, e)}
	known, room := p.ordered.again(k)
	switch {
	case known != nil:
		p.latest.version = ^t.locks.Changes // whatever it is, the locks are not copied yet
		p.latest.take(t, e)
		x.fill(&known.Evidence[0], e.Object)
		p.latest.fill(&known.Evidence[1], e.Object)
	case room:
		p.ordered.pairs[k] = &finding.Pruned{
			Kind: finding.Race, Why: finding.Ordered, Objects: []event.ObjectID{e.Object}, Evidence: steps(x, t, e), Count: 1,
		}
	}
}

// fill makes x the step, in its room.
func (x *access) fill(s *finding.Step, object event.ObjectID) {
	held, heldAt := append(s.Held[:0], x.held...), append(s.HeldAt[:0], x.heldAt...)
	*s = x.bare(object)
	s.Held, s.HeldAt = held, heldAt
}

// Apart returns the pairs of places at which two threads access a variable, one of them
// writing, and which a lock keeps apart and nothing else orders, by their first accesses;
// with Options.Apart. A pair has the lock with the least identifier, and counts its accesses, each
// with the last ones of other threads before it. There are at most 1,000; more counts the
// accesses of others.
func (a *Analysis) Apart() (pairs []finding.Pruned, more uint64) {
	if a.apart == nil {
		return nil, 0
	}
	return a.apart.locked.sorted()
}

// Ordered returns likewise the pairs of places of which the one access came before the other
// in every schedule, by their latest accesses. By is left out. At other times the
// same two places may race, or be kept apart by a lock.
func (a *Analysis) Ordered() (pairs []finding.Pruned, more uint64) {
	if a.apart == nil {
		return nil, 0
	}
	return a.apart.ordered.sorted()
}

func (k *kept) sorted() (pairs []finding.Pruned, more uint64) {
	for _, c := range k.pairs {
		pairs = append(pairs, *c)
	}
	slices.SortFunc(pairs, func(x, y finding.Pruned) int {
		return cmp.Or(cmp.Compare(x.Evidence[1].Seq, y.Evidence[1].Seq), cmp.Compare(x.Evidence[0].Seq, y.Evidence[0].Seq), cmp.Compare(x.Lock, y.Lock))
	})
	return pairs, k.more
}

// remember adds what is still named.
func (p *apart) remember(n *event.Names) {
	if p == nil {
		return
	}
	for _, k := range []*kept{&p.locked, &p.ordered} {
		for _, c := range k.pairs {
			n.Object(c.Lock)
			for i := range c.Evidence {
				c.Evidence[i].Remember(n)
			}
		}
	}
}
