package eventtest

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// Naive is the plain model of the order table: an event's clock is the set of the events
// that come before it. It has no slots and discards nothing. Its tiers are order.Must,
// or order.Must and order.Observed, or these two and order.Outcome.
type Naive struct {
	observed bool
	outcome  bool
	last     map[event.ThreadID]Set // the events before the thread's next one
	objects  map[event.ObjectID]*naiveObject
	n        int // number of events so far
}

// Set is a set of events, each named by its number in the run, from 1.
type Set map[int]bool

func (s Set) add(o Set) { maps.Copy(s, o) }

// naiveObject is the state of an object. Its fields are those of the objects of packages clock,
// causality and order, with sets of events for clocks.
type naiveObject struct {
	init, uses, write, once Set
	valued, atomic          bool   // of the last write
	value                   uint64 // of the last write

	waiters       []naiveWaiter
	notifications []naiveNotification

	generations []*naiveGeneration // of a barrier
	size        uint64             // of a barrier; 0: unknown

	known               bool  // of a semaphore: its initial value is known
	initialLeft         int   // number of waits that need no post
	posts               []Set // not yet matched with a wait
	posted, waits, last Set   // all posts, all waits, the last wait
	failures            Set   // failed attempts since the last post

	released, read, holders, attempts Set // of a lock
	exclusive                         bool

	sends    []naiveSend
	receives []Set
	received int // number of sends that were received
	roomMade int // number of receives that made room for a send
}

type naiveWaiter struct {
	thread event.ThreadID
	at     int
	before Set
}

type naiveNotification struct {
	at     int
	all    bool
	before Set
}

type naiveGeneration struct {
	inside  map[event.ThreadID]bool
	arrived uint64
	closed  bool
	before  Set
}

type naiveSend struct {
	from   uint64
	before Set
}

// NewNaive returns the model of a run that has not begun.
func NewNaive(want order.Tier) *Naive {
	return &Naive{
		observed: want&order.Observed != 0, outcome: want&order.Outcome != 0,
		last: map[event.ThreadID]Set{}, objects: map[event.ObjectID]*naiveObject{},
	}
}

func (n *Naive) object(e *event.Event) *naiveObject {
	if e.Object == 0 || e.Kind == event.KindInstance {
		return &naiveObject{}
	}
	o := n.objects[e.Object]
	if o == nil {
		o = &naiveObject{uses: Set{}, posted: Set{}, waits: Set{}, failures: Set{}, read: Set{}, holders: Set{}, attempts: Set{}}
		n.objects[e.Object] = o
	}
	return o
}

// Step handles the next event of the run and returns the events that come before it,
// itself included, before the edge of a plain read.
func (n *Naive) Step(e event.Event) Set {
	n.n++
	clock := n.last[e.Thread]
	if clock == nil {
		clock = Set{}
		n.last[e.Thread] = clock
	}
	o := n.object(&e)
	inferred := e.Op == event.Destroy && e.Flags&event.Inferred != 0
	if !inferred {
		clock.add(o.init)
	}
	n.before(o, clock, e, inferred)
	clock[n.n] = true
	stamp := maps.Clone(clock)
	if !(e.Op == event.Init && e.Flags&event.Inferred != 0) {
		n.after(o, clock, e)
	}
	if e.Op == event.Destroy {
		delete(n.objects, e.Object)
	}
	return stamp
}

// Last returns the events that come before the thread's next one.
func (n *Naive) Last(t event.ThreadID) Set { return n.last[t] }

// sawLastWrite reports whether a read may have read from the last write.
func (o *naiveObject) sawLastWrite(e *event.Event) bool {
	return e.Flags&(event.NoSource|event.Late) == 0 && !(e.Op == event.Read && o.valued && e.Flags&event.HasValue != 0 && o.value != e.Value)
}

// blind reports whether what an update read goes nowhere but into the value that it wrote.
func blind(e *event.Event) bool { return e.Op == event.Update && e.Flags&event.ResultUnused != 0 }

