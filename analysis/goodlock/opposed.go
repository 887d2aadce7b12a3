package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

func modeOf(m member) finding.Mode { return finding.Mode{Lock: m.Lock(), Shared: m.Shared()} }

func (p *pattern) nesting() finding.Nesting {
	n := finding.Nesting{ID: p.id, Wanted: modeOf(p.wanted)}
	for _, m := range p.held {
		n.Held = append(n.Held, modeOf(m))
	}
	return n
}

// The bounds of what oppose looks at, so that a pattern costs a bounded time and memory.
const (
	maxOpposed = 64
	maxLooked  = 1 << 10
)

// wanter is a pattern that wants a lock, in the list of such, with the traces that the
// locks that it holds leave in 64 bits: most of a list are passed over by these alone.
type wanter struct {
	holds uint64
	p     *pattern
}

func traceOf(lock event.ObjectID) uint64 { return 1 << (uint32(lock) * 0x9e3779b1 >> 26) }

// oppose tells of the patterns that could be one side of a cycle of two of which p is
// the other.
func (a *Analysis) oppose(p *pattern) {
	if a.opts.OnOpposed == nil {
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

// faces reports whether p is to oppose q, and does not yet.
func (p *pattern) faces(q *pattern) bool {
	return max(len(p.opposed), len(q.opposed)) < maxOpposed && p.waitsFor(q) && q.waitsFor(p) && p.gate(q) == 0 && !slices.Contains(p.opposed, q.id)
}

// opposed tells of two patterns. From now on OnTaken is called for each acquisition of q too.
func (a *Analysis) opposed(p, q *pattern) {
	if len(q.opposed) == 0 {
		for _, x := range q.kept {
			a.again.drop(x)
		}
	}
	p.opposed, q.opposed = append(p.opposed, q.id), append(q.opposed, p.id)
	a.opts.OnOpposed(q.nesting(), p.nesting())
}

// unopposed forgets a pattern that is dropped.
func (a *Analysis) unopposed(p *pattern) {
	lock := p.wanted.Lock()
	left := slices.DeleteFunc(a.wanting[lock], func(w wanter) bool { return w.p == p })
	if a.wanting[lock] = left; len(left) == 0 {
		delete(a.wanting, lock)
	}
}
