package typestate_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/typestate"
	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
	"github.com/tracepredict/tracepredict/observer/event"
)

const (
	randomCalls  = 3
	randomStates = 4
)

// drawProtocol draws a protocol, which need not be deterministic.
func drawProtocol(t *rapid.T) typestate.Protocol {
	p := typestate.Protocol{Name: "p", BornAtFirstUse: rapid.Bool().Draw(t, "born")}
	for c := range randomCalls {
		p.Calls = append(p.Calls, typestate.Call{Name: string(rune('a' + c))})
	}
	for i := range randomStates {
		s := typestate.State{Name: string(rune('0' + i))}
		for range randomCalls {
			next := rapid.SliceOfNDistinct(rapid.IntRange(0, randomStates-1), 0, 2, func(i int) int { return i }).Draw(t, "next")
			s.Next = append(s.Next, next)
		}
		p.States = append(p.States, s)
	}
	return p
}

const (
	theLock event.ObjectID = 1
	theSem  event.ObjectID = 2
)

// drawThreads draws what two or three threads do: calls of one object, some of them in sections of a lock, and posts of a
// semaphore and waits for it.
func drawThreads(t *rapid.T) [][]event.Event {
	threads := make([][]event.Event, rapid.IntRange(2, 3).Draw(t, "threads"))
	for i := range threads {
		do := func(op event.Op, object event.ObjectID, kind event.Kind, call int) {
			threads[i] = append(threads[i], event.Event{Thread: event.ThreadID(i + 1), Op: op, Object: object, Kind: kind, Func: event.FuncID(call), Value: 0})
		}
		call := func() { do(event.Call, 0, 0, 1+rapid.IntRange(0, randomCalls-1).Draw(t, "call")) }
		for range rapid.IntRange(1, 2).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				call()
			case 1:
				do(event.Acquire, theLock, event.KindMutex, 0)
				call()
				if rapid.Bool().Draw(t, "two") {
					call()
				}
				do(event.Release, theLock, event.KindMutex, 0)
			case 2:
				call()
				do(event.SemPost, theSem, event.KindSemaphore, 0)
			case 3:
				do(event.SemWait, theSem, event.KindSemaphore, 0)
				call()
			}
		}
	}
	return threads
}

// runs calls yield for each order in which threads can do what they do: a lock has one holder, and a wait for a semaphore
// needs a post. It stops when yield returns false.
func runs(threads [][]event.Event, yield func([]event.Event) bool) {
	at := make([]int, len(threads))
	var order []event.Event
	held, posts := false, 0
	var search func() bool
	search = func() bool {
		ended := true
		for i := range threads {
			if at[i] == len(threads[i]) {
				continue
			}
			ended = false
			e := threads[i][at[i]]
			if e.Op == event.Acquire && held || e.Op == event.SemWait && posts == 0 {
				continue
			}
			before, postsBefore := held, posts
			switch e.Op {
			case event.Acquire, event.Release:
				held = e.Op == event.Acquire
			case event.SemPost:
				posts++
			case event.SemWait:
				posts--
			}
			at[i]++
			order = append(order, e)
			goOn := search()
			order, held, posts = order[:len(order)-1], before, postsBefore
			at[i]--
			if !goOn {
				return false
			}
		}
		return !ended || yield(order)
	}
	search()
}

// breaks reports whether an order of calls breaks the protocol.
func breaks(p typestate.Protocol, order []event.Event) bool {
	states := born(p)
	for _, e := range order {
		if e.Op != event.Call {
			continue
		}
		if states = after(p, states, e); len(states) == 0 {
			return true
		}
	}
	return false
}

// sections returns the operations on the lock in their order.
func sections(order []event.Event) (threads []event.ThreadID) {
	for _, e := range order {
		if e.Op == event.Acquire {
			threads = append(threads, e.Thread)
		}
	}
	return threads
}

// keepsMessages reports whether each wait of an order comes after the post that it took in the observed one, which is the
// post of the same number.
func keepsMessages(order, observed []event.Event) bool {
	posts, waits := nth(observed, event.SemPost), nth(observed, event.SemWait)
	for _, wait := range nth(order, event.SemWait) {
		post := posts[slices.IndexFunc(waits, func(w operation) bool { return w.of == wait.of })]
		if !slices.ContainsFunc(nth(order[:wait.index], event.SemPost), func(p operation) bool { return p.of == post.of }) {
			return false
		}
	}
	return true
}

// operation is where an operation is: of has its thread, and its number among those of the thread.
type operation struct {
	of    [2]int
	index int
}

// nth returns the operations of a kind in an order.
func nth(order []event.Event, op event.Op) (out []operation) {
	count := map[event.ThreadID]int{}
	for i, e := range order {
		if e.Op == op {
			count[e.Thread]++
			out = append(out, operation{[2]int{int(e.Thread), count[e.Thread]}, i})
		}
	}
	return out
}

