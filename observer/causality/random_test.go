package causality_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The objects of random runs.
const (
	varX event.ObjectID = iota + 1
	varY
	mutex
	rwlock
	cond
	semaphore
	unknownSem
	barrier
	once
)

// program makes random runs that are well formed.
type program struct {
	r       *rand.Rand
	events  []event.Event
	live    []event.ThreadID
	ended   []event.ThreadID // not yet joined
	next    event.ThreadID
	holders map[event.ObjectID][]event.ThreadID
	alone   map[event.ObjectID]bool
	asleep  map[event.ThreadID]bool
	inside  map[event.ThreadID]bool // of the barrier
	arrived int
	value   int
	ran     bool
}

func randomRun(r *rand.Rand, n int) []event.Event {
	p := &program{
		r: r, next: 4, live: []event.ThreadID{1, 2, 3}, holders: map[event.ObjectID][]event.ThreadID{}, alone: map[event.ObjectID]bool{},
		asleep: map[event.ThreadID]bool{}, inside: map[event.ThreadID]bool{}, value: 1,
	}
	p.emit(event.Event{Thread: 1, Op: event.Init, Object: semaphore, Kind: event.KindSemaphore, Value: 1, Flags: event.HasValue})
	p.emit(event.Event{Thread: 1, Op: event.Init, Object: barrier, Kind: event.KindBarrier, Value: 2, Flags: event.HasValue})
	for len(p.events) < n {
		p.step(p.live[r.IntN(len(p.live))])
	}
	return p.events
}

func (p *program) emit(e event.Event) {
	e.Seq = uint64(len(p.events) + 1)
	p.events = append(p.events, e)
}

func (p *program) do(t event.ThreadID, op event.Op, o event.ObjectID) {
	p.emit(event.Event{Thread: t, Op: op, Object: o})
}

func (p *program) step(t event.ThreadID) {
	if p.asleep[t] {
		p.asleep[t] = false
		p.emit(event.Event{Thread: t, Op: event.Wake, Object: cond, Flags: event.Flags(p.r.IntN(2)) * event.TimedOut})
		return
	}
	if p.inside[t] {
		if p.arrived >= 2 {
			p.leaveBarrier(t)
		}
		return
	}
	switch p.r.IntN(12) {
	case 0, 1:
		p.do(t, event.Write, varX+event.ObjectID(p.r.IntN(2)))
	case 2, 3:
		p.do(t, event.Read, varX+event.ObjectID(p.r.IntN(2)))
	case 4:
		p.lock(t, mutex, true)
	case 5:
		p.lock(t, rwlock, p.r.IntN(3) == 0)
	case 6:
		p.do(t, []event.Op{event.Signal, event.Broadcast}[p.r.IntN(2)], cond)
	case 7:
		p.asleep[t] = true
		p.do(t, event.Wait, cond)
	case 8:
		p.semaphore(t)
	case 9:
		p.do(t, []event.Op{event.SemPost, event.SemWait}[p.r.IntN(2)], unknownSem)
	case 10:
		p.gather(t)
	case 11:
		p.threads(t)
	}
}

func (p *program) lock(t event.ThreadID, o event.ObjectID, alone bool) {
	held := p.holders[o]
	switch at := slices.Index(held, t); {
	case at >= 0:
		p.do(t, event.Release, o)
		p.holders[o] = slices.Delete(held, at, at+1)
	case len(held) > 0 && (alone || p.alone[o]):
		p.do(t, event.AcquireFailed, o)
	case alone:
		p.do(t, event.Acquire, o)
		p.holders[o], p.alone[o] = append(held, t), true
	default:
		p.do(t, event.AcquireRead, o)
		p.holders[o], p.alone[o] = append(held, t), false
	}
}

func (p *program) semaphore(t event.ThreadID) {
	switch {
	case p.r.IntN(2) == 0:
		p.value++
		p.do(t, event.SemPost, semaphore)
	case p.value == 0:
		p.do(t, event.SemFailed, semaphore)
	default:
		p.value--
		p.do(t, event.SemWait, semaphore)
	}
}

func (p *program) gather(t event.ThreadID) {
	if p.r.IntN(2) == 0 {
		p.once(t)
		return
	}
	if p.arrived == 2 || len(p.live)-len(p.inside) < 2 {
		return
	}
	p.arrived++
	p.inside[t] = true
	p.do(t, event.BarrierArrive, barrier)
}

