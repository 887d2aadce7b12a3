package replay_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// A report has a note for each of the first few unobserved instructions, in order.
func TestExecutedInReport(t *testing.T) {
	var s run.Summary
	for _, place := range []string{"a", "b", "c", "d", "e"} {
		s.Executed = append(s.Executed, run.Executed{Description: place, Hits: []run.Hit{{Thread: 1, Since: 1}, {Thread: 3, Since: 2}}})
	}
	rep := engine.Run(s)
	if len(rep.Executed) != 5 || len(rep.Executed[0].Threads()) != 2 || rep.Executed[0].ObservedUntil != 0 {
		t.Errorf("executed: %+v", rep.Executed)
	}
	if n := len(rep.Notes); n != 4 || rep.Notes[0] != "T1 and T3 synchronised unobserved: a" || !strings.HasPrefix(rep.Notes[3], "2 other places") {
		t.Errorf("notes: %q", rep.Notes)
	}
}

// Instructions with one description, as of a function that is inlined twice, share a note.
func TestExecutedNotesAreDistinct(t *testing.T) {
	s := run.Summary{Executed: []run.Executed{
		{Description: "a", Hits: []run.Hit{{Thread: 3, Since: 1}, {Thread: 1, Since: 2}}},
		{Description: "b", Hits: []run.Hit{{Thread: 1, Since: 2}}},
		{Description: "a", Hits: []run.Hit{{Thread: 2, Since: 2}, {Thread: 3, Since: 1}}},
		{Description: "b", ObservedUntil: 7},
	}}
	got := engine.Run(s).Notes
	want := []string{"T1, T2 and T3 synchronised unobserved: a", "T1 and perhaps others synchronised unobserved: b"}
	if !slices.Equal(got, want) {
		t.Errorf("notes: %q, want %q", got, want)
	}
}

// TestManyThreadsAreCounted: a note names a few of the threads that it is about, and counts the others.
func TestManyThreadsAreCounted(t *testing.T) {
	for _, c := range []struct {
		threads int
		want    string
	}{{5, "T1, T2, T3, T4 and T5 synchronised unobserved: a"}, {6, "T1, T2, T3, T4 and 2 more synchronised unobserved: a"}, {3000, "T1, T2, T3, T4 and 2996 more synchronised unobserved: a"}} {
		e := run.Executed{Description: "a"}
		for i := range c.threads {
			e.Hits = append(e.Hits, run.Hit{Thread: event.ThreadID(i + 1), Since: 1})
		}
		if got := engine.Run(run.Summary{Executed: []run.Executed{e}}).Notes; !slices.Equal(got, []string{c.want}) {
			t.Errorf("%d threads: %q, want %q", c.threads, got, c.want)
		}
	}
}
