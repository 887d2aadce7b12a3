package predict

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// explorer enumerates all correct reorderings of a run of at most 64 events: every state that
// an interleaving of its events reaches, by the rules of type machine alone. A set of events
// is a mask.
type explorer struct {
	m       *machine
	need    []uint64                  // by event: the events that must come before it
	threads []uint64                  // by thread: its events
	lock    map[event.ObjectID]uint64 // by lock: its acquires
	posts   uint64
	waits   uint64
	release []int // by acquire: its release
	source  []int // by read: the write that it read
	found   map[string]bool
	seen    map[exploredState]bool
}

// exploredState is a state of the exploration: all that later steps depend on.
type exploredState struct {
	done  uint64  // the events that have happened
	last  [3]int8 // write of varX, varY and theAtomic, or -1; with changed, if it left another value than in the run
	awake uint64  // notifications that came during the wait that they ended in the run
}

const changed = 64

// explore returns the errors that can happen. With notified, it returns only those in which each
// notification that ended a wait in the run comes after that wait began, even if the waiter
// does not wake.
func explore(m *machine, notified bool) map[string]bool {
	x := newExplorer(m)
	for wake, sent := range m.match {
		if notified {
			x.need[sent] |= bit(m.lastOf(wake, event.Wait))
		}
	}
	x.visit(exploredState{last: [3]int8{-1, -1, -1}})
	return x.found
}

func newExplorer(m *machine) *explorer {
	x := &explorer{
		m: m, need: make([]uint64, len(m.out)), threads: make([]uint64, m.next), lock: map[event.ObjectID]uint64{},
		release: make([]int, len(m.out)), source: make([]int, len(m.out)), found: map[string]bool{}, seen: map[exploredState]bool{},
	}
	for i := range m.out {
		x.learn(i)
	}
	return x
}

func bit(i int) uint64 { return 1 << i }

// learn sets the masks of an event from the definitions of the rules.
func (x *explorer) learn(i int) {
	e := &x.m.out[i]
	x.need[i] = x.threads[e.Thread]
	x.threads[e.Thread] |= bit(i)
	for j := range x.m.out {
		o := &x.m.out[j]
		if (o.Op == event.Fork && o.Peer == e.Thread) || (e.Op == event.Join && o.Thread == e.Peer) || (o.Op == event.Init && o.Object == e.Object && j < i) ||
			(e.Op == event.Destroy && o.Object == e.Object && j < i) || (e.Op == event.OnceLeave && o.Op == event.OnceDone) {
			x.need[i] |= bit(j)
		}
		r, arrival := x.m.roundOf[j]
		if arrival && e.Op == event.BarrierArrive && r < x.m.roundOf[i] {
			x.need[i] |= bit(j)
		}
		if arrival && e.Op == event.BarrierDepart && r == x.m.roundOf[x.m.lastOf(i, event.BarrierArrive)] {
			x.need[i] |= bit(j)
		}
	}
	switch {
	case e.Op.IsAcquire():
		x.lock[e.Object] |= bit(i)
		x.release[i] = -1
	case e.Op == event.Release:
		for j := i - 1; j >= 0; j-- {
			if o := &x.m.out[j]; o.Op.IsAcquire() && o.Object == e.Object && o.Thread == e.Thread {
				x.release[j] = i
				break
			}
		}
	case e.Op == event.SemPost:
		x.posts |= bit(i)
	case e.Op == event.SemWait:
		x.waits |= bit(i)
	case e.Op == event.Read || e.Op == event.Update:
		x.source[i] = x.m.lastWrite(upTo(i), e.Object)
	}
}

func (s *exploredState) has(i int) bool { return s.done&bit(i) != 0 }

func variable(id event.ObjectID) int {
	if id == theAtomic {
		return 2
	}
	return int(id - varX)
}

func (x *explorer) visit(s exploredState) {
	if x.seen[s] {
		return
	}
	x.seen[s] = true
	x.note(&s)
	for _, i := range x.heads(&s) {
		if x.may(&s, i) {
			x.visit(x.after(s, i))
		}
	}
}

// heads returns each thread's next event, if all events that it needs have happened.
func (x *explorer) heads(s *exploredState) []int {
	var out []int
	for _, t := range x.threads {
		if i := bits.TrailingZeros64(t &^ s.done); i < 64 && x.need[i]&^s.done == 0 {
			out = append(out, i)
		}
	}
	return out
}

