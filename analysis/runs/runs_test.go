package runs

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// requests returns a lock order of a run: a thread requests a lock while it holds others.
func requests(thread event.ThreadID, start, wants string, holds ...string) report.Finding {
	object := func(name string) *report.Object {
		return &report.Object{Object: run.Object{Name: name, Kind: event.KindMutex}}
	}
	var f report.Finding
	f.Kind, f.Confidence = finding.Deadlock, finding.Potential
	step := report.Step{Step: finding.Step{Thread: thread, Op: event.Acquire}, Object: object(wants)}
	step.Frames = []event.Frame{{Function: start, File: "shop.c", Line: 10 + len(holds), Start: 3}}
	for _, h := range holds {
		step.Held = append(step.Held, report.Held{Object: object(h), Stack: step.Stack})
	}
	f.Evidence = []report.Step{step}
	f.Mentioned = []report.Thread{{ID: thread, Thread: run.Thread{Start: start}}}
	return f
}

func of(orders ...report.Finding) Run { return Run{Orders: orders} }

// TestAcrossRuns: a cycle of lock orders of different runs is a potential deadlock, unless one run has all of them, one
// thread alone has them, or a lock that all hold keeps them apart.
func TestAcrossRuns(t *testing.T) {
	ab, ba := requests(2, "front", "b", "a"), requests(3, "back", "a", "b")
	for name, c := range map[string]struct {
		runs []Run
		want string
	}{
		"two runs":          {[]Run{of(ab), of(ba)}, "T2 T3"},
		"one run":           {[]Run{of(ab, ba), of(ba)}, ""},
		"one thread":        {[]Run{of(ab), of(requests(2, "front", "a", "b"))}, ""},
		"same number":       {[]Run{of(ab), of(requests(2, "back", "a", "b"))}, "T2 T3"},
		"a gate":            {[]Run{of(requests(2, "front", "b", "gate", "a")), of(requests(3, "back", "a", "gate", "b"))}, ""},
		"no cycle":          {[]Run{of(ab), of(ab)}, ""},
		"three runs":        {[]Run{of(ab), of(requests(3, "back", "c", "b")), of(requests(4, "cellar", "a", "c"))}, "T2 T3 T4"},
		"seen by another":   {[]Run{of(ab, requests(4, "cellar", "a", "b")), of(ba)}, ""},
		"a lock only":       {[]Run{of(ab), of(requests(3, "back", "a"))}, ""},
		"nothing":           {[]Run{of(), of()}, ""},
		"what is no order":  {[]Run{of(report.Finding{}), of(ba)}, ""},
		"failed in between": {[]Run{of(ab), {Failed: "it was ended"}, of(ba)}, "T2 T3"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Join(c.runs)
			var text []string
			for _, f := range got.Findings {
				for _, thread := range f.Mentioned {
					text = append(text, "T"+string('0'+rune(thread.ID)))
				}
				if f.Confidence != finding.Potential || f.Kind != finding.Deadlock || f.Fingerprint == "" || !strings.Contains(f.Reason, "in no single run") || !strings.Contains(f.Message, "can block each other") {
					t.Errorf("%+v", f)
				}
			}
			if strings.Join(text, " ") != c.want {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

// TestJoin: each finding is there once, as the run with the strongest confidence has it, and counted.
func TestJoin(t *testing.T) {
	race, deadlock := reporttest.Race(), reporttest.Deadlock(1, 2)
	weak, strong := race, race
	weak.Confidence, strong.Confidence = finding.Potential, finding.Observed
	got := Join([]Run{
		{Report: reporttest.Shop(weak)},
		{Report: reporttest.Shop(strong, deadlock), Seed: 7},
		{Failed: "the run had not ended after 60 s", Seed: 8},
		{Report: reporttest.Shop(deadlock), Seed: 9},
	})
	if len(got.Findings) != 2 || got.Findings[0].Confidence != finding.Observed {
		t.Fatalf("%+v", got.Findings)
	}
	for i, want := range []report.Runs{{Seen: 2, Of: 4, Shown: 2, Seed: 7}, {Seen: 2, Of: 4, Shown: 2, Seed: 7}} {
		if *got.Findings[i].Runs != want {
			t.Errorf("%s: %+v", got.Findings[i].Kind, *got.Findings[i].Runs)
		}
	}
	for i, want := range []report.Repetition{{Findings: 1, New: 1}, {Findings: 2, New: 1, Seed: 7}, {Failed: "the run had not ended after 60 s", Seed: 8}, {Findings: 1, Seed: 9}} {
		r := got.Run.Repeated[i]
		if r.Events = 0; r != want {
			t.Errorf("run %d: %+v", i+1, r)
		}
	}
}
