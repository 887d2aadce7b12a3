package replay_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// The objects of the runs of TestContradictions.
const (
	lockA event.ObjectID = iota + 1
	lockB
	lockC
	variable
	semaphore
	condition
	barrier
	channel
)

var kindOf = map[event.ObjectID]event.Kind{
	lockA: event.KindMutex, lockB: event.KindMutex, lockC: event.KindMutex, variable: event.KindVariable, semaphore: event.KindSemaphore,
	condition: event.KindCond, barrier: event.KindBarrier, channel: event.KindChannel,
}

func on(thread event.ThreadID, op event.Op, object event.ObjectID) event.Event {
	return event.Event{Thread: thread, Op: op, Object: object, Kind: kindOf[object]}
}

func with(e event.Event, value uint64) event.Event {
	e.Flags |= event.HasValue
	e.Value = value
	return e
}

func peer(thread event.ThreadID, op event.Op, of event.ThreadID) event.Event {
	return event.Event{Thread: thread, Op: op, Peer: of}
}

// nested is a section of outer with a section of inner in it.
func nested(thread event.ThreadID, outer, inner event.ObjectID) []event.Event {
	return []event.Event{
		on(thread, event.Acquire, outer), on(thread, event.Acquire, inner), on(thread, event.Release, inner), on(thread, event.Release, outer),
	}
}

// opposite is a run in which two threads nest two locks in opposite orders, each after events of its
// own.
func opposite(first, before2, before3, last []event.Event) []event.Event {
	begin := []event.Event{peer(1, event.Fork, 2), peer(1, event.Fork, 3)}
	return slices.Concat(first, begin, before2, nested(2, lockA, lockB), before3, nested(3, lockB, lockA), last)
}

// importedReport writes a run without a process, and so with all accesses, as a trace, and makes the
// report of the trace.
func importedReport(t *testing.T, all []event.Event) report.Report {
	t.Helper()
	return reportOfRun(t, all, run.Summary{Threads: 3})
}

