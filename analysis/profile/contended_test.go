package profile

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// contendedNames are the names of a run in which T2 waits for a lock and the end of a thread: the innermost functions of
// stacks 1 and 2 have no name.
func contendedNames() *run.Names {
	n := &run.Names{}
	n.AddThread(run.Thread{Main: true})
	n.AddThread(run.Thread{Start: "clerk"})
	unnamed := event.Frame{Module: "/lib/libc.so.6", Offset: 0x86129}
	work := event.Frame{Function: "work", File: "src/shop.c", Line: 30, Module: "/bin/shop"}
	n.SetFrames(1, []event.Frame{unnamed, {Function: "pthread_mutex_lock", Module: "/lib/libc.so.6"}, {Function: "take", File: "src/shop.c", Line: 4, Module: "/bin/shop"}, work})
	n.SetFrames(2, []event.Frame{unnamed, unnamed, work})
	n.SetFrames(3, []event.Frame{unnamed, {Function: "put", File: "src/shop.c", Line: 9, Module: "/bin/shop"}, work})
	n.SetFrames(4, []event.Frame{unnamed})
	n.SetFrames(5, []event.Frame{
		{Function: "__futex_abstimed_wait_common64", File: "./nptl/futex-internal.c", Line: 57, Module: "/lib/libc.so.6"},
		{Function: "__new_sem_wait_slow64.constprop.0", File: "./nptl/sem_waitcommon.c", Line: 9, Module: "/lib/libc.so.6"},
		{Function: "sit", File: "src/shop.c", Line: 50, Module: "/bin/shop"},
		{Function: "start_thread", File: "./nptl/pthread_create.c", Line: 442, Module: "/lib/libc.so.6"},
	})
	return n
}

// contendedWaits are the waits of that run.
func contendedWaits() []run.FutexWait {
	return []run.FutexWait{
		{Kind: run.FutexLock, Thread: 2, Word: 0x40, Name: "stock", Stack: 1, Waker: 3, Waits: 3, Time: 6000},
		{Kind: run.FutexLock, Thread: 2, Word: 0x40, Name: "stock", Stack: 1, Waits: 1, Time: 2000},
		{Kind: run.FutexLock, Word: 0, Stack: 1, Waits: 2, Time: 500},
		{Kind: run.FutexJoin, Thread: 1, Word: 0x7f00, Stack: 2, Waits: 1, Time: 9000},
		{Kind: run.FutexOther, Thread: 1, Word: 0x80, Stack: 4, Waits: 1, Time: 1},
		{Kind: run.FutexSemaphore, Word: 0x90, Stack: 5, Waits: 1, Time: 40},
	}
}

func contended(t *testing.T, waits []run.FutexWait) *profile.Profile {
	t.Helper()
	made, err := Contended(waits, time.Second, Options{Names: contendedNames(), Program: "/bin/shop"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := made.Write(&out); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestContended checks the values, the labels and the call stacks of waits for futexes, as readers get them.
func TestContended(t *testing.T) {
	p := contended(t, contendedWaits())
	got := map[string]int64{}
	for _, s := range p.Sample {
		var in []string
		for _, l := range s.Location {
			in = append(in, l.Line[0].Function.Name)
		}
		for i, v := range s.Value {
			if v != 0 && strings.HasSuffix(p.SampleType[i].Type, "wait") {
				got[p.SampleType[i].Type+" of "+strings.Join(s.Label["thread"], "")+" in "+strings.Join(in, "<")+" because of "+strings.Join(s.Label["woken_by"], "<")] += v
			}
		}
	}
	want := map[string]int64{
		"futex_lock_wait of T2 in pthread_mutex_lock<take<work because of put (shop.c:9)<work (shop.c:30)":                                6000,
		"futex_lock_wait of T2 in pthread_mutex_lock<take<work because of ":                                                               2000,
		"futex_lock_wait of others in pthread_mutex_lock<take<work because of ":                                                           500,
		"futex_join_wait of T1 in work because of ":                                                                                       9000,
		"futex_other_wait of T1 in [libc.so.6+0x86129] because of ":                                                                       1,
		"futex_semaphore_wait of others in __futex_abstimed_wait_common64<__new_sem_wait_slow64.constprop.0<sit<start_thread because of ": 40,
	}
	sum := int64(0)
	for name, ns := range maps.Clone(want) { // the last type has all kinds
		_, of, _ := strings.Cut(name, " of ")
		want["futex_wait of "+of] = ns
		sum += ns
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if last := p.SampleType[len(p.SampleType)-1].Type; last != p.DefaultSampleType || sum != 17541 {
		t.Errorf("readers show %s of %d ns", last, sum)
	}
}

// TestContendedTables checks the tables of such a profile, and of one without waits.
func TestContendedTables(t *testing.T) {
	var text strings.Builder
	if err := WriteTop(&text, contended(t, contendedWaits()), 5); err != nil {
		t.Fatal(err)
	}
	want := `waits for locks: 8.5µs
    waited     waits  lock    waits in         threads   because of
       8µs         4  stock   take (shop.c:4)  T2 clerk  put (shop.c:9) 75 %
     500ns         2  others  take (shop.c:4)  others

waits for semaphores: 40ns
    waited     waits  semaphore       waits in         threads
      40ns         1  semaphore@0x90  sit (shop.c:50)  others sit

waits for the end of threads: 9µs
    waited     waits  joined    waits in          threads
       9µs         1  a thread  work (shop.c:30)  T1

waits for other futexes: 1ns
    waited     waits  futex       waits in             threads
       1ns         1  futex@0x80  [libc.so.6+0x86129]  T1
`
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	text.Reset()
	if err := WriteTop(&text, contended(t, nil), 5); err != nil || text.String() != "nobody waited in the kernel for a futex\n" {
		t.Errorf("without waits: %q, %v", text.String(), err)
	}
}

// TestContendedFlame checks that a flame graph goes on below who waits with who ended the wait.
func TestContendedFlame(t *testing.T) {
	var page strings.Builder
	if err := WriteFlame(&page, contended(t, contendedWaits()), "shop"); err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, box := range []string{">work (shop.c:30)<", ">take (shop.c:4)<", ">stock<", ">because of put (shop.c:9)<", ">called by work (shop.c:30)<"} {
		next := strings.Index(page.String(), box)
		if next <= at {
			t.Errorf("the box %s is not below the one before it:\n%s", box, page.String())
		}
		at = next
	}
}
