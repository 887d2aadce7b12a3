package predict

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// The objects of random traces.
const (
	lockA event.ObjectID = iota + 1
	lockB
	lockC
	lockRW
	varX
	varY
	theSem
	theCond
	theBarrier
	thePipe
	theAtomic
	theOnce
	lockBrief // it is initialised and destroyed during the run
)

// machine makes random traces of feasible runs.
type machine struct {
	out      []event.Event
	live     []event.ThreadID
	ended    []event.ThreadID
	next     event.ThreadID
	held     map[event.ObjectID][]event.ThreadID
	shared   bool // lockRW is held by readers
	sem      int
	asleep   map[event.ThreadID]int // by sleeping thread: its wait
	sent     []int                  // notifications not matched with a wake
	match    map[int]int            // wake → notification
	full     bool                   // all operations, not only those of locks and variables
	nests    bool                   // mostly locks
	arrived  []event.ThreadID
	leaving  map[event.ThreadID]bool
	roundOf  map[int]int
	rounds   int
	initial  int
	awaiting map[event.ThreadID]bool
	pipe     *pipe          // nil: no messages
	within   event.ThreadID // the thread that runs the initialiser of theOnce, or has run it
	done     bool           // it has returned
	brief    life
}

// life is the stage of lockBrief's lifetime.
type life uint8

const (
	unborn life = iota
	alive
	dead
)

func newMachine(c eventtest.Choices, full bool) *machine {
	m := &machine{
		live: []event.ThreadID{1}, next: 2, held: map[event.ObjectID][]event.ThreadID{}, asleep: map[event.ThreadID]int{},
		match: map[int]int{}, leaving: map[event.ThreadID]bool{}, roundOf: map[int]int{}, full: full, awaiting: map[event.ThreadID]bool{},
	}
	if full && c.Bool("initial") {
		m.initial = c.Between(0, 2, "value")
		m.sem = m.initial
		m.emit(event.Event{Thread: 1, Op: event.Init, Object: theSem, Kind: event.KindSemaphore, Flags: event.HasValue, Value: uint64(m.initial)})
	}
	if full {
		m.emit(event.Event{Thread: 1, Op: event.Init, Object: theBarrier, Kind: event.KindBarrier, Flags: event.HasValue, Value: 2})
	}
	for range c.Between(1, 2, "children") {
		m.fork(1)
	}
	return m
}

func (m *machine) emit(e event.Event) int {
	e.Seq = uint64(len(m.out) + 1)
	m.out = append(m.out, e)
	return len(m.out) - 1
}

func (m *machine) fork(by event.ThreadID) {
	m.emit(event.Event{Thread: by, Op: event.Fork, Peer: m.next})
	m.live = append(m.live, m.next)
	m.next++
}

// draw returns a trace of up to n events.
func draw(c eventtest.Choices, n int, full bool) *machine {
	m := newMachine(c, full)
	for range c.Between(n/2, n, "events") {
		m.step(c, eventtest.OneOf(c, m.live, "thread"))
	}
	return m
}

func (m *machine) step(c eventtest.Choices, id event.ThreadID) {
	switch {
	case m.awaiting[id]:
		m.wake(c, id)
	case m.leaving[id]:
		m.emit(event.Event{Thread: id, Op: event.BarrierDepart, Object: theBarrier})
		delete(m.leaving, id)
	case slices.Contains(m.arrived, id):
	default:
		m.act(c, id)
	}
}

func (m *machine) wake(c eventtest.Choices, id event.ThreadID) {
	since := m.asleep[id]
	at := slices.IndexFunc(m.sent, func(j int) bool { return j > since })
	flags := event.Flags(0)
	if at < 0 {
		flags = event.TimedOut
	}
	i := m.emit(event.Event{Thread: id, Op: event.Wake, Object: theCond, Flags: flags})
	delete(m.awaiting, id)
	if at >= 0 {
		m.match[i] = m.sent[at]
		if m.out[m.sent[at]].Op == event.Signal {
			m.sent = slices.Delete(slices.Clone(m.sent), at, at+1)
		}
	}
}

