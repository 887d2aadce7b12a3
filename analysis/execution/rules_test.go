package execution_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

const (
	lock event.ObjectID = iota + 1
	other
	variable
	semaphore
	barrier
	condition
	channel
	flag
	once
)

// of returns an event of a thread.
func of(thread event.ThreadID, op event.Op, o event.ObjectID) event.Event {
	return event.Event{Thread: thread, Op: op, Object: o}
}

func valued(thread event.ThreadID, op event.Op, o event.ObjectID, kind event.Kind, v uint64) event.Event {
	return event.Event{Thread: thread, Op: op, Object: o, Kind: kind, Value: v, Flags: event.HasValue}
}

func peer(thread event.ThreadID, op event.Op, p event.ThreadID) event.Event {
	return event.Event{Thread: thread, Op: op, Peer: p}
}

func flagged(e event.Event, f event.Flags) event.Event {
	e.Flags |= f
	return e
}

// accepted stands for no refusal.
const accepted = execution.Rule(255)

// TestRules checks, for each rule, executions that break it and some that keep it: at which step,
// counted from 1, and which rule. An order lists the indices of the events in the run, from 1.
func TestRules(t *testing.T) {
	a, r := event.Acquire, event.Release
	tests := []struct {
		name  string
		run   []event.Event
		order []int
		rule  execution.Rule
		step  int
	}{
		{"the run itself", []event.Event{of(1, a, lock), of(1, r, lock), of(2, a, lock)}, []int{1, 2, 3}, accepted, 0},
		{"a step left out", []event.Event{of(1, a, lock), of(1, event.Write, variable), of(1, r, lock)}, []int{1, 3}, execution.ProgramOrder, 2},
		{"a step twice", []event.Event{of(1, a, lock), of(1, r, lock)}, []int{1, 1}, execution.ProgramOrder, 2},
		{"beyond the end", []event.Event{of(1, a, lock)}, []int{1, 1}, execution.ProgramOrder, 2},
		{"a thread that is not created", []event.Event{peer(1, event.Fork, 2), of(2, a, lock)}, []int{2}, execution.Creation, 1},
		{"a join too soon", []event.Event{peer(1, event.Fork, 2), of(2, a, lock), of(2, r, lock), peer(1, event.Join, 2)}, []int{1, 2, 4}, execution.Ending, 3},
		{"a lock that is held", []event.Event{of(1, a, lock), of(1, r, lock), of(2, a, lock)}, []int{1, 3}, execution.Exclusion, 2},
		{"a release too soon", []event.Event{of(1, a, lock), of(2, r, lock)}, []int{2}, execution.Exclusion, 1},
		{"a lock held before the recording", []event.Event{of(1, r, lock), of(2, a, lock)}, []int{2}, execution.Exclusion, 1},
		{"readers", []event.Event{of(1, event.AcquireRead, lock), of(1, r, lock), of(2, event.AcquireRead, lock)}, []int{1, 3, 2}, accepted, 0},
		{"a writer among readers", []event.Event{of(1, event.AcquireRead, lock), of(1, r, lock), of(2, a, lock)}, []int{1, 3}, execution.Exclusion, 2},
		{"a reader beside a writer", []event.Event{of(1, a, lock), of(1, r, lock), of(2, event.AcquireRead, lock)}, []int{1, 3}, execution.Exclusion, 2},
		{"an attempt at a free lock", []event.Event{of(1, a, lock), of(2, event.AcquireFailed, lock), of(1, r, lock)}, []int{2}, execution.Attempt, 1},
		{"an attempt at another's section", []event.Event{of(1, a, lock), of(2, event.AcquireFailed, lock), of(1, r, lock), of(3, a, lock), of(3, r, lock)}, []int{4, 2}, execution.Attempt, 2},
		{"another writer", []event.Event{of(1, event.Write, variable), of(2, event.Write, variable), of(3, event.Read, variable)}, []int{2, 1, 3}, execution.Writer, 3},
		{"no writer", []event.Event{of(1, event.Write, variable), of(2, event.Update, variable)}, []int{2}, execution.Writer, 1},
		{"a write between an exchange and its source", []event.Event{of(1, event.Write, flag), of(2, event.Update, flag), of(3, event.Write, flag)}, []int{1, 3, 2}, execution.Writer, 3},
		{"a counter after another write", []event.Event{of(1, event.Write, flag), flagged(of(2, event.Update, flag), event.ResultUnused)}, []int{2}, accepted, 0},
		{"a read of a counter", []event.Event{of(1, event.Write, flag), flagged(of(2, event.Update, flag), event.ResultUnused), of(3, event.Read, flag)}, []int{1, 2, 3}, accepted, 0},
		{"a read of a counter that had another value", []event.Event{of(1, event.Write, flag), flagged(of(2, event.Update, flag), event.ResultUnused), of(3, event.Read, flag)}, []int{2, 3}, execution.Writer, 2},
		{"a read of a later count", []event.Event{of(1, event.Write, flag), flagged(of(2, event.Update, flag), event.ResultUnused), flagged(of(3, event.Update, flag), event.ResultUnused), of(4, event.Read, flag)}, []int{2, 3, 4}, execution.Writer, 3},
		{"a write after a changed count", []event.Event{flagged(of(2, event.Update, flag), event.ResultUnused), of(1, event.Write, flag), of(3, event.Read, flag)}, []int{2, 3}, accepted, 0},
		{"a read that came late", []event.Event{of(1, event.Write, flag), of(2, event.Write, flag), flagged(of(3, event.Read, flag), event.Late)}, []int{2, 1, 3}, accepted, 0},
		{"a wait for a post", []event.Event{valued(1, event.Init, semaphore, event.KindSemaphore, 0), of(1, event.SemPost, semaphore), of(2, event.SemWait, semaphore)}, []int{1, 3}, execution.Count, 2},
		{"a wait for another post", []event.Event{valued(1, event.Init, semaphore, event.KindSemaphore, 0), of(1, event.SemPost, semaphore), of(2, event.SemWait, semaphore), of(1, event.SemPost, semaphore), of(3, event.SemWait, semaphore)}, []int{1, 2, 5}, execution.Count, 3},
		{"below what explains the run", []event.Event{of(2, event.SemWait, semaphore), of(1, event.SemPost, semaphore), of(3, event.SemWait, semaphore)}, []int{1, 3}, execution.Count, 2},
		{"a failure at a semaphore that is not 0", []event.Event{valued(1, event.Init, semaphore, event.KindSemaphore, 1), of(2, event.SemWait, semaphore), of(3, event.SemFailed, semaphore)}, []int{1, 3}, execution.Attempt, 2},
		{"a wake without its signal", []event.Event{of(1, event.Wait, condition), of(2, event.Signal, condition), of(1, event.Wake, condition)}, []int{1, 3}, execution.Waking, 2},
		{"a signal before the wait", []event.Event{of(1, event.Wait, condition), of(2, event.Signal, condition), of(1, event.Wake, condition)}, []int{2, 1, 3}, execution.Waking, 3},
		{"a signal that another had", []event.Event{of(1, event.Wait, condition), of(2, event.Wait, condition), of(3, event.Signal, condition), of(3, event.Signal, condition), of(1, event.Wake, condition), of(2, event.Wake, condition)}, []int{1, 2, 3, 6}, execution.Waking, 4},
		{"a wake by broadcast", []event.Event{of(1, event.Wait, condition), of(2, event.Wait, condition), of(3, event.Broadcast, condition), of(1, event.Wake, condition), of(2, event.Wake, condition)}, []int{2, 1, 3, 5, 4}, accepted, 0},
		{"a wake by time", []event.Event{of(1, event.Wait, condition), of(2, event.Signal, condition), flagged(of(1, event.Wake, condition), event.TimedOut)}, []int{1, 3}, accepted, 0},
		{"a barrier left with one missing", []event.Event{of(1, event.BarrierArrive, barrier), of(2, event.BarrierArrive, barrier), of(1, event.BarrierDepart, barrier)}, []int{1, 3}, execution.Generations, 2},
		{"the next round before this one", []event.Event{valued(1, event.Init, barrier, event.KindBarrier, 2), of(1, event.BarrierArrive, barrier), of(2, event.BarrierArrive, barrier), of(3, event.BarrierArrive, barrier)}, []int{1, 4}, execution.Generations, 2},
		{"done by nobody", []event.Event{of(1, event.OnceDone, flag), of(2, event.OnceLeave, flag)}, []int{2}, execution.Once, 1},
		{"use before the making", []event.Event{of(1, event.Init, lock), of(2, a, lock)}, []int{2}, execution.Lifetime, 1},
		{"destruction before a use", []event.Event{of(2, a, lock), of(2, r, lock), of(1, event.Destroy, lock)}, []int{3}, execution.Lifetime, 1},
		{"an inferred end", []event.Event{of(2, a, lock), of(2, r, lock), flagged(of(1, event.Destroy, lock), event.Inferred)}, []int{3, 1, 2}, accepted, 0},
		{"received before it was sent", []event.Event{valued(1, event.Send, channel, event.KindChannel, 0), valued(2, event.Receive, channel, event.KindChannel, 1)}, []int{2}, execution.Messages, 1},
		{"received from another", []event.Event{valued(1, event.Send, channel, event.KindChannel, 0), valued(3, event.Send, channel, event.KindChannel, 1), valued(2, event.Receive, channel, event.KindChannel, 1)}, []int{2, 1, 3}, execution.Messages, 3},
		{"sent before the attempt that found nothing", []event.Event{of(2, event.ReceiveFailed, channel), valued(1, event.Send, channel, event.KindChannel, 0)}, []int{2}, execution.Messages, 1},
		{"through before there was room", []event.Event{valued(1, event.Send, channel, event.KindChannel, 0), valued(2, event.Receive, channel, event.KindChannel, 1), of(1, event.Sent, channel)}, []int{1, 3}, execution.Messages, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.run {
				tt.run[i].Seq = uint64(i + 1)
			}
			if err := execution.Observe(tt.run).Check(steps(tt.run, first(len(tt.run))), finding.Property); err != nil {
				t.Errorf("the run itself is refused: %v", err)
			}
			var order []int
			for _, number := range tt.order {
				order = append(order, number-1)
			}
			err := execution.Observe(tt.run).Check(steps(tt.run, order), finding.Property)
			var refusal *execution.Refusal
			switch {
			case tt.rule == accepted && err != nil:
				t.Error(err)
			case tt.rule != accepted && (!errors.As(err, &refusal) || refusal.Rule != tt.rule || refusal.Step != tt.step || refusal.Unseen):
				t.Errorf("%v, want step %d to break the rule of %s", err, tt.step, tt.rule)
			}
		})
	}
}