func (p *program) leaveBarrier(t event.ThreadID) {
	delete(p.inside, t)
	if len(p.inside) == 0 {
		p.arrived = 0
	}
	p.do(t, event.BarrierDepart, barrier)
}

func (p *program) once(t event.ThreadID) {
	if p.ran {
		p.do(t, event.OnceLeave, once)
		return
	}
	p.ran = true
	p.do(t, event.OnceDone, once)
}

func (p *program) threads(t event.ThreadID) {
	switch {
	case p.r.IntN(2) == 0 && len(p.ended) > 0:
		p.emit(event.Event{Thread: t, Op: event.Join, Peer: p.ended[0]})
		p.ended = p.ended[1:]
	case len(p.live) > 3 && t != 1 && !p.holds(t):
		p.do(t, event.End, 0)
		p.live = slices.DeleteFunc(p.live, func(o event.ThreadID) bool { return o == t })
		p.ended = append(p.ended, t)
	case len(p.live) < 6:
		p.emit(event.Event{Thread: t, Op: event.Fork, Peer: p.next})
		p.live = append(p.live, p.next)
		p.next++
	}
}

func (p *program) holds(t event.ThreadID) bool {
	return slices.Contains(p.holders[mutex], t) || slices.Contains(p.holders[rwlock], t)
}

// plain is the order of the run by its definition: pairs of events that touch each
// other, closed under transitivity.
func plain(events []event.Event) [][]bool {
	n := len(events)
	before := make([][]bool, n)
	for i := range before {
		before[i] = make([]bool, n)
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			before[i][j] = touch(events, i, j)
		}
	}
	for k := range n {
		for i := range k {
			if before[i][k] {
				for j := k + 1; j < n; j++ {
					before[i][j] = before[i][j] || before[k][j]
				}
			}
		}
	}
	return before
}

func touch(events []event.Event, i, j int) bool {
	a, b := &events[i], &events[j]
	switch {
	case a.Thread == b.Thread, a.Op == event.Fork && a.Peer == b.Thread, b.Op == event.Join && b.Peer == a.Thread:
		return true
	case a.Object == 0 || a.Object != b.Object:
		return false
	case a.Op == event.Init:
		return true
	case a.Object == semaphore:
		return touchSemaphore(events, i, j)
	case a.Object == barrier:
		return a.Op == event.BarrierArrive && round(events, i) <= round(events, j) && (b.Op == event.BarrierDepart || round(events, i) < round(events, j))
	case a.Object == once:
		return a.Op == event.OnceDone
	}
	x, y := accessOf(events, i), accessOf(events, j)
	return x != 0 && y != 0 && (x == 'w' || y == 'w')
}

// accessOf is 'r' or 'w': what the event does to the variable that stands for its
// object; 0 for nothing.
func accessOf(events []event.Event, i int) byte {
	e := &events[i]
	alone := false
	for _, o := range events[:i] {
		if o.Object == e.Object && (o.Op == event.Acquire || o.Op == event.AcquireRead) {
			alone = o.Op == event.Acquire
		}
	}
	switch e.Op {
	case event.Read, event.AcquireRead, event.Wait:
		return 'r'
	case event.Release:
		if !alone {
			return 'r'
		}
	case event.AcquireFailed:
		if alone {
			return 'r'
		}
	case event.Wake:
		if e.Flags&event.TimedOut != 0 {
			return 0
		}
	}
	return 'w'
}

// touchSemaphore: post j before wait v+j, with v = 1; the wait that emptied it before a
// failure, a failure before the next post.
func touchSemaphore(events []event.Event, i, j int) bool {
	count := func(upTo int, op event.Op) (n int) {
		for _, e := range events[:upTo+1] {
			if e.Object == semaphore && e.Op == op {
				n++
			}
		}
		return n
	}
	a, b := events[i].Op, events[j].Op
	switch {
	case a == event.SemPost && b == event.SemWait:
		return count(i, a)+1 == count(j, b)
	case a == event.SemWait && b == event.SemFailed:
		return count(i, a) == count(j, a)
	case a == event.SemFailed && b == event.SemPost:
		return count(i, b)+1 == count(j, b)
	}
	return false
}

// round is the round of the barrier, of two threads.
func round(events []event.Event, i int) int {
	n := 0
	for _, e := range events[:i+1] {
		if e.Object == barrier && e.Op == events[i].Op {
			n++
		}
	}
	return (n - 1) / 2
}