func (m *machine) act(c eventtest.Choices, id event.ThreadID) {
	kinds := 9
	if m.full {
		kinds = 21
	}
	if m.pipe != nil && c.Between(0, 2, "message") == 0 {
		m.message(c, id)
		return
	}
	k := c.Between(0, kinds-1, "what")
	if m.nests && c.Bool("nest") {
		k = 0
	}
	switch k {
	case 0, 1, 2, 3, 4:
		m.lock(c, id, lockA+event.ObjectID(c.Between(0, 3, "lock")))
	case 5, 6:
		m.access(c, id)
	case 7:
		m.endOrFork(c, id)
	case 8:
		m.join(c, id)
	case 9, 10:
		m.semaphore(c, id)
	case 11, 12:
		m.emit(event.Event{Thread: id, Op: event.Wait, Object: theCond})
		m.asleep[id], m.awaiting[id] = len(m.out)-1, true
	case 13, 14:
		m.sent = append(m.sent, m.emit(event.Event{Thread: id, Op: eventtest.OneOf(c, []event.Op{event.Signal, event.Broadcast}, "notify"), Object: theCond}))
	case 15:
		m.arrive(id)
	case 16, 17:
		op := eventtest.OneOf(c, []event.Op{event.Read, event.Write, event.Update}, "atomic")
		flags := event.Atomic
		if op == event.Update && c.Bool("unused") {
			flags |= event.ResultUnused
		}
		m.emit(event.Event{Thread: id, Op: op, Object: theAtomic, Kind: event.KindVariable, Flags: flags})
	case 18:
		m.once(id)
	case 19, 20:
		m.lifetime(c, id)
	}
}

// access reads, writes or increments a plain variable.
func (m *machine) access(c eventtest.Choices, id event.ThreadID) {
	e := event.Event{Thread: id, Op: eventtest.OneOf(c, []event.Op{event.Read, event.Write}, "access"), Object: varX + event.ObjectID(c.Between(0, 1, "var"))}
	if e.Op == event.Write && m.full && c.Bool("increment") {
		e.Op, e.Flags = event.Update, event.ResultUnused
	}
	m.emit(e)
}

// once begins the initialiser, ends it, or finds that another thread has.
func (m *machine) once(id event.ThreadID) {
	e := event.Event{Thread: id, Op: event.OnceLeave, Object: theOnce, Kind: event.KindOnce}
	switch {
	case m.within == 0:
		e.Op, m.within = event.OnceEnter, id
	case m.within == id && !m.done:
		e.Op, m.done = event.OnceDone, true
	case !m.done:
		return
	}
	m.emit(e)
}

// initialises reports whether event i, which finds the initialisation done in the run, would run the
// initialiser itself: no thread has begun it.
func (m *machine) initialises(before []int, i int) bool {
	return m.out[i].Op == event.OnceLeave && !slices.ContainsFunc(before, func(j int) bool { return m.out[j].Op == event.OnceEnter })
}

// behindWriter reports whether event i acquires lockRW for reading again while another thread requests
// it as a writer. The lock keeps such readers out.
func (m *machine) behindWriter(before []int, i int) bool {
	return m.out[i].Op == event.AcquireAgain && slices.ContainsFunc(m.heads(before), func(j int) bool {
		e := &m.out[j]
		return e.Op == event.Acquire && e.Object == m.out[i].Object && e.Thread != m.out[i].Thread && e.Flags&event.Try == 0
	})
}

// lifetime initialises lockBrief, uses it or, once no thread holds it, destroys it.
func (m *machine) lifetime(c eventtest.Choices, id event.ThreadID) {
	switch {
	case m.brief == unborn:
		m.brief = alive
		m.emit(event.Event{Thread: id, Op: event.Init, Object: lockBrief, Kind: event.KindMutex})
	case m.brief == dead:
	case len(m.held[lockBrief]) == 0 && c.Between(0, 3, "destroy") == 0:
		m.brief = dead
		m.emit(event.Event{Thread: id, Op: event.Destroy, Object: lockBrief, Kind: event.KindMutex})
	default:
		m.lock(c, id, lockBrief)
	}
}

// arrive enters the barrier of two.
func (m *machine) arrive(id event.ThreadID) {
	i := m.emit(event.Event{Thread: id, Op: event.BarrierArrive, Object: theBarrier})
	m.roundOf[i] = m.rounds
	if m.arrived = append(m.arrived, id); len(m.arrived) == 2 {
		m.leaving[m.arrived[0]], m.leaving[m.arrived[1]] = true, true
		m.arrived = nil
		m.rounds++
	}
}

