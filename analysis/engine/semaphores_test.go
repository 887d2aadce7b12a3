package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// The objects of the runs below. Each event has its own call stack.
const (
	semPermits event.ObjectID = iota + 1
	semLockA
	semLockB
	semVarX
	semVarY
)

// semRun is a run of threads that all exist before the first of them does anything.
type semRun []event.Event

// newSemRun returns the beginning of a run: the semaphore's Init and the creation of the threads.
func newSemRun(initial uint64, threads int) *semRun {
	r := &semRun{}
	r.add(event.Event{Thread: 1, Op: event.Init, Object: semPermits, Kind: event.KindSemaphore, Flags: event.HasValue, Value: initial})
	for t := 2; t <= threads; t++ {
		r.add(event.Event{Thread: 1, Op: event.Fork, Peer: event.ThreadID(t)})
	}
	return r
}

func (r *semRun) add(e event.Event) {
	e.Seq = uint64(len(*r) + 1)
	e.Stack = event.StackID(e.Seq)
	*r = append(*r, e)
}

func (r *semRun) post(t event.ThreadID) {
	r.add(event.Event{Thread: t, Op: event.SemPost, Object: semPermits, Kind: event.KindSemaphore})
}

func (r *semRun) wait(t event.ThreadID) {
	r.add(event.Event{Thread: t, Op: event.SemWait, Object: semPermits, Kind: event.KindSemaphore})
}

func (r *semRun) write(t event.ThreadID) {
	r.add(event.Event{Thread: t, Op: event.Write, Object: semVarX, Kind: event.KindVariable})
}

func (r *semRun) nest(t event.ThreadID, outer, inner event.ObjectID) {
	r.add(event.Event{Thread: t, Op: event.Acquire, Object: outer, Kind: event.KindMutex})
	r.add(event.Event{Thread: t, Op: event.Acquire, Object: inner, Kind: event.KindMutex})
	r.add(event.Event{Thread: t, Op: event.Release, Object: inner, Kind: event.KindMutex})
	r.add(event.Event{Thread: t, Op: event.Release, Object: outer, Kind: event.KindMutex})
}

