// Package reporttest has findings, with their names, stacks and runs, for tests of reports and of their formats. It is
// only for tests. Most findings are of a shop: two desks sell and refund tickets.
package reporttest

import (
	"bytes"
	"io"
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Table is a run.Namer made of maps. Base is added to every address, as another
// layout of the address space does.
type Table struct {
	Objects map[event.ObjectID]run.Object
	Threads map[event.ThreadID]run.Thread
	Stacks  map[event.StackID][]event.Frame
	Base    uint64
}

// Object implements run.Namer.
func (t Table) Object(id event.ObjectID) run.Object {
	o := t.Objects[id]
	if o.Addr != 0 {
		o.Addr += t.Base
	}
	return o
}

// Thread implements run.Namer.
func (t Table) Thread(id event.ThreadID) run.Thread { return t.Threads[id] }

// Func implements run.Namer.
func (t Table) Func(event.FuncID) event.Func { return event.Func{} }

// Frames implements run.Namer.
func (t Table) Frames(id event.StackID) []event.Frame {
	frames := slices.Clone(t.Stacks[id])
	for i := range frames {
		frames[i].Addr += t.Base
	}
	return frames
}

// StackOf returns a call stack of frames that the C library called.
func StackOf(frames ...event.Frame) []event.Frame {
	return append(frames, event.Frame{Function: "start_thread", Module: "/lib/x86_64-linux-gnu/libc.so.6", Offset: 0x304})
}

// Src returns a frame of the shop with a source line.
func Src(function, file string, line int) event.Frame {
	return event.Frame{Function: function, File: file, Line: line, Module: "/opt/shop/shop", Offset: 0x20, Addr: 0x1000 + uint64(line)}
}

// The objects of the shop: two locks, a variable, two locks without a name, and a variable with a long one.
const (
	Ledger  event.ObjectID = iota + 1 // Ledger is a mutex.
	Till                              // Till is a mutex known by an offset.
	Tickets                           // Tickets is a variable.
	HeapA                             // HeapA is a mutex without a name, initialised in a known place.
	HeapB                             // HeapB is a mutex without a name.
	Queue                             // Queue is a variable with a long name.
)

// ShopTable returns the names of the shop.
func ShopTable() Table {
	lock := event.Frame{Function: "pthread_mutex_lock", Module: "/lib/x86_64-linux-gnu/libc.so.6", Offset: 0xe}
	return Table{
		Objects: map[event.ObjectID]run.Object{
			Ledger:  {Name: "ledger", Addr: 0x5040, Kind: event.KindMutex},
			Till:    {Name: "till+0x8", Addr: 0x5080, Kind: event.KindMutex},
			Tickets: {Name: "tickets", Addr: 0x50c0, Kind: event.KindVariable},
			HeapA:   {Addr: 0x9000, Kind: event.KindMutex, Init: 20, First: 1, FirstThread: 1},
			HeapB:   {Addr: 0x9100, Kind: event.KindMutex, First: 2, FirstThread: 2},
			Queue:   {Name: "jobs::Queue<int, std::allocator<int>>::depth", Addr: 0x50d0, Kind: event.KindVariable},
		},
		Threads: map[event.ThreadID]run.Thread{
			1: {TID: 4242, Name: "shop", Main: true},
			2: {TID: 4243, Name: "shop", Start: "front_desk", Parent: 1, Created: 10},
			3: {TID: 4244, Name: "shop", Start: "back_desk", Parent: 1, Created: 11},
			4: {TID: 4245, Name: "größe-线程"},
		},
		Stacks: map[event.StackID][]event.Frame{
			1:  StackOf(lock, Src("sell", "/home/u/shop/shop.c", 20), Src("front_desk", "/home/u/shop/shop.c", 41)),
			2:  StackOf(lock, Src("sell", "/home/u/shop/shop.c", 22), Src("front_desk", "/home/u/shop/shop.c", 41)),
			3:  StackOf(lock, Src("refund", "/home/u/shop/desk/shop.c", 30), Src("back_desk", "/home/u/shop/desk/shop.c", 55)),
			4:  StackOf(lock, Src("refund", "/home/u/shop/desk/shop.c", 32), Src("back_desk", "/home/u/shop/desk/shop.c", 55)),
			5:  StackOf(Src("sell", "/home/u/shop/shop.c", 24), Src("front_desk", "/home/u/shop/shop.c", 41)),
			6:  StackOf(Src("count_tickets", "/home/u/shop/count.c", 9), Src("back_desk", "/home/u/shop/desk/shop.c", 57)),
			7:  {Src("jobs::Queue<int, std::allocator<int>>::push(int const&, std::function<void (int)>)", "/home/u/shop/queue.cc", 120)},
			8:  {{Module: "/opt/shop/libplugin.so", Offset: 0x12f0, Addr: 0x712f0}},
			10: {Src("main", "/home/u/shop/shop.c", 60)},
			11: {Src("main", "/home/u/shop/shop.c", 61)},
			20: {Src("order_new", "/home/u/shop/order.c", 12)},
		},
	}
}

// ShopRun returns a run of the shop.
func ShopRun() report.Run {
	return report.Run{Summary: run.Summary{Program: "/opt/shop/shop", PID: 4242, Events: 1204, Threads: 3, Duration: 812 * time.Millisecond}}
}

// Deadlock returns a predicted deadlock of the two desks at two locks, with its schedule.
func Deadlock(a, b event.ObjectID) finding.Finding {
	wait := func(seq uint64, t event.ThreadID, want, held event.ObjectID, at, heldAt event.StackID) finding.Step {
		return finding.Step{
			Seq: seq, Thread: t, Op: event.Acquire, Object: want, Stack: at,
			Held: []event.ObjectID{held}, HeldAt: []event.StackID{heldAt},
		}
	}
	f := finding.Finding{
		Kind: finding.Deadlock, Confidence: finding.Predicted, Order: finding.OrderSyncPreserving,
		Objects: []event.ObjectID{b, a}, Threads: []event.ThreadID{2, 3},
		Evidence: []finding.Step{wait(7, 2, b, a, 2, 1), wait(17, 3, a, b, 4, 3)},
		Assumes:  []string{"race-free", "guarded-data"}, Count: 1,
	}
	f.Witness = []finding.Step{
		{Seq: 1, Thread: 1, Op: event.Fork, Peer: 2, Stack: 10},
		{Seq: 2, Thread: 2, Op: event.Begin},
		{Seq: 3, Thread: 1, Op: event.Fork, Peer: 3, Stack: 11},
		{Seq: 6, Thread: 2, Op: event.Acquire, Object: a, Stack: 1},
		{Seq: 15, Thread: 3, Op: event.Begin},
		{Seq: 16, Thread: 3, Op: event.Acquire, Object: b, Stack: 3},
		{Seq: 7, Thread: 2, Op: event.Acquire, Object: b, Stack: 2, Blocked: true},
		{Seq: 17, Thread: 3, Op: event.Acquire, Object: a, Stack: 4, Blocked: true},
	}
	return f
}

// Race returns a potential race of the two desks on the tickets.
func Race() finding.Finding {
	return finding.Finding{
		Kind: finding.Race, Confidence: finding.Potential, Reason: reason.Noted("the program orders threads by atomic operations that were not watched (3 in worker.c)"),
		Objects: []event.ObjectID{Tickets}, Threads: []event.ThreadID{2, 3},
		Evidence: []finding.Step{
			{Seq: 8, Thread: 2, Op: event.Write, Object: Tickets, Stack: 5, Held: []event.ObjectID{Ledger}, HeldAt: []event.StackID{1}, Value: 41, Flags: event.HasValue},
			{Seq: 18, Thread: 3, Op: event.Read, Object: Tickets, Stack: 6},
		},
		Count: 3,
	}
}

// longNames returns a race in functions and files with long names.
func longNames() finding.Finding {
	return finding.Finding{
		Kind: finding.Race, Confidence: finding.Predicted, Objects: []event.ObjectID{Queue}, Threads: []event.ThreadID{4, 2},
		Evidence: []finding.Step{
			{Seq: 5, Thread: 4, Op: event.Update, Object: Queue, Stack: 7, Flags: event.Atomic},
			{Seq: 9, Thread: 2, Op: event.Read, Object: Queue, Stack: 8},
		},
	}
}

// All returns four different findings of the shop.
func All() []finding.Finding {
	return []finding.Finding{Race(), Deadlock(Ledger, Till), Deadlock(HeapA, HeapB), longNames()}
}

// AtLeast returns a report of four findings without those that are weaker than least: one of them is observed, two are
// predicted, and one is potential.
func AtLeast(least finding.Confidence) report.Report {
	fs := All()
	fs[3].Confidence = finding.Observed
	return report.Build(ShopRun(), fs, ShopTable()).AtLeast(least)
}

// HighWater returns the report of a property whose steps have propositions.
func HighWater() report.Report {
	truth := func(q bool) []finding.Truth { return []finding.Truth{{Name: "p", Holds: true}, {Name: "q", Holds: q}} }
	step := func(seq uint64, value uint64, q bool) finding.Step {
		return finding.Step{Seq: seq, Thread: 1, Op: event.Write, Object: 1, Stack: 1, Flags: event.HasValue, Value: value, Truth: truth(q)}
	}
	f := finding.Finding{
		Kind: finding.Property, Confidence: finding.Predicted, Order: finding.OrderSync, Property: "high_water", Message: "the valve opens too late",
		Evidence: []finding.Step{step(9, 31, true)},
		Witness:  []finding.Step{step(5, 27, false), {Seq: 6, Thread: 2, Op: event.Read, Object: 2}, step(9, 31, true)},
	}
	return report.Build(report.Run{}, []finding.Finding{f}, Table{Objects: map[event.ObjectID]run.Object{1: {Name: "water", Kind: event.KindVariable}}})
}

// AtStart returns a report of properties that the state before any event violates: one whose variables have known values,
// and one of a variable that was not recorded.
func AtStart() report.Report {
	r := ShopRun()
	r.AddProperties(&run.Properties{Complete: true, Names: []string{"stocked", "open"}, Definitions: []run.Definition{
		{Name: "stocked", Text: "always (t > 0 || x)", Where: []run.Meaning{{Name: "t", Text: "tickets"}}}, {Name: "open", Text: "always is_open"},
	}})
	return report.Build(r, []finding.Finding{
		{
			Kind: finding.Property, Confidence: finding.Observed, Property: "stocked", AtStart: true, Count: 1,
			Message: "the state before any event violates stocked: there is nothing to sell", Objects: []event.ObjectID{Tickets},
			Initial:      []finding.Initial{{Name: "t", Object: Tickets, Value: 0, Known: true}, {Name: "x", Value: 0, Known: true}},
			InitialTruth: []finding.Truth{{Name: "t > 0", Holds: false}, {Name: "x", Holds: false}},
		},
		{
			Kind: finding.Property, Confidence: finding.Likely, Property: "open", AtStart: true, Count: 1,
			Message: "the state before any event violates open", Reason: reason.Reason{What: reason.InitialMissing, Words: "is_open"},
			Initial: []finding.Initial{{Name: "is_open"}}, InitialTruth: []finding.Truth{{Name: "is_open"}},
		},
	}, ShopTable())
}

// Shop returns a report of the shop with findings.
func Shop(all ...finding.Finding) report.Report { return report.Build(ShopRun(), all, ShopTable()) }

// ForCI returns options by which the run fails by what is predicted, and the sources are those of the shop.
func ForCI() report.Options {
	return report.Options{SourceRoot: "/home/u/shop", Fails: func(f *report.Finding) bool { return f.Confidence.AtLeast(finding.Predicted) }}
}

// Written returns what a format writes of a report.
func Written(t interface{ Fatalf(string, ...any) }, write func(io.Writer, report.Report, report.Options) error, r report.Report, o report.Options) string {
	var b bytes.Buffer
	if err := write(&b, r, o); err != nil {
		t.Fatalf("%v", err)
	}
	return b.String()
}