func (m *machine) lock(c eventtest.Choices, id event.ThreadID, lock event.ObjectID) {
	holders := m.held[lock]
	e := event.Event{Thread: id, Object: lock, Kind: event.KindMutex}
	if lock == lockRW {
		e.Kind = event.KindRWLock
	}
	if at := slices.Index(holders, id); at >= 0 {
		if lock == lockRW && m.shared && m.full && c.Between(0, 2, "again") == 0 {
			e.Op = event.AcquireAgain
			m.emit(e)
			return
		}
		e.Op = event.Release
		m.held[lock] = slices.Delete(slices.Clone(holders), at, at+1)
		m.emit(e)
		return
	}
	read := lock == lockRW && c.Bool("shared")
	if len(holders) == 0 || (read && m.shared) {
		e.Op = event.Acquire
		if lock == lockRW {
			m.shared = read
		}
		if read {
			e.Op = event.AcquireRead
		}
		switch c.Between(0, 7, "try") {
		case 0:
			e.Flags = event.Try
		case 1:
			e.Flags = event.Timed
		}
		if lock == lockRW && m.full {
			e.Flags, e.Value = e.Flags|event.HasValue, event.PreferWriterNonrecursive
		}
		m.held[lock] = append(holders, id)
		m.emit(e)
		return
	}
	if m.full && !read {
		e.Op, e.Flags = event.AcquireFailed, event.Try
		m.emit(e)
	}
}

func (m *machine) endOrFork(c eventtest.Choices, id event.ThreadID) {
	holding := slices.ContainsFunc(slices.Collect(maps.Values(m.held)), func(h []event.ThreadID) bool { return slices.Contains(h, id) })
	if m.next < 5 && (holding || len(m.live) == 1 || c.Bool("fork")) {
		m.fork(id)
		return
	}
	if !holding && len(m.live) > 1 && c.Bool("end") {
		m.emit(event.Event{Thread: id, Op: event.End})
		m.live = slices.DeleteFunc(slices.Clone(m.live), func(x event.ThreadID) bool { return x == id })
		m.ended = append(m.ended, id)
	}
}

func (m *machine) join(c eventtest.Choices, id event.ThreadID) {
	if len(m.ended) > 0 {
		m.emit(event.Event{Thread: id, Op: event.Join, Peer: m.ended[0]})
		m.ended = m.ended[1:]
	}
}

func (m *machine) semaphore(c eventtest.Choices, id event.ThreadID) {
	e := event.Event{Thread: id, Object: theSem, Kind: event.KindSemaphore, Op: event.SemPost}
	switch {
	case c.Bool("post"):
		m.sem++
	case m.sem > 0:
		e.Op = event.SemWait
		m.sem--
	default:
		e.Op = event.SemFailed
	}
	m.emit(e)
}

// The functions below check each rule straight from its definition, in quadratic time: whether
// event i may come after the events of before, in that order.
func (m *machine) may(before []int, i int) bool {
	e := &m.out[i]
	in := func(j int) bool { return slices.Contains(before, j) }
	first := true
	for j := range m.out[:i] {
		o := &m.out[j]
		if o.Thread == e.Thread {
			first = false
			if !in(j) {
				return false
			}
		}
	}
	if in(i) {
		return false
	}
	for j := range m.out {
		o := &m.out[j]
		if first && o.Op == event.Fork && o.Peer == e.Thread && !in(j) {
			return false
		}
		if e.Op == event.Join && o.Thread == e.Peer && !in(j) {
			return false
		}
		if o.Op == event.Init && o.Object == e.Object && j < i && !in(j) {
			return false
		}
		if e.Op == event.Destroy && o.Object == e.Object && j < i && !in(j) {
			return false
		}
		if e.Op == event.OnceLeave && o.Op == event.OnceDone && !in(j) {
			return false
		}
	}
	return m.mayObject(before, i, e, in)
}