func (x *explorer) may(s *exploredState, i int) bool {
	e := &x.m.out[i]
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		return len(x.holders(s, e)) == 0
	case event.AcquireFailed:
		return slices.ContainsFunc(x.holders(s, &event.Event{Op: event.Acquire, Object: e.Object}), func(j int) bool {
			return j < i && (x.release[j] < 0 || i < x.release[j])
		})
	case event.Read, event.Update:
		return blind(e) || idle(e) || x.sees(s, i)
	case event.SemWait:
		return x.semaphore(s) > 0 && x.m.posted(i, s.has)
	case event.SemFailed:
		return x.semaphore(s) == 0
	case event.Wake:
		sent, ok := x.m.match[i]
		return !ok || s.awake&bit(i) != 0 && s.has(sent)
	}
	return true
}

func (x *explorer) after(s exploredState, i int) exploredState {
	e := &x.m.out[i]
	s.done |= bit(i)
	if e.Op.IsWrite() {
		last := &s.last[variable(e.Object)]
		if sees := e.Op == event.Update && x.sees(&s, i); blind(e) && !sees {
			*last = changed + int8(i)
		} else {
			*last = int8(i)
		}
	}
	for wake, sent := range x.m.match {
		if sent == i && s.has(x.m.lastOf(wake, event.Wait)) {
			s.awake |= bit(wake)
		}
	}
	return s
}

// sees reports whether a read or update sees the value that it saw in the run.
func (x *explorer) sees(s *exploredState, i int) bool {
	last, v := int(s.last[variable(x.m.out[i].Object)]), x.m.out[i].Object
	return last == x.source[i] || last < changed && x.m.equalWrites(last, x.source[i], v)
}

// holders returns the acquires of the open sections that exclude e.
func (x *explorer) holders(s *exploredState, e *event.Event) []int {
	var out []int
	for left := x.lock[e.Object] & s.done; left != 0; left &= left - 1 {
		j := bits.TrailingZeros64(left)
		if e.Op == event.AcquireRead && x.m.out[j].Op == event.AcquireRead {
			continue
		}
		if r := x.release[j]; r < 0 || !s.has(r) {
			out = append(out, j)
		}
	}
	return out
}

func (x *explorer) semaphore(s *exploredState) int {
	return x.m.initial + bits.OnesCount64(s.done&x.posts) - bits.OnesCount64(s.done&x.waits)
}

// key names an error: by the two accesses, or by the acquires of a cycle, beginning with the one
// that is first in the run.
func key(kind finding.Kind, last []int) string {
	last = slices.Clone(last)
	if kind == finding.Race {
		slices.Sort(last)
	}
	at := slices.Index(last, slices.Min(last))
	name := []byte(kind[:1])
	for k := range last {
		name = append(name, byte(last[(at+k)%len(last)]))
	}
	return string(name)
}

// note records the errors of a state.
func (x *explorer) note(s *exploredState) {
	heads := x.heads(s)
	waits := map[int][]int{}
	for _, i := range heads {
		e := &x.m.out[i]
		for _, j := range heads {
			if j < i && conflict(&x.m.out[j], e) {
				x.found[key(finding.Race, []int{i, j})] = true
			}
		}
		if !e.Op.IsAcquire() || e.Flags&event.Try != 0 {
			continue
		}
		for _, h := range x.holders(s, e) {
			for _, j := range heads {
				if x.m.out[j].Thread == x.m.out[h].Thread {
					waits[i] = append(waits[i], j)
				}
			}
		}
	}
	for i := range waits {
		x.rings(waits, []int{i})
	}
}

func (x *explorer) rings(waits map[int][]int, path []int) {
	for _, j := range waits[path[len(path)-1]] {
		switch {
		case j == path[0] && len(path) > 1:
			x.found[key(finding.Deadlock, path)] = true
		case !slices.Contains(path, j):
			x.rings(waits, append(slices.Clone(path), j))
		}
	}
}

// can reports whether some instances of the pattern, one a side, are an error in found.
func can(found map[string]bool, kind finding.Kind, p Pattern, chosen []int) bool {
	if len(chosen) == len(p) {
		return found[key(kind, chosen)]
	}
	return slices.ContainsFunc(p[len(chosen)], func(seq uint64) bool {
		return can(found, kind, p, append(slices.Clone(chosen), int(seq)-1))
	})
}

// recall counts the errors that can happen, and those predicted, by the kind of reordering.
type recall struct{ feasible, preserving, reversal, byValue, missed int }