// TestPosterThatComesLate checks that a wait which the only poster so far let through orders nothing if
// another thread posts later: its post might have come first. If no other thread posts, there is neither
// a race nor a deadlock, and no candidate for one is reported. If another posts after the wait in every
// schedule, there is neither, but one is suspected.
func TestPosterThatComesLate(t *testing.T) {
	for _, tt := range []struct {
		name         string
		later        func(*semRun) // after the wait of thread 2
		race, cycles []string
	}{
		{"nobody", func(r *semRun) {}, nil, nil},
		{"the same thread", func(r *semRun) { r.post(1) }, nil, nil},
		{"another thread", func(r *semRun) { r.post(3) }, []string{"predicted race"}, []string{"predicted deadlock"}},
		{"a thread that the waiter creates", func(r *semRun) {
			r.add(event.Event{Thread: 2, Op: event.Fork, Peer: 4})
			r.post(4)
		}, []string{"potential race"}, []string{"potential deadlock"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newSemRun(0, 3)
			r.write(1)
			r.post(1)
			r.wait(2)
			r.write(2)
			tt.later(r)
			eventtest.Stamp(*r)
			if diff := cmp.Diff(tt.race, brief(findings(*r, nil))); diff != "" {
				t.Error(diff)
			}
			r = newSemRun(0, 3)
			r.nest(1, semLockA, semLockB)
			r.post(1)
			r.wait(2)
			r.nest(2, semLockB, semLockA)
			tt.later(r)
			eventtest.Stamp(*r)
			if diff := cmp.Diff(tt.cycles, brief(findings(*r, nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSemaphoresAgainstEnumeration compares the races and the cycles of locks that are at least predicted
// with those that an enumeration of all reorderings reaches, in random runs in which several threads post
// to a semaphore and wait for it.
func TestSemaphoresAgainstEnumeration(t *testing.T) {
	runs := testtool.Cases(1000, 3000, 6000)
	races, cycles, late := 0, 0, 0
	for seed := range runs {
		run := drawSemRun(rand.New(rand.NewPCG(uint64(seed), 17)))
		eventtest.Stamp(run)
		got := map[string]bool{}
		for _, f := range findings(run, nil) {
			if !f.NoCycle && f.Confidence.AtLeast(finding.Predicted) && (f.Kind == finding.Race || f.Kind == finding.Deadlock) {
				got[semFault(f.Kind, int(f.Evidence[0].Seq), int(f.Evidence[1].Seq))] = true
			}
		}
		want := enumerateSemRun(run)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s%s", seed, diff, run)
		}
		for f := range want {
			if strings.HasPrefix(f, "race") {
				races++
			} else {
				cycles++
			}
		}
		if run.posterComesLate() {
			late++
		}
	}
	if races < runs/4 || cycles < runs/100 || late < runs/10 {
		t.Errorf("%d races, %d cycles, %d runs with a late poster: the test shows little", races, cycles, late)
	}
}

func semFault(kind finding.Kind, a, b int) string {
	return fmt.Sprintf("%s %d %d", kind, min(a, b), max(a, b))
}

// String lists the events of a run.
func (r semRun) String() string {
	var b strings.Builder
	for _, e := range r {
		fmt.Fprintf(&b, "%d: T%d %s %d\n", e.Seq, e.Thread, e.Op, max(uint32(e.Object), uint32(e.Peer)))
	}
	return b.String()
}

// posterComesLate reports whether a wait comes between the first post of one thread and that of another.
func (r semRun) posterComesLate() bool {
	var first event.ThreadID
	waited := false
	for _, e := range r {
		switch {
		case e.Op == event.SemWait:
			waited = first != 0
		case e.Op == event.SemPost && first == 0:
			first = e.Thread
		case e.Op == event.SemPost && e.Thread != first:
			return waited
		}
	}
	return false
}

// lock acquires or releases a lock, unless another thread holds it.
func (r *semRun) lock(t event.ThreadID, lock event.ObjectID, held map[event.ObjectID]event.ThreadID) {
	switch held[lock] {
	case t:
		r.add(event.Event{Thread: t, Op: event.Release, Object: lock, Kind: event.KindMutex})
		delete(held, lock)
	case 0:
		r.add(event.Event{Thread: t, Op: event.Acquire, Object: lock, Kind: event.KindMutex})
		held[lock] = t
	}
}

// drawSemRun draws a run of three or four threads. Every second one has no variables.
func drawSemRun(r *rand.Rand) semRun {
	threads := 3 + r.IntN(2)
	value, locks := uint64(r.IntN(2)), r.IntN(2) == 0
	out := newSemRun(value, threads)
	held := map[event.ObjectID]event.ThreadID{}
	for range 8 + r.IntN(14) {
		t := event.ThreadID(1 + r.IntN(threads))
		e := event.Event{Thread: t, Object: semVarX + event.ObjectID(r.IntN(2)), Kind: event.KindVariable}
		switch k := r.IntN(10); {
		case locks && k >= 7 && len(held) == 0:
			first := semLockA + event.ObjectID(r.IntN(2))
			out.nest(t, first, semLockA+semLockB-first)
			continue
		case locks && k >= 5:
			out.lock(t, semLockA+event.ObjectID(r.IntN(2)), held)
			continue
		case k < 2:
			out.post(t)
			value++
			continue
		case k < 5 && value > 0:
			out.wait(t)
			value--
			continue
		case k == 5:
			e.Op = event.Write
		case k == 6:
			e.Op = event.Read
		default:
			out.lock(t, semLockA+event.ObjectID(r.IntN(2)), held)
			continue
		}
		out.add(e)
	}
	return *out
}

// semState is a state of a reordering: the events that have happened, and the last writes.
type semState struct {
	done uint64
	last [2]int
}

// semEnumeration enumerates the reorderings of a run by definition.
type semEnumeration struct {
	run    semRun
	source []int // by read: the last write before it; -1: none
	posts  []int // by wait: the number of posts that it needs in every schedule, if one thread alone posts
	seen   map[semState]bool
	found  map[string]bool
}

func enumerateSemRun(run semRun) map[string]bool {
	n := &semEnumeration{run: run, source: make([]int, len(run)), posts: make([]int, len(run)), seen: map[semState]bool{}, found: map[string]bool{}}
	last := [2]int{-1, -1}
	waits, alone := 0, run.onePosts()
	for i, e := range run {
		switch e.Op {
		case event.Read:
			n.source[i] = last[e.Object-semVarX]
		case event.Write:
			last[e.Object-semVarX] = i
		case event.SemWait:
			if waits++; alone {
				n.posts[i] = waits - int(run[0].Value)
			}
		}
	}
	n.visit(semState{last: [2]int{-1, -1}})
	return n.found
}

// onePosts reports whether one thread alone posts, which had not waited before.
func (r semRun) onePosts() bool {
	var poster event.ThreadID
	waited := map[event.ThreadID]bool{}
	for _, e := range r {
		if e.Op == event.SemWait {
			waited[e.Thread] = true
		}
		if e.Op == event.SemPost {
			if poster != 0 && poster != e.Thread || waited[e.Thread] {
				return false
			}
			poster = e.Thread
		}
	}
	return true
}

func (n *semEnumeration) visit(s semState) {
	if n.seen[s] {
		return
	}
	n.seen[s] = true
	heads := n.heads(s)
	for _, i := range heads {
		for _, j := range heads {
			n.judge(s, i, j)
		}
		if !n.may(s, i) {
			continue
		}
		next := s
		next.done |= 1 << i
		if e := &n.run[i]; e.Op == event.Write {
			next.last[e.Object-semVarX] = i
		}
		n.visit(next)
	}
}

// heads returns the next event of each thread that has been created and has one.
func (n *semEnumeration) heads(s semState) (out []int) {
	var begun [8]bool
	for i, e := range n.run {
		switch {
		case e.Op == event.Fork && s.done&(1<<i) == 0:
			begun[e.Peer] = true // not created yet
		case begun[e.Thread] || s.done&(1<<i) != 0:
			continue
		}
		if !begun[e.Thread] {
			out = append(out, i)
			begun[e.Thread] = true
		}
	}
	return out
}

// holder returns the thread that holds a lock; 0: none.
func (n *semEnumeration) holder(s semState, lock event.ObjectID) (by event.ThreadID) {
	for i, e := range n.run {
		if e.Object != lock || s.done&(1<<i) == 0 {
			continue
		}
		if e.Op == event.Acquire && !n.released(s, i) {
			by = e.Thread
		}
	}
	return by
}

// released reports whether the release of an acquire has happened.
func (n *semEnumeration) released(s semState, acquire int) bool {
	for i := acquire + 1; i < len(n.run); i++ {
		if e := n.run[i]; e.Op == event.Release && e.Object == n.run[acquire].Object {
			return s.done&(1<<i) != 0
		}
	}
	return false
}

func (n *semEnumeration) may(s semState, i int) bool {
	switch e := &n.run[i]; e.Op {
	case event.Acquire:
		return n.holder(s, e.Object) == 0
	case event.Read:
		return s.last[e.Object-semVarX] == n.source[i]
	case event.SemWait:
		posts, waits := n.count(s, event.SemPost), n.count(s, event.SemWait)
		return int(n.run[0].Value)+posts-waits > 0 && posts >= n.posts[i]
	}
	return true
}

// count returns how many events of an operation have happened.
func (n *semEnumeration) count(s semState, op event.Op) (k int) {
	for i, e := range n.run {
		if e.Op == op && s.done&(1<<i) != 0 {
			k++
		}
	}
	return k
}

// judge records the error that two threads show whose next events are i and j.
func (n *semEnumeration) judge(s semState, i, j int) {
	a, b := &n.run[i], &n.run[j]
	switch {
	case a.Thread == b.Thread:
	case a.Object == b.Object && a.Op == event.Write && b.Op.IsAccess():
		n.found[semFault(finding.Race, i+1, j+1)] = true
	case a.Op == event.Acquire && b.Op == event.Acquire && n.holder(s, a.Object) == b.Thread && n.holder(s, b.Object) == a.Thread:
		n.found[semFault(finding.Deadlock, i+1, j+1)] = true
	}
}