func (m *machine) mayObject(before []int, i int, e *event.Event, in func(int) bool) bool {
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		return len(m.holders(before, e)) == 0
	case event.AcquireFailed:
		return m.heldAsObserved(before, i)
	case event.Read, event.Update:
		return blind(e) || idle(e) || m.sameValue(before, upTo(i), e.Object)
	case event.SemWait:
		return m.semValue(before) > 0 && m.posted(i, in)
	case event.SemFailed:
		return m.semValue(before) == 0
	case event.Wake:
		s, ok := m.match[i]
		return !ok || slices.Index(before, s) > slices.Index(before, m.lastOf(i, event.Wait))
	case event.Send, event.Sent, event.Receive, event.ReceiveFailed:
		return m.mayMessage(before, i)
	case event.BarrierArrive:
		for j, r := range m.roundOf {
			if r < m.roundOf[i] && !in(j) {
				return false
			}
		}
	case event.BarrierDepart:
		for j, r := range m.roundOf {
			if r == m.roundOf[m.lastOf(i, event.BarrierArrive)] && !in(j) {
				return false
			}
		}
	}
	return true
}

// sameValue reports whether a variable has the same value after an order of events as at a point of the
// run: the same event wrote it last, or one of the same value and, if that is a blind update, the
// variable had the same value before that as in the run.
func (m *machine) sameValue(a, run []int, v event.ObjectID) bool {
	i := m.lastWrite(a, v)
	if i >= 0 && blind(&m.out[i]) && !m.sameValue(a[:slices.Index(a, i)], upTo(i), v) {
		return false
	}
	return m.equalWrites(i, m.lastWrite(run, v), v)
}

// equalWrites reports whether two writes of a variable, -1 for its initial value, are the same or leave
// the same value, all values of the variable being known.
func (m *machine) equalWrites(i, j int, v event.ObjectID) bool {
	initial, known := uint64(0), false
	for k := range m.out {
		e := &m.out[k]
		if !e.Op.IsAccess() || e.Object != v {
			continue
		}
		if e.Flags&event.HasValue == 0 {
			return i == j
		}
		if e.Op == event.Read && m.lastWrite(upTo(k), v) < 0 {
			initial, known = e.Value, true
		}
	}
	left := func(i int) (uint64, bool) {
		if i < 0 {
			return initial, known
		}
		return m.out[i].Value, true
	}
	x, ok := left(i)
	y, also := left(j)
	return i == j || ok && also && x == y
}

// drawValues gives the accesses values, few enough that writes repeat them. Sometimes one access has
// none.
func (m *machine) drawValues(c eventtest.Choices) {
	value := map[event.ObjectID]uint64{}
	for i := range m.out {
		e := &m.out[i]
		if !e.Op.IsAccess() || c.Between(0, 30, "unknown") == 0 {
			continue
		}
		if e.Op.IsWrite() {
			value[e.Object] = uint64(c.Between(0, 1, "value"))
		}
		e.Value, e.Flags = value[e.Object], e.Flags|event.HasValue
		if e.Op == event.Read && c.Between(0, 9, "idle") == 0 {
			e.Flags |= event.ResultUnused
		}
	}
}

// idle reports whether a thread at most prints what it reads.
func idle(e *event.Event) bool { return e.Op == event.Read && e.Flags&event.ResultUnused != 0 }

// blind reports whether what an update read goes nowhere but into the value that it wrote.
func blind(e *event.Event) bool { return e.Op == event.Update && e.Flags&event.ResultUnused != 0 }

func upTo(i int) []int {
	var out []int
	for j := range i {
		out = append(out, j)
	}
	return out
}

// lastOf returns the thread's last event of that operation before i.
func (m *machine) lastOf(i int, op event.Op) int {
	for j := i - 1; ; j-- {
		if m.out[j].Thread == m.out[i].Thread && m.out[j].Op == op {
			return j
		}
	}
}

func (m *machine) lastWrite(before []int, v event.ObjectID) int {
	for k := len(before) - 1; k >= 0; k-- {
		if o := &m.out[before[k]]; o.Op.IsWrite() && o.Object == v {
			return before[k]
		}
	}
	return -1
}

// semValue returns the value of theSem after some events. An unknown initial value is assumed to
// be the least that explains the run.
func (m *machine) semValue(before []int) int {
	v := m.initial
	for _, j := range before {
		switch m.out[j].Op {
		case event.SemPost:
			v++
		case event.SemWait:
			v--
		}
	}
	return v
}

