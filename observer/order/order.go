// Package order is the order table: which operation comes before which other one, and
// in which schedules. It matches waits with notifications, departures from a barrier with
// arrivals, waits for a semaphore with posts, receives with sends, and returns from a once
// with its initialiser.
//
// In goes each event of a run that synchronises threads, in trace order, together with the
// Object that it acts on; out come the edges into the event and what its analysis has to
// remember of it (Match). An edge leads from a set of events, which Ref names; the analysis
// keeps for each set whatever its order needs, a vector clock for one, a place in the log
// for another. Each edge has its tiers; New says which ones the analysis wants, and nothing
// is matched for the others.
//
// What it never knows: clocks, slots, schedules. Edges of threads (create, begin, end,
// join), of variables and of lifetimes need no matching, since the event itself names the
// other end. Edges of locks are drawn by the analyses that want them, on their fast paths.
// The checker of witnesses (analysis/execution) has its own rules on purpose.
//
// # Cost
//
// An event costs O(1), but for a condition with many sleepers, a barrier with many threads
// and a channel with many messages under way, which are looked through. Memory is bounded
// by the live objects: a semaphore keeps at most maxPosts posts, a channel maxMessages
// messages. Steady state does not allocate. The plain model is in eventtest.Naive.
package order

import "github.com/tracepredict/tracepredict/observer/event"

// Tier says which schedules have an edge. An edge may be of several tiers.
type Tier uint8

// The tiers.
const (
	// Must is M of the order table: every feasible reordering that executes both ends.
	Must Tier = 1 << iota
	// Observed is O: the order of this run, which another run may change.
	Observed
	// Outcome is beyond O: schedules in which every operation ends as in this run.
	Outcome
	// Kept is what sync-preserving prediction keeps of X, the constraints of exclusion.
	Kept
)

// Relation is a row of the table: the two ends of an edge.
type Relation uint8

// The relations. Each is named after the event that the edge leads from and the one that it
// leads to.
const (
	// DoneToLeave: the initialiser's return comes before the return of all who waited.
	DoneToLeave Relation = iota
	// SleepToNotify: the release of a wait comes before the notification that ends it. Which
	// wait that is, is known later, so the edge leads from what the sleepers have in common.
	SleepToNotify
	// NotifyToWake: the oldest notification that no other wake has used up.
	NotifyToWake
	// LaterNotifyToWake: any other notification of that time might have caused the wake.
	LaterNotifyToWake
	// ArriveToDepart: all arrivals of a barrier generation come before its departures.
	ArriveToDepart
	// ArriveToArrive: a generation's arrivals come before those of the next one.
	ArriveToArrive
	// PostToWait: post j lets wait v+j through, where one thread alone posts.
	PostToWait
	// AnyPostToWait is PostToWait where several threads post: any of them might have.
	AnyPostToWait
	// PostToUncountedWait is PostToWait where v is unknown and taken to be 0, which asks for
	// more posts than are needed, never for fewer.
	PostToUncountedWait
	// EarlierPostToUncountedWait: where v is unknown, any post may have let the wait through.
	EarlierPostToUncountedWait
	// WaitToFailure: the last wait, which emptied the semaphore, before a failed attempt.
	WaitToFailure
	// EarlierWaitToFailure: all waits before a failed attempt, so that it fails again.
	EarlierWaitToFailure
	// FailureToPost: the failed attempts before the post that ends the time of no value.
	FailureToPost
	// SendToReceive: the sends that may begin before the end of what was received. What
	// others received was sent before too: the receive could not have had its own otherwise.
	SendToReceive
	// ReceiveToSent: the receives that made room for a send that waited.
	ReceiveToSent
	// ReceiveToReceive: bytes are received in the order in which they were.
	ReceiveToReceive
	// ReceiveToFailure: who found nothing did so when all that was sent had been received.
	ReceiveToFailure
	// FailureToSend: and before what was sent later.
	FailureToSend

	relations
)

