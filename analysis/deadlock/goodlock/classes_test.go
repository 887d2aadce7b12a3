package goodlock

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// letters assigns locks to classes by their numbers: 10 to 19 are A, 20 to 29 are B, up to F.
// Other locks have no class.
func letters(lock event.ObjectID) Class {
	if i := int(lock)/10 - 1; i >= 0 && i < 6 {
		return Class{Name: "ABCDEF"[i : i+1]}
	}
	return Class{}
}

// threadsUpTo creates threads 2 to n, and begins them.
func threadsUpTo(n event.ThreadID) (out []event.Event) {
	for t := event.ThreadID(2); t <= n; t++ {
		out = append(out, fork(1, t)...)
	}
	return out
}

func describe(fs []finding.Finding) []string {
	out := []string{}
	for _, f := range fs {
		var sides []string
		for _, s := range f.Evidence {
			sides = append(sides, fmt.Sprintf("T%d %d holds %v", s.Thread, s.Object, s.Held))
		}
		out = append(out, strings.Join(f.Classes, "")+": "+strings.Join(sides, ", "))
	}
	return out
}

func TestClasses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		trace [][]event.Event
		want  []string
	}{
		{"orders of instances that were never shared", [][]event.Event{nest(2, 11, 21), nest(3, 22, 12)}, []string{"AB: T2 21 holds [11], T3 12 holds [22]"}},
		{"one order", [][]event.Event{nest(2, 11, 21), nest(3, 12, 22)}, nil},
		{"a cycle of locks is known without classes", [][]event.Event{nest(2, 11, 21), nest(3, 21, 11)}, nil},
		{"one thread", [][]event.Event{nest(2, 11, 21), nest(2, 22, 12)}, nil},
		{"three classes", [][]event.Event{nest(2, 11, 21), nest(3, 22, 31), nest(4, 32, 12)}, []string{"ABC: T2 21 holds [11], T3 31 holds [22], T4 12 holds [32]"}},
		{"a lock of no class links them", [][]event.Event{nest(2, 11, 99), nest(3, 99, 12)}, []string{"A: T2 99 holds [11], T3 12 holds [99]"}},
		{"locks of no class do not", [][]event.Event{nest(2, 91, 21), nest(3, 22, 92)}, nil},
		{"a gate", [][]event.Event{nest(2, 99, 11, 21), nest(3, 99, 22, 12)}, nil},
		{"gates of one class", [][]event.Event{nest(2, 51, 11, 21), nest(3, 52, 22, 12)}, nil},
		{"no gates: of two classes", [][]event.Event{nest(2, 51, 11, 21), nest(3, 61, 22, 12)}, []string{"AB: T2 21 holds [51 11], T3 12 holds [61 22]"}},
		{"inside one another, always in one order", [][]event.Event{nest(2, 11, 12), nest(3, 13, 14)}, nil},
		{"inside one another, in both orders by one thread", [][]event.Event{nest(2, 11, 12), nest(2, 12, 11), nest(3, 13, 14)}, []string{"A: T2 12 holds [11], T3 14 holds [13]"}},
		{"inside one another, in both orders by one thread alone", [][]event.Event{nest(2, 11, 12), nest(2, 12, 11)}, nil},
		{"inside one another, in both orders by two threads: a cycle of locks", [][]event.Event{nest(2, 11, 12), nest(3, 12, 11)}, nil},
		{"hand over hand down a list", [][]event.Event{nest(2, 11, 12), nest(2, 12, 13), nest(3, 11, 12), nest(3, 12, 13)}, nil},
		{"two that read", [][]event.Event{
			{acquire(2, 11), acquireRead(2, 21), release(2, 21), release(2, 11)}, {acquireRead(3, 22), acquire(3, 12), release(3, 12), release(3, 22)},
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := run(Options{Class: letters}, trace(append([][]event.Event{threadsUpTo(4)}, tt.trace...)...))
			a.Finish()
			if d := cmp.Diff(append([]string{}, tt.want...), describe(a.Classes())); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	a := run(Options{}, trace(threadsUpTo(3), nest(2, 11, 21), nest(3, 22, 12)))
	if a.Finish(); a.Classes() != nil {
		t.Error("classes that nobody asked for")
	}
}

func TestClassesThatAreOrdered(t *testing.T) {
	a := run(Options{Class: letters}, trace(fork(1, 2), nest(2, 11, 21), join(1, 2), fork(1, 3), nest(3, 22, 12)))
	if a.Finish(); len(a.Classes()) != 0 {
		t.Error("the threads never live at one time")
	}
}

func TestClassesOfTwoProcessesDiffer(t *testing.T) {
	class := func(l event.ObjectID) Class { return Class{letters(l).Name, uint32(l % 10)} }
	a := run(Options{Class: class}, trace(threadsUpTo(3), nest(2, 11, 21), nest(3, 22, 12)))
	if a.Finish(); len(a.Classes()) != 0 {
		t.Error("locks of two processes are of one class")
	}
}

// TestClassesOfDestroyedLocks checks that the edges of short-lived locks are discarded, but not
// what they show of the classes.
func TestClassesOfDestroyedLocks(t *testing.T) {
	parts := [][]event.Event{threadsUpTo(3)}
	lock := event.ObjectID(100)
	for range 3 * minDestroyed {
		first, second := lock, lock+1 // an even lock is of class A, an odd one of B
		th := event.ThreadID(2)
		if lock%4 == 0 && lock > 200 {
			th, first, second = 3, lock+1, lock
		}
		parts = append(parts, nest(th, first, second), []event.Event{{Thread: th, Op: event.Destroy, Object: first}, {Thread: th, Op: event.Destroy, Object: second}})
		lock += 2
	}
	a := run(Options{Class: func(l event.ObjectID) Class { return Class{Name: "AB"[l%2 : l%2+1]} }}, trace(parts...))
	a.Finish()
	if a.Stats().EvictedEdges == 0 {
		t.Fatal("nothing was evicted")
	}
	names := event.NewNames()
	a.Remember(names)
	fs := a.Classes()
	if len(fs) != 1 {
		t.Fatalf("%d findings", len(fs))
	}
	for _, id := range fs[0].Objects {
		if _, ok := names.Objects()[id]; !ok {
			t.Errorf("object %d is named, and not remembered", id)
		}
	}
}

// pairs puts every two consecutive locks into one class.
func pairs(l event.ObjectID) Class { return Class{Name: fmt.Sprint((l + 1) / 2)} }

// naiveClasses returns the cycles of classes by brute force: over all acquires, linked by the
// classes of the locks, without the cycles in which each link is a single lock.
func naiveClasses(events []event.Event) map[string]bool {
	waits, around := naiveWaits(events)
	class := func(l event.ObjectID) event.ObjectID { return (l + 1) / 2 }
	links := func(v, w naiveWait) bool {
		return class(v.Object) != class(w.Object) && slices.ContainsFunc(w.held, func(h naiveHold) bool {
			return class(h.lock) == class(v.Object) && !(h.shared && v.wants().shared)
		})
	}
	excluded := func(v, w naiveWait) bool {
		for _, g := range v.held {
			for _, h := range w.held {
				if class(g.lock) == class(h.lock) && !(g.shared && h.shared) && class(g.lock) != class(v.Object) && class(h.lock) != class(w.Object) {
					return true
				}
			}
		}
		return !naiveConcurrent(v, w, around)
	}
	out := map[string]bool{}
	eachCycle(waits, links, func(v, w naiveWait) bool { return class(v.Object) == class(w.Object) || excluded(v, w) }, func(cycle []naiveWait) {
		if slices.ContainsFunc(cycle, func(w naiveWait) bool { return !waitsForNext(cycle, w) }) {
			out[classCycle(cycle, class)] = true
		}
	})
	ofLocks := func(v, w naiveWait) bool { return slices.ContainsFunc(w.held, v.wants().excludes) }
	eachCycle(waits, ofLocks, func(v, w naiveWait) bool { return v.Object == w.Object || !naiveConcurrent(v, w, around) }, func(cycle []naiveWait) {
		delete(out, classCycle(cycle, class)) // already known as a cycle of locks
	})
	return out
}

// waitsForNext reports whether the lock requested by a wait of the cycle is held in the next one.
func waitsForNext(cycle []naiveWait, w naiveWait) bool {
	i := slices.IndexFunc(cycle, func(v naiveWait) bool { return v.Seq == w.Seq })
	return slices.ContainsFunc(cycle[(i+1)%len(cycle)].held, w.wants().excludes)
}

func classCycle(cycle []naiveWait, class func(event.ObjectID) event.ObjectID) string {
	var ids []event.ObjectID
	for _, w := range cycle {
		ids = append(ids, class(w.Object))
	}
	return cycleKey(ids)
}

// eachCycle visits all sequences of waits in which each links to the next, and the last to the
// first, and of which no two are excluded.
func eachCycle(waits []naiveWait, links, excluded func(v, w naiveWait) bool, visit func([]naiveWait)) {
	var extend func(cycle []naiveWait)
	extend = func(cycle []naiveWait) {
		last := cycle[len(cycle)-1]
		if len(cycle) > 1 && links(last, cycle[0]) {
			visit(cycle)
		}
		for _, w := range waits {
			if w.Thread > cycle[0].Thread && links(last, w) && !slices.ContainsFunc(cycle, func(v naiveWait) bool { return excluded(v, w) }) {
				extend(append(slices.Clip(cycle), w))
			}
		}
	}
	for _, w := range waits {
		extend([]naiveWait{w})
	}
}

func TestClassesAgainstBruteForce(t *testing.T) {
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		events := randomRun(rt, false)
		a := run(Options{History: 1000, Class: pairs}, events)
		a.Finish()
		want, got := naiveClasses(events), map[string]bool{}
		for _, f := range a.Classes() {
			var ids []event.ObjectID
			for _, id := range f.Objects {
				ids = append(ids, (id+1)/2)
			}
			if len(ids) == 2 && ids[0] == ids[1] {
				continue // of a class within itself
			}
			got[cycleKey(ids)] = true
		}
		found += len(want)
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatalf("-want +got:\n%s", d)
		}
	})
	if found == 0 {
		t.Error("no run had a cycle of classes")
	}
}
