package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

func modeOf(m member) finding.Mode { return finding.Mode{Lock: m.Lock(), Shared: m.Shared()} }

func (p *edge) lockOrderEdge() finding.LockOrderEdge {
	n := finding.LockOrderEdge{ID: p.id, Requested: modeOf(p.requested)}
	for _, m := range p.node.parent.members() {
		n.Held = append(n.Held, modeOf(m))
	}
	return n
}

// The bounds of the work and memory that findInverses spends.
const (
	maxInverses     = 64      // inverses of an edge
	maxNestInverses = 16      // inverse pairs of edges between the same two outermost locks
	maxExamined     = 1 << 10 // nodes of the requested lock that are examined for an edge, the latest
	maxWalked       = 1 << 16 // nodes of the forest that are visited for an edge
)

// findInverses finds the edges that could be a cycle of two together with p, and records them: edges
// that hold what p requests, request what p holds, and hold no gate lock. They are below the nodes
// of the requested lock, down to the first lock that p holds.
func (a *Analysis) findInverses(p *edge) {
	if a.opts.OnInverse == nil || p.node.depth == 1 {
		return
	}
	hold(p.node.parent, 1)
	defer hold(p.node.parent, -1)
	nodes, left := p.node.lock.nodes, maxWalked
	for _, top := range nodes[max(0, len(nodes)-maxExamined):] {
		if !top.m.Conflicts(p.requested) {
			continue
		}
		ok, steps := top.free()
		for n := top.first; ok && n != nil && left > 0; n = n.after(top, !n.taken()) {
			steps++
			if q := n.ofEdge(); q != nil && n.taken() && a.mayInvert(p, q) {
				a.addInverse(p, q)
			}
		}
		if left -= steps; left <= 0 {
			return
		}
	}
}

// mayInvert reports whether the bounds let two edges be recorded as inverse to each other, if they
// are not yet.
func (a *Analysis) mayInvert(p, q *edge) bool {
	return max(len(p.inverses), len(q.inverses)) < maxInverses && !slices.Contains(p.inverses, q.id) &&
		a.inverseNests[nestOf(p, q)] < maxNestInverses
}

// nestOf returns the outermost locks of two edges, whatever their order.
func nestOf(p, q *edge) [2]*node {
	if p.id > q.id {
		p, q = q, p
	}
	return [2]*node{p.node.top, q.node.top}
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
	a.inverseNests[nestOf(p, q)]++
	a.opts.OnInverse(q.lockOrderEdge(), p.lockOrderEdge())
}
