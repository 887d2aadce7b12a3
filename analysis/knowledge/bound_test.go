package knowledge

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// tellers is a run whose threads, but for the first, are all of one type. Each has the local
// variable "atomic", a number of its own for each atomic block, and 0 outside.
type tellers struct {
	*Monitor
	seq    uint64
	atomic map[event.ThreadID]uint64
	blocks map[event.ThreadID]uint64
}

// isolated is the counter form of the paper's formula of atomicity, for all pairs of tellers.
func isolated() *world {
	w := newWorld(nil, nil)
	w.locals = [][2]string{{"", "atomic"}}
	i, j := w.bind("i", "teller"), w.bind("j", "teller")
	w.add(parse("@i (atomic > 0 -> !(atomic = @j @i atomic))"), []int{i, j}, [2]int{i, j})
	return w
}

func newTellers(w *world) *tellers {
	return &tellers{
		Monitor: New(Options{Formula: w.formula, Codes: w.codes, Locals: []uint64{0}, Of: func(id event.ThreadID, _ int) bool { return id > 1 }}),
		atomic:  map[event.ThreadID]uint64{}, blocks: map[event.ThreadID]uint64{},
	}
}

func (r *tellers) do(thread event.ThreadID, op event.Op, object event.ObjectID, peer event.ThreadID) {
	r.seq++
	e := event.Event{Seq: r.seq, Thread: thread, Op: op, Object: object, Peer: peer, Kind: event.KindVariable, Stack: event.StackID(r.seq)}
	r.Event(&e, State{Variable: -1, Mentioned: op.IsCall(), Locals: []uint64{r.atomic[thread]}})
}

func (r *tellers) fork(id event.ThreadID) {
	r.do(1, event.Fork, 0, id)
	r.do(id, event.Begin, 0, 0)
}

func (r *tellers) enter(id event.ThreadID) {
	r.blocks[id]++
	r.atomic[id] = r.blocks[id]
	r.do(id, event.Call, 0, 0)
}

func (r *tellers) leave(id event.ThreadID) {
	r.atomic[id] = 0
	r.do(id, event.Return, 0, 0)
}

// TestSeenInside: a thread that has seen the inside of another's block and left a trace of it
// violates the formula, also if it has ended by then. The evidence is the chain by which the
// knowledge came.
func TestSeenInside(t *testing.T) {
	for _, ended := range []bool{false, true} {
		r := newTellers(isolated())
		r.fork(2)
		r.fork(3)
		r.enter(2)
		r.do(2, event.Write, 10, 0)
		from := r.seq
		r.do(3, event.Read, 10, 0)
		r.do(3, event.Write, 11, 0)
		if ended {
			r.do(3, event.End, 0, 0)
		}
		r.do(2, event.Read, 11, 0)
		at := r.seq
		r.leave(2)
		found := r.Finish()
		if len(found) != 1 || found[0].Confidence != finding.Observed || found[0].Evidence[0].Seq != at || len(found[0].Threads) != 2 {
			t.Fatalf("ended %v: %+v", ended, found)
		}
		var seqs []uint64
		for _, s := range found[0].Witness {
			seqs = append(seqs, s.Seq)
		}
		if want := []uint64{from - 1, from, from + 1, from + 2, at}; !slices.Equal(seqs, want) {
			t.Errorf("ended %v: the chain is %d, want %d", ended, seqs, want)
		}
	}
}

// TestNotSeenInside: a block is not violated by what another thread saw of an earlier one, nor by
// threads that write only to each other.
func TestNotSeenInside(t *testing.T) {
	r := newTellers(isolated())
	r.fork(2)
	r.fork(3)
	for range 3 {
		for _, id := range []event.ThreadID{2, 3} {
			r.enter(id)
			r.do(id, event.Read, 10, 0)
			r.do(id, event.Write, 10, 0)
			r.leave(id)
		}
	}
	if found := r.Finish(); len(found) != 0 {
		t.Fatalf("%+v", found)
	}
}