// posted reports whether wait v+j comes after post j, where v is known and only one thread
// posts, which had not waited before; otherwise it returns true.
func (m *machine) posted(wait int, in func(int) bool) bool {
	if !slices.ContainsFunc(m.out, func(e event.Event) bool { return e.Op == event.Init && e.Object == theSem }) {
		return true
	}
	need, by := -m.initial, event.ThreadID(0)
	waited := map[event.ThreadID]bool{}
	for j := range m.out {
		switch o := &m.out[j]; {
		case o.Op == event.SemWait:
			waited[o.Thread] = true
			if j <= wait {
				need++
			}
		case o.Op == event.SemPost && (by != 0 && by != o.Thread || waited[o.Thread]):
			return true
		case o.Op == event.SemPost:
			by = o.Thread
		}
	}
	for j := range m.out {
		if m.out[j].Op == event.SemPost && need > 0 {
			if need--; !in(j) {
				return false
			}
		}
	}
	return true
}

// heldAsObserved reports whether a section is open that held the lock in the run when the
// attempt failed.
func (m *machine) heldAsObserved(before []int, attempt int) bool {
	lock := m.out[attempt].Object
	closes := func(a, j int) bool {
		o := &m.out[j]
		return o.Op == event.Release && o.Object == lock && o.Thread == m.out[a].Thread
	}
	return slices.ContainsFunc(before, func(a int) bool {
		if !m.out[a].Op.IsAcquire() || m.out[a].Object != lock || a > attempt {
			return false
		}
		at := slices.Index(before, a)
		openNow := !slices.ContainsFunc(before[at:], func(j int) bool { return closes(a, j) })
		return openNow && !slices.ContainsFunc(upTo(attempt)[a:], func(j int) bool { return closes(a, j) })
	})
}

// holders returns the threads whose open sections exclude the acquire e.
func (m *machine) holders(before []int, e *event.Event) []event.ThreadID {
	var out []event.ThreadID
	for k, j := range before {
		o := &m.out[j]
		if !o.Op.IsAcquire() || o.Object != e.Object || (e.Op == event.AcquireRead && o.Op == event.AcquireRead) {
			continue
		}
		released := slices.ContainsFunc(before[k:], func(r int) bool {
			return m.out[r].Op == event.Release && m.out[r].Object == o.Object && m.out[r].Thread == o.Thread
		})
		if !released {
			out = append(out, o.Thread)
		}
	}
	return out
}

// feasible reports whether the sequence can run.
func (m *machine) feasible(seq []int) bool {
	for k, i := range seq {
		if !m.may(seq[:k], i) {
			return false
		}
	}
	return true
}

// nextOf returns the thread's first event that is not in the sequence, -1 if there is none, also
// if a rule does not allow it to come next.
func (m *machine) nextOf(seq []int, id event.ThreadID) int {
	for i := range m.out {
		if m.out[i].Thread == id && !slices.Contains(seq, i) {
			return i
		}
	}
	return -1
}

// begun reports whether the sequence contains the fork of i's thread and the Init of its object,
// as far as the run has them before i.
func (m *machine) begun(seq []int, i int) bool {
	for j := range m.out[:i] {
		o := &m.out[j]
		if o.Op == event.Fork && o.Peer == m.out[i].Thread && !slices.Contains(seq, j) {
			return false
		}
		if o.Op == event.Init && o.Object == m.out[i].Object && !slices.Contains(seq, j) {
			return false
		}
	}
	return true
}

func (m *machine) races(seq []int, a, b int) bool {
	x, y := &m.out[a], &m.out[b]
	return x.Thread != y.Thread && x.Object == y.Object && x.Op.IsAccess() && y.Op.IsAccess() && (x.Op.IsWrite() || y.Op.IsWrite()) && x.Flags&y.Flags&event.Atomic == 0 &&
		m.nextOf(seq, x.Thread) == a && m.nextOf(seq, y.Thread) == b && m.begun(seq, a) && m.begun(seq, b)
}

// formsCycle reports whether the acquires wait for each other in a cycle.
func (m *machine) formsCycle(seq []int, last []int) bool {
	for k, i := range last {
		e := &m.out[i]
		if !e.Op.IsAcquire() || e.Flags&event.Try != 0 || m.nextOf(seq, e.Thread) != i || !m.begun(seq, i) {
			return false
		}
		if !slices.Contains(m.holders(seq, e), m.out[last[(k+1)%len(last)]].Thread) {
			return false
		}
	}
	return len(last) > 1
}

// onlyAcquires reports whether all these events are acquires.
func (m *machine) onlyAcquires(last []int) bool {
	return !slices.ContainsFunc(last, func(i int) bool { return !m.out[i].Op.IsAcquire() })
}

