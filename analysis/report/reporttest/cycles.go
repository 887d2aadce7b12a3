package reporttest

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Nested returns the deadlocks of two threads that nest n locks in opposite orders, one for each two neighbours.
func Nested(n int) []finding.Finding {
	var all []finding.Finding
	for i := range n - 1 {
		side := func(thread event.ThreadID, first, step, holds int) finding.Step {
			s := finding.Step{Seq: uint64(100*int(thread) + holds), Thread: thread, Op: event.Acquire}
			for j := range holds {
				id := first + j*step
				s.Held, s.HeldAt = append(s.Held, event.ObjectID(id)), append(s.HeldAt, event.StackID(id))
			}
			id := first + holds*step
			s.Object, s.Stack, s.Blocked = event.ObjectID(id), event.StackID(id), true
			return s
		}
		up, down := side(1, 1, 1, i+1), side(2, n, -1, n-1-i)
		all = append(all, finding.Finding{
			Kind: finding.Deadlock, Confidence: finding.Predicted, Evidence: []finding.Step{up, down}, Witness: []finding.Step{up, down},
			Objects: []event.ObjectID{up.Object, down.Object}, Threads: []event.ThreadID{1, 2},
		})
	}
	return all
}

// PhilosopherTable returns the names of n philosophers' findings. At stack 1 a philosopher
// acquires the fork on the left, at stack 2 the one on the right. Forks are objects from 1,
// philosophers are threads from 2.
func PhilosopherTable(n int) Table {
	t := Table{Objects: map[event.ObjectID]run.Object{}, Threads: map[event.ThreadID]run.Thread{}, Stacks: map[event.StackID][]event.Frame{
		1: StackOf(within("dine", 24, 21)), 2: StackOf(within("dine", 25, 21)), 3: StackOf(within("lay", 33, 31)),
		4: StackOf(within("dine_late", 44, 41)), 5: StackOf(within("dine_late", 45, 41)),
	}}
	for i := range n {
		t.Objects[event.ObjectID(i+1)] = run.Object{Addr: uint64(0x1000 + 64*i), Kind: event.KindMutex, Init: 3}
		t.Threads[event.ThreadID(i+2)] = run.Thread{Start: "dine"}
	}
	return t
}

// within returns a frame of the philosophers with the first line of its function.
func within(function string, line, start int) event.Frame {
	f := Src(function, "/home/u/philosophers.c", line)
	f.Start = start
	return f
}

// Philosophers returns the cycle of n philosophers; those in late acquire their forks at other
// source locations.
func Philosophers(n int, late ...int) finding.Finding {
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Predicted, Count: 1}
	for i := range n {
		left, right := event.ObjectID(i+1), event.ObjectID((i+1)%n+1)
		at := event.StackID(1)
		if slices.Contains(late, i) {
			at = 4
		}
		f.Objects, f.Threads = append(f.Objects, left), append(f.Threads, event.ThreadID(i+2))
		f.Evidence = append(f.Evidence, finding.Step{Seq: uint64(10 * (i + 1)), Thread: event.ThreadID(i + 2), Op: event.Acquire,
			Object: right, Stack: at + 1, Held: []event.ObjectID{left}, HeldAt: []event.StackID{at}})
	}
	return f
}

// PairsOfPhilosophers returns the report of findings about many locks, which are initialised at one source location and
// acquired at the same two, also with other callers.
func PairsOfPhilosophers() report.Report {
	tab := PhilosopherTable(40)
	tab.Stacks[6] = append([]event.Frame{within("dine", 24, 21)}, StackOf(within("feast", 90, 80))...)
	var all []finding.Finding
	for i := range 20 {
		f := Philosophers(2)
		for k := range f.Evidence {
			s := &f.Evidence[k]
			s.Object += event.ObjectID(2 * i)
			s.Held[0] += event.ObjectID(2 * i)
			s.Seq += uint64(100 * i)
			s.Thread += event.ThreadID(i % 3)
			if i%2 == 0 {
				s.HeldAt[0] = 6
			}
			f.Objects[k] += event.ObjectID(2 * i)
		}
		all = append(all, f)
	}
	return report.Build(report.Run{}, all, tab)
}