// before adds the edges into e to the clock of its thread.
func (n *Naive) before(o *naiveObject, clock Set, e event.Event, inferred bool) {
	switch e.Op {
	case event.Read, event.Update:
		if e.Flags&event.Late != 0 {
			clock.add(o.uses)
		}
		if o.atomic && e.Flags&event.Atomic != 0 && o.sawLastWrite(&e) && (n.observed || !blind(&e)) {
			clock.add(o.write)
		}
	case event.Join:
		clock.add(n.last[e.Peer])
	case event.OnceLeave:
		clock.add(o.once)
	case event.Destroy:
		if !inferred {
			clock.add(o.uses)
		}
	case event.Wake:
		o.wake(clock, e, n.observed)
	case event.Signal, event.Broadcast:
		if n.observed {
			o.notify(clock, e.Op == event.Broadcast)
		}
	case event.BarrierArrive:
		n.arrive(o, clock)
	case event.BarrierDepart:
		o.depart(clock, e.Thread)
	case event.SemWait, event.SemFailed, event.SemPost:
		n.semaphore(o, clock, e)
	case event.Receive, event.Sent:
		o.message(clock, e)
	}
	if n.observed {
		o.lock(clock, e.Op)
	}
}

// lock adds the edges into an operation of a lock: an exclusive acquire and its release write the
// variable that stands for the lock, a shared acquire and its release read it.
func (o *naiveObject) lock(me Set, op event.Op) {
	switch op {
	case event.Acquire:
		me.add(o.released)
		me.add(o.read)
	case event.AcquireRead:
		me.add(o.released)
	case event.AcquireFailed:
		me.add(o.holders)
	case event.Release:
		me.add(o.attempts)
	}
}

// locked records an operation of a lock for later edges.
func (o *naiveObject) locked(me Set, op event.Op) {
	switch op {
	case event.Acquire:
		o.exclusive, o.read, o.attempts, o.holders = true, Set{}, Set{}, maps.Clone(me)
	case event.AcquireRead:
		o.exclusive = false
		o.holders.add(me)
	case event.AcquireFailed:
		o.attempts.add(me)
	case event.Release:
		if !o.exclusive {
			o.read.add(me)
			return
		}
		o.exclusive, o.released, o.holders, o.attempts = false, maps.Clone(me), Set{}, Set{}
	}
}

// after records e for later edges; me are the events up to and including e.
func (n *Naive) after(o *naiveObject, me Set, e event.Event) {
	if e.Op == event.Fork {
		n.last[e.Peer] = maps.Clone(me)
	}
	if o.uses == nil {
		return
	}
	switch e.Op {
	case event.Init:
		o.init = maps.Clone(me)
		if e.Flags&event.HasValue != 0 {
			if e.Kind == event.KindSemaphore {
				o.known, o.initialLeft = true, int(e.Value)
			}
			if e.Kind == event.KindBarrier {
				o.size = e.Value
			}
		}
	case event.OnceDone:
		o.once = maps.Clone(me)
	case event.Wait:
		o.waiters = append(o.waiters, naiveWaiter{e.Thread, n.n, maps.Clone(me)})
	case event.Signal, event.Broadcast:
		o.addNotification(me, e.Op == event.Broadcast, n.n)
	case event.BarrierArrive:
		g := o.generations[len(o.generations)-1]
		g.inside[e.Thread] = true
		g.before.add(me)
		g.arrived++
		g.closed = g.arrived == o.size
	case event.SemPost:
		o.post(me, n.observed)
	case event.SemWait:
		o.last = maps.Clone(me)
		o.waits.add(me)
	case event.SemFailed:
		o.failures.add(me)
	case event.Send:
		x := naiveSend{e.Value, maps.Clone(me)}
		if e.Flags&event.HasValue == 0 {
			x.from, o.received = 0, len(o.sends)
		}
		o.sends = append(o.sends, x)
	case event.Receive, event.Receiving:
		o.receives = append(o.receives, maps.Clone(me))
	}
	if e.Op.IsAccess() {
		ordered := n.observed || !blind(&e)
		if e.Op != event.Write && ordered && o.sawLastWrite(&e) {
			me.add(o.write)
		}
		if e.Op.IsWrite() {
			before := o.write
			o.write = maps.Clone(me)
			if !ordered {
				o.write.add(before)
			}
			o.value, o.valued, o.atomic = e.Value, e.Flags&event.HasValue != 0, e.Flags&event.Atomic != 0
		}
	}
	o.locked(me, e.Op)
	o.uses.add(me)
}