func runs(t *testing.T, check func(t *testing.T, events []event.Event, relevant func(i int) bool)) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		events := randomRun(r, 10+r.IntN(90))
		one := r.IntN(3)
		check(t, events, func(i int) bool {
			return events[i].Op == event.Write || (one == 0 && events[i].Op == event.SemPost) || (one == 1 && i%3 == 0)
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestTheorem1(t *testing.T) {
	runs(t, func(t *testing.T, events []event.Event, relevant func(i int) bool) {
		before := plain(events)
		c := causality.New()
		slots, clocks := make([]uint32, len(events)), make([]causality.Clock, len(events))
		for i := range events {
			slot, v := c.Stamp(&events[i], relevant(i))
			slots[i], clocks[i] = slot, slices.Clone(v)
		}
		for i := range events {
			for j := range events {
				if i == j || !relevant(i) || !relevant(j) {
					continue
				}
				if got := clocks[i].At(slots[i]) <= clocks[j].At(slots[i]); got != before[i][j] {
					t.Errorf("events %d and %d: before %v, want %v", i+1, j+1, got, before[i][j])
				}
			}
		}
	})
}

// TestLemma1 counts: (a) the clock of a thread knows the relevant events that precede
// or are its last one; (b) V_x^a those that precede or are some access of x so far, (c)
// V_x^w some write. The paper's text has (b) and (c) of the last access alone.
func TestLemma1(t *testing.T) {
	runs(t, func(t *testing.T, events []event.Event, relevant func(i int) bool) {
		before := plain(events)
		s := stampRun(events, relevant)
		var threads []event.ThreadID
		for i := range events {
			if !slices.Contains(threads, events[i].Thread) {
				threads = append(threads, events[i].Thread)
			}
		}
		count := func(known func(i int) bool) []uint32 {
			out := make([]uint32, len(threads))
			for i := range events {
				if relevant(i) && known(i) {
					out[slices.Index(threads, events[i].Thread)]++
				}
			}
			return out
		}
		for j := range events {
			want := count(func(i int) bool { return i == j || before[i][j] })
			if diff := cmp.Diff(want, s.byThread(s.clocks[j], threads)); diff != "" {
				t.Fatalf("(a) event %d: %s", j+1, diff)
			}
		}
		for _, x := range []event.ObjectID{varX, varY} {
			access, write := s.raw.Variable(x)
			some := func(writes bool) []uint32 {
				return count(func(i int) bool {
					for j := range events {
						if events[j].Object == x && (events[j].Op == event.Write || !writes) && (i == j || before[i][j]) {
							return true
						}
					}
					return false
				})
			}
			if diff := cmp.Diff(some(false), s.byThread(access, threads)); diff != "" {
				t.Fatalf("(b): %s", diff)
			}
			if diff := cmp.Diff(some(true), s.byThread(write, threads)); diff != "" {
				t.Fatalf("(c): %s", diff)
			}
		}
	})
}

func TestSlotsAndMemoryAreBounded(t *testing.T) {
	c := causality.New()
	next := event.ThreadID(2)
	for range 1000 {
		child := next
		next++
		for _, e := range []event.Event{
			{Thread: 1, Op: event.Fork, Peer: child}, {Thread: 1, Op: event.Detach, Peer: child}, {Thread: child, Op: event.Write, Object: event.ObjectID(child)},
			{Thread: child, Op: event.Destroy, Object: event.ObjectID(child)}, {Thread: child, Op: event.End},
		} {
			c.Stamp(&e, e.Op == event.Write)
		}
	}
	if c.Slots() > 64 || c.Live() > 4 || c.Forced() == 0 {
		t.Errorf("%d slots, %d alive, %d forced", c.Slots(), c.Live(), c.Forced())
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	events := slices.DeleteFunc(randomRun(r, 2000), func(e event.Event) bool {
		return e.Op == event.End || e.Op == event.Fork || e.Op == event.Join || e.Op == event.SemPost || e.Op == event.Init || e.Object == barrier
	})
	c := causality.New()
	run := func() {
		for i := range events {
			c.Stamp(&events[i], events[i].Op == event.Write)
		}
	}
	for range 3 {
		run()
	}
	if n := testing.AllocsPerRun(5, run); n > 0 {
		t.Errorf("%v allocations for %d events", n, len(events))
	}
}
