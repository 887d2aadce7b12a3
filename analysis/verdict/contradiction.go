package verdict

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Contradictions are the objects and threads of which the record contradicts itself, so that something
// was not seen. A thread acquired a lock that another thread held, or the memory of a lock became
// another object while it was held: a release was not seen, and its thread seemed to hold the lock for
// longer than it did. A semaphore let a thread through although its value was 0, a thread woke and
// nobody had notified it, or it left a barrier before all had arrived. A thread was joined twice, or did
// something after it had been joined. A message that nobody sent is none: it comes from outside, as what a
// program reads from its standard input does. The contradictions of variables are happensbefore's.
type Contradictions struct {
	variable   func(event.ObjectID) *finding.Step
	evicted    func(event.ObjectID) bool
	locks      map[event.ObjectID]contradiction
	last       event.Event                 // the last event if that is an inferred release; else the zero value
	counts     map[event.ObjectID]*counted // by semaphore, condition or barrier
	horizon    event.ObjectID              // the largest identifier of an object whose count may have been evicted
	joined     []uint64                    // by thread, a bit each
	unexpected map[event.ThreadID]finding.Step
}

// counted is what is counted of a semaphore, condition or barrier.
type counted struct {
	known  bool          // a semaphore's value, or a barrier's size, is known
	value  uint64        // a semaphore's value; number of wakes that the notifications so far allow; size of a barrier
	begun  uint64        // number of arrivals at a barrier
	ended  uint64        // number of departures
	failed *finding.Step // the first event that contradicts the count; nil: there is none

	used    uint64 // Seq of the latest event
	evicted bool   // it may have been counted before Shrink evicted it
}

// Shrink evicts the counts of semaphores, conditions and barriers that were last used before event number unused. Whether
// the record contradicts itself at such an object is not known any more.
func (c *Contradictions) Shrink(unused uint64) {
	if unused == 0 {
		return // none
	}
	counts := make(map[event.ObjectID]*counted, len(c.counts))
	for id, x := range c.counts {
		c.horizon = max(c.horizon, id)
		if x.used >= unused || x.failed != nil {
			counts[id] = x
		}
	}
	c.counts = counts
}

// NewContradictions returns the contradictions of a run that has not begun. The function variable returns the first read
// of a variable that the record contradicts, nil if there is none; evicted reports whether a write of it was forgotten.
func NewContradictions(variable func(event.ObjectID) *finding.Step, evicted func(event.ObjectID) bool) *Contradictions {
	return &Contradictions{variable: variable, evicted: evicted, locks: map[event.ObjectID]contradiction{}, counts: map[event.ObjectID]*counted{}, unexpected: map[event.ThreadID]finding.Step{}}
}

type contradiction struct {
	holder, other event.ThreadID // other acquired the lock; 0: its memory became another object
}

// maxContradictions bounds the locks that are kept. If there are more, every lock counts as one.
const maxContradictions = 1 << 12

// Event processes the next event of the run.
func (c *Contradictions) Event(e *event.Event) {
	if before := &c.last; before.Object != 0 {
		if before.Object == e.Object {
			c.pair(before, e)
		}
		c.last = event.Event{}
	}
	if e.Op == event.Release && e.Flags&event.Inferred != 0 {
		c.last = event.Event{Thread: e.Thread, Object: e.Object}
	}
	if c.hasJoined(e.Thread) && (e.Op.IsAccess() || e.Op.IsAcquire()) && e.Flags&(event.Inferred|event.Late) == 0 {
		c.unexpect(e.Thread, e)
	}
	switch e.Op {
	case event.Join:
		c.join(e)
	case event.SemPost, event.SemWait, event.Signal, event.Broadcast, event.Wake, event.BarrierArrive, event.BarrierDepart, event.Init:
		c.count(e)
	case event.Destroy:
		if x := c.counts[e.Object]; x != nil && x.failed == nil {
			delete(c.counts, e.Object)
		}
	}
}

// maxJoined bounds the numbers of the threads that are known to have been joined.
const maxJoined = 1 << 20

func (c *Contradictions) hasJoined(t event.ThreadID) bool {
	at := int(t / 64)
	return at < len(c.joined) && c.joined[at]>>(t%64)&1 != 0
}

// join records that a thread was joined.
func (c *Contradictions) join(e *event.Event) {
	if c.hasJoined(e.Peer) {
		c.unexpect(e.Peer, e)
	}
	if e.Peer >= maxJoined {
		return
	}
	for int(e.Peer/64) >= len(c.joined) {
		c.joined = append(c.joined, 0)
	}
	c.joined[e.Peer/64] |= 1 << (e.Peer % 64)
}

// unexpect records an event of a thread, or its join, after it was joined.
func (c *Contradictions) unexpect(t event.ThreadID, e *event.Event) {
	if _, known := c.unexpected[t]; known || len(c.unexpected) == maxContradictions {
		return
	}
	step := finding.StepOf(e)
	if e.Op != event.Join {
		step.Peer = t
	}
	c.unexpected[t] = step
}

// endless is the number of wakes that a broadcast allows: it may also wake threads whose waits were
// recorded after it.
const endless = 1 << 62

