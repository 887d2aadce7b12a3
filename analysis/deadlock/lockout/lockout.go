// Package lockout finds candidates for deadlocks that are no cycle of locks alone: a thread joins
// another, or waits for a condition, a semaphore, a barrier or an initialisation, while it holds what
// other threads requested earlier in the run. If one of those had come later, it might never let the
// thread go on.
//
// Two more kinds of wait can last for ever. A wait on a condition of which the signal comes before
// it, because the thread that signals does not need the mutex for that; and an acquire of a lock
// that its holder keeps at its end.
//
// The input is the kept events of a run, in their order; the output a list of candidates, each with
// the events that are to come later (predict.History.Stuck). The package does not know whether
// there is such a schedule.
//
// # Algorithm
//
// What a thread holds are locks, and semaphores that it waited for and has not posted yet, if it
// ever posts them. At each event that ends a wait, and at each acquire or wait for a semaphore, the
// thread holds some of them. For each, every other thread's last request of it, at each call stack,
// before the thread got it is a candidate: that request is to come later. So are each thread's last
// requests together.
// Acquires under locks alone are left to package goodlock.
//
// The thread to join may also wait for a third thread: it requests what that one holds when it
// requests, at any time of the run, what the joining thread holds, or what a fourth one holds that
// does. All requests of such a chain are to come later.
//
// For each wait on a condition, the release of the mutex by which it begins is a candidate. It comes
// after all that the thread looked at before it decided to wait. If the thread read an atomic
// variable before it acquired the mutex, and the thread that signals wrote it with the mutex held,
// the look is outside the mutex: then that acquire is a candidate too. Otherwise it is one if the
// thread waits whatever it finds once it has the mutex, which only its code shows
// (Candidate.Decides). For each lock that a thread holds at its end, every other thread's last
// request of it before is a candidate.
//
// A signal may wake another thread than the one that it woke in the run. If that one waits for something
// else, it waits again, and the signal is lost. It is a candidate if both threads waited when it was sent,
// each was woken by a signal of its own, neither wait has a time limit, and the second signal was sent
// in a critical section that begins after the first, so that its cause did not hold before. The thread
// that takes the signal must never notify the condition itself, as it might pass the signal on. The
// threads wait for different things if they looked at different variables, or wait at different places in
// the code, which the caller knows (Candidate.Sites).
//
// # Cost
//
// A run of n events takes O(n) time and memory, and O(maxBack) for each thing held at a wait; for each of
// the first maxCandidates joins with something held, it follows maxChains chains of maxChain requests. Of
// candidates at the same call stacks the first maxAlike and the last maxAlike are returned: what comes
// later in the run may still help a thread at an early one. There are maxCandidates in all.
package lockout

