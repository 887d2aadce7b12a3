// Package order is the order table: which operation comes before which other one, and
// in which schedules. Its Matcher matches waits with notifications, departures from a barrier
// with arrivals, waits for a semaphore with posts, receives with sends, and returns from a once
// with its initialiser.
//
// The input is each event of a run that synchronises threads, in trace order, together with
// the Object that it acts on; the output is the edges into the event and the changes to the
// sets of events that later edges lead from (Match). An edge leads from a set of events, which
// a Ref names. The analysis keeps for each set the data that its order needs: a vector clock,
// for example, or positions in a log. Each edge has its tiers. The analysis selects tiers when
// it calls New, and nothing is matched for the others.
//
// A Matcher never knows clocks, slots or schedules. (Vector, the vector clock that the analyses
// share, is in this package because all of them import it.) Edges of threads (create, begin,
// end, join), of variables and of lifetimes need no matching, since the event itself names the
// other end. Edges of locks are drawn by the analyses that want them, on their fast paths.
// The checker of witnesses (analysis/execution) has its own rules on purpose.
//
// # Cost
//
// An event costs O(1), except that the sleepers of a condition, the threads of a barrier and
// the messages of a channel that were sent but not received are searched. Memory is bounded
// by the live objects: a semaphore keeps at most maxPosts posts, a channel maxMessages
// sends and as many receives. Steady state does not allocate. The plain model is eventtest.Naive.
package order

import "github.com/tracepredict/tracepredict/observer/event"

// Tier is a set of schedules that keep an edge. An edge may be of several tiers.
type Tier uint8

// The tiers.
const (
	// Must is the order that every feasible reordering keeps if it executes both ends.
	Must Tier = 1 << iota
	// Observed is the order of this run, which another run may change.
	Observed
	// Outcome, with Must and Observed, is the order of the schedules in which every operation
	// also has the outcome that it had in this run.
	Outcome
	// Kept is the order of this run between operations that exclude each other or compete for
	// the same thing, as sync-preserving prediction keeps it.
	Kept
)

// Relation is a row of the table, named by the two ends of its edges.
type Relation uint8

// The relations. Each is named after the event that the edge leads from and the one that it
// leads to.
const (
	// DoneToLeave: the initialiser's return comes before the return of every other caller.
	DoneToLeave Relation = iota
	// SleepToNotify: the release of a wait comes before the notification that ends it. Which
	// wait that is, is known only later, so the edge leads from the events that the clocks of
	// enough sleepers' waits include (Match.Sleepers). A schedule that ends before the wake need
	// not keep it: the notification may come first, and the wait then does not end.
	SleepToNotify
	// NotifyToWake: the oldest notification that no other wake has used up comes before the
	// wake.
	NotifyToWake
	// LaterNotifyToWake: the later notifications since the wait come before the wake too, since
	// any of them might have caused it.
	LaterNotifyToWake
	// ArriveToDepart: all arrivals of a barrier generation come before its departures.
	ArriveToDepart
	// ArriveToArrive: a generation's arrivals come before those of the next one.
	ArriveToArrive
	// PostToWait: post j comes before wait v+j, which it lets through, v being the initial
	// value, where only one thread has posted so far. Every schedule keeps it if no other thread posts
	// later in the run either, which is known only at the end: see Object.SinglePoster.
	PostToWait
	// AnyPostToWait is PostToWait where several threads have posted, or one that had waited, as a
	// semaphore that serves as a lock is used: the post of another thread might
	// have let the wait through instead.
	AnyPostToWait
	// PostToUncountedWait is PostToWait where v is unknown and assumed to be 0, which requires
	// more posts than are needed, never fewer.
	PostToUncountedWait
	// EarlierPostToUncountedWait: where v is unknown, all earlier posts come before a wait, since
	// any of them may have let it through.
	EarlierPostToUncountedWait
	// WaitToFailure: the last wait, which emptied the semaphore, comes before a failed attempt.
	WaitToFailure
	// EarlierWaitToFailure: all earlier waits come before a failed attempt, so that it fails
	// again.
	EarlierWaitToFailure
	// FailureToPost: failed attempts come before the next post.
	FailureToPost
	// SendToReceive: the sends that may begin before the end of what was received come before
	// the receive. That includes the sends of bytes that others received: the bytes of this
	// receive lie behind them in the channel.
	SendToReceive
	// ReceiveToSent: the receives that made room for a send that waited come before its return.
	ReceiveToSent
	// ReceiveToReceive: receives come in the order of this run.
	ReceiveToReceive
	// ReceiveToFailure: earlier receives come before a receive that found nothing, since
	// everything that had been sent was received before.
	ReceiveToFailure
	// FailureToSend: a receive that found nothing comes before later sends.
	FailureToSend

	relations
)

