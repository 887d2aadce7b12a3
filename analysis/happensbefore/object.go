package happensbefore

import (
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// object is what is known of a condition, barrier, semaphore, once or channel.
type object struct {
	init *mark
	uses marks

	once mark

	sleepers []sleeper
	sent     []notification // oldest first

	size   uint64 // of a barrier; 0 is unknown
	rounds []*round
	before vector // arrivals of the rounds that take no more

	known  bool   // the semaphore's initial value is,
	credit uint64 // and so many waits need no post any more
	posts  []mark // not taken, oldest first
	passed vector // of posts that are not kept
	waited marks
	failed marks // since the last post

	sends    queue
	from     []uint64 // of the sends that are kept: no byte of them is before
	receives queue
}

type sleeper struct {
	mark
	thread event.ThreadID
	order  uint64
}

type notification struct {
	mark
	order uint64
	all   bool
}

// round is a round of a barrier that not everybody has left. It takes no more arrivals
// once it is full or somebody has departed.
type round struct {
	arrived vector
	inside  []event.ThreadID
	count   uint64
	closed  bool
}

// queue is events of a channel, oldest first, of which a later event knows the first so
// many.
type queue struct {
	past vector // of those that are not kept: who knows any, knows these
	gone uint64
	kept []mark
}

// maxKept bounds the posts of a semaphore and the events of a channel that are kept.
// Older ones are known with any then: more edges, never fewer.
const (
	maxKept  = 256
	maxPosts = 1024
)

func (o *object) setup(e *event.Event) {
	switch {
	case e.Flags&event.HasValue == 0:
	case e.Kind == event.KindSemaphore:
		o.known, o.credit = true, e.Value
	case e.Kind == event.KindBarrier:
		o.size = e.Value
	}
}

func (a *Analysis) object(t *thread, e *event.Event) {
	c := &a.clocks
	o := a.others.known(e.Object)
	if o == nil {
		o = a.others.get(e.Object)
		o.init = a.inits[e.Object]
	}
	if o.init != nil {
		t.joinAt(c, o.init)
	}
	switch e.Op {
	case event.OnceLeave:
		t.joinAt(c, &o.once)
	case event.OnceDone:
		o.once.set(c, t)
	case event.Wait:
		s := sleeper{thread: e.Thread, order: a.order}
		s.set(c, t)
		o.sleepers = append(o.sleepers, s)
	case event.Wake:
		o.wake(c, t, e)
	case event.Signal, event.Broadcast:
		o.notify(a, t, e.Op == event.Broadcast)
	case event.BarrierArrive:
		o.arrive(c, t)
	case event.BarrierDepart:
		o.depart(c, t)
	case event.SemPost, event.SemWait, event.SemFailed:
		o.semaphore(c, t, e.Op)
	case event.Send:
		o.send(c, t, e)
	case event.Sent:
		o.sentAll(c, t, e)
	case event.Receive:
		o.receive(c, t, e)
		o.receives.add(c, t)
	case event.Receiving:
		o.receives.add(c, t)
	}
	o.use(a, t)
}

// use remembers the event for the end of the object, and ends its time.
func (o *object) use(a *Analysis, t *thread) {
	o.uses.cover(&a.clocks, t)
	t.tick()
}

func (o *object) destroy(c *pool, t *thread, guessed bool) {
	if !guessed {
		t.joinAll(c, o.uses)
	}
	o.uses.drop(c)
	o.failed.drop(c)
	o.once.drop(c)
	o.waited.drop(c)
	for i := range o.sleepers {
		o.sleepers[i].drop(c)
	}
	for i := range o.sent {
		o.sent[i].drop(c)
	}
	for _, ks := range [][]mark{o.posts, o.sends.kept, o.receives.kept} {
		for i := range ks {
			ks[i].drop(c)
		}
	}
}

// notify draws wait's release → notification. Whom a signal wakes is known only later,
// so it takes what all the sleepers have in common; a broadcast takes what more
// sleepers have in common than earlier signals can have woken.
func (o *object) notify(a *Analysis, t *thread, all bool) {
	n := len(o.sleepers)
	if n == 0 {
		return
	}
	signals := 0
	for i := range o.sent {
		if !o.sent[i].all {
			signals++
		}
	}
	k := n - 1
	if all {
		k = signals
	}
	if k < n {
		t.joinVector(&a.clocks, a.kth(o.sleepers, k))
	}
	if !all && signals >= n {
		return // it wakes nobody
	}
	s := notification{order: a.order, all: all}
	s.set(&a.clocks, t)
	o.sent = append(o.sent, s)
}

// kth gives the events that more than k sleepers know.
func (a *Analysis) kth(ss []sleeper, k int) vector {
	width := 0
	for i := range ss {
		width = max(width, len(a.clocks.all[ss[i].of].known))
	}
	a.past = a.past[:0]
	a.past.extend(width)
	for slot := range a.past {
		a.pick = a.pick[:0]
		for i := range ss {
			n := a.clocks.all[ss[i].of].known.at(uint32(slot))
			if int(ss[i].slot) == slot {
				n = ss[i].time
			}
			a.pick = append(a.pick, n)
		}
		slices.Sort(a.pick)
		a.past[slot] = a.pick[len(ss)-1-k]
	}
	return a.past
}

// wake draws the edges from all notifications that may have caused it.
func (o *object) wake(c *pool, t *thread, e *event.Event) {
	at := slices.IndexFunc(o.sleepers, func(s sleeper) bool { return s.thread == e.Thread })
	if at < 0 {
		return
	}
	since := o.sleepers[at].order
	o.sleepers[at].drop(c)
	o.sleepers = slices.Delete(o.sleepers, at, at+1)
	if e.Flags&event.TimedOut == 0 {
		taken := -1
		for i := range o.sent {
			if n := &o.sent[i]; n.order >= since {
				t.joinAt(c, &n.mark)
				if taken < 0 {
					taken = i
				}
			}
		}
		if taken >= 0 && !o.sent[taken].all {
			o.forget(c, taken)
		}
	}
	for len(o.sent) > 0 && (len(o.sleepers) == 0 || o.sent[0].order < o.sleepers[0].order) {
		o.forget(c, 0)
	}
}

func (o *object) forget(c *pool, i int) {
	o.sent[i].drop(c)
	o.sent = slices.Delete(o.sent, i, i+1)
}

func (o *object) arrive(c *pool, t *thread) {
	if n := len(o.rounds); n == 0 || o.rounds[n-1].closed {
		o.rounds = append(o.rounds, &round{})
	}
	r := o.rounds[len(o.rounds)-1]
	t.joinVector(c, o.before)
	var k mark
	k.set(c, t)
	r.arrived.join(c, &k)
	k.drop(c)
	r.inside = append(r.inside, t.id)
	r.count++
	if r.count == o.size {
		o.close(r)
	}
}

// close ends a round: those who arrive later are of the next one, in every schedule
// that has the rounds of this run.
func (o *object) close(r *round) {
	if r.closed {
		return
	}
	r.closed = true
	o.before.extend(len(r.arrived))
	maximum(o.before, o.before, r.arrived)
}

func (o *object) depart(c *pool, t *thread) {
	for i, r := range o.rounds {
		at := slices.Index(r.inside, t.id)
		if at < 0 {
			continue
		}
		t.joinVector(c, r.arrived)
		o.close(r)
		if r.inside = slices.Delete(r.inside, at, at+1); len(r.inside) == 0 {
			o.rounds = slices.Delete(o.rounds, i, i+1)
		}
		return
	}
}

// semaphore matches post j with wait v+j, v being the initial value. Where nobody told
// it, any post may have let a wait through.
func (o *object) semaphore(c *pool, t *thread, op event.Op) {
	switch op {
	case event.SemPost:
		t.joinAll(c, o.failed)
		o.failed.drop(c)
		o.post(c, t)
	case event.SemWait:
		switch {
		case !o.known:
			t.joinVector(c, o.passed)
		case o.credit > 0:
			o.credit--
		case len(o.posts) > 0:
			t.joinAt(c, &o.posts[0])
			o.takePost(c)
		}
		o.waited.cover(c, t)
	case event.SemFailed:
		t.joinAll(c, o.waited)
		o.failed.set(c, t)
	}
}

func (o *object) post(c *pool, t *thread) {
	var k mark
	k.set(c, t)
	if !o.known {
		o.passed.join(c, &k)
		k.drop(c)
		return
	}
	if len(o.posts) == maxPosts {
		o.takePost(c)
		o.credit++
	}
	o.posts = append(o.posts, k)
}

func (o *object) takePost(c *pool) {
	o.posts[0].drop(c)
	o.posts = append(o.posts[:0], o.posts[1:]...)
}

func (q *queue) add(c *pool, t *thread) {
	if len(q.kept) == maxKept {
		q.pass(c, 1)
	}
	q.kept = append(q.kept, mark{})
	q.kept[len(q.kept)-1].set(c, t)
}

// pass keeps the n oldest no longer.
func (q *queue) pass(c *pool, n int) {
	for i := range q.kept[:n] {
		q.past.join(c, &q.kept[i])
		q.kept[i].drop(c)
	}
	q.kept = append(q.kept[:0], q.kept[n:]...)
	q.gone += uint64(n)
}

// know draws the edges from the n oldest that are kept, which then are known with any.
func (q *queue) know(c *pool, t *thread, n int) {
	q.pass(c, n)
	t.joinVector(c, q.past)
}

// send keeps a send. One whose position is not known may be what any receive has.
func (o *object) send(c *pool, t *thread, e *event.Event) {
	from := e.Value
	if e.Flags&event.HasValue == 0 {
		o.sends.pass(c, len(o.sends.kept))
		o.from, from = o.from[:0], 0
	}
	o.sends.add(c, t)
	o.from = append(o.from, from)
	o.from = o.from[:copy(o.from, o.from[len(o.from)-len(o.sends.kept):])]
}

// receive draws the edges from the sends that a receive may have received from.
func (o *object) receive(c *pool, t *thread, e *event.Event) {
	n := 0
	for n < len(o.from) && (e.Flags&event.HasValue == 0 || o.from[n] < e.Value) {
		n++
	}
	o.from = o.from[:copy(o.from, o.from[n:])]
	o.sends.know(c, t, n)
}

// sentAll draws the edges from the receives that made room.
func (o *object) sentAll(c *pool, t *thread, e *event.Event) {
	q, want := &o.receives, uint64(math.MaxUint64)
	if e.Flags&event.HasValue != 0 {
		want = e.Value
	}
	if want > q.gone {
		q.know(c, t, int(min(want-q.gone, uint64(len(q.kept)))))
	} else if want > 0 {
		q.know(c, t, 0)
	}
}
