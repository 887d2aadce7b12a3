package clock

import (
	"maps"

	"github.com/tracepredict/tracepredict/observer/event"
)

// naive is the plain model of the must-order: an event's clock is the set of the
// events that come before it. It knows no slots and forgets nothing.
type naive struct {
	last    map[event.ThreadID]set // what the thread's next event comes after
	objects map[event.ObjectID]*naiveObject
	n       int
}

type set map[int]bool

func (s set) add(o set) { maps.Copy(s, o) }

type naiveObject struct {
	init, uses, write, once set
	valued, atomic          bool
	value                   uint64
	sleepers                []naiveSleeper
	sent                    []naiveSent
	rounds                  []*naiveRound
	size                    uint64
	known, mixed            bool
	credit                  int
	posts                   []set
	poster                  event.ThreadID
}

type naiveSleeper struct {
	thread event.ThreadID
	at     int
	knows  set
}

type naiveSent struct {
	at    int
	all   bool
	knows set
}

type naiveRound struct {
	inside  map[event.ThreadID]bool
	arrived uint64
	closed  bool
	knows   set
}

func newNaive() *naive {
	return &naive{last: map[event.ThreadID]set{}, objects: map[event.ObjectID]*naiveObject{}}
}

// step returns the events that come before e, itself included, before the edge
// of a plain read.
func (m *naive) step(e event.Event) set {
	m.n++
	me := m.last[e.Thread]
	if me == nil {
		me = set{}
		m.last[e.Thread] = me
	}
	o := m.objects[e.Object]
	if o == nil {
		o = &naiveObject{init: set{}, uses: set{}, write: set{}, once: set{}}
		m.objects[e.Object] = o
	}
	guessed := e.Op == event.Destroy && e.Flags&event.Inferred != 0
	if !guessed {
		me.add(o.init)
	}
	agrees := e.Flags&(event.NoSource|event.Late) == 0 && !(e.Op == event.Read && o.valued && e.Flags&event.HasValue != 0 && o.value != e.Value)
	switch e.Op {
	case event.Read, event.Update:
		if e.Flags&event.Late != 0 {
			me.add(o.uses)
		}
		if o.atomic && e.Flags&event.Atomic != 0 && agrees {
			me.add(o.write)
		}
	case event.Join:
		me.add(m.last[e.Peer])
	case event.OnceLeave:
		me.add(o.once)
	case event.Destroy:
		if !guessed {
			me.add(o.uses)
		}
	case event.Wake:
		o.wake(me, e)
	case event.Signal, event.Broadcast:
		o.notify(me, e.Op == event.Broadcast)
	case event.BarrierDepart:
		for _, r := range o.rounds {
			if r.inside[e.Thread] {
				me.add(r.knows)
				r.closed = true
				delete(r.inside, e.Thread)
				break
			}
		}
	case event.SemWait:
		if o.known && o.credit > 0 {
			o.credit--
		} else if o.known && len(o.posts) > 0 {
			me.add(o.posts[0])
			o.posts = o.posts[1:]
		}
	}
	me[m.n] = true
	stamp := maps.Clone(me)
	m.after(o, me, e)
	if e.Op.IsAccess() {
		if e.Op != event.Write && agrees {
			me.add(o.write)
		}
		if e.Op.IsWrite() {
			o.write = maps.Clone(me)
			o.value, o.valued, o.atomic = e.Value, e.Flags&event.HasValue != 0, e.Flags&event.Atomic != 0
		}
	}
	o.uses.add(me)
	if e.Op == event.Destroy {
		delete(m.objects, e.Object)
	}
	return stamp
}

func (m *naive) after(o *naiveObject, me set, e event.Event) {
	switch e.Op {
	case event.Fork:
		m.last[e.Peer] = maps.Clone(me)
	case event.Init:
		o.init = maps.Clone(me)
		if e.Flags&event.HasValue != 0 {
			if e.Kind == event.KindSemaphore {
				o.known, o.credit = true, int(e.Value)
			}
			if e.Kind == event.KindBarrier {
				o.size = e.Value
			}
		}
	case event.OnceDone:
		o.once = maps.Clone(me)
	case event.Wait:
		o.sleepers = append(o.sleepers, naiveSleeper{e.Thread, m.n, maps.Clone(me)})
	case event.Signal, event.Broadcast:
		o.remember(me, e.Op == event.Broadcast, m.n)
	case event.BarrierArrive:
		var r *naiveRound
		if n := len(o.rounds); n > 0 && !o.rounds[n-1].closed {
			r = o.rounds[n-1]
		} else {
			r = &naiveRound{inside: map[event.ThreadID]bool{}, knows: set{}}
			o.rounds = append(o.rounds, r)
		}
		r.inside[e.Thread] = true
		r.knows.add(me)
		r.arrived++
		r.closed = r.arrived == o.size
	case event.SemPost:
		if o.poster != 0 && o.poster != e.Thread {
			o.mixed, o.posts = true, nil
		}
		o.poster = e.Thread
		if o.known && !o.mixed {
			o.posts = append(o.posts, maps.Clone(me))
		}
	}
}

func (o *naiveObject) signals() int {
	n := 0
	for _, s := range o.sent {
		if !s.all {
			n++
		}
	}
	return n
}

func (o *naiveObject) notify(me set, all bool) {
	k := len(o.sleepers) - 1
	if all {
		k = o.signals()
	}
	known := map[int]int{}
	for _, s := range o.sleepers {
		for x := range s.knows {
			known[x]++
		}
	}
	for x, n := range known {
		if n > k {
			me[x] = true
		}
	}
}

func (o *naiveObject) remember(me set, all bool, at int) {
	if len(o.sleepers) > 0 && (all || o.signals() < len(o.sleepers)) {
		o.sent = append(o.sent, naiveSent{at, all, maps.Clone(me)})
	}
}

func (o *naiveObject) wake(me set, e event.Event) {
	at := -1
	for i, s := range o.sleepers {
		if s.thread == e.Thread {
			at = i
			break
		}
	}
	if at < 0 {
		return
	}
	since := o.sleepers[at].at
	o.sleepers = append(append([]naiveSleeper(nil), o.sleepers[:at]...), o.sleepers[at+1:]...)
	if e.Flags&event.TimedOut == 0 {
		for i, s := range o.sent {
			if s.at > since {
				me.add(s.knows)
				if !s.all {
					o.sent = append(append([]naiveSent(nil), o.sent[:i]...), o.sent[i+1:]...)
				}
				break
			}
		}
	}
	for len(o.sent) > 0 && (len(o.sleepers) == 0 || o.sent[0].at < o.sleepers[0].at) {
		o.sent = o.sent[1:]
	}
}
