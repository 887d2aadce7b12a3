package replay_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/replay"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// refutedRun is a run with opposite lock orders that a semaphore, used as a lock, keeps apart.
func refutedRun(first, before2, before3 []event.Event) []event.Event {
	within := func(thread event.ThreadID, all []event.Event) []event.Event {
		return slices.Concat([]event.Event{on(thread, event.SemWait, semaphore)}, all, []event.Event{on(thread, event.SemPost, semaphore)})
	}
	begin := []event.Event{with(on(1, event.Init, semaphore), 1), peer(1, event.Fork, 2), peer(1, event.Fork, 3)}
	return slices.Concat(begin, first, before2, within(2, nested(2, lockA, lockB)), before3, within(3, nested(3, lockB, lockA)))
}

// TestRefutedOnlyIfWhole checks, from the trace to the report, that a deadlock is said to have no
// schedule only if the record is whole and all schedules were tried.
func TestRefutedOnlyIfWhole(t *testing.T) {
	type events = []event.Event
	const says = "no schedule leads there in which each thread reads what it read"
	lost := event.Event{Thread: 3, Op: event.Hole, Value: 1}
	var many events
	for range 1<<18 + 1<<10 {
		many = append(many, on(1, event.Write, variable))
	}
	unexplained := on(3, event.Read, variable)
	unexplained.Flags |= event.NoSource
	tests := []struct {
		name   string
		events []event.Event
		sum    run.Summary
		opts   engine.Options
		cut    bool
		said   bool
	}{
		{name: "whole", events: refutedRun(nil, nil, nil), said: true},
		{name: "not all schedules are tried", events: refutedRun(nil, nil, nil), opts: engine.Options{Reversals: 1}},
		{name: "none is tried", events: refutedRun(nil, nil, nil), opts: engine.Options{Reversals: -1}},
		{name: "the beginning is evicted", events: refutedRun(many, nil, nil)},
		{name: "events of a side are lost", events: refutedRun(nil, nil, events{lost})},
		{name: "events are lost", events: refutedRun(nil, nil, nil), sum: run.Summary{Doubt: "events were lost"}},
		{name: "the trace is cut", events: refutedRun(nil, nil, nil), cut: true},
		{name: "attached late", events: refutedRun(nil, nil, nil), sum: run.Summary{UncertainHolders: []run.UncertainHolder{{Thread: 3, Until: 100}}}},
		{name: "attached before it mattered", events: refutedRun(nil, nil, nil), sum: run.Summary{UncertainHolders: []run.UncertainHolder{{Thread: 3, Until: 1}}}, said: true},
		{name: "calls are not known", events: refutedRun(nil, nil, nil), sum: run.Summary{Doubts: []run.Doubt{{Reason: "calls of x were not recorded"}}}},
		{name: "a value that nobody wrote", events: refutedRun(nil, events{on(2, event.Write, variable)}, events{unexplained})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Explain = true
			rep := reportWith(t, tt.events, tt.sum, tt.opts, tt.cut)
			i := slices.IndexFunc(rep.Findings, func(f report.Finding) bool { return f.Kind == finding.Deadlock })
			if i < 0 {
				t.Fatalf("found %v, notes %q", rep.Findings, rep.Run.Notes)
			}
			f := &rep.Findings[i]
			if f.Confidence == finding.Predicted || f.Reason == "" || strings.Contains(f.Reason, says) != tt.said {
				t.Errorf("%s, %q", f.Confidence, f.Reason)
			}
			t.Log(f.Confidence, f.Reason)
		})
	}
}

// reportWith writes a run as a trace, cut before its end if cut, and makes the report of the trace.
func reportWith(t *testing.T, all []event.Event, s run.Summary, o engine.Options, cut bool) report.Report {
	t.Helper()
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.WriterOptions{Names: unnamed{}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		e := all[i]
		e.Seq, e.Stack = uint64(i+1), event.StackID(i+1)
		w.Event(&e)
	}
	s.Events, s.Threads = uint64(len(all)), 3
	if err := w.Close(s); err != nil {
		t.Fatal(err)
	}
	if cut {
		file.Truncate(file.Len() - 40)
	}
	r, err := trace.NewReader(&file, "refuted")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := replay.Report(r, replay.Options{Engine: o})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}
