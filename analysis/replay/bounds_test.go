package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

// TestEvictedEventsAreNoted: what was evicted is counted and noted; with a larger history nothing is
// evicted, and an error whose schedule needs it is found.
func TestEvictedEventsAreNoted(t *testing.T) {
	var text strings.Builder
	// A race that locks hide, at the beginning of a run of many critical sections.
	text.WriteString("T1|w(x)|1\nT1|acq(l)|2\nT1|rel(l)|3\nT2|acq(l)|4\nT2|rel(l)|5\nT2|w(x)|6\n")
	for i := range 2000 {
		th := 1 + i%2
		fmt.Fprintf(&text, "T%d|acq(m)|7\nT%d|r(y)|8\nT%d|rel(m)|9\n", th, th, th)
	}
	for _, c := range []struct {
		history int
		note    bool
	}{{0, false}, {10, true}, {4000, false}} {
		rep, err := Report(std.NewReader(strings.NewReader(text.String()), "text", std.ReaderOptions{}), Options{Engine: engine.Options{History: c.history}})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(rep.Run.Notes, "\n")
		h := rep.Run.Bounds
		if h == nil || c.note != (h.EvictedSections > 0) || c.note != strings.Contains(notes, fmt.Sprintf("%d critical sections and %d events of the run were forgotten", h.EvictedSections, h.EvictedEvents)) {
			t.Errorf("--history %d: %+v, notes %q", c.history, h, notes)
		}
		if len(rep.Findings) != 1 || rep.Findings[0].Confidence != finding.Predicted {
			t.Errorf("--history %d: found %+v", c.history, rep.Findings)
		}
	}
	if h := engine.New(engine.Options{History: 4000}).Bounds(); h.Events < 1<<20 {
		t.Errorf("for 4000 sections %d events are kept", h.Events)
	}
}

// TestCutShort: if the time for the analysis is over while the trace is read, the report is about what was read, and
// says so; if it is over after that, the report counts the candidates that are left.
func TestCutShort(t *testing.T) {
	var text strings.Builder
	for i := range 2 * checkEvery {
		fmt.Fprintf(&text, "T%d|w(x%d)|%d\n", 1+i%2, i/4%8, i%4)
	}
	for _, c := range []struct {
		name   string
		after  int // calls of Done before the time is over
		events uint64
		cut    bool
		note   string
	}{
		{"at once", 0, 0, true, "the analysis was cut short by a test: the trace was read up to event 0"},
		{"while reading", 1, checkEvery, true, fmt.Sprintf("the trace was read up to event %d", checkEvery)},
		{"after reading", 4, 2 * checkEvery, false, "candidates were not searched for schedules: a test"},
		{"never", 1 << 30, 2 * checkEvery, false, ""},
	} {
		calls := 0
		done := func() string {
			if calls++; calls > c.after {
				return "a test"
			}
			return ""
		}
		rep, err := Report(std.NewReader(strings.NewReader(text.String()), "text", std.ReaderOptions{}), Options{Engine: engine.Options{Done: done}})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(rep.Run.Notes, "\n")
		if rep.Run.Events != c.events || rep.Run.Cut != c.cut || !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "a test") {
			t.Errorf("%s: %d events, cut %v, notes %q", c.name, rep.Run.Events, rep.Run.Cut, notes)
		}
	}
}
