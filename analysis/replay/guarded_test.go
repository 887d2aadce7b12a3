package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// reportOf writes a run of a process as a trace, with what its code reads, and makes the report of
// the trace. Each event has its number as its Seq and call stack.
func reportOf(t *testing.T, events []event.Event, readings []run.Reading) report.Report {
	t.Helper()
	return reportOfRun(t, events, run.Summary{PID: 1, Threads: 3, Readings: readings})
}

// reportOfRun is reportOf with a summary of the run.
func reportOfRun(t *testing.T, events []event.Event, s run.Summary) report.Report {
	t.Helper()
	return reportWith(t, events, s, engine.Options{}, false)
}

// TestGuardedData: a deadlock whose schedule moves critical sections, or what lies between a wait for a
// semaphore and the post, is predicted only if the trace says that the code of all that was moved
// reads nothing. Where one of it does, or the trace does not say, it is potential.
func TestGuardedData(t *testing.T) {
	const (
		a event.ObjectID = iota + 1
		b
		s
	)
	of := func(t event.ThreadID, op event.Op, o event.ObjectID) event.Event {
		e := event.Event{Thread: t, Op: op, Object: o, Kind: event.KindMutex}
		if o == s && op > event.Release {
			e.Kind = event.KindSemaphore
		}
		return e
	}
	// The second thread has its section of s before the first one's, and then requests the locks in
	// the other order. begins and ends are the operations of a section of s.
	swapped := func(begins, ends event.Op) []event.Event {
		return []event.Event{
			{Thread: 1, Op: event.Init, Object: s, Kind: event.KindSemaphore, Value: 1, Flags: event.HasValue},
			{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3},
			of(2, begins, s), of(2, event.Acquire, a), of(2, event.Acquire, b), of(2, event.Release, b), of(2, event.Release, a), of(2, ends, s),
			of(3, begins, s), of(3, ends, s), of(3, event.Acquire, b), of(3, event.Acquire, a), of(3, event.Release, a), of(3, event.Release, b),
		}
	}
	semaphore, mutex := swapped(event.SemWait, event.SemPost), swapped(event.Acquire, event.Release)[1:]
	const branch = "the branch at x.c:1 depends on memory read at x.c:1"
	// read has the answers about the code that was moved, which begins with the event of that number:
	// what the first and the second thread read in their sections of s.
	read := func(begin event.StackID, first, second string) []run.Reading {
		return []run.Reading{
			{From: begin, To: begin + 1, Why: first}, {From: begin + 1, To: begin + 2, Last: true},
			{From: begin + 6, To: begin + 7, Why: second}, {From: begin + 8, To: begin + 9, Last: true},
		}
	}
	tests := []struct {
		name     string
		run      []event.Event
		readings []run.Reading
		want     finding.Confidence
	}{
		{"of a semaphore, reads nothing", semaphore, read(4, "", ""), finding.Predicted},
		{"of a semaphore, the first reads", semaphore, read(4, branch, ""), finding.Potential},
		{"of a semaphore, the second reads", semaphore, read(4, "", branch), finding.Potential},
		{"of a semaphore, not examined", semaphore, nil, finding.Potential},
		{"of a mutex, reads nothing", mutex, read(3, "", ""), finding.Predicted},
		{"of a mutex, the first reads", mutex, read(3, branch, ""), finding.Potential},
		{"of a mutex, the second reads", mutex, read(3, "", branch), finding.Potential},
		{"of a mutex, not examined", mutex, nil, finding.Potential},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rep := reportOf(t, tt.run, tt.readings)
			if len(rep.Findings) != 1 {
				t.Fatalf("%+v", rep.Findings)
			}
			f := &rep.Findings[0]
			if f.Kind != finding.Deadlock || f.Confidence != tt.want || f.Order != finding.OrderReversal {
				t.Errorf("%s %s by %s, %q", f.Confidence, f.Kind, f.Order, f.Reason)
			}
			if tt.want == finding.Potential && !strings.Contains(f.Reason, "leaves critical sections out or moves them") {
				t.Errorf("reason %q", f.Reason)
			}
		})
	}
}