// arrive begins a barrier generation if the last one is complete.
func (n *Naive) arrive(o *naiveObject, me Set) {
	if k := len(o.generations); k == 0 || o.generations[k-1].closed {
		o.generations = append(o.generations, &naiveGeneration{inside: map[event.ThreadID]bool{}, before: Set{}})
	}
	if n.observed {
		for _, g := range o.generations[:len(o.generations)-1] {
			me.add(g.before)
		}
	}
}

// depart adds the edges from the arrivals of the generation that the thread leaves.
func (o *naiveObject) depart(me Set, thread event.ThreadID) {
	for _, g := range o.generations {
		if g.inside[thread] {
			me.add(g.before)
			g.closed = true
			delete(g.inside, thread)
			return
		}
	}
}

// semaphore adds the edges into an operation of a semaphore.
func (n *Naive) semaphore(o *naiveObject, me Set, e event.Event) {
	switch e.Op {
	case event.SemPost:
		if n.observed {
			me.add(o.failures)
			o.failures = Set{}
		}
	case event.SemFailed:
		if n.observed {
			me.add(o.last)
		}
		if n.outcome {
			me.add(o.waits)
		}
	case event.SemWait:
		switch {
		case !o.known:
			if n.outcome {
				me.add(o.posted)
			}
		case o.initialLeft > 0:
			o.initialLeft--
		case len(o.posts) > 0:
			me.add(o.posts[0])
			o.posts = o.posts[1:]
		}
	}
}

// post records a post.
func (o *naiveObject) post(me Set, observed bool) {
	if observed && o.known {
		o.posts = append(o.posts, maps.Clone(me))
	}
	if !o.known {
		o.posted.add(me)
	}
}

// message adds the edges from the sends that a receive may have received from, and from the
// receives that made room for a send. The edges are cumulative: a receive also comes after every
// send that an earlier receive came after, and likewise a send.
func (o *naiveObject) message(me Set, e event.Event) {
	valued := e.Flags&event.HasValue != 0
	if e.Op == event.Sent {
		first := len(o.receives)
		if valued {
			first = int(min(e.Value, uint64(first)))
		}
		if o.roomMade = max(o.roomMade, first); !valued || e.Value > 0 {
			for _, knows := range o.receives[:o.roomMade] {
				me.add(knows)
			}
		}
		return
	}
	for o.received < len(o.sends) && (!valued || o.sends[o.received].from < e.Value) {
		o.received++
	}
	for _, s := range o.sends[:o.received] {
		me.add(s.before)
	}
}

// signals returns the number of signals that no wake has been matched with.
func (o *naiveObject) signals() int {
	n := 0
	for _, s := range o.notifications {
		if !s.all {
			n++
		}
	}
	return n
}

// notify adds the edges from the waits to a notification, as order.Matcher does.
func (o *naiveObject) notify(me Set, all bool) {
	k := len(o.waiters) - 1
	if all {
		k = o.signals()
	}
	known := map[int]int{}
	for _, s := range o.waiters {
		for x := range s.before {
			known[x]++
		}
	}
	for x, n := range known {
		if n > k {
			me[x] = true
		}
	}
}

// addNotification records a notification, if it may wake a thread.
func (o *naiveObject) addNotification(me Set, all bool, at int) {
	if len(o.waiters) > 0 && (all || o.signals() < len(o.waiters)) {
		o.notifications = append(o.notifications, naiveNotification{at, all, maps.Clone(me)})
	}
}

// wake adds the edge from the oldest notification since the wait; in the observed order,
// those from all notifications since then.
func (o *naiveObject) wake(me Set, e event.Event, observed bool) {
	at := slices.IndexFunc(o.waiters, func(s naiveWaiter) bool { return s.thread == e.Thread })
	if at < 0 {
		return
	}
	since := o.waiters[at].at
	o.waiters = slices.Delete(slices.Clone(o.waiters), at, at+1)
	if e.Flags&event.TimedOut == 0 {
		first := slices.IndexFunc(o.notifications, func(s naiveNotification) bool { return s.at > since })
		for i := max(0, first); first >= 0 && i < len(o.notifications) && (observed || i == first); i++ {
			me.add(o.notifications[i].before)
		}
		if first >= 0 && !o.notifications[first].all {
			o.notifications = slices.Delete(slices.Clone(o.notifications), first, first+1)
		}
	}
	for len(o.notifications) > 0 && (len(o.waiters) == 0 || o.notifications[0].at < o.waiters[0].at) {
		o.notifications = o.notifications[1:]
	}
}