// blockedAt returns the events that blocked steps like these say that the threads cannot execute. Such a step does not
// say which event it is: that of a wait which has begun means its wake.
func (m *machine) blockedAt(seq []int, last []int) (out []int) {
	for _, i := range last {
		if next := m.nextOf(seq, m.out[i].Thread); m.out[i].Op == event.Wait && slices.Contains(seq, i) && next >= 0 && m.out[next].Op == event.Wake {
			i = next
		}
		out = append(out, i)
	}
	return out
}

// neverGoOn reports whether each of these events is the next one of its thread after the sequence, and
// none of them can be executed, whatever the other threads do next.
func (m *machine) neverGoOn(seq []int, last []int) bool {
	for _, i := range last {
		if m.nextOf(seq, m.out[i].Thread) != i {
			return false
		}
	}
	seen := map[string]bool{}
	var goesOn func(seq []int) bool
	goesOn = func(seq []int) bool {
		heads := m.heads(seq)
		if key := fmt.Sprint(heads); seen[key] {
			return false
		} else {
			seen[key] = true
		}
		for _, i := range heads {
			if !m.may(seq, i) {
				continue
			}
			if slices.Contains(last, i) || goesOn(append(slices.Clip(seq), i)) {
				return true
			}
		}
		return false
	}
	return !goesOn(seq)
}

func indices(steps []finding.Step) []int {
	var out []int
	for _, s := range steps {
		out = append(out, int(s.Seq)-1)
	}
	return out
}

// verify requires that a predicted witness can happen, by the definitions of the rules.
func (m *machine) verify(t *rapid.T, r Result, kind finding.Kind) {
	if r.Verdict != Predicted {
		return
	}
	end := len(r.Witness) - len(r.Chosen)
	seq := indices(r.Witness[:end])
	var last []int
	for _, s := range r.Chosen {
		last = append(last, int(s)-1)
	}
	if !m.feasible(seq) {
		t.Fatalf("predicted, but %v cannot happen", seq)
	}
	if kind == finding.Race && !m.races(seq, last[0], last[1]) {
		t.Fatalf("predicted, but after %v the accesses %v do not race", seq, last)
	}
	if kind == finding.Deadlock && !m.formsCycle(seq, last) {
		t.Fatalf("predicted, but after %v the acquires %v do not block each other", seq, last)
	}
}

// ask asks the history all questions about the run.
func (m *machine) ask(h *History, each func(kind finding.Kind, p Pattern, r Result)) {
	for _, p := range patterns(m.out, true) {
		each(finding.Deadlock, p, h.Deadlock(p))
	}
	for i := range m.out {
		for j := range i {
			if conflict(&m.out[j], &m.out[i]) {
				a, b := m.out[j].Seq, m.out[i].Seq
				each(finding.Race, Pattern{{a}, {b}}, h.Race(a, b))
			}
		}
	}
}

// TestPredictedCanHappen: no prediction is false, whatever operations the run contains, and
// the checker accepts each witness that the closure finds.
func TestPredictedCanHappen(t *testing.T) {
	type outcome struct {
		kind    finding.Kind
		verdict Verdict
	}
	count := map[outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := draw(eventtest.Drawn(t), 80, true)
		eventtest.Stamp(m.out)
		m.ask(record(m.out, Options{}), func(kind finding.Kind, p Pattern, r Result) {
			count[outcome{kind, r.Verdict}]++
			m.verify(t, r, kind)
			if r.Verdict == Unknown {
				t.Fatalf("%s %v: unknown: %s", kind, p, r.Reason)
			}
		})
	})
	t.Log(count)
	if count[outcome{finding.Race, Predicted}] == 0 || count[outcome{finding.Race, Refuted}] == 0 {
		t.Errorf("verdicts %v: the test shows nothing", count)
	}
}

// plainClosure returns the closure of a set of events, by its definition; false if it needs a
// release that the run does not have.
func (m *machine) plainClosure(set map[int]bool) (map[int]bool, bool) {
	releaseOf := func(a int) int {
		for j := a + 1; j < len(m.out); j++ {
			if m.out[j].Op == event.Release && m.out[j].Object == m.out[a].Object && m.out[j].Thread == m.out[a].Thread {
				return j
			}
		}
		return -1
	}
	for again := true; again; {
		n := len(set)
		for i := range maps.Clone(set) {
			m.pull(set, i)
		}
		for a := range maps.Clone(set) {
			later := m.out[a].Op.IsAcquire() && slices.ContainsFunc(slices.Collect(maps.Keys(set)), func(b int) bool {
				return b > a && m.out[b].Op.IsAcquire() && m.out[b].Object == m.out[a].Object && (m.out[a].Op == event.Acquire || m.out[b].Op == event.Acquire)
			})
			if !later {
				continue
			}
			r := releaseOf(a)
			if r < 0 {
				return nil, false
			}
			set[r] = true
		}
		again = len(set) > n
	}
	return set, true
}