// TestLost: what is lost of a run may be what threads knew.
func TestLost(t *testing.T) {
	r := newTellers(isolated())
	r.fork(2)
	r.fork(3)
	r.do(3, event.Hole, 0, 0)
	r.enter(2)
	r.do(2, event.Write, 10, 0)
	r.do(3, event.Update, 10, 0)
	r.do(2, event.Read, 10, 0)
	if found := r.Finish(); len(found) != 1 || found[0].Confidence != finding.Likely || found[0].Reason.What != reason.RunLost {
		t.Fatalf("%+v", found)
	}
}

// TestThreadsComeAndGo: threads that come and go keep memory flat, whether they are joined or
// detached.
func TestThreadsComeAndGo(t *testing.T) {
	threads := event.ThreadID(100_000)
	if testing.Short() {
		threads = 10_000
	}
	for _, last := range []event.Op{event.Join, event.Detach} {
		r := newTellers(isolated())
		const alive = 4
		r.do(1, event.Acquire, 9, 0)
		r.do(1, event.Release, 9, 0)
		for id := event.ThreadID(2); id < threads; id++ {
			r.fork(id)
			r.enter(id)
			r.do(id, event.Acquire, 9, 0)
			r.do(id, event.Release, 9, 0)
			r.leave(id)
			if old := id - alive; id > alive+1 {
				r.do(old, event.End, 0, 0)
				r.do(1, last, 0, old)
				delete(r.atomic, old)
				delete(r.blocks, old)
			}
		}
		if most := 2 * (alive + maxLingering) * (alive + maxLingering); len(r.newest) > most || len(r.remotes) > most || len(r.threads) > 2*alive {
			t.Errorf("%v: %d entries, %d remote expressions, %d threads", last, len(r.newest), len(r.remotes), len(r.threads))
		}
		first := r.threads[1]
		if len(first.tops) > 100 || len(first.involved) > 100 || len(r.Finish()) != 0 {
			t.Errorf("%v: %d formulas, findings %+v", last, len(first.tops), r.Finish())
		}
	}
}

// TestQuantifiersInside: a quantifier inside a formula is over the threads that live, and the first
// thread knows of each that it has joined what it did last.
func TestQuantifiersInside(t *testing.T) {
	for _, c := range []struct {
		op    string
		holds []bool
	}{{"forall", []bool{true, false, false, true}}, {"exists", []bool{false, false, true, true}}} {
		w := newWorld([]string{"main"}, nil)
		w.locals = [][2]string{{"", "atomic"}}
		w.add(&expr{op: "@", name: "main", x: &expr{op: c.op, name: "j teller", x: parse("@j atomic = 1")}}, nil)
		var got []bool
		m := New(Options{
			Formula: w.formula, Codes: w.codes, Locals: []uint64{0}, Is: func(id event.ThreadID, _ int) bool { return id == 1 },
			Of:      func(id event.ThreadID, _ int) bool { return id > 1 },
			Verdict: func(_ int, _ event.ThreadID, holds bool) { got = append(got, holds) },
		})
		r := &tellers{Monitor: m, atomic: map[event.ThreadID]uint64{}, blocks: map[event.ThreadID]uint64{}}
		r.do(1, event.Call, 0, 0)
		r.fork(2)
		r.fork(3)
		r.do(1, event.Call, 0, 0)
		for _, id := range []event.ThreadID{2, 3} {
			r.enter(id)
			r.do(id, event.Write, 10, 0)
			r.do(1, event.Read, 10, 0)
		}
		if !slices.Equal(got, c.holds) {
			t.Errorf("%s: %v, want %v", c.op, got, c.holds)
		}
	}
}

