package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// written returns the profile of a run, as readers get it.
func written(tb testing.TB, events []event.Event, opts Options) *profile.Profile {
	var out bytes.Buffer
	w := New(&out, opts)
	for i := range events {
		w.Event(&events[i])
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	p, err := profile.Parse(&out)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// sums returns the values of a profile that are not 0, by thread, object and type.
func sums(p *profile.Profile) map[string]int64 {
	all := map[string]int64{}
	for _, s := range p.Sample {
		name := ""
		for _, key := range []string{"lock", "condition", "barrier", "semaphore"} {
			if l := s.Label[key]; len(l) > 0 {
				name = l[0]
			}
		}
		for i, v := range s.Value {
			if v != 0 {
				all[fmt.Sprint(s.Label["thread"][0], " ", name, " ", p.SampleType[i].Type)] += v
			}
		}
	}
	return all
}

// randomRun returns a run of three threads with two locks that may be shared, a condition and a semaphore. Time passes by 0 to
// 5 ns from event to event.
func randomRun(c eventtest.Choices) []event.Event {
	var events []event.Event
	now := uint64(100)
	holders := map[event.ObjectID]map[event.ThreadID]event.Op{1: {}, 2: {}}
	waiting := map[event.ThreadID]bool{}
	emit := func(e event.Event) {
		now += uint64(c.Between(0, 5, "time"))
		e.Seq, e.Time = uint64(len(events)+1), now
		events = append(events, e)
	}
	for range c.Between(0, 80, "events") {
		t := event.ThreadID(c.Between(1, 3, "thread"))
		o := event.ObjectID(c.Between(1, 2, "lock"))
		op := eventtest.OneOf(c, []event.Op{event.Acquire, event.AcquireRead, event.Release, event.Wait, event.Read, event.SemPost, event.SemWait}, "op")
		others := len(holders[o])
		mine, held := holders[o][t]
		exclusive := slices.Contains(slices.Collect(maps.Values(holders[o])), event.Acquire)
		switch {
		case waiting[t]:
			emit(event.Event{Op: event.Wake, Thread: t, Object: 3, Kind: event.KindCond})
			waiting[t] = false
		case held && op == event.Release:
			emit(event.Event{Op: op, Thread: t, Object: o, Kind: event.KindRWLock})
			delete(holders[o], t)
		case op == event.Acquire && others == 0, op == event.AcquireRead && !exclusive && mine == event.None:
			var flags event.Flags
			if c.Between(0, 4, "try") == 0 {
				flags = event.Try
			}
			emit(event.Event{Op: op, Thread: t, Object: o, Kind: event.KindRWLock, Flags: flags})
			holders[o][t] = op
		case op == event.Wait:
			emit(event.Event{Op: op, Thread: t, Object: 3, Kind: event.KindCond})
			waiting[t] = true
		case op == event.SemPost, op == event.SemWait:
			emit(event.Event{Op: op, Thread: t, Object: 5, Kind: event.KindSemaphore})
		case op == event.Read:
			emit(event.Event{Op: op, Thread: t, Object: 4, Kind: event.KindVariable})
		}
	}
	return events
}

// naive computes the sums nanosecond by nanosecond.
func naive(events []event.Event) map[string]int64 {
	all := map[string]int64{}
	add := func(e event.Event, what string, d uint64) {
		of := fmt.Sprintf("T%d %s#%d %s", e.Thread, e.Kind, e.Object, what)
		all[of+"s"]++
		if d > 0 {
			all[of] += int64(d)
		}
	}
	end := events[len(events)-1].Time
	until := func(i int, op event.Op) uint64 {
		for _, e := range events[i+1:] {
			if e.Op == op && e.Thread == events[i].Thread && e.Object == events[i].Object {
				return e.Time
			}
		}
		return end
	}
	// heldAt reports whether event i's lock was held by a section before it, in a mode that i waits for.
	heldAt := func(i int, ns uint64) bool {
		for j, e := range events[:i] {
			if e.Object == events[i].Object && (e.Op == event.Acquire || e.Op == event.AcquireRead && events[i].Op == event.Acquire) &&
				e.Time <= ns && ns < until(j, event.Release) {
				return true
			}
		}
		return false
	}
	// before returns the time of the event before event i of its thread.
	before := func(i int) uint64 {
		for _, o := range slices.Backward(events[:i]) {
			if o.Thread == events[i].Thread {
				return o.Time
			}
		}
		return events[i].Time
	}
	for i, e := range events {
		switch e.Op {
		case event.SemWait:
			for _, o := range slices.Backward(events[:i]) {
				if o.Op == event.SemPost {
					if o.Time > before(i) {
						add(e, "possible_semaphore_wait", o.Time-before(i))
					}
					break
				}
			}
		case event.Acquire, event.AcquireRead:
			add(e, "lock_hold", until(i, event.Release)-e.Time)
			d := uint64(0)
			for ns := before(i); ns < e.Time; ns++ {
				if heldAt(i, ns) {
					d++
				}
			}
			if d > 0 && e.Flags&event.Try == 0 {
				add(e, "possible_lock_wait", d)
			}
		case event.Wait:
			add(e, "condition_wait", until(i, event.Wake)-e.Time)
		}
	}
	return all
}

// TestSums compares the sums of random runs with those computed nanosecond by nanosecond.
func TestSums(t *testing.T) {
	waits := 0
	rapid.Check(t, func(rt *rapid.T) {
		events := randomRun(eventtest.DrawnOrSeeded(rt))
		if len(events) == 0 {
			return
		}
		got, want := sums(written(t, events, Options{})), naive(events)
		for name := range want {
			if strings.HasSuffix(name, "possible_lock_waits") {
				waits++
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatalf("-want +got:\n%s", d)
		}
	})
	if waits == 0 {
		t.Error("no run had a wait")
	}
}

// TestManySections checks that more critical sections than are kept count as one that lasts all the time.
func TestManySections(t *testing.T) {
	events := []event.Event{{Op: event.Begin, Thread: 1, Time: 1}}
	add := func(op event.Op, id event.ThreadID, at uint64) {
		events = append(events, event.Event{Op: op, Thread: id, Object: 1, Kind: event.KindMutex, Time: at})
	}
	for i := range uint64(maxKept + 10) {
		add(event.Acquire, 2, 100+10*i)
		add(event.Release, 2, 105+10*i)
	}
	add(event.Acquire, 1, 2000)
	// The last of the ten that are not kept has ended at 195, and T1's last event was at 1.
	if got, want := sums(written(t, events, Options{}))["T1 mutex#1 possible_lock_wait"], int64(194+maxKept*5); got != want {
		t.Errorf("%d ns, want %d", got, want)
	}
}

// TestManySamples checks that no more samples are kept than there may be, and that all time is in them.
func TestManySamples(t *testing.T) {
	const most, locks = 10, 50
	w := New(io.Discard, Options{})
	w.most = most
	for i := range uint64(locks) {
		for at, op := range []event.Op{event.Acquire, event.Release} {
			w.Event(&event.Event{Op: op, Thread: event.ThreadID(1 + i%2), Object: event.ObjectID(i + 1), Kind: event.KindMutex, Time: 10*i + 5*uint64(at) + 1})
		}
	}
	p, err := w.Profile()
	if err != nil {
		t.Fatal(err)
	}
	got := sums(p)
	if len(p.Sample) != most+1 || got["others others lock_hold"] != (locks-most)*5 || got["others others lock_holds"] != locks-most {
		t.Errorf("%d samples: %v", len(p.Sample), got)
	}
}

// names are the names of a hand-written run.
func names() *run.Names {
	n := &run.Names{}
	n.AddThread(run.Thread{Main: true})
	n.AddThread(run.Thread{Start: "worker"})
	n.AddObject(run.Object{Name: "table<int>::mu", Kind: event.KindMutex})
	n.AddObject(run.Object{Member: "struct job.mu", Addr: 0xbeef, Kind: event.KindMutex})
	n.SetFrames(2, []event.Frame{{Module: "/lib/libx.so", Offset: 0x2f}})
	n.SetFrames(1, []event.Frame{
		{Function: "lock", File: "mutex.h", Line: 7, Module: "/bin/p", Inlined: true},
		{Function: "put<(anonymous namespace)::key>(int)", File: "p.cc", Line: 3, Start: 2, Module: "/bin/p"},
		{Module: "/lib/libx.so", Offset: 0x1f},
	})
	return n
}

// TestForm checks what readers of the format lose without a word: inlined frames, names that they shorten, stacks without a
// frame, and labels that filters do not find.
func TestForm(t *testing.T) {
	p := written(t, []event.Event{
		{Op: event.Acquire, Thread: 2, Object: 1, Kind: event.KindMutex, Stack: 1, Time: 10},
		{Op: event.Release, Thread: 2, Object: 1, Kind: event.KindMutex, Time: 30},
		{Op: event.Acquire, Thread: 1, Object: 2, Kind: event.KindMutex, Stack: 2, Time: 40},
		{Op: event.Release, Thread: 1, Object: 2, Kind: event.KindMutex, Time: 45},
		{Op: event.BarrierArrive, Thread: 2, Object: 3, Kind: event.KindBarrier, Time: 50},
		{Op: event.BarrierDepart, Thread: 2, Object: 3, Kind: event.KindBarrier, Time: 57},
	}, Options{Names: names(), Program: "/bin/p"})
	var got []string
	for _, s := range p.Sample {
		var at []string
		for _, l := range s.Location {
			var lines []string
			for _, line := range l.Line {
				if line.Function.SystemName != "" {
					t.Errorf("%s has the system name %s", line.Function.Name, line.Function.SystemName)
				}
				lines = append(lines, fmt.Sprintf("%s %s:%d", line.Function.Name, line.Function.Filename, line.Line))
			}
			at = append(at, strings.Join(lines, " in "))
		}
		got = append(got, fmt.Sprint(s.Value, " ", s.Label, " ", strings.Join(at, "; ")))
	}
	want := []string{
		"[0 0 0 0 0 0 0 0 0 0 1 5] map[kind:[mutex] lock:[struct job.mu@0xbeef] thread:[T1]] [libx.so+0x2f] :0",
		"[0 0 0 0 0 0 0 0 0 0 1 20] map[kind:[mutex] lock:[table<int>::mu] thread:[T2] thread_name:[worker]] " +
			"lock mutex.h:7 in put<(anonymous namespace)::key>(int) p.cc:3; [libx.so+0x1f] :0",
		"[0 0 0 0 1 7 0 0 0 0 0 0] map[barrier:[barrier#3] kind:[barrier] thread:[T2] thread_name:[worker]] [an unknown place] :0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if p.DefaultSampleType != p.SampleType[len(p.SampleType)-1].Type || p.DefaultSampleType != "lock_hold" {
		t.Errorf("the default is %q of %v", p.DefaultSampleType, p.SampleType)
	}
	if p.Mapping[0].File != "/bin/p" {
		t.Errorf("the first mapping is of %s", p.Mapping[0].File)
	}
	if linked := written(t, []event.Event{
		{Op: event.Acquire, Thread: 1, Object: 2, Kind: event.KindMutex, Stack: 2, Time: 10},
		{Op: event.Acquire, Thread: 2, Object: 1, Kind: event.KindMutex, Stack: 1, Time: 20},
		{Op: event.End, Thread: 2, Time: 30},
	}, Options{Names: names(), Program: "/bin/link"}); linked.Mapping[0].File != "/bin/p" {
		t.Errorf("the first mapping of a linked program is of %s", linked.Mapping[0].File)
	}
	if _, err := profile.Merge([]*profile.Profile{p, p.Copy()}); err != nil {
		t.Error(err)
	}
}

// TestNoTimes checks that a trace without times has no profile, rather than an empty one.
func TestNoTimes(t *testing.T) {
	w := New(io.Discard, Options{})
	w.Event(&event.Event{Op: event.Acquire, Thread: 1, Object: 1})
	if err := w.Close(); !errors.Is(err, errNoTimes) {
		t.Errorf("%v", err)
	}
	idle := New(io.Discard, Options{})
	idle.Event(&event.Event{Op: event.Begin, Thread: 1})
	idle.Event(&event.Event{Op: event.Fork, Thread: 1, Peer: 2})
	idle.Event(&event.Event{Op: event.Acquire, Thread: 1, Object: 1, Flags: event.Inferred})
	if err := idle.Close(); err != nil {
		t.Errorf("a process that was observed while it did nothing: %v", err)
	}
}

// TestNoAllocation checks that events whose call stacks and objects are known allocate nothing.
func TestNoAllocation(t *testing.T) {
	w := New(io.Discard, Options{})
	now := uint64(1)
	round := func() {
		for _, op := range []event.Op{event.Acquire, event.Release, event.SemPost, event.SemWait, event.Wait, event.Wake} {
			for id := range event.ThreadID(4) {
				now++
				w.Event(&event.Event{Op: op, Thread: id + 1, Object: 1, Kind: event.KindMutex, Time: now})
			}
		}
	}
	for range maxKept + 1 {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAddresses checks that the frames of a process have the mappings and addresses that readers look up in a file, which are
// those of the call where a function has called another one, and that the frames of the dynamic loader are left out.
func TestAddresses(t *testing.T) {
	n := names()
	n.SetFrames(3, []event.Frame{
		{Function: "pthread_mutex_lock", Module: "/lib/libc.so.6", Offset: 4, Addr: 0x7004},
		{Function: "_dl_init", Module: "/lib64/ld-linux-x86-64.so.2", Addr: 0x9000},
		{Function: "in", File: "p.c", Line: 2, Module: "/bin/p", Inlined: true, Addr: 0x1110},
		{Function: "main", File: "p.c", Line: 5, Module: "/bin/p", Addr: 0x1110},
		{Function: "main", File: "p.c", Line: 5, Module: "/bin/p", Addr: 0x5110},
	})
	n.SetFrames(4, []event.Frame{{Function: "_dl_fini", Module: "/lib64/ld-linux-x86-64.so.2", Addr: 0x9000}})
	modules := []run.Module{
		{Path: "/bin/p", Lo: 0x1000, Hi: 0x2000, Offset: 0x1000, BuildID: "ab12"},
		{Path: "/lib/libc.so.6", Lo: 0x7000, Hi: 0x8000, Offset: 0x2000, BuildID: "cd34"},
	}
	p := written(t, []event.Event{
		{Op: event.Acquire, Thread: 1, Object: 1, Kind: event.KindMutex, Stack: 3, Time: 10},
		{Op: event.Acquire, Thread: 1, Object: 2, Kind: event.KindMutex, Stack: 4, Time: 20},
	}, Options{Names: n, Program: "/bin/p", Modules: func() []run.Module { return modules }})
	var got []string
	for _, s := range p.Sample {
		for _, l := range s.Location {
			m := l.Mapping
			got = append(got, fmt.Sprintf("%s %#x of %s %#x-%#x %#x %s", l.Line[len(l.Line)-1].Function.Name, l.Address, m.File, m.Start, m.Limit, m.Offset, m.BuildID))
		}
	}
	want := []string{
		"pthread_mutex_lock 0x7004 of /lib/libc.so.6 0x7000-0x8000 0x2000 cd34",
		"main 0x110f of /bin/p 0x1000-0x2000 0x1000 ab12",
		"main 0x0 of /bin/p 0x0-0x0 0x0 ", // in no mapping that is known
		"_dl_fini 0x0 of /lib64/ld-linux-x86-64.so.2 0x0-0x0 0x0 ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