// Table holds the tiers of each relation.
var Table = [relations]Tier{
	DoneToLeave:                Must,
	SleepToNotify:              Observed,
	NotifyToWake:               Must,
	LaterNotifyToWake:          Observed,
	ArriveToDepart:             Must,
	ArriveToArrive:             Observed | Kept,
	PostToWait:                 Observed | Kept,
	AnyPostToWait:              Observed | Kept,
	PostToUncountedWait:        Kept,
	EarlierPostToUncountedWait: Outcome,
	WaitToFailure:              Observed,
	EarlierWaitToFailure:       Outcome | Kept,
	FailureToPost:              Observed,
	SendToReceive:              Must,
	ReceiveToSent:              Must,
	ReceiveToReceive:           Kept,
	ReceiveToFailure:           Kept,
	FailureToSend:              Kept,
}

// Synchronises reports whether Matcher.Match must take events of the operation: whether they
// have edges, or begin a lifetime with a value that edges depend on.
func Synchronises(op event.Op) bool {
	return op >= event.Wait && op <= event.Init && op != event.OnceEnter || op >= event.Send && op <= event.ReceiveFailed
}

// Ref names a set of events for which an analysis keeps data; 0 is none. Sets are numbered from
// 1 on, without gaps, and the numbers are reused.
type Ref int32

// Edge leads from all events of a set to the event of the last call of Matcher.Match.
type Edge struct {
	From     Ref
	Relation Relation
}

// Change is a change to a set, which the analysis makes once the current event is part of its
// order.
type Change struct {
	Set   Ref
	From  Ref  // the set whose events are added to Set; 0: the current event is added
	Fresh bool // the number Set now names a new set: the analysis empties it first
}

// Match holds the edges into one event and the changes to sets. It is valid until the next
// call.
type Match struct {
	Edges []Edge
	// Sleepers holds, for a notification, the waits that it may end, each a set of one event.
	// Edges (SleepToNotify) lead from the events that the clocks of more than Beyond of them
	// include.
	Sleepers []Ref
	Beyond   int
	// Changes are to be made in this order, after the edges are drawn.
	Changes []Change
	// Unexplained reports that a semaphore let a wait through for which there was no post, or
	// that it has more posts than are kept.
	Unexplained bool
}

// Matcher matches the events of one run. Make it with New. It is not safe for concurrent
// use.
type Matcher struct {
	want        Tier
	now         uint64 // events so far
	sets        Ref    // the largest Ref so far
	spare       []Ref  // numbers up to sets that are not in use
	generations int    // see Generations
	match       Match
}

// New returns a matcher that yields the edges of these tiers.
func New(want Tier) *Matcher { return &Matcher{want: want} }

// Generations returns the number of barrier generations that some arrived thread has not left.
func (m *Matcher) Generations() int { return m.generations }

// Object is the matcher's state of a condition, barrier, semaphore, once or channel. The zero
// value is that of an object that no event has named yet.
type Object struct {
	once      Ref
	condition *condition
	barrier   *barrier
	semaphore *semaphore
	channel   *channel
}

// Match handles the next event of the run, which acts on o.
func (m *Matcher) Match(o *Object, e *event.Event) *Match {
	m.now++
	x := &m.match
	x.Edges, x.Sleepers, x.Changes = x.Edges[:0], x.Sleepers[:0], x.Changes[:0]
	x.Beyond, x.Unexplained = 0, false
	switch e.Op {
	case event.OnceDone:
		m.replace(&o.once)
	case event.OnceLeave:
		m.edge(o.once, DoneToLeave)
	case event.Wait:
		m.wait(ensure(&o.condition), e.Thread)
	case event.Signal, event.Broadcast:
		if o.condition != nil {
			m.notify(o.condition, e.Op == event.Broadcast)
		}
	case event.Wake:
		if o.condition != nil {
			m.wake(o.condition, e)
		}
	case event.BarrierArrive:
		m.arrive(ensure(&o.barrier), e.Thread)
	case event.BarrierDepart:
		if o.barrier != nil {
			m.depart(o.barrier, e.Thread)
		}
	case event.SemPost:
		m.post(ensure(&o.semaphore), e.Thread)
	case event.SemWait:
		m.semWait(ensure(&o.semaphore), e.Thread)
	case event.SemFailed:
		m.fail(ensure(&o.semaphore))
	case event.Send, event.Sent, event.Receive, event.Receiving, event.ReceiveFailed:
		m.message(ensure(&o.channel), e)
	case event.Init:
		o.init(e)
	}
	return x
}