// pull adds what event i needs by thread order, fork, join and reads-from.
func (m *machine) pull(set map[int]bool, i int) {
	e := &m.out[i]
	m.pullBefore(set, i)
	if e.Op == event.Read {
		if w := m.lastWrite(upTo(i), e.Object); w >= 0 {
			set[w] = true
		}
	}
}

func (m *machine) pullBefore(set map[int]bool, i int) {
	e := &m.out[i]
	for j := range m.out[:i] {
		o := &m.out[j]
		if o.Thread == e.Thread || (o.Op == event.Fork && o.Peer == e.Thread) || (e.Op == event.Join && o.Thread == e.Peer) {
			set[j] = true
		}
	}
}

// plainVerdict reports whether the plain closure leaves out the given instances, one a side.
func (m *machine) plainVerdict(last []int) bool {
	set := map[int]bool{}
	for _, i := range last {
		m.pullBefore(set, i)
	}
	set, ok := m.plainClosure(set)
	return ok && !slices.ContainsFunc(last, func(i int) bool { return set[i] })
}

// TestClosureIsTheDefinition: on locks, variables and threads a candidate is
// predicted exactly if the closure by definition leaves it out (and the acquires block each
// other, where there are shared locks).
func TestClosureIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(eventtest.Drawn(t), 70, false)
		eventtest.Stamp(m.out)
		m.ask(record(m.out, Options{Reversals: -1}), func(kind finding.Kind, p Pattern, r Result) {
			want := m.plainAny(kind, p, nil)
			if r.Reason.What == reason.NoCycle {
				return // shared locks do not block each other: the closure is not the reason
			}
			if got := r.Verdict == Predicted; got != want {
				t.Fatalf("%s %v: %v (%s), by definition %v", kind, p, r.Verdict, r.Reason, want)
			}
			m.verify(t, r, kind)
		})
	})
}

func (m *machine) plainAny(kind finding.Kind, p Pattern, chosen []int) bool {
	if len(chosen) < len(p) {
		return slices.ContainsFunc(p[len(chosen)], func(seq uint64) bool {
			i := int(seq) - 1
			if m.out[i].Flags&event.Try != 0 {
				return false
			}
			return m.plainAny(kind, p, append(slices.Clone(chosen), i))
		})
	}
	return m.plainVerdict(chosen)
}

// TestCheckAcceptsWhatCanHappen: the checker accepts a sequence exactly if it
// obeys the definitions of the rules and ends in the error. The sequences are
// walks that obey the rules, and walks with some steps that do not.
func TestCheckAcceptsWhatCanHappen(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, eventtest.FiveTimes(func(t *rapid.T) {
		c := eventtest.Drawn(t)
		m := draw(c, 60, rapid.Bool().Draw(t, "full"))
		if c.Bool("values") {
			m.drawValues(c)
		}
		seq := m.walk(t)
		kind, last := m.end(t, seq)
		want := m.feasible(seq) && ((kind == finding.Race && m.races(seq, last[0], last[1])) || (kind == finding.Deadlock && (m.formsCycle(seq, last) || m.formsCycle(seq, reversed(last)))))
		var w witness
		for _, i := range seq {
			w.add(&m.out[i])
		}
		for _, i := range last {
			w.last(&m.out[i], kind == finding.Deadlock)
		}
		err := execution.Observe(m.out).Check(w.steps, kind)
		if kind == finding.Deadlock && !m.onlyAcquires(last) {
			// What the checker refuses may be stuck too: it asks for more than that nothing can go on.
			if err == nil && (!m.feasible(seq) || !m.neverGoOn(seq, m.blockedAt(seq, last))) {
				t.Fatalf("%v then %v: the checker says that they are stuck, by definition they are not", seq, last)
			}
			return
		}
		if (err == nil) != want {
			t.Fatalf("%s, %v then %v: the checker says %v, by definition it is %v", kind, seq, last, err, want)
		}
		if err == nil {
			accepted++
		} else {
			refused++
		}
	}))
	t.Log(accepted, refused)
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused: the test shows nothing", accepted, refused)
	}
}

