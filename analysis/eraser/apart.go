package eraser

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxApart bounds the pairs of places that Apart gives, of all variables together.
const maxApart = 1000

// apartKey says which accesses that a lock keeps apart are one candidate.
type apartKey struct {
	variable, lock event.ObjectID
	places         pairKey
}

// apart collects the pairs of accesses that nothing but a lock keeps apart. Nil
// collects nothing.
type apart struct {
	pairs map[apartKey]*finding.Pruned
	more  uint64
}

// add takes x and e, which hold locks that exclude one another.
func (p *apart) add(sets *table, x *access, t *thread, e *event.Event) {
	k := apartKey{e.Object, sets.sets[sets.guards(x.set, t.set)][0].lock(), keyOf(x, e)}
	if c := p.pairs[k]; c != nil {
		c.Count++
		return
	}
	if len(p.pairs) >= maxApart {
		p.more++
		return
	}
	p.pairs[k] = &finding.Pruned{
		Kind: finding.Race, Why: finding.CommonLock, Lock: k.lock, Objects: []event.ObjectID{e.Object},
		Evidence: steps(x, t, e), Count: 1,
	}
}

// Apart gives the pairs of places at which two threads access a variable, one of them
// writing, and which a lock keeps apart and nothing else orders, by their first accesses;
// with Options.Apart. A pair has the lock with the least identifier, and counts its accesses, each
// with the last ones of other threads before it. There are at most 1,000; more counts the
// accesses of others.
func (a *Analysis) Apart() (pairs []finding.Pruned, more uint64) {
	if a.apart == nil {
		return nil, 0
	}
	for _, c := range a.apart.pairs {
		pairs = append(pairs, *c)
	}
	slices.SortFunc(pairs, func(x, y finding.Pruned) int {
		return cmp.Or(cmp.Compare(x.Evidence[1].Seq, y.Evidence[1].Seq), cmp.Compare(x.Evidence[0].Seq, y.Evidence[0].Seq), cmp.Compare(x.Lock, y.Lock))
	})
	return pairs, a.apart.more
}

// remember adds what is still named.
func (p *apart) remember(n *event.Names) {
	if p == nil {
		return
	}
	for _, c := range p.pairs {
		n.Object(c.Lock)
		for i := range c.Evidence {
			c.Evidence[i].Remember(n)
		}
	}
}
