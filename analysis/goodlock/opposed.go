package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

func (m member) mode() finding.Mode { return finding.Mode{Lock: m.lock(), Shared: m.shared()} }

func (p *pattern) nesting() finding.Nesting {
	n := finding.Nesting{ID: p.id, Wanted: p.wanted.mode()}
	for _, m := range p.held {
		n.Held = append(n.Held, m.mode())
	}
	return n
}

// The bounds of what oppose looks at, so that a pattern costs a bounded time and memory.
const (
	maxOpposed = 64
	maxLooked  = 1 << 10
)

// oppose tells of the patterns that could be one side of a ring of two of which p is
// the other.
func (a *Analysis) oppose(p *pattern) {
	if a.opts.OnOpposed == nil {
		return
	}
	for _, m := range p.held {
		wanting := a.wanting[m.lock()]
		for _, q := range wanting[max(0, len(wanting)-maxLooked):] {
			if max(len(p.opposed), len(q.opposed)) < maxOpposed && p.waitsFor(q) && q.waitsFor(p) && p.gate(q) == 0 && !p.opposes(q) {
				if len(q.opposed) == 0 {
					for _, x := range q.kept {
						a.again.drop(x)
					}
				}
				p.opposed, q.opposed = append(p.opposed, q.id), append(q.opposed, p.id)
				a.opts.OnOpposed(q.nesting(), p.nesting())
			}
		}
	}
	lock := p.wanted.lock()
	a.wanting[lock] = append(a.wanting[lock], p)
}

func (p *pattern) opposes(q *pattern) bool { return slices.Contains(p.opposed, q.id) }

// unopposed forgets a pattern that is dropped.
func (a *Analysis) unopposed(p *pattern) {
	lock := p.wanted.lock()
	left := slices.DeleteFunc(a.wanting[lock], func(q *pattern) bool { return q == p })
	if a.wanting[lock] = left; len(left) == 0 {
		delete(a.wanting, lock)
	}
}