func reversed(s []int) []int {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// walk returns a random sequence of events, sometimes with steps against the rules.
func (m *machine) walk(t *rapid.T) []int {
	var seq []int
	mischief := rapid.IntRange(0, 3).Draw(t, "mischief")
	threads := rapid.Permutation(m.threads()).Draw(t, "order")
	for turn := range 2 * len(m.out) {
		if m.wrong(seq) && rapid.IntRange(0, 5).Draw(t, "stop") == 0 {
			break
		}
		id := threads[turn%len(threads)]
		if rapid.Bool().Draw(t, "first") {
			id = threads[0]
		}
		i := m.nextOf(seq, id)
		if i >= 0 && (m.may(seq, i) || (mischief == 0 && rapid.IntRange(0, 9).Draw(t, "now") == 0)) {
			seq = append(seq, i)
		}
	}
	return seq
}

func (m *machine) threads() []event.ThreadID {
	var out []event.ThreadID
	for id := event.ThreadID(1); id < m.next; id++ {
		out = append(out, id)
	}
	return out
}

// wrong reports whether the next events of two threads are an error.
func (m *machine) wrong(seq []int) bool {
	heads := m.heads(seq)
	return slices.ContainsFunc(heads, func(i int) bool {
		return slices.ContainsFunc(heads, func(j int) bool { return m.races(seq, i, j) || m.formsCycle(seq, []int{i, j}) })
	})
}

func (m *machine) heads(seq []int) []int {
	var heads []int
	for _, id := range m.threads() {
		if i := m.nextOf(seq, id); i >= 0 {
			heads = append(heads, i)
		}
	}
	return heads
}

// end returns a pair that may be the error at the end of the sequence, mostly the next events of
// two threads.
func (m *machine) end(t *rapid.T, seq []int) (finding.Kind, []int) {
	heads := m.heads(seq)
	for i := range heads {
		for _, j := range heads {
			if pair := []int{heads[i], j}; m.races(seq, heads[i], j) && rapid.IntRange(0, 3).Draw(t, "race") > 0 {
				return finding.Race, pair
			} else if m.formsCycle(seq, pair) && rapid.IntRange(0, 3).Draw(t, "cycle") > 0 {
				return finding.Deadlock, pair
			}
		}
	}
	if len(heads) > 1 && rapid.Bool().Draw(t, "heads") {
		return rapid.SampledFrom([]finding.Kind{finding.Race, finding.Deadlock}).Draw(t, "kind"), heads[:2]
	}
	any := rapid.IntRange(0, len(m.out)-1)
	return rapid.SampledFrom([]finding.Kind{finding.Race, finding.Deadlock}).Draw(t, "kind"), []int{any.Draw(t, "one"), any.Draw(t, "two")}
}

// TestForgettingIsNeverFalse: a verdict that a history with very little memory reaches is that
// of a history that evicts nothing, unless it is Unknown.
func TestForgettingIsNeverFalse(t *testing.T) {
	type outcome struct{ full, small Verdict }
	count := map[outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := draw(eventtest.Drawn(t), 120, rapid.Bool().Draw(t, "full"))
		eventtest.Stamp(m.out)
		o := Options{Sections: rapid.IntRange(2, 4).Draw(t, "sections"), Events: rapid.IntRange(16, 130).Draw(t, "kept")}
		all := record(m.out, Options{})
		small := record(m.out, o)
		m.ask(all, func(kind finding.Kind, p Pattern, full Result) {
			r := small.Deadlock(p)
			if kind == finding.Race {
				r = small.Race(p[0][0], p[1][0])
			}
			count[outcome{full.Verdict, r.Verdict}]++
			if r.Verdict != Unknown && r.Verdict != full.Verdict {
				t.Fatalf("%s %v: %v with %+v, %v with all", kind, p, r.Verdict, o, full.Verdict)
			}
		})
	})
	t.Log(count)
	if count[outcome{Predicted, Predicted}] == 0 || count[outcome{Predicted, Unknown}] == 0 {
		t.Errorf("verdicts %v: the test shows nothing", count)
	}
}