// Table holds the tiers of each relation.
var Table = [relations]Tier{
	DoneToLeave:                Must,
	SleepToNotify:              Must,
	NotifyToWake:               Must,
	LaterNotifyToWake:          Observed,
	ArriveToDepart:             Must,
	ArriveToArrive:             Observed | Kept,
	PostToWait:                 Must | Observed | Kept,
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

// Synchronises reports whether events of the operation have edges, or begin a lifetime with
// a value that edges depend on: whether Matcher.Match wants them.
func Synchronises(op event.Op) bool {
	return op >= event.Wait && op <= event.Init && op != event.OnceEnter || op >= event.Send && op <= event.ReceiveFailed
}

// Ref names a set of events that an analysis remembers; 0 is none. Sets are numbered from
// 1 on, without gaps, and used again.
type Ref int32

// Edge leads from all events of a set to the event at hand.
type Edge struct {
	From     Ref
	Relation Relation
}

// Change is what an analysis does to a set once the event at hand is part of its order.
type Change struct {
	Set   Ref
	From  Ref  // the set whose events are added to Set; 0: the event at hand is
	Fresh bool // Set is another set from now on: what was in it is dropped first
}

// Match is what one event means to the order. It is valid until the next call.
type Match struct {
	Edges []Edge
	// Sleepers are, for a notification, the waits that it may end, each a set of one event.
	// An edge (SleepToNotify) leads from whatever more than Beyond of them know.
	Sleepers []Ref
	Beyond   int
	// Changes are to be made in this order, after the edges are drawn.
	Changes []Change
	// Unexplained: a semaphore let a wait through for which there was no post, or has more
	// posts than are kept.
	Unexplained bool
}

// Matcher matches the events of one run. Make it with New. It is not safe for concurrent
// use.
type Matcher struct {
	want        Tier
	now         uint64 // events so far
	sets        Ref    // the last one in use so far
	spare       []Ref
	generations int
	match       Match
}

// New returns a matcher that yields the edges of these tiers.
func New(want Tier) *Matcher { return &Matcher{want: want} }

// Generations returns the number of barrier generations that not everybody has left.
func (m *Matcher) Generations() int { return m.generations }

// Object is what the order knows of a condition, barrier, semaphore, once or channel. The
// zero value is one that no event has named yet.
type Object struct {
	once      Ref
	condition *condition
	barrier   *barrier
	semaphore *semaphore
	channel   *channel
}

// Match takes the next event of the run, which acts on o.
func (m *Matcher) Match(o *Object, e *event.Event) *Match {
	m.now++
	x := &m.match
	*x = Match{Edges: x.Edges[:0], Sleepers: x.Sleepers[:0], Changes: x.Changes[:0]}
	switch e.Op {
	case event.OnceDone:
		m.replace(&o.once)
	case event.OnceLeave:
		m.edge(o.once, DoneToLeave)
	case event.Wait:
		m.wait(own(&o.condition), e.Thread)
	case event.Signal, event.Broadcast:
		if o.condition != nil {
			m.notify(o.condition, e.Op == event.Broadcast)
		}
	case event.Wake:
		if o.condition != nil {
			m.wake(o.condition, e)
		}
	case event.BarrierArrive:
		m.arrive(own(&o.barrier), e.Thread)
	case event.BarrierDepart:
		if o.barrier != nil {
			m.depart(o.barrier, e.Thread)
		}
	case event.SemPost:
		m.post(own(&o.semaphore), e.Thread)
	case event.SemWait:
		m.take(own(&o.semaphore))
	case event.SemFailed:
		m.fail(own(&o.semaphore))
	case event.Send, event.Sent, event.Receive, event.Receiving, event.ReceiveFailed:
		m.message(own(&o.channel), e)
	case event.Init:
		o.init(e)
	}
	return x
}

// init takes from Init what the object starts with.
func (o *Object) init(e *event.Event) {
	switch {
	case e.Flags&(event.HasValue|event.Inferred) != event.HasValue:
	case e.Kind == event.KindSemaphore:
		s := own(&o.semaphore)
		s.counted, s.credit = true, e.Value
	case e.Kind == event.KindBarrier:
		own(&o.barrier).size = e.Value
	}
}

// Drop ends the lifetime of an object. It draws no edge.
func (m *Matcher) Drop(o *Object) {
	m.release(&o.once)
	if c := o.condition; c != nil {
		for i := range c.sleepers {
			m.release(&c.sleepers[i].set)
		}
		for i := range c.sent {
			m.release(&c.sent[i].set)
		}
	}
	if b := o.barrier; b != nil {
		m.dropBarrier(b)
	}
	if s := o.semaphore; s != nil {
		for i := range s.posts {
			m.release(&s.posts[i])
		}
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

func own[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// wants reports whether the analysis asked for edges of a relation.
func (m *Matcher) wants(r Relation) bool { return m.want&Table[r] != 0 }

// edge draws an edge from a set, if there is one and it is wanted.
func (m *Matcher) edge(from Ref, r Relation) {
	if from != 0 && m.wants(r) {
		m.match.Edges = append(m.match.Edges, Edge{from, r})
	}
}

// fresh names a set that is not in use. Its first change says that it is fresh.
func (m *Matcher) fresh() Ref {
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

// set names a fresh set of the event at hand alone.
func (m *Matcher) set() Ref {
	r := m.fresh()
	m.match.Changes = append(m.match.Changes, Change{Set: r, Fresh: true})
	return r
}

// replace makes a set one of the event at hand alone.
func (m *Matcher) replace(r *Ref) {
	m.release(r)
	*r = m.set()
}

// add adds the event at hand to a set.
func (m *Matcher) add(r *Ref) { m.merge(r, 0) }

// merge adds the events of another set, or with 0 the event at hand, to a set.
func (m *Matcher) merge(into *Ref, from Ref) {
	c := Change{Set: *into, From: from}
	if *into == 0 {
		*into = m.fresh()
		c.Set, c.Fresh = *into, true
	}
	m.match.Changes = append(m.match.Changes, c)
}