// TestUnseen checks that a refusal is marked Unseen at an event at which the run itself breaks a
// rule, and only there.
func TestUnseen(t *testing.T) {
	run := []event.Event{
		flagged(valued(1, event.Write, variable, event.KindVariable, 1), 0),
		valued(2, event.Read, variable, event.KindVariable, 2),
		of(3, event.AcquireFailed, lock),
		of(4, event.Write, flag), of(5, event.Read, flag),
		of(6, event.Destroy, other), of(7, event.Acquire, other),
	}
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	for _, tt := range []struct {
		order  []int
		unseen bool
	}{{[]int{0}, false}, {[]int{1}, true}, {[]int{2}, true}, {[]int{3}, false}, {[]int{4}, false}, {[]int{6}, false}, {[]int{5, 6}, true}} {
		err := execution.Observe(run).Check(steps(run, tt.order), finding.Property)
		if execution.Unseen(err) != tt.unseen {
			t.Errorf("%v: %v, want something unseen: %v", tt.order, err, tt.unseen)
		}
	}
}

// TestEnds checks the conditions on the last steps.
func TestEnds(t *testing.T) {
	run := []event.Event{
		of(1, event.Acquire, lock), of(1, event.Acquire, other), of(1, event.Release, other), of(1, event.Release, lock),
		of(2, event.Acquire, other), of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.Release, other),
		of(3, event.Write, variable), of(4, event.Read, variable), of(5, event.Read, variable),
		flagged(of(6, event.Write, flag), event.Atomic), flagged(of(7, event.Write, flag), event.Atomic),
		flagged(of(8, event.Acquire, lock), event.Try),
	}
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	waits := func(numbers ...int) []finding.Step {
		out := steps(run, []int{0, 4})
		for _, p := range numbers {
			s := step(&run[p-1])
			s.Seq, s.Blocked = 0, true
			out = append(out, s)
		}
		return out
	}
	tests := []struct {
		name  string
		kind  finding.Kind
		steps []finding.Step
		ok    bool
	}{
		{"a cycle", finding.Deadlock, waits(2, 6), true},
		{"a cycle the other way round", finding.Deadlock, waits(6, 2), true},
		{"one thread", finding.Deadlock, waits(2), false},
		{"a thread twice", finding.Deadlock, waits(2, 2), false},
		{"nobody holds it", finding.Deadlock, waits(2, 6)[1:], false},
		{"a try does not wait", finding.Deadlock, waits(2, 14), false},
		{"another acquire than the next", finding.Deadlock, waits(1, 6), false},
		{"two accesses", finding.Race, steps(run, []int{8, 9}), true},
		{"one access", finding.Race, steps(run, []int{8}), false},
		{"two reads", finding.Race, steps(run, []int{9, 10}), false},
		{"both atomic", finding.Race, steps(run, []int{11, 12}), false},
		{"two variables", finding.Race, steps(run, []int{8, 11}), false},
		{"one thread, twice", finding.Race, steps(run, []int{8, 8}), false},
		{"no accesses", finding.Race, steps(run, []int{0, 4}), false},
		{"nothing is known of it", finding.Misuse, steps(run, []int{0}), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := execution.Observe(run).Check(tt.steps, tt.kind)
			var refusal *execution.Refusal
			if (err == nil) != tt.ok || err != nil && (!errors.As(err, &refusal) || refusal.Step != len(tt.steps)) {
				t.Error(err)
			}
		})
	}
}