import (
	"iter"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// The bounds of what is returned.
const (
	maxCandidates = 256
	maxAlike      = 2  // candidates with the same call stacks, at the beginning of the run and at its end each
	maxBack       = 64 // requests of an object that are searched for those of other threads
	maxRecent     = 8  // accesses of atomic variables that are kept for a thread
	maxPath       = 8  // events of a thread before a wait whose call stacks are kept
)

// Candidate is a way in which another schedule may differ from the run.
type Candidate struct {
	Later []uint64       // the events, each by its Seq, that are to come later than in the run
	Left  event.ThreadID // the thread that is to end with locks held; 0: none
	Wait  uint64         // the release by which a wait begins that may miss its signal; 0: none
	// Decides is the code by which the thread comes to the wait. If some of it decides by what other
	// threads may have written whether to go on to the wait, this is no candidate.
	Decides []Code
	// Taken is the Seq of a signal that another thread may take than the one that it woke in the run,
	// whose wake has the Seq Wake; 0: none. Later is empty then.
	Taken, Wake uint64
	// Sites holds the call stacks of the two waits, that of the thread which takes the signal last. If they
	// are at one place in the code, this is no candidate, unless Data: the threads looked at different
	// variables. Nor is it one if the code at the last passes signals on.
	Sites [2]event.StackID
	Data  bool
}

// Code is what a thread executes between two consecutive events, at these call stacks.
type Code struct{ From, To event.StackID }

// Find returns the candidates of a run, and the number of those that maxCandidates left out.
// It reads the events twice.
func Find(events iter.Seq[*event.Event]) (all []Candidate, leftOut uint64) {
	s := search{
		posters: map[use]bool{}, threads: map[event.ThreadID]*thread{}, requests: map[event.ObjectID][]request{},
		notifiers: map[use]bool{}, conditions: map[event.ObjectID]*condition{},
		alike: map[likeness]*alike{}, notified: map[event.ObjectID]notification{}, entered: map[use]uint64{}, done: map[event.ObjectID]initialisation{}, writers: map[event.ObjectID]bool{},
	}
	any := false
	for e := range events {
		if e.Op == event.SemPost {
			s.posters[use{e.Thread, e.Object}] = true
		}
		if e.Op == event.Signal || e.Op == event.Broadcast {
			s.notifiers[use{e.Thread, e.Object}] = true
		}
		any = any || waits(e.Op)
	}
	if !any {
		return nil, 0
	}
	for e := range events {
		s.event(e)
	}
	for i := range s.joins {
		s.behindOthers(&s.joins[i])
	}
	for i := range s.earlier {
		c := &s.earlier[i]
		s.add(&c.Event, c.held, c.request, Candidate{Later: []uint64{c.request.seq}})
	}
	for i := range s.again {
		s.behindWriter(&s.again[i])
	}
	return s.found, s.leftOut
}

// waits reports whether an event of the operation ends a wait that may be part of a candidate.
func waits(op event.Op) bool {
	switch op {
	case event.Join, event.Wake, event.BarrierDepart, event.SemWait, event.OnceLeave, event.AcquireAgain, event.End:
		return true
	}
	return false
}

// search is the state of the pass over the events.
type search struct {
	posters    map[use]bool // the threads that post a semaphore
	notifiers  map[use]bool // the threads that notify a condition
	conditions map[event.ObjectID]*condition
	threads    map[event.ThreadID]*thread
	requests   map[event.ObjectID][]request // by lock or semaphore, in the order of the run
	alike      map[likeness]*alike
	notified   map[event.ObjectID]notification // by condition: the latest one
	entered    map[use]uint64                  // the latest entry into an initialisation
	done       map[event.ObjectID]initialisation
	writers    map[event.ObjectID]bool // the read-write locks at which readers wait behind a waiting writer
	joins      []join                  // with something held, at most maxCandidates
	earlier    []earlier               // at most maxCandidates
	again      []event.Event           // read locks of these that a thread acquires again while it holds them
	found      []Candidate
	leftOut    uint64
}

// notification is a signal or broadcast, with the locks that its thread holds then.
type notification struct {
	thread event.ThreadID
	held   []request
	writes recent
}

// use is a thread's use of an object.
type use struct {
	thread event.ThreadID
	object event.ObjectID
}

// initialisation is what a thread does once for all, from one event to another, each by its Seq.
type initialisation struct {
	thread      event.ThreadID
	begin, done uint64
}

// thread is what a thread holds and has requested.
type thread struct {
	held  []request // locks, and permits of semaphores; oldest first
	began uint64    // the release by which its latest wait on a condition began; 0: none
	mutex request   // the acquire of the mutex of that wait
	// reads and writes are the latest accesses of atomic variables.
	reads, writes recent
	looks         recent // the latest reads of any variables
	path          []step // the latest events, at most maxPath
	toWait        []Code // from the acquire of the mutex of the latest wait to the wait; nil: not known
}

// step is an event and its call stack.
type step struct {
	seq   uint64
	stack event.StackID
}

// request is an acquire of a lock or a wait for a semaphore, which has succeeded.
type request struct {
	seq    uint64
	thread event.ThreadID
	object event.ObjectID
	stack  event.StackID
	permit bool // of a semaphore
	shared bool // as a reader
	within []within
}

// within is something that a thread held at a request, and when it got that.
type within struct {
	object event.ObjectID
	got    uint64
}

// earlier is a request that is not its thread's last one before an event that ends a wait, of what is held there.
type earlier struct {
	event.Event
	held, request request
}

// recent holds a thread's latest accesses of atomic variables.
type recent struct {
	last [maxRecent]access
	n    int
}

type access struct {
	seq      uint64
	variable event.ObjectID
}

func (r *recent) add(e *event.Event) {
	r.last[r.n%maxRecent] = access{e.Seq, e.Object}
	r.n++
}

// alike counts candidates that have much in common, and has the indices in found of the latest of them.
type alike struct {
	n      int
	latest [maxAlike]int
}

// likeness is what candidates have in common that show the same defect.
type likeness struct {
	op                   event.Op
	waits, holds, delays event.StackID
	delayed              int // number of events that are to come later
}

func (s *search) event(e *event.Event) {
	s.react(e)
	t := s.thread(e.Thread)
	if len(t.path) == maxPath {
		t.path = append(t.path[:0], t.path[1:]...)
	}
	t.path = append(t.path, step{e.Seq, e.Stack})
}

func (s *search) react(e *event.Event) {
	switch e.Op {
	case event.Acquire, event.AcquireRead, event.SemWait:
		s.request(e)
	case event.Release:
		s.released(e)
	case event.SemPost:
		if s.posters[use{e.Thread, e.Object}] {
			s.release(e.Thread, e.Object)
		}
	case event.Wait:
		t := s.thread(e.Thread)
		t.toWait = t.codeTo(e)
		s.condition(e.Object).sleep(t, e)
	case event.Wake:
		s.woken(e)
		s.wait(e, false)
		s.wakeFrom(e)
	case event.Read, event.Write, event.Update:
		s.access(e)
	case event.Signal, event.Broadcast:
		t := s.thread(e.Thread)
		s.notified[e.Object] = notification{e.Thread, slices.Clone(t.held), t.writes}
		s.condition(e.Object).notify(e)
	case event.Join:
		s.wait(e, false)
		if held := s.thread(e.Thread).held; len(held) > 0 && len(s.joins) < maxCandidates {
			s.joins = append(s.joins, join{*e, slices.Clone(held)})
		}
	case event.BarrierDepart:
		s.wait(e, false)
	case event.AcquireAgain:
		if s.writers[e.Object] && e.Flags&(event.Try|event.Inferred) == 0 && len(s.again) < maxCandidates {
			s.again = append(s.again, *e)
		}
	case event.OnceEnter:
		s.entered[use{e.Thread, e.Object}] = e.Seq
	case event.OnceDone:
		if begin := s.entered[use{e.Thread, e.Object}]; begin != 0 {
			s.done[e.Object] = initialisation{e.Thread, begin, e.Seq}
		}
	case event.OnceLeave:
		s.initialised(e)
	}
}

// behindWriter adds the candidates for a thread that acquires a lock for reading again: a writer that
// requests it in between waits for the first, and makes the second wait.
func (s *search) behindWriter(e *event.Event) {
	all := s.requests[e.Object]
	writes := func(r request) bool { return r.thread != e.Thread && !r.shared }
	if slices.ContainsFunc(all, func(r request) bool { return r.seq > e.Seq && writes(r) }) {
		s.add(e, request{}, request{}, Candidate{Later: []uint64{e.Seq}})
	}
	for _, r := range lastOf(all, e.Seq, writes) {
		s.add(e, request{}, r, Candidate{Later: []uint64{r.seq, e.Seq}})
	}
}

// initialised adds the candidates for a thread that finds an initialisation done: of what it holds, the
// initialiser requested something too.
func (s *search) initialised(e *event.Event) {
	by, known := s.done[e.Object]
	if !known || by.thread == e.Thread {
		return
	}
	for _, h := range s.thread(e.Thread).held {
		for _, r := range lastOf(s.requests[h.object], by.done, func(r request) bool {
			return r.thread == by.thread && r.seq > by.begin && !(r.shared && h.shared)
		}) {
			s.add(e, h, r, Candidate{Later: []uint64{r.seq}})
		}
	}
}

func (s *search) access(e *event.Event) {
	if e.Op != event.Write {
		s.thread(e.Thread).looks.add(e)
	}
	if e.Flags&event.Atomic == 0 {
		return
	}
	t := s.thread(e.Thread)
	if e.Op == event.Read {
		t.reads.add(e)
	} else {
		t.writes.add(e)
	}
}

// woken adds the candidates for a wait on a condition that a signal has ended.
func (s *search) woken(e *event.Event) {
	t := s.thread(e.Thread)
	if t.began == 0 || e.Flags&(event.Inferred|event.TimedOut) != 0 {
		return
	}
	s.add(e, request{}, request{}, Candidate{Later: []uint64{t.began}, Wait: t.began})
	if n, known := s.notified[e.Object]; known && n.looked(t) {
		s.add(e, t.mutex, request{}, Candidate{Later: []uint64{t.mutex.seq}, Wait: t.began})
	} else if len(t.toWait) > 0 {
		s.add(e, t.mutex, request{}, Candidate{Later: []uint64{t.mutex.seq}, Wait: t.began, Decides: t.toWait})
	}
}

// codeTo returns the code from the acquire of the mutex to a wait without a time limit; nil if that is
// not known.
func (t *thread) codeTo(wait *event.Event) (all []Code) {
	at := slices.IndexFunc(t.path, func(p step) bool { return p.seq == t.mutex.seq })
	if at < 0 || t.began == 0 || wait.Flags&event.Timed != 0 {
		return nil
	}
	from := t.path[at].stack
	for _, p := range t.path[at+1:] {
		if p.seq != t.began {
			all = append(all, Code{from, p.stack})
			from = p.stack
		}
	}
	return append(all, Code{from, wait.Stack})
}

// looked reports whether a thread that was woken by n read an atomic variable before it acquired
// the mutex of its wait, and n's thread wrote that variable with the mutex held.
func (n *notification) looked(t *thread) bool {
	at := slices.IndexFunc(n.held, func(h request) bool { return h.object == t.mutex.object && h.seq > t.mutex.seq })
	if at < 0 || t.mutex.seq == 0 {
		return false
	}
	for _, w := range n.writes.last {
		if w.seq > n.held[at].seq && slices.ContainsFunc(t.reads.last[:], func(r access) bool {
			return r.variable == w.variable && r.seq != 0 && r.seq < t.mutex.seq
		}) {
			return true
		}
	}
	return false
}

// released takes a release. One that is inferred may be at the end of its thread.
func (s *search) released(e *event.Event) {
	t := s.thread(e.Thread)
	t.began = 0
	switch {
	case e.Flags&event.InCondWait != 0:
		t.began, t.mutex = e.Seq, request{}
		if i := slices.IndexFunc(t.held, func(h request) bool { return h.object == e.Object }); i >= 0 {
			t.mutex = t.held[i]
		}
	case e.Flags&event.Inferred != 0:
		for _, h := range t.held {
			if h.object != e.Object {
				continue
			}
			for _, r := range s.before(h) {
				s.add(e, h, r, Candidate{Later: []uint64{r.seq}, Left: e.Thread})
			}
		}
	}
	s.release(e.Thread, e.Object)
}

func (s *search) thread(id event.ThreadID) *thread {
	t := s.threads[id]
	if t == nil {
		t = &thread{}
		s.threads[id] = t
	}
	return t
}

// request takes an acquire or a wait for a semaphore.
func (s *search) request(e *event.Event) {
	t := s.thread(e.Thread)
	permit := e.Op == event.SemWait
	if e.Kind == event.KindRWLock && e.Flags&event.HasValue != 0 && e.Value == event.PreferWriterNonrecursive {
		s.writers[e.Object] = true
	}
	if e.Flags&event.Try == 0 {
		s.wait(e, !permit)
	}
	r := request{seq: e.Seq, thread: e.Thread, object: e.Object, stack: e.Stack, permit: permit, shared: e.Op == event.AcquireRead}
	for _, h := range t.held {
		r.within = append(r.within, within{h.object, h.seq})
	}
	if e.Flags&(event.Try|event.Inferred) == 0 {
		s.requests[e.Object] = append(s.requests[e.Object], r)
	}
	if !permit || s.posters[use{e.Thread, e.Object}] {
		t.held = append(t.held, r)
	}
}

// release takes a release or a post by a thread: of what it holds of the object, the last is gone.
func (s *search) release(id event.ThreadID, o event.ObjectID) {
	t := s.thread(id)
	for i := len(t.held) - 1; i >= 0; i-- {
		if t.held[i].object == o {
			t.held = slices.Delete(t.held, i, i+1)
			return
		}
	}
}

// wait adds the candidates for the wait that an event ends. An acquire waits only for permits.
func (s *search) wait(e *event.Event, acquire bool) {
	for _, h := range s.thread(e.Thread).held {
		if acquire && !h.permit {
			continue
		}
		var all []uint64
		var threads []event.ThreadID
		for _, r := range s.before(h) {
			if slices.Contains(threads, r.thread) { // it is not the thread's last one
				s.postpone(e, h, r)
				continue
			}
			s.add(e, h, r, Candidate{Later: []uint64{r.seq}})
			all, threads = append(all, r.seq), append(threads, r.thread)
		}
		if len(all) > 1 {
			s.add(e, h, request{}, Candidate{Later: all})
		}
	}
}

// postpone has a candidate added when all events were seen: other candidates come first.
func (s *search) postpone(e *event.Event, h, r request) {
	if len(s.earlier) < maxCandidates {
		s.earlier = append(s.earlier, earlier{*e, h, r})
	} else {
		s.leftOut++
	}
}

// before returns the last requests of other threads, at each call stack, for what h holds that conflict
// with h and came before it.
func (s *search) before(h request) []request {
	return lastOf(s.requests[h.object], h.seq, func(r request) bool { return r.thread != h.thread && !(r.shared && h.shared) })
}

// isLike reports whether two requests for an object are by the same thread and at the same call stack.
func (r request) isLike(o request) bool { return r.thread == o.thread && r.stack == o.stack }

// lastOf returns each thread's last request at each call stack before that Seq, of those that match. It
// looks at maxBack requests.
func lastOf(all []request, seq uint64, match func(request) bool) []request {
	at, _ := slices.BinarySearchFunc(all, seq, func(r request, seq uint64) int {
		if r.seq < seq {
			return -1
		}
		return 1
	})
	var out []request
	for i := at - 1; i >= max(0, at-maxBack); i-- {
		r := all[i]
		if match(r) && !slices.ContainsFunc(out, r.isLike) {
			out = append(out, r)
		}
	}
	return out
}

// add adds a candidate for the wait that e ends while h is held, unless there are enough like it.
func (s *search) add(e *event.Event, h, r request, c Candidate) {
	key := likeness{e.Op, e.Stack, h.stack, r.stack, len(c.Later)}
	like := s.alike[key]
	if like == nil {
		like = &alike{}
		s.alike[key] = like
	}
	if like.n >= 2*maxAlike {
		s.found[like.latest[like.n%maxAlike]] = c
		like.n++
		return
	}
	if len(s.found) >= maxCandidates {
		s.leftOut++
		return
	}
	if like.n >= maxAlike {
		like.latest[like.n%maxAlike] = len(s.found)
	}
	like.n++
	s.found = append(s.found, c)
}