// TestContradictions checks, from the trace to the report, that a deadlock is likely if it rests on what
// the record contradicts, with a sentence that says what was not seen, and predicted if the record agrees.
func TestContradictions(t *testing.T) {
	type events = []event.Event
	begin := func(object event.ObjectID, value uint64) event.Event { return with(on(1, event.Init, object), value) }
	write := func(thread event.ThreadID, value uint64) event.Event {
		return with(on(thread, event.Write, variable), value)
	}
	read := func(thread event.ThreadID, value uint64) event.Event {
		return with(on(thread, event.Read, variable), value)
	}
	waits := func(thread event.ThreadID, value uint64) event.Event {
		e := read(thread, value)
		e.Flags |= event.Polled
		return e
	}
	joins := events{peer(1, event.Join, 2), peer(1, event.Join, 3)}
	under := func(thread event.ThreadID, all ...event.Event) events {
		return slices.Concat(events{on(thread, event.Acquire, lockC)}, all, events{on(thread, event.Release, lockC)})
	}
	sleep := slices.Concat(events{on(2, event.Wait, condition), on(2, event.Wake, condition)}, under(2))
	timedOut := slices.Clone(sleep)
	timedOut[1].Flags |= event.TimedOut
	held := under(2)
	held[1].Flags |= event.Inferred
	tests := []struct {
		name   string
		events []event.Event
		want   string // of the sentence; "": predicted
	}{
		{"values agree", opposite(events{write(1, 1)}, events{read(2, 1)}, nil, append(joins, read(1, 1))), ""},
		{"a value that nobody wrote", opposite(events{write(1, 1)}, events{read(2, 7)}, nil, nil), "T2 read a value of a variable that no recorded write left"},
		{"a value that nobody wrote, after a read that agrees", opposite(events{write(1, 1)}, events{read(2, 1)}, nil, append(joins, read(1, 7))), "T1 read a value of a variable that no recorded write left"},
		{"values differ and nobody wrote", opposite(nil, events{read(2, 1), read(2, 7)}, nil, nil), "T2 read a value of a variable that no recorded write left"},
		{"a value that another write covered", opposite(events{write(1, 7), write(1, 1)}, events{read(2, 1)}, nil, append(joins, read(1, 7))), "T1 read a value of a variable that no recorded write left"},
		{"a lock orders the accesses", opposite(events{write(1, 1)}, under(2, read(2, 1)), nil, under(1, read(1, 7))), "T1 read a value of a variable that no recorded write left"},
		{"the schedule reads nothing of it", opposite(events{write(1, 1)}, nil, nil, append(joins, read(1, 7))), ""},
		{"a write at the same time may have left it", opposite(events{write(1, 1)}, events{read(2, 1)}, nil, events{read(1, 7), write(2, 7)}), ""},
		{"two reads, and a write at the same time", opposite(nil, nil, events{read(3, 0), read(3, 1)}, events{write(1, 1)}), ""},
		{"a loop that waits for a write recorded after it", opposite(nil, nil, events{waits(3, 0), waits(3, 1)}, events{write(1, 1)}), "T3 read a value of a variable that no recorded write left"},
		{"a semaphore with a value", opposite(events{begin(semaphore, 1)}, events{on(2, event.SemWait, semaphore)}, nil, nil), ""},
		{"a semaphore whose value is not known", opposite(nil, events{on(2, event.SemWait, semaphore)}, nil, nil), ""},
		{"a semaphore at 0", opposite(events{begin(semaphore, 0)}, events{on(2, event.SemWait, semaphore)}, nil, nil), "T2 got past its wait for a semaphore although no recorded post was left"},
		{"a semaphore at 0 that may order the threads", opposite(events{begin(semaphore, 0)}, nil, events{on(3, event.SemWait, semaphore)}, nil), "T3 got past its wait for a semaphore"},
		{"a semaphore is at 0 for another thread", opposite(events{begin(semaphore, 1)}, events{on(2, event.SemWait, semaphore)}, nil, events{on(1, event.SemWait, semaphore)}), "T1 got past its wait for a semaphore"},
		{"the schedule does not wait for the semaphore", opposite(events{begin(semaphore, 0)}, events{on(2, event.SemPost, semaphore)}, nil, events{on(1, event.SemWait, semaphore), on(1, event.SemWait, semaphore)}), ""},
		{"a wake that timed out", opposite(nil, timedOut, nil, nil), ""},
		{"a wake with a signal", opposite(nil, slices.Concat(sleep[:1], events{on(1, event.Signal, condition)}, sleep[1:]), nil, nil), ""},
		{"a wake with an earlier broadcast", opposite(events{on(1, event.Broadcast, condition)}, sleep, nil, nil), ""},
		{"a wake without a notification", opposite(nil, sleep, nil, nil), "T2 woke from its wait on a condition although no recorded notification was left"},
		{"a barrier of one", opposite(events{begin(barrier, 1)}, events{on(2, event.BarrierArrive, barrier), on(2, event.BarrierDepart, barrier)}, nil, nil), ""},
		{"a barrier left early", opposite(events{begin(barrier, 2)}, events{on(2, event.BarrierArrive, barrier), on(2, event.BarrierDepart, barrier)}, nil, nil), "T2 left a barrier although fewer threads than it waits for were seen to arrive"},
		{"joined once", opposite(nil, nil, nil, joins), ""},
		{"joined twice", opposite(nil, nil, nil, append(joins, peer(1, event.Join, 2))), "T2 was joined twice"},
		{"went on after its join", opposite(nil, nil, slices.Concat(events{peer(1, event.Join, 2)}, under(2)), nil), "T2 went on after it had been joined"},
		{"a message that others may have sent", opposite(nil, events{on(2, event.Receive, channel)}, nil, nil), ""},
		{"a message that was sent", opposite(events{with(on(1, event.Send, channel), 0)}, events{with(on(2, event.Receive, channel), 5)}, nil, nil), ""},
		{"a message that nobody sent", opposite(nil, events{with(on(2, event.Receive, channel), 5)}, nil, nil), ""},
		{"a lock acquired while held", opposite(nil, slices.Concat(held, under(3)), nil, nil), "T3 acquired one of its locks while T2 held it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rep := importedReport(t, tt.events)
			i := slices.IndexFunc(rep.Findings, func(f report.Finding) bool { return f.Kind == finding.Deadlock })
			if i < 0 {
				t.Fatalf("found %v, notes %q", rep.Findings, rep.Run.Notes)
			}
			want := finding.Predicted
			if tt.want != "" {
				want = finding.Likely
			}
			if f := &rep.Findings[i]; f.Confidence != want || !strings.Contains(f.Reason, tt.want) {
				t.Errorf("%s %s by %s, %q", f.Confidence, f.Kind, f.Order, f.Reason)
			}
		})
	}
}
