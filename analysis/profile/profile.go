// Package profile sums up where a run held locks and waited: it makes of events a profile in the format of pprof
// (profile.proto), one sample for each call stack, object and thread.
//
// The input is events, in order; the output is written at the end, when the names of all of them are known. Memory is
// bounded by maxSamples and, for each lock in use, by maxKept of its critical sections. build.go makes functions, locations
// and labels; top.go makes tables for people, and flame.go flame graphs.
package profile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// The values of a sample, in the order of the sample types of every profile: pprof's merging keeps only the types that
// all files have. The last type is the one that readers show first, so it is what people ask for most.
const (
	futexWaits = iota // in the kernel, of what has no value of its own
	futexWait
	conditionWaits
	conditionWait
	barrierWaits
	barrierWait
	semaphoreWaits
	semaphoreWait
	lockWaits
	lockWait
	holds
	hold
	numValues
)

// maxSamples bounds the samples: a program may have a lock for each request. Beyond them those of a call stack and a kind are
// one, of other objects and threads.
const maxSamples = 1 << 17

// maxKept bounds the critical sections of a lock that are kept to find for how long others held it.
const maxKept = 64

// Options configure a Writer.
type Options struct {
	Names   run.Namer // default nil: only identifiers are shown
	Program string    // its path; "" if unknown
	// Modules returns what code was mapped; Profile calls it. Default nil: the profile has no addresses.
	Modules func() []run.Module
}

// Writer makes a profile. New makes it, and Close writes the profile.
type Writer struct {
	out     io.Writer
	opts    Options
	threads map[event.ThreadID]*thread
	locks   map[event.ObjectID]*lock
	posts   map[event.ObjectID]section // the last post of each semaphore, and notification of each condition
	rounds  map[event.ObjectID]*round  // of each barrier
	most    int                        // of sums, before others are added up
	parts   []part                     // of the wait that is added
	sums    map[key]*[numValues]int64
	first   uint64 // time of the first event that has one, ns
	now     uint64 // the latest time so far, ns
	untimed bool   // an operation of the run that counts had no time
	futexes []run.FutexWait
}

// key is what makes a sample: all with the same key are added up.
type key struct {
	stack  event.StackID
	object event.ObjectID
	kind   event.Kind
	thread event.ThreadID
	by     blocker // of a wait
}

// blocker is who made a thread wait: the holder of a lock, where it acquired it, who posted a semaphore or notified a condition,
// or who arrived last at a barrier. The zero value is unknown.
type blocker struct {
	thread event.ThreadID
	stack  event.StackID
}

// round is one use of a barrier by its threads.
type round struct {
	last blocker // who arrived last
	over bool    // a thread has departed
}

// part is the part of a wait for which one thread is to blame.
type part struct {
	by blocker
	d  uint64 // ns
}

// span is an operation that has begun and not ended.
type span struct {
	key   key
	since uint64 // ns
	read  bool   // of a critical section: the lock is shared
	round *round // of a wait at a barrier
}

type thread struct {
	last  uint64 // time of its last event, ns
	holds []span
	wait  span // since is 0 if it does not wait for a condition or barrier
}

// section is a critical section that has ended, or a post or a notification at until.
type section struct {
	by           blocker
	since, until uint64 // ns
	read         bool
}

type lock struct {
	sections []section // the last maxKept ones, in the order in which they ended
	dropped  uint64    // when the last of those that are not kept ended, ns
}

// New returns a writer of a profile to out.
func New(out io.Writer, opts Options) *Writer {
	return &Writer{
		out: out, opts: opts, threads: map[event.ThreadID]*thread{}, locks: map[event.ObjectID]*lock{},
		posts: map[event.ObjectID]section{}, rounds: map[event.ObjectID]*round{}, sums: map[key]*[numValues]int64{}, most: maxSamples,
	}
}