// TestGuardedDataRecorded: where the code of the sections that were moved reads what decides something, the finding
// is predicted only if the trace says that all this, and all that these sections write, was recorded. Else it says
// what was not, where what threads share was watched: it is likely if only something was not that is written, and
// potential if something was not that is read, or the trace does not say.
func TestGuardedDataRecorded(t *testing.T) {
	const (
		a event.ObjectID = iota + 1
		b
		s
	)
	of := func(t event.ThreadID, op event.Op, o event.ObjectID) event.Event {
		return event.Event{Thread: t, Op: op, Object: o, Kind: event.KindMutex}
	}
	// The numbers of the events of the second thread's section of s are 3 to 8, of the third one's 9 and 10.
	events := []event.Event{
		{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3},
		of(2, event.Acquire, s), of(2, event.Acquire, a), of(2, event.Acquire, b), of(2, event.Release, b), of(2, event.Release, a), of(2, event.Release, s),
		of(3, event.Acquire, s), of(3, event.Release, s), of(3, event.Acquire, b), of(3, event.Acquire, a), of(3, event.Release, a), of(3, event.Release, b),
	}
	const branch = "the branch at x.c:1 depends on memory read at x.c:1"
	reads := []run.Reading{{From: 3, To: 4, Why: branch}, {From: 4, To: 5, Last: true}, {From: 9, To: 10}, {From: 11, To: 12, Last: true}}
	sees := func(why string) (all []run.Reading) {
		for _, r := range reads {
			r.Sees, r.Why = true, ""
			all = append(all, r)
		}
		all[0].Why = why
		return all
	}
	leaves := func(why string, but event.StackID) (all []run.Reading) {
		for _, from := range []event.StackID{3, 4, 5, 6, 7, 9, 11, 12, 13} {
			r := run.Reading{From: from, To: from + 1, Leaves: true}
			if from == but {
				r.Why = why
			}
			all = append(all, r)
		}
		return all
	}
	tests := []struct {
		name     string
		readings []run.Reading
		watched  bool
		want     finding.Confidence
		why      string // in the reason
	}{
		{"all was recorded", slices.Concat(reads, sees(""), leaves("", 0)), true, finding.Predicted, ""},
		{"all was recorded of what has a name", slices.Concat(reads, sees(""), leaves("", 0)), false, finding.Predicted, ""},
		{"a read was not", slices.Concat(reads, sees("f is called at x.c:2"), leaves("", 0)), true, finding.Potential, "T2 does in its own (f is called at x.c:2)"},
		{"a read was not, and nothing is watched", slices.Concat(reads, sees("f is called at x.c:2"), leaves("", 0)), false, finding.Potential, "T2 does in its own (" + branch + ")"},
		{"a write was not", slices.Concat(reads, sees(""), leaves("g is called at x.c:3", 9)), true, finding.Likely, "what T3 wrote in its own may decide what others do in theirs (g is called at x.c:3)"},
		{"a write behind the deadlock was not", slices.Concat(reads, sees(""), leaves("g is called at x.c:3", 6)), true, finding.Likely, "what T2 wrote in its own"},
		{"of an older trace", reads, true, finding.Potential, "the trace does not say"},
		{"of an older trace of a run that watched nothing", reads, false, finding.Potential, branch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sum := run.Summary{PID: 1, Threads: 3, Readings: tt.readings}
			if tt.watched {
				sum.Pointers = &run.Pointers{}
			}
			rep := reportOfRun(t, events, sum)
			if len(rep.Findings) != 1 {
				t.Fatalf("%+v", rep.Findings)
			}
			f := &rep.Findings[0]
			assumes := slices.Contains(f.Assumes, finding.GuardedData)
			if f.Kind != finding.Deadlock || f.Confidence != tt.want || assumes != (tt.want != finding.Predicted) || !strings.Contains(f.Reason, tt.why) || len(f.Witness) == 0 {
				t.Errorf("%s %s assumes %v: %q", f.Confidence, f.Kind, f.Assumes, f.Reason)
			}
		})
	}
}