// TestKnownBeforeItBegan: a thread that begins later knows what its creator knew, and learns what others did before it began.
func TestKnownBeforeItBegan(t *testing.T) {
	for _, known := range []bool{false, true} {
		w := newWorld([]string{"boss"}, nil)
		w.locals = [][2]string{{"", "atomic"}}
		w.add(parse("@c (atomic > 0 -> @boss (atomic > 0))"), []int{w.bind("c", "clerk")})
		m := New(Options{
			Formula: w.formula, Codes: w.codes, Locals: []uint64{0}, Is: func(id event.ThreadID, _ int) bool { return id == 2 },
			Of: func(id event.ThreadID, _ int) bool { return id == 3 },
		})
		r := &tellers{Monitor: m, atomic: map[event.ThreadID]uint64{}, blocks: map[event.ThreadID]uint64{}}
		r.fork(2)
		r.enter(2)
		entered := r.seq
		r.do(2, event.Acquire, 9, 0)
		r.do(2, event.Release, 9, 0)
		r.fork(3)
		if known {
			r.do(3, event.Acquire, 9, 0)
		}
		r.enter(3)
		found := r.Finish()
		if known && len(found) != 0 || !known && (len(found) != 1 || len(found[0].Evidence) != 2 || found[0].Evidence[1].Seq != entered) {
			t.Errorf("known %v: %+v", known, found)
		}
	}
}

// TestManyThreadsAtATime: a formula on pairs of threads leaves out those that are too many.
func TestManyThreadsAtATime(t *testing.T) {
	r := newTellers(isolated())
	const threads = 200
	for id := event.ThreadID(2); id < threads; id++ {
		r.fork(id)
	}
	if n := r.Unbound(); n == 0 || n > threads-100 || len(r.newest) > maxEntries+threads*threads/8 {
		t.Errorf("%d threads are left out, with %d entries", n, len(r.newest))
	}
}

// TestForgotten: where memory is short, the objects that were not used for the longest time are forgotten, but no lock that is
// held. What was passed on by the others is still known, and violations are likely at most.
func TestForgotten(t *testing.T) {
	const objects = 4 * leastObjects
	for _, c := range []struct {
		what       string
		lock       event.ObjectID // by which the first thread learns of the block of the second
		forget     bool
		confidence finding.Confidence // of the violation; "": there is none
	}{
		{"nothing is forgotten", 1, false, finding.Observed},
		{"the object is forgotten", 1, true, ""},
		{"another one is", objects, true, finding.Likely},
	} {
		r := newTellers(isolated())
		r.fork(2)
		r.fork(3)
		r.enter(2)
		r.do(2, event.Write, c.lock, 0)
		r.do(3, event.Read, c.lock, 0)
		r.do(3, event.Write, c.lock, 0)
		for id := event.ObjectID(1); id <= objects; id++ {
			if id != c.lock {
				r.do(1, event.Write, id, 0)
			}
			if id == objects-1 && c.lock == objects {
				r.do(3, event.Write, objects, 0)
			}
		}
		held := &object{passesOn: true, holders: 1}
		r.objects[objects+1] = held
		if c.forget && (!r.Shrink() || len(r.objects) > objects/2+1) {
			t.Errorf("%s: %d objects are kept", c.what, len(r.objects))
		}
		if r.objects[objects+1] != held {
			t.Errorf("%s: a lock that is held is forgotten", c.what)
		}
		r.do(2, event.Read, c.lock, 0)
		found := r.Finish()
		if c.confidence == "" && len(found) != 0 || c.confidence != "" && (len(found) != 1 || found[0].Confidence != c.confidence) {
			t.Errorf("%s: %+v", c.what, found)
		}
	}
}

// TestForgettingEnds: there is a number of objects below which none is forgotten.
func TestForgettingEnds(t *testing.T) {
	r := newTellers(isolated())
	for id := event.ObjectID(1); id <= 8*leastObjects; id++ {
		r.do(1, event.Write, id, 0)
	}
	shrunk := 0
	for ; r.Shrink(); shrunk++ {
	}
	if shrunk != 4 || len(r.objects) != leastObjects/2 {
		t.Errorf("%d objects after %d times", len(r.objects), shrunk)
	}
}
