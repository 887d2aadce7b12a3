package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

func modeOf(m member) finding.Mode { return finding.Mode{Lock: m.Lock(), Shared: m.Shared()} }

func (p *edge) lockOrderEdge() finding.LockOrderEdge {
	n := finding.LockOrderEdge{ID: p.id, Requested: modeOf(p.requested)}
	for _, m := range p.held {
		n.Held = append(n.Held, modeOf(m))
	}
	return n
}

// The bounds of the work and memory that findInverses spends on one edge.
const (
	maxInverses = 64      // inverses of the edge
	maxExamined = 1 << 10 // edges examined for each held lock
)

// requester is an entry in the list of the edges that request a lock. The Bloom filter lets
// findInverses skip most edges of the list without reading them.
type requester struct {
	heldFilter uint64 // Bloom filter of the locks that the edge holds
	edge       *edge
}

func bloomBit(lock event.ObjectID) uint64 { return 1 << (uint32(lock) * 0x9e3779b1 >> 26) }

// findInverses finds the edges that could be a cycle of two together with p, and records them.
func (a *Analysis) findInverses(p *edge) {
	if a.opts.OnInverse == nil {
		return
	}
	lock, heldFilter := p.requested.Lock(), uint64(0)
	for _, m := range p.held {
		heldFilter |= bloomBit(m.Lock())
		requesters := a.requesters[m.Lock()]
		for _, w := range requesters[max(0, len(requesters)-maxExamined):] {
			if w.heldFilter&bloomBit(lock) != 0 && p.isInverse(w.edge) {
				a.addInverse(p, w.edge)
			}
		}
	}
	a.requesters[lock] = append(a.requesters[lock], requester{heldFilter, p})
}

// isInverse reports whether q could be a cycle of two with p and is not yet recorded as such,
// within the bounds.
func (p *edge) isInverse(q *edge) bool {
	return max(len(p.inverses), len(q.inverses)) < maxInverses && p.waitsFor(q) && q.waitsFor(p) && p.gate(q) == 0 && !slices.Contains(p.inverses, q.id)
}

// addInverse records that p and q could be a cycle of two. From now on OnAcquired is called for
// each acquire of q too.
func (a *Analysis) addInverse(p, q *edge) {
	if len(q.inverses) == 0 {
		for _, x := range q.instances {
			a.instanceCache.drop(x)
		}
	}
	p.inverses, q.inverses = append(p.inverses, q.id), append(q.inverses, p.id)
	a.opts.OnInverse(q.lockOrderEdge(), p.lockOrderEdge())
}

// dropRequester removes an edge that is discarded from the list of its requested lock.
func (a *Analysis) dropRequester(p *edge) {
	lock := p.requested.Lock()
	left := slices.DeleteFunc(a.requesters[lock], func(w requester) bool { return w.edge == p })
	if a.requesters[lock] = left; len(left) == 0 {
		delete(a.requesters, lock)
	}
}
