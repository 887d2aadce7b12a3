package goodlock

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Reason says why a ring of lock orders is no deadlock.
type Reason uint8

// The reasons.
const (
	// SameThread: it takes distinct threads, and there are not enough.
	SameThread Reason = iota
	// GateLock: two of the threads hold a common lock.
	GateLock
	// ParentGateLock: a lock that a parent held from a thread's creation
	// until its join keeps two of the threads apart.
	ParentGateLock
	// Ordered: two of the acquisitions come one after the other in every
	// schedule, by fork and join or the like.
	Ordered
)

var reasonNames = [...]string{"same thread", "gate lock", "gate lock held by the parent", "ordered"}

// String gives the reason in words.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Pruned is a ring of lock orders that is not reported.
type Pruned struct {
	Reason Reason
	Gate   event.ObjectID // of GateLock and ParentGateLock
	// Evicted: instances of the ring's patterns were forgotten for want of
	// room; the reason holds for those that were kept.
	Evicted bool
	// Evidence has one acquisition for each lock of the ring, as in a finding.
	Evidence []finding.Step
}

// maxExplained bounds the rings explained.
const maxExplained = 1000

// explain looks for rings without regard to whether they can be, and tells of
// those that cannot.
func (a *Analysis) explain() {
	s := a.newSearch()
	s.tied = true
	left := maxExplained
	var possible bool
	s.found = func([]*pattern, []*instance) { possible, s.tuples = true, maxTuples }
	s.closed = func(ring []*pattern) {
		if s.tuples, possible = 0, false; !gated(ring) {
			s.choose(0)
		}
		if possible || left == 0 {
			return
		}
		left--
		a.opts.Explain(a.pruned(ring))
	}
	s.run()
}

func gated(ring []*pattern) bool {
	for i, p := range ring {
		for _, q := range ring[:i] {
			if p.gate(q) != 0 {
				return true
			}
		}
	}
	return false
}

func (a *Analysis) pruned(ring []*pattern) *Pruned {
	p := &Pruned{Reason: Ordered}
	choice, distinct := distinctThreads(ring)
	for i, q := range ring {
		p.Evicted = p.Evicted || q.evicted
		p.Evidence = append(p.Evidence, choice[i].step(q, choice[i].first))
	}
	if !distinct {
		p.Reason = SameThread
		return p
	}
	for i, q := range ring {
		for j, r := range ring[:i] {
			if g := q.gate(r); g != 0 {
				p.Reason, p.Gate = GateLock, g
				return p
			}
			if g := guard(q, choice[i].thread, r, choice[j].thread); g != 0 {
				p.Reason, p.Gate = ParentGateLock, g
			}
		}
	}
	return p
}

// distinctThreads chooses an instance for each pattern such that no two are of
// one thread, by augmenting paths (Kuhn), or says that it cannot be.
func distinctThreads(ring []*pattern) (choice []*instance, ok bool) {
	choice = make([]*instance, len(ring))
	taken := map[*thread]int{}
	ok = true
	for i := range ring {
		if !assign(ring, choice, taken, i, map[*thread]bool{}) {
			choice[i], ok = ring[i].kept[0], false
		}
	}
	return choice, ok
}

func assign(ring []*pattern, choice []*instance, taken map[*thread]int, i int, tried map[*thread]bool) bool {
	for _, x := range ring[i].kept {
		if tried[x.thread] {
			continue
		}
		tried[x.thread] = true
		if j, used := taken[x.thread]; used && !assign(ring, choice, taken, j, tried) {
			continue
		}
		taken[x.thread], choice[i] = i, x
		return true
	}
	return false
}