// Event adds the next event of the run. Events without a time are left out.
func (w *Writer) Event(e *event.Event) {
	if e.Time == 0 { // what is inferred of the time before the observation began has none in any trace
		w.untimed = w.untimed || begins(e.Op) && e.Flags&event.Inferred == 0
		return
	}
	w.now = max(w.now, e.Time)
	if w.first == 0 {
		w.first = e.Time
	}
	t := w.threads[e.Thread]
	if t == nil {
		t = &thread{last: e.Time}
		w.threads[e.Thread] = t
	}
	before := t.last
	t.last = max(before, e.Time)
	at := span{key: key{stack: e.Stack, object: e.Object, kind: e.Kind, thread: e.Thread}, since: t.last, read: e.Op == event.AcquireRead}
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		w.mayHaveWaited(e, at, before)
		t.holds = append(t.holds, at)
	case event.Release:
		w.released(t, e.Object)
	case event.Wait:
		t.wait = at
	case event.BarrierArrive:
		at.round = w.arrives(at.key)
		t.wait = at
	case event.Wake, event.BarrierDepart:
		if e.Flags&event.TimedOut == 0 {
			w.blame(&t.wait)
		}
		w.waited(t, t.last)
	case event.SemPost, event.Signal, event.Broadcast:
		w.posts[e.Object] = section{by: blocker{e.Thread, e.Stack}, until: t.last}
	case event.SemWait:
		w.mayHaveWaitedForPost(e, at, before)
	case event.End:
		w.endThread(e.Thread, t, t.last)
	case event.Destroy:
		delete(w.locks, e.Object)
		delete(w.posts, e.Object)
		delete(w.rounds, e.Object)
	}
}

// AddFutexWaits adds the waits in the kernel that are for nothing that has events: for the end of threads, and for futexes that
// no lock or the like uses.
func (w *Writer) AddFutexWaits(waits []run.FutexWait) {
	for i := range waits {
		if k := waits[i].Kind; k == run.FutexJoin || k == run.FutexOther {
			w.futexes = append(w.futexes, waits[i])
		}
	}
}

// begins reports whether an operation begins a critical section or a wait.
func begins(op event.Op) bool {
	return op.IsAcquire() || op == event.Wait || op == event.BarrierArrive || op == event.SemWait
}

// mayHaveWaitedForPost adds the time from the last event of a thread, at before, to the last post of the semaphore that
// it has taken: a thread that waits does so until a post.
func (w *Writer) mayHaveWaitedForPost(e *event.Event, at span, before uint64) {
	post := w.posts[e.Object]
	if until := min(post.until, at.since); until > before && e.Flags&(event.Try|event.MayWait|event.Repeated|event.Inferred) == 0 {
		at.key.by = post.by
		w.add(at.key, semaphoreWaits, 1, until-before)
	}
}

// mayHaveWaited adds the time for which others held a lock between the last event of a thread, at before, and its
// acquire. The time of the request is not recorded: the thread waited for no holder for longer. A thread that only tries
// does not wait, and what it waits within a wait for a condition belongs to that. Each holder has its part of the time,
// and the last one the wait itself.
func (w *Writer) mayHaveWaited(e *event.Event, at span, before uint64) {
	l := w.locks[e.Object]
	if l == nil || e.Flags&(event.Try|event.MayWait|event.Repeated|event.InCondWait|event.Inferred) != 0 {
		return
	}
	w.parts = l.heldBetween(w.parts[:0], before, at.since, at.read)
	count := int64(1)
	for _, p := range w.parts {
		at.key.by = p.by
		w.add(at.key, lockWaits, count, p.d)
		count = 0
	}
}

// heldBetween appends for how many of the nanoseconds between two times threads held the lock in a mode that a request must
// wait for, the last one first; read says that it is a request to share the lock.
func (l *lock) heldBetween(held []part, from, to uint64, read bool) []part {
	for _, s := range slices.Backward(l.sections) {
		if s.until <= from {
			return held
		}
		low, high := max(s.since, from), min(s.until, to)
		if (!read || !s.read) && low < high {
			held = append(held, part{s.by, high - low})
			to = low // readers overlap: what several held counts once
		}
	}
	if high := min(l.dropped, to); high > from {
		held = append(held, part{d: high - from}) // for all that is known
	}
	return held
}