// TestMissedSignal: a wait on a condition can miss its signal although that is sent with the mutex
// held, unless the thread looks for what the signal is about once it has the mutex. The trace says
// whether it does.
func TestMissedSignal(t *testing.T) {
	const (
		a event.ObjectID = iota + 1
		cond
	)
	of := func(t event.ThreadID, op event.Op, o event.ObjectID, f event.Flags) event.Event {
		return event.Event{Thread: t, Op: op, Object: o, Flags: f}
	}
	forks := []event.Event{{Thread: 1, Op: event.Fork, Peer: 2}}
	// missable has a wait of thread 1, which thread 2 ends by a signal, after some events. more comes
	// between the acquire of the mutex and the wait.
	missable := func(before []event.Event, more ...event.Event) []event.Event {
		return slices.Concat(before, []event.Event{of(1, event.Acquire, a, 0)}, more, []event.Event{
			of(1, event.Release, a, event.InCondWait), of(1, event.Wait, cond, 0),
			of(2, event.Acquire, a, 0), of(2, event.Signal, cond, 0), of(2, event.Release, a, 0),
			of(1, event.Wake, cond, 0), of(1, event.Acquire, a, event.InCondWait), of(1, event.Release, a, 0),
		})
	}
	decides := func(from, to event.StackID, why string) run.Reading {
		return run.Reading{From: from, To: to, Decides: true, Why: why}
	}
	const branch = "the branch at x.c:1 depends on memory read at x.c:1"
	tests := []struct {
		name     string
		run      []event.Event
		readings []run.Reading
		want     []string
	}{
		{"without a look", missable(forks), []run.Reading{decides(2, 4, ""), {From: 2, To: 3}, {From: 5, To: 6}, {From: 6, To: 7}}, []string{"likely deadlock"}},
		{"without a look, and it is not known what the sections read", missable(forks), []run.Reading{decides(2, 4, "")}, []string{"potential deadlock"}},
		{"with a look", missable(forks), []run.Reading{decides(2, 4, branch)}, nil},
		{"not known", missable(forks), nil, nil},
		{"the code reads nothing that is kept", missable(forks), []run.Reading{{From: 2, To: 4}}, nil},
		{"the thread that signals is created with the mutex held", missable(nil, forks...), []run.Reading{decides(1, 2, ""), decides(2, 4, "")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rep := reportOf(t, tt.run, tt.readings)
			var got []string
			for _, f := range rep.Findings {
				got = append(got, fmt.Sprintf("%s %s", f.Confidence, f.Kind))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAddressFromSection: a race whose schedule leaves out a section that decides nothing is potential all the same if
// the other thread stores what it reads in its own, and that was not recorded: the address that it accesses later may
// have come from there.
func TestAddressFromSection(t *testing.T) {
	const (
		a event.ObjectID = iota + 1
		x
	)
	of := func(t event.ThreadID, op event.Op, o event.ObjectID) event.Event {
		e := event.Event{Thread: t, Op: op, Object: o, Kind: event.KindMutex}
		if o == x {
			e.Kind = event.KindVariable
		}
		return e
	}
	events := []event.Event{
		{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3},
		of(2, event.Write, x), of(2, event.Acquire, a), of(2, event.Release, a),
		of(3, event.Acquire, a), of(3, event.Release, a), of(3, event.Write, x),
	}
	const stored = "what is written at x.c:2 depends on memory read at x.c:1"
	for _, c := range []struct {
		name string
		why  string // why not all was recorded
		want finding.Confidence
	}{
		{"it was recorded", "", finding.Predicted},
		{"it was not", stored, finding.Potential},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep := reportOf(t, events, []run.Reading{{From: 6, To: 7}, {From: 6, To: 7, Sees: true, Why: c.why}})
			if len(rep.Findings) != 1 {
				t.Fatalf("%+v", rep.Findings)
			}
			if f := &rep.Findings[0]; f.Kind != finding.Race || f.Confidence != c.want || f.Confidence == finding.Potential && !strings.Contains(f.Reason, c.why) {
				t.Errorf("%s %s: %q", f.Confidence, f.Kind, f.Reason)
			}
		})
	}
}
