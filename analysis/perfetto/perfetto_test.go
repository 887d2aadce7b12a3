package perfetto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// parsed is an element as a viewer reads it.
type parsed struct {
	Ph, Name, Cat, Bp, S string
	TS, Dur              *float64
	PID, TID             *int
	ID                   int
	Args                 map[string]any
}

func draw(t fataler, opts Options, events []event.Event) []parsed {
	t.Helper()
	var out bytes.Buffer
	w := New(&out, opts)
	for i := range events {
		w.Event(&events[i])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var file struct{ TraceEvents []parsed }
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	return file.TraceEvents
}

type fataler interface {
	Helper()
	Fatal(...any)
}

// check holds a file to what viewers ask of it: fields, slices that begin and end
// on their track in the order of time, complete ones that nest, arrows with both
// ends.
func check(all []parsed) error {
	open, last, flows := map[int][]float64{}, map[int]float64{}, map[int]string{}
	for i, e := range all {
		if e.PID == nil || e.TID == nil || e.Ph != "M" && e.TS == nil {
			return fmt.Errorf("element %d lacks a field: %+v", i, e)
		}
		tid := *e.TID
		if e.Ph != "M" && e.Ph != "X" {
			if *e.TS < last[tid] {
				return fmt.Errorf("element %d goes back in time: %+v", i, e)
			}
			last[tid] = *e.TS
		}
		switch e.Ph {
		case "B":
			open[tid] = append(open[tid], *e.TS)
		case "E":
			if len(open[tid]) == 0 {
				return fmt.Errorf("element %d ends nothing", i)
			}
			open[tid] = open[tid][:len(open[tid])-1]
		case "X":
			n := len(open[tid])
			if e.Dur == nil || *e.Dur < 0 || n == 0 || *e.TS < open[tid][n-1] {
				return fmt.Errorf("element %d does not nest: %+v", i, e)
			}
		case "s":
			flows[e.ID] += "s"
		case "f":
			flows[e.ID] += "f"
		case "i", "M":
		default:
			return fmt.Errorf("element %d: %+v", i, e)
		}
		if e.Ph != "M" && len(open[tid]) == 0 && e.Ph != "E" {
			return fmt.Errorf("element %d lies outside of its thread's life: %+v", i, e)
		}
	}
	for tid, s := range open {
		if len(s) > 0 {
			return fmt.Errorf("%d slices of thread %d do not end", len(s), tid)
		}
	}
	for id, f := range flows {
		if f != "sf" && f != "s" {
			return fmt.Errorf("arrow %d has ends %q", id, f)
		}
	}
	return nil
}

type table struct{}

func (table) Object(id event.ObjectID) run.Object {
	return run.Object{Name: []string{"", "stock", "", "tickets"}[id], Addr: uint64(id) << 12}
}

func (table) Func(event.FuncID) event.Func { return event.Func{} }

func (table) Thread(id event.ThreadID) run.Thread {
	return run.Thread{Main: id == 1, Start: map[event.ThreadID]string{2: "desk"}[id]}
}

func (table) Frames(event.StackID) []event.Frame {
	return []event.Frame{{Function: "pthread_mutex_lock", Module: "/lib/libc.so.6"}, {Function: "sell", File: "/src/shop.c", Line: 20}}
}

func TestTimeline(t *testing.T) {
	events := []event.Event{
		{Op: event.Begin, Thread: 1},
		{Op: event.Fork, Thread: 1, Peer: 2, Stack: 1, Time: 1000},
		{Op: event.Begin, Thread: 2, Time: 1100},
		{Op: event.Acquire, Thread: 1, Object: 1, Time: 2000, Stack: 1},
		{Op: event.Acquire, Thread: 1, Object: 2, Kind: event.KindMutex, Time: 3000},
		{Op: event.Release, Thread: 1, Object: 1, Time: 4000},
		{Op: event.Acquire, Thread: 2, Object: 1, Time: 4500},
		{Op: event.Write, Thread: 2, Object: 3, Time: 4600, Flags: event.HasValue, Value: 7},
		{Op: event.Release, Thread: 2, Object: 1, Time: 4700},
		{Op: event.Wait, Thread: 2, Object: 2, Kind: event.KindCond, Time: 4800},
		{Op: event.Wake, Thread: 2, Object: 2, Kind: event.KindCond, Time: 4900},
		{Op: event.End, Thread: 2, Time: 5000},
		{Op: event.Join, Thread: 1, Peer: 2, Time: 6000},
	}
	all := draw(t, Options{Names: table{}, Program: "/opt/shop", PID: 70}, events)
	if err := check(all); err != nil {
		t.Error(err)
	}
	var got []string
	for _, e := range all {
		s := fmt.Sprint(*e.TID, " ", e.Ph, " ", e.Name)
		if e.TS != nil {
			s += fmt.Sprintf(" %.3f", *e.TS)
		}
		if e.Dur != nil {
			s += fmt.Sprintf("+%.3f", *e.Dur)
		}
		for k, v := range e.Args {
			s += fmt.Sprintf(" %s=%v", k, v)
		}
		got = append(got, s)
	}
	want := `0 M process_name name=shop
1 M thread_name name=T1 main thread
1 M thread_sort_index sort_index=1
1 B T1 main thread 1.000
1 i starts T2 desk 1.001 at=sell shop.c:20
1 s start 1.001
2 M thread_name name=T2 desk
2 M thread_sort_index sort_index=2
2 B T2 desk 1.101
2 f start 1.101
1 B stock 2.001 at=sell shop.c:20
1 B mutex 0x2000 3.001
1 E  4.001
1 E  4.001
1 B mutex 0x2000 4.001
2 X may wait for stock 2.001+2.500 held by=T1
2 B stock 4.501
2 i write tickets 4.601 value=7
2 E  4.701
2 B waits for condition 0x2000 4.801
2 E  4.901
2 s join 5.001
2 E  5.001
1 X joins T2 desk 4.001+2.000
1 f join 6.001
1 E  6.001
1 E  6.001`
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestClocksDiffer: the thread before took the lock later, by the clock of its
// processor. There is no wait to draw, least of all one of negative length.
func TestClocksDiffer(t *testing.T) {
	for _, since := range []uint64{2001, 2999, 9000} {
		all := draw(t, Options{}, []event.Event{
			{Op: event.Begin, Thread: 1, Time: 1000},
			{Op: event.Begin, Thread: 2, Time: 1000},
			{Op: event.Acquire, Thread: 2, Object: 1, Kind: event.KindMutex, Time: since},
			{Op: event.Release, Thread: 2, Object: 1, Kind: event.KindMutex, Time: since},
			{Op: event.Acquire, Thread: 1, Object: 1, Kind: event.KindMutex, Time: 2000},
			{Op: event.End, Thread: 2, Time: since + 1},
			{Op: event.End, Thread: 1, Time: since + 1},
		})
		if err := check(all); err != nil {
			t.Error(err)
		}
		for _, e := range all {
			if e.Ph == "X" {
				t.Errorf("taken before at %d: %q of %v µs", since, e.Name, *e.Dur)
			}
		}
	}
}

// TestAnyRun draws what a trace may hold, feasible or not.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []event.Event
		times := rapid.Bool().Draw(t, "times")
		for i := range rapid.IntRange(0, 60).Draw(t, "events") {
			e := event.Event{Seq: uint64(i + 1), Op: event.Op(rapid.IntRange(1, int(event.NumOps)-1).Draw(t, "op")),
				Thread: event.ThreadID(rapid.IntRange(1, 4).Draw(t, "thread")), Peer: event.ThreadID(rapid.IntRange(1, 4).Draw(t, "peer")),
				Object: event.ObjectID(rapid.IntRange(1, 3).Draw(t, "object"))}
			if times {
				e.Time = rapid.Uint64Range(0, 10_000).Draw(t, "time")
			}
			events = append(events, e)
		}
		if err := check(draw(t, Options{}, events)); err != nil {
			t.Fatal(err)
		}
	})
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	if err := New(full{}, Options{}).Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// TestCalls: a call and its return are a slice; those that an exception left end with
// the call around them, and a lock that is held goes on.
func TestCalls(t *testing.T) {
	funcs := func(id event.FuncID) event.Func {
		f := event.Func{Name: fmt.Sprintf("f%d", id), Params: []event.Param{{Name: "n"}}, On: []event.On{{Pattern: "call f"}}}
		if id < 3 {
			f.On = append(f.On, event.On{Pattern: "return f", Return: true})
		}
		return f
	}
	call := func(op event.Op, id event.FuncID, time uint64) event.Event {
		return event.Event{Op: op, Thread: 1, Func: id, Kind: event.KindInstance, Time: time, Args: []uint64{1<<64 - 5}}
	}
	all := draw(t, Options{Funcs: funcs}, []event.Event{
		{Op: event.Begin, Thread: 1, Time: 1000},
		call(event.Call, 1, 2000), call(event.Call, 2, 3000), {Op: event.Acquire, Thread: 1, Object: 9, Kind: event.KindMutex, Time: 3500},
		call(event.Call, 3, 4000), call(event.Return, 1, 5000), call(event.Return, 2, 6000),
		{Op: event.End, Thread: 1, Time: 7000},
	})
	if err := check(all); err != nil {
		t.Error(err)
	}
	var got []string
	for _, e := range all {
		if e.Ph == "B" || e.Ph == "E" || e.Ph == "i" {
			got = append(got, strings.TrimSpace(fmt.Sprint(e.Ph, " ", e.Name, " ", e.Args["n"])))
		}
	}
	want := []string{"B T1 <nil>", "B f1 -5", "B f2 -5", "B mutex #9 <nil>", "i call f3 -5", "E  <nil>", "E  <nil>", "E  <nil>", "B mutex #9 <nil>", "i return f2 -5", "E  <nil>", "E  <nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