// TestStepsAreTheEvents checks that a step that differs from its event is refused.
func TestStepsAreTheEvents(t *testing.T) {
	run := []event.Event{peer(1, event.Fork, 2), of(1, event.Acquire, lock)}
	run[0].Seq, run[1].Seq = 1, 2
	for _, change := range []func(*finding.Step){
		func(s *finding.Step) { s.Seq = 7 }, func(s *finding.Step) { s.Op = event.Release }, func(s *finding.Step) { s.Object = other },
		func(s *finding.Step) { s.Thread = 9 }, func(s *finding.Step) { s.Peer = 3 },
	} {
		for at := range run {
			known := slices.Clone(steps(run, []int{0, 1}))
			change(&known[at])
			var refusal *execution.Refusal
			if err := execution.Observe(run).Check(known, finding.Property); !errors.As(err, &refusal) || refusal.Rule != execution.ProgramOrder || refusal.Step != at+1 {
				t.Errorf("step %d as %+v: %v", at+1, known[at], err)
			}
		}
	}
}

// BenchmarkCheck checks a witness of 100,000 steps; Observe is not measured.
func BenchmarkCheck(b *testing.B) {
	var run []event.Event
	for i := range 25_000 {
		t, l := event.ThreadID(1+i%32), event.ObjectID(1+i%1000)
		run = append(run, of(t, event.Acquire, l), of(t, event.Write, 2000+l), of(t, event.Read, 2000+l), of(t, event.Release, l))
	}
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	judge, witness := execution.Observe(run), steps(run, first(len(run)))
	b.ReportAllocs()
	for b.Loop() {
		if err := judge.Check(witness, finding.Property); err != nil {
			b.Fatal(err)
		}
	}
}