// count processes an event of a semaphore, condition or barrier.
func (c *Contradictions) count(e *event.Event) {
	x := c.counts[e.Object]
	if x == nil {
		if e.Op == event.Init && (e.Flags&(event.HasValue|event.Inferred) != event.HasValue || e.Kind != event.KindSemaphore && e.Kind != event.KindBarrier) {
			return
		}
		x = &counted{evicted: e.Object <= c.horizon}
		c.counts[e.Object] = x
	}
	x.used = e.Seq
	possible := true
	switch e.Op {
	case event.Init:
		x.known, x.value = true, e.Value
	case event.SemPost, event.Signal:
		x.value = min(x.value+1, endless)
	case event.Broadcast:
		x.value = endless
	case event.SemWait:
		possible = !x.known || x.value > 0
		x.value -= min(x.value, 1)
	case event.Wake:
		if e.Flags&(event.TimedOut|event.Inferred) == 0 {
			possible = x.value > 0
			x.value -= min(x.value, 1)
		}
	case event.BarrierArrive:
		x.begun++
	case event.BarrierDepart:
		x.ended++
		possible = !x.known || x.value == 0 || x.ended <= x.begun/x.value*x.value
	}
	if !possible && x.failed == nil {
		step := finding.StepOf(e)
		x.failed = &step
	}
}

// Remember adds the threads and objects that a reason for doubt may name.
func (c *Contradictions) Remember(n *event.Names) {
	for _, x := range c.counts {
		if x.failed != nil {
			x.failed.Remember(n)
		}
	}
	for _, x := range c.unexpected {
		x.Remember(n)
	}
}

// under returns the events that the record contradicts, of those on which the witness of a finding
// rests: of a variable if the witness executes a read of it, of a semaphore, condition or barrier
// if it executes the end of a wait there, and of a thread if it executes something of it, or its join.
func (c *Contradictions) under(f *finding.Finding) []finding.Step {
	var out []finding.Step
	add := func(x *finding.Step) {
		if x != nil && x.Seq != 0 && !slices.ContainsFunc(out, func(y finding.Step) bool { return y.Seq == x.Seq }) {
			out = append(out, *x)
		}
	}
	for i := range executed(f) {
		step := &f.Witness[i]
		switch step.Op {
		case event.Read, event.Update:
			add(c.variable(step.Object))
		case event.SemWait, event.Wake, event.BarrierDepart:
			if x := c.counts[step.Object]; x != nil {
				add(x.failed)
			}
		}
		for _, t := range []event.ThreadID{step.Thread, step.Peer} {
			if x, bad := c.unexpected[t]; bad {
				add(&x)
			}
		}
	}
	return out
}

// unsure returns a reason if the witness of a finding executes a read, or the end of a wait, of which it is not known
// whether the record contradicts it, since what came before it was evicted.
func (c *Contradictions) unsure(f *finding.Finding) reason.Reason {
	for i := range executed(f) {
		x := &f.Witness[i]
		switch x.Op {
		case event.Read, event.Update:
			if c.evicted(x.Object) {
				return reason.Reason{What: reason.WriteForgotten, Thread: x.Thread}
			}
		case event.SemWait, event.SemFailed, event.Wake, event.BarrierDepart:
			if c.uncounted(x.Object) {
				return reason.Reason{What: reason.UseForgotten, Thread: x.Thread}
			}
		}
	}
	return reason.Reason{}
}

// uncounted reports whether uses of a semaphore, condition or barrier may have been evicted.
func (c *Contradictions) uncounted(id event.ObjectID) bool {
	x := c.counts[id]
	return x != nil && x.evicted || x == nil && id <= c.horizon
}

// executed returns the steps of a finding's witness before those of its evidence, which happen at once
// or never.
func executed(f *finding.Finding) []finding.Step {
	return f.Witness[:max(0, len(f.Witness)-len(f.Evidence))]
}

// pair processes an inferred release and the event after it, on the same lock.
func (c *Contradictions) pair(release, e *event.Event) {
	what := contradiction{holder: release.Thread}
	switch {
	case e.Op.IsAcquire() && e.Thread != release.Thread:
		what.other = e.Thread
	case e.Op == event.Destroy && e.Flags&event.Inferred != 0:
	default:
		return
	}
	if _, known := c.locks[e.Object]; !known && len(c.locks) < maxContradictions {
		c.locks[e.Object] = what
	}
}

// doubt returns the reason why a finding may be wrong that rests on such a lock.
func (c *Contradictions) doubt(f *finding.Finding) reason.Reason {
	if len(c.locks) == 0 {
		return reason.Reason{}
	}
	check := func(locks []event.ObjectID) reason.Reason {
		for _, id := range locks {
			what, bad := c.locks[id]
			switch {
			case bad && what.other != 0:
				return reason.Reason{What: reason.HeldByTwo, Thread: what.other, Other: what.holder}
			case bad:
				return reason.Reason{What: reason.HeldInFreed, Thread: what.holder}
			case len(c.locks) == maxContradictions:
				return reason.Reason{What: reason.ManyHeldByTwo}
			}
		}
		return reason.Reason{}
	}
	if why := check(f.Objects); why.Given() {
		return why
	}
	for _, s := range slices.Concat(f.Evidence, f.Witness) {
		held := s.Held
		if s.MoreHeld > 0 { // any may be among those that are left out
			held = slices.Sorted(maps.Keys(c.locks))
		}
		if why := check(held); why.Given() {
			return why
		}
	}
	return reason.Reason{}
}
