package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

func modeOf(m member) finding.Mode { return finding.Mode{Lock: m.Lock(), Shared: m.Shared()} }

func (p *pattern) nesting() finding.LockOrderEdge {
	n := finding.LockOrderEdge{ID: p.id, Requested: modeOf(p.wanted)}
	for _, m := range p.held {
		n.Held = append(n.Held, modeOf(m))
	}
	return n
}

// The bounds of the work and memory that oppose spends on one pattern: the patterns opposed to it,
// and the patterns looked at for each held lock.
const (
	maxOpposed = 64
	maxLooked  = 1 << 10
)

// wanter is an entry in the list of the patterns that request a lock. It has a 64-bit Bloom filter
// of the locks that the pattern holds, so that most of a list are skipped without reading the
// pattern.
type wanter struct {
	holds uint64
	p     *pattern
}

func traceOf(lock event.ObjectID) uint64 { return 1 << (uint32(lock) * 0x9e3779b1 >> 26) }

// oppose finds the patterns that could be a cycle of two together with p, and records them.
func (a *Analysis) oppose(p *pattern) {
	if a.opts.OnInverse == nil {
		return
	}
	lock, holds := p.wanted.Lock(), uint64(0)
	for _, m := range p.held {
		holds |= traceOf(m.Lock())
		wanting := a.wanting[m.Lock()]
		for _, w := range wanting[max(0, len(wanting)-maxLooked):] {
			if w.holds&traceOf(lock) != 0 && p.faces(w.p) {
				a.opposed(p, w.p)
			}
		}
	}
	a.wanting[lock] = append(a.wanting[lock], wanter{holds, p})
}

// faces reports whether q could be a cycle of two with p and is not yet recorded as such, within
// the bounds.
func (p *pattern) faces(q *pattern) bool {
	return max(len(p.opposed), len(q.opposed)) < maxOpposed && p.waitsFor(q) && q.waitsFor(p) && p.gate(q) == 0 && !slices.Contains(p.opposed, q.id)
}

// opposed records that p and q could be a cycle of two. From now on OnAcquired is called for each
// acquire of q too.
func (a *Analysis) opposed(p, q *pattern) {
	if len(q.opposed) == 0 {
		for _, x := range q.kept {
			a.again.drop(x)
		}
	}
	p.opposed, q.opposed = append(p.opposed, q.id), append(q.opposed, p.id)
	a.opts.OnInverse(q.nesting(), p.nesting())
}

// unopposed removes a pattern that is discarded from the list of its requested lock.
func (a *Analysis) unopposed(p *pattern) {
	lock := p.wanted.Lock()
	left := slices.DeleteFunc(a.wanting[lock], func(w wanter) bool { return w.p == p })
	if a.wanting[lock] = left; len(left) == 0 {
		delete(a.wanting, lock)
	}
}
