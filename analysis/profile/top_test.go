package profile

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// shopNames are the names of a run in which T2 and T3 restock while T1 waits.
func shopNames() *run.Names {
	n := &run.Names{}
	n.AddThread(run.Thread{Main: true})
	n.AddThread(run.Thread{Start: "clerk"})
	n.AddThread(run.Thread{Start: "clerk"})
	n.AddObject(run.Object{Name: "stock", Kind: event.KindMutex})
	n.AddObject(run.Object{Name: "bell", Kind: event.KindSemaphore})
	lock := event.Frame{Function: "pthread_mutex_lock", Module: "/lib/libc.so.6"}
	n.SetFrames(1, []event.Frame{lock, {Function: "take", File: "src/shop.c", Line: 4, Module: "/bin/shop"}})
	n.SetFrames(2, []event.Frame{
		{Function: "std::mutex::lock()", File: "/usr/include/c++/12/bits/std_mutex.h", Line: 100, Module: "/bin/shop", Inlined: true},
		{Function: "restock", File: "src/shop.c", Line: 9, Module: "/bin/shop"},
	})
	n.SetFrames(3, []event.Frame{{Function: "ring", File: "src/shop.c", Line: 20, Module: "/bin/shop"}})
	return n
}

// shopRun returns a run in which T2 and then T3 hold the lock for some time after T1 is last seen; then T1 acquires it, and waits
// for a semaphore that T2 posts.
func shopRun() []event.Event {
	on := func(op event.Op, thread event.ThreadID, at uint64, stack event.StackID) event.Event {
		return event.Event{Op: op, Thread: thread, Object: 1, Kind: event.KindMutex, Time: at, Stack: stack}
	}
	return []event.Event{
		on(event.Begin, 1, 1000, 0),
		on(event.Acquire, 2, 2000, 2), on(event.Release, 2, 5000, 0),
		on(event.Acquire, 3, 5000, 2), on(event.Release, 3, 6000, 0),
		on(event.Acquire, 1, 6000, 1), on(event.Release, 1, 6500, 0),
		{Op: event.SemPost, Thread: 2, Object: 2, Kind: event.KindSemaphore, Time: 7000, Stack: 3},
		{Op: event.SemWait, Thread: 1, Object: 2, Kind: event.KindSemaphore, Time: 7100, Stack: 1},
	}
}

// top returns the tables of a run.
func top(t *testing.T, events []event.Event, rows int) string {
	t.Helper()
	w := New(io.Discard, Options{Names: shopNames()})
	for i := range events {
		w.Event(&events[i])
	}
	p, err := w.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := WriteTop(&text, p, rows); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestTop checks the tables of a run in which threads wait, and that one in which nobody does has no table of waits.
func TestTop(t *testing.T) {
	want := `waits for locks: at most 4µs
    waited     waits  lock   waits in         threads  because of
       4µs         1  stock  take (shop.c:4)  T1       restock (shop.c:9)

waits for semaphores: at most 500ns
    waited     waits  semaphore  waits in         threads  because of
     500ns         1  bell       take (shop.c:4)  T1       ring (shop.c:20)

locks held: 4.5µs
      held     times  lock   acquired in         threads
       4µs         2  stock  restock (shop.c:9)  2 threads clerk
     500ns         1  stock  take (shop.c:4)     T1
`
	if d := cmp.Diff(want, top(t, shopRun(), 5)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := top(t, shopRun(), 1); !strings.HasSuffix(got, "clerk\nand 1 row more\n") {
		t.Errorf("with one row of two:\n%s", got)
	}
	alone := slices.DeleteFunc(shopRun(), func(e event.Event) bool { return e.Thread != 1 })
	if got := top(t, alone, 5); !strings.HasPrefix(got, "locks held: 500ns\n") || strings.Contains(got, "waits") {
		t.Errorf("without those that it waited for:\n%s", got)
	}
	if got := top(t, alone[:1], 5); got != "no lock was taken, and nobody waited\n" {
		t.Errorf("without locks: %q", got)
	}
}

// TestBlockers checks that each holder has its part of a wait, which counts once, and that the thread and the function are
// labels that filters find.
func TestBlockers(t *testing.T) {
	p := written(t, shopRun(), Options{Names: shopNames()})
	got := map[string][]int64{}
	for _, s := range p.Sample {
		if by := s.Label[blockerLabel]; len(by) > 0 && len(s.Label["lock"]) > 0 {
			got[by[0]+" "+s.Label[blockedByLabel][0]] = s.Value[lockWaits : lockWait+1]
		}
	}
	want := map[string][]int64{"T2 restock (shop.c:9)": {0, 3000}, "T3 restock (shop.c:9)": {1, 1000}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestRemember checks that the names that a profile needs are kept, also of those who made others wait.
func TestRemember(t *testing.T) {
	w := New(io.Discard, Options{})
	for _, e := range shopRun()[:6] {
		w.Event(&e)
	}
	names := event.NewNames()
	w.Remember(names)
	for id := range event.ThreadID(3) {
		if _, ok := names.Threads()[id+1]; !ok {
			t.Errorf("T%d is not remembered", id+1)
		}
	}
	if _, ok := names.Objects()[1]; !ok {
		t.Error("the lock is not remembered")
	}
}