// released ends the critical section of a thread in which it holds an object.
func (w *Writer) released(t *thread, object event.ObjectID) {
	i := slices.IndexFunc(t.holds, func(s span) bool { return s.key.object == object })
	if i < 0 {
		return
	}
	s := t.holds[i]
	t.holds = slices.Delete(t.holds, i, i+1)
	w.add(s.key, holds, 1, t.last-s.since)
	l := w.locks[object]
	if l == nil {
		l = &lock{}
		w.locks[object] = l
	}
	if len(l.sections) == maxKept {
		l.dropped = max(l.dropped, l.sections[0].until)
		l.sections = slices.Delete(l.sections, 0, 1)
	}
	l.insert(section{by: blocker{s.key.thread, s.key.stack}, since: s.since, until: t.last, read: s.read})
}

// insert adds a section; the times of two processors may differ a little from the order of the run.
func (l *lock) insert(s section) {
	i, _ := slices.BinarySearchFunc(l.sections, s, func(a, b section) int { return cmp.Compare(a.until, b.until) })
	l.sections = slices.Insert(l.sections, i, s)
}

// arrives returns the round of a barrier that a thread has arrived for: a new one, if a thread has departed since the last
// arrival.
func (w *Writer) arrives(k key) *round {
	r := w.rounds[k.object]
	if r == nil || r.over {
		r = &round{}
		w.rounds[k.object] = r
	}
	r.last = blocker{k.thread, k.stack}
	return r
}

// blame sets who is to blame for a wait for a condition or at a barrier that has ended: who notified last, or arrived last. The
// last one at a barrier waits for nobody.
func (w *Writer) blame(wait *span) {
	by := blocker{}
	if n := w.posts[wait.key.object]; n.until >= wait.since {
		by = n.by
	}
	if wait.round != nil {
		wait.round.over, by = true, wait.round.last
	}
	if by.thread != wait.key.thread {
		wait.key.by = by
	}
}

// waited ends the wait of a thread for a condition or a barrier, if it is in one.
func (w *Writer) waited(t *thread, now uint64) {
	if t.wait.since == 0 {
		return
	}
	what := conditionWaits
	if t.wait.key.kind == event.KindBarrier {
		what = barrierWaits
	}
	w.add(t.wait.key, what, 1, now-t.wait.since)
	t.wait = span{}
}

// endThread ends all that a thread has begun.
func (w *Writer) endThread(id event.ThreadID, t *thread, now uint64) {
	w.waited(t, now)
	for _, s := range t.holds {
		w.add(s.key, holds, 1, now-s.since)
	}
	delete(w.threads, id)
}

// add adds n operations of d ns together to a sample. count is the value that counts such operations, and the next value
// is the one that has their time.
func (w *Writer) add(k key, count int, n int64, d uint64) {
	sum := w.sums[k]
	if sum == nil && len(w.sums) >= w.most {
		k = key{stack: k.stack, kind: k.kind}
		sum = w.sums[k]
	}
	if sum == nil {
		sum = &[numValues]int64{}
		w.sums[k] = sum
	}
	sum[count] += n
	sum[count+1] += int64(d)
}

// errNoTimes is why there is no profile of STD text.
var errNoTimes = errors.New("the trace has no times, and so no profile: STD text has none")

// Remember adds the threads and objects that the profile names; observer.Rememberer.
func (w *Writer) Remember(n *event.Names) {
	for k := range w.sums {
		n.AddThread(k.thread)
		n.AddThread(k.by.thread)
		n.AddObject(k.object)
	}
	for id, l := range w.locks {
		n.AddObject(id)
		for _, s := range l.sections {
			n.AddThread(s.by.thread)
		}
	}
	for id, s := range w.posts {
		n.AddObject(id)
		n.AddThread(s.by.thread)
	}
	for id, r := range w.rounds {
		n.AddObject(id)
		n.AddThread(r.last.thread)
	}
}

// Profile returns the profile of the events so far, which are all: what has not ended is taken to end with the last one.
func (w *Writer) Profile() (*profile.Profile, error) {
	if w.first == 0 && w.untimed {
		return nil, errNoTimes
	}
	for id, t := range w.threads {
		w.endThread(id, t, w.now)
	}
	p := w.build()
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("make the profile: %w", err)
	}
	return p, nil
}

// Close writes the profile.
func (w *Writer) Close() error {
	p, err := w.Profile()
	if err != nil {
		return err
	}
	if err := p.Write(w.out); err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	return nil
}