// TestAgainstAllRuns compares with all orders of random programs, with locks in the order of the run and in any.
func TestAgainstAllRuns(t *testing.T) {
	predictions := 0
	rapid.Check(t, func(t *rapid.T) {
		p, threads := drawProtocol(t), drawThreads(t)
		var all [][]event.Event
		runs(threads, func(order []event.Event) bool {
			all = append(all, slices.Clone(order))
			return len(all) < 4000
		})
		if len(all) == 0 || len(all) == 4000 {
			t.Skip("the threads block each other, or have very many orders")
		}
		observed := all[rapid.IntRange(0, len(all)-1).Draw(t, "observed")]
		for _, exclusion := range []bool{false, true} {
			want := slices.ContainsFunc(all, func(order []event.Event) bool {
				inOrder := exclusion || slices.Equal(sections(order), sections(observed))
				return inOrder && keepsMessages(order, observed) && breaks(p, order)
			})
			predictions += checkAgainst(t, p, observed, exclusion, want)
		}
	})
	if predictions == 0 {
		t.Error("nothing was predicted")
	}
}

// TestRebornAgainstParts compares a protocol whose objects are reborn with one whose objects are not, on each of the
// parts into which their ends cut the run.
func TestRebornAgainstParts(t *testing.T) {
	reborn, found := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p, threads := drawProtocol(t), drawThreads(t)
		p.States[randomStates-1].Next = make([][]int, randomCalls) // no call leads out of it
		var observed []event.Event
		runs(threads, func(order []event.Event) bool {
			observed = slices.Clone(order)
			return rapid.IntRange(0, 9).Draw(t, "another") > 0
		})
		parts := lives(p, observed)
		want := false
		for i := range parts {
			_, alone := check(p, numbered(parts[i]), false, false)
			want = want || len(alone) > 0
		}
		p.RebornAtNextUse = true
		_, all := check(p, numbered(observed), false, false)
		if (len(all) > 0) != want {
			t.Fatalf("%d findings, want some: %v, in %d parts: %+v", len(all), want, len(parts), observed)
		}
		if len(parts) > 1 {
			reborn++
		}
		found += len(all)
	})
	if reborn == 0 || found == 0 {
		t.Errorf("%d runs with more than one object, %d findings", reborn, found)
	}
}

// lives returns a run once for each object that it has one after the other, with the calls of that object alone.
func lives(p typestate.Protocol, observed []event.Event) (parts [][]event.Event) {
	at := map[int]int{} // by call: the number of its object
	n, states := 0, born(p)
	for i, e := range observed {
		if e.Op != event.Call {
			continue
		}
		if next := after(p, states, e); len(next) == 0 && ended(p, states) {
			n++
			states = after(p, born(p), e)
		} else {
			states = next
		}
		at[i] = n
	}
	for life := range n + 1 {
		var part []event.Event
		for i, e := range observed {
			if e.Op != event.Call || at[i] == life {
				part = append(part, e)
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// born returns the states of an object whose creation was not seen.
func born(p typestate.Protocol) map[int]bool {
	states := map[int]bool{}
	for i := range p.States {
		if i == 0 || !p.BornAtFirstUse {
			states[i] = true
		}
	}
	return states
}

// ended reports whether no call leads out of some states, of which there is one at least.
func ended(p typestate.Protocol, states map[int]bool) bool {
	for s := range states {
		for _, next := range p.States[s].Next {
			if slices.ContainsFunc(next, func(n int) bool { return n != s }) {
				return false
			}
		}
	}
	return len(states) > 0
}

// after returns the states that follow by a call.
func after(p typestate.Protocol, states map[int]bool, e event.Event) map[int]bool {
	next := map[int]bool{}
	for s := range states {
		for _, n := range p.States[s].Next[e.Func-1] {
			next[n] = true
		}
	}
	return next
}

// numbered returns a run with what begins its threads.
func numbered(run []event.Event) []event.Event {
	events := []event.Event{{Op: event.Init, Thread: 1, Object: theSem, Kind: event.KindSemaphore, Flags: event.HasValue}}
	for i := range 3 {
		events = append(events, event.Event{Op: event.Begin, Thread: event.ThreadID(i + 1)})
	}
	events = append(events, run...)
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

func checkAgainst(t *rapid.T, p typestate.Protocol, observed []event.Event, exclusion, want bool) (predictions int) {
	t.Helper()
	events := numbered(observed)
	_, found := check(p, events, exclusion, false)
	_, looked := check(p, events, exclusion, true)
	if (len(looked) > 0) != (len(found) > 0) {
		t.Fatalf("with looks in between, %d findings, without %d", len(looked), len(found))
	}
	for _, f := range slices.Concat(found, looked) {
		if len(f.Threads) != len(f.Evidence) || len(f.Evidence) == 0 {
			t.Fatalf("%d threads of %d sides: %+v", len(f.Threads), len(f.Evidence), f)
		}
	}
	if (len(found) > 0) != want {
		t.Fatalf("exclusion %v: %d findings, want some: %v\n%+v", exclusion, len(found), want, observed)
	}
	for i := range found {
		switch found[i].Confidence {
		case finding.Potential:
			t.Fatalf("%+v", found[i])
		case finding.Predicted:
			predictions++
		}
	}
	return predictions
}