// compare asks all questions about a run. Nothing may be predicted that no interleaving shows,
// and each error must be found that can happen with every notification after the beginning of
// the wait that it ended.
func (m *machine) compare(t testing.TB, count map[finding.Kind]*recall) {
	eventtest.Stamp(m.out)
	found, looked := explore(m, false), explore(m, true)
	h := record(m.out, Options{})
	again := h.ByValue(clock.New(), func(*event.Event) {})
	m.ask(h, func(kind finding.Kind, p Pattern, r Result) {
		byValue := false
		if r.Verdict == Refuted && again != nil {
			if r = again.ask(kind, p).answer(); r.Verdict == Predicted {
				byValue = true
			}
		}
		feasible := can(found, kind, p, nil)
		var chosen []int
		for _, seq := range r.Chosen {
			chosen = append(chosen, int(seq)-1)
		}
		switch c := count[kind]; {
		case r.Verdict == Predicted && !found[key(kind, chosen)]:
			t.Fatalf("%s %v is predicted (%s), and no interleaving leads to %v:\n%v", kind, p, r.Order, chosen, m.out)
		case r.Verdict == Unknown:
			t.Fatalf("%s %v: %s", kind, p, r.Reason)
		case r.Verdict == Refuted && can(looked, kind, p, nil):
			t.Fatalf("%s %v can happen, but: %s\n%v", kind, p, r.Reason, m.out)
		case r.Verdict == Refuted && feasible:
			c.missed++
		case byValue:
			c.byValue++
		case r.Order == finding.OrderReversal:
			c.reversal++
		case r.Verdict == Predicted:
			c.preserving++
		}
		if feasible {
			count[kind].feasible++
		}
	})
}

// small returns a trace that is short enough to be enumerated.
func small(seed uint64, full bool) *machine {
	c := eventtest.Seeded(seed)
	m := newMachine(c, full)
	m.nests = seed%4 != 0
	for range c.Between(12, 40, "events") {
		m.step(c, eventtest.OneOf(c, m.live, "thread"))
	}
	return m
}

// TestAllThatCanHappen compares prediction with exhaustive enumeration.
func TestAllThatCanHappen(t *testing.T) {
	n := uint64(testtool.Cases(500, 2000, 5000)) // runs of each sort
	for _, full := range []bool{false, true} {
		count := map[finding.Kind]*recall{finding.Race: {}, finding.Deadlock: {}}
		for seed := range n {
			small(seed, full).compare(t, count)
		}
		for kind, c := range count {
			t.Logf("full %v, %s: %+v", full, kind, *c)
			if c.missed > 0 {
				t.Errorf("full %v, %s: %+v", full, kind, *c)
			}
			if c.preserving == 0 || (c.reversal == 0 && !full) {
				t.Errorf("%s: %+v: the test shows nothing", kind, *c)
			}
		}
	}
}

// TestAllThatCanHappenByValue does the same for runs whose variables have values, which other writes may
// leave too.
func TestAllThatCanHappenByValue(t *testing.T) {
	n := uint64(testtool.Cases(500, 1000, 2000))
	for _, full := range []bool{false, true} {
		count := map[finding.Kind]*recall{finding.Race: {}, finding.Deadlock: {}}
		for seed := range n {
			valuedRun(seed, full).compare(t, count)
		}
		for kind, c := range count {
			t.Logf("full %v, %s: %+v", full, kind, *c)
			if c.missed > 0 {
				t.Errorf("full %v, %s: %+v", full, kind, *c)
			}
			if c.byValue == 0 && !full {
				t.Errorf("%s: %+v: the test shows nothing", kind, *c)
			}
		}
	}
}

// valuedRun returns a small trace with values, and more accesses.
func valuedRun(seed uint64, full bool) *machine {
	c := eventtest.Seeded(seed)
	m := newMachine(c, full)
	m.nests = seed%4 == 1
	for range c.Between(12, 40, "events") {
		if id := eventtest.OneOf(c, m.live, "thread"); c.Between(0, 2, "access") > 0 || m.awaiting[id] || m.leaving[id] || slices.Contains(m.arrived, id) {
			m.step(c, id)
		} else {
			m.access(c, id)
		}
	}
	m.drawValues(c)
	return m
}

// FuzzAllThatCanHappen does the same for any seed.
func FuzzAllThatCanHappen(f *testing.F) {
	f.Add(uint64(1), false)
	f.Add(uint64(2), true)
	f.Fuzz(func(t *testing.T, seed uint64, full bool) {
		small(seed, full).compare(t, map[finding.Kind]*recall{finding.Race: {}, finding.Deadlock: {}})
	})
}