// init records the initial value of a semaphore, or the size of a barrier, from an Init.
func (o *Object) init(e *event.Event) {
	switch {
	case e.Flags&(event.HasValue|event.Inferred) != event.HasValue:
	case e.Kind == event.KindSemaphore:
		s := ensure(&o.semaphore)
		s.counted, s.initialLeft = true, e.Value
	case e.Kind == event.KindBarrier:
		ensure(&o.barrier).size = e.Value
	}
}

// Drop ends the lifetime of an object, and releases its sets. It draws no edge.
func (m *Matcher) Drop(o *Object) {
	m.release(&o.once)
	if c := o.condition; c != nil {
		for i := range c.sleepers {
			m.release(&c.sleepers[i].set)
		}
		for i := range c.notifications {
			m.release(&c.notifications[i].set)
		}
	}
	if b := o.barrier; b != nil {
		m.dropBarrier(b)
	}
	if s := o.semaphore; s != nil {
		m.dropPosts(s)
		for _, r := range []*Ref{&s.posted, &s.last, &s.waits, &s.failed} {
			m.release(r)
		}
	}
	if c := o.channel; c != nil {
		for _, q := range []*queue{&c.sends, &c.receives} {
			for i := range q.kept {
				m.release(&q.kept[i])
			}
			m.release(&q.past)
		}
		m.release(&c.received)
		m.release(&c.failed)
	}
	*o = Object{}
}

// Quiet reports whether no thread is within an operation of the object, as a wait: then what the Matcher knows of it can
// be dropped, and all that used it taken to come before all that uses it later.
func (o *Object) Quiet() bool {
	return (o.condition == nil || len(o.condition.sleepers)+len(o.condition.notifications) == 0) && (o.barrier == nil || len(o.barrier.generations) == 0)
}

// Unused returns the sets that are not in use. Whoever keeps data of sets may drop that of these.
func (m *Matcher) Unused() []Ref { return m.spare }

// ensure returns *p, and makes it if it is nil.
func ensure[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// wants reports whether the analysis selected a tier of the relation.
func (m *Matcher) wants(r Relation) bool { return m.want&Table[r] != 0 }

// edge draws an edge from a set, if there is such a set and the analysis wants the relation.
func (m *Matcher) edge(from Ref, r Relation) {
	if from != 0 && m.wants(r) {
		m.match.Edges = append(m.match.Edges, Edge{from, r})
	}
}

// unusedSet returns a set that is not in use. The first change to it must have Fresh set.
func (m *Matcher) unusedSet() Ref {
	if n := len(m.spare); n > 0 {
		r := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return r
	}
	m.sets++
	return m.sets
}

// release ends the use of a set.
func (m *Matcher) release(r *Ref) {
	if *r != 0 {
		m.spare = append(m.spare, *r)
		*r = 0
	}
}

// set returns a fresh set that contains only the current event.
func (m *Matcher) set() Ref {
	r := m.unusedSet()
	m.match.Changes = append(m.match.Changes, Change{Set: r, Fresh: true})
	return r
}

// replace replaces a set by one that contains only the current event.
func (m *Matcher) replace(r *Ref) {
	m.release(r)
	*r = m.set()
}

// add adds the current event to a set.
func (m *Matcher) add(r *Ref) { m.merge(r, 0) }

// merge adds the events of another set, or the current event if that is 0, to a set.
func (m *Matcher) merge(into *Ref, from Ref) {
	c := Change{Set: *into, From: from}
	if *into == 0 {
		*into = m.unusedSet()
		c.Set, c.Fresh = *into, true
	}
	m.match.Changes = append(m.match.Changes, c)
}
