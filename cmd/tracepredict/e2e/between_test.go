package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestCodeBetweenAcquisitions asks of each acquisition of a second mutex whether the code since the
// first one depends on memory that other threads write: not in the ticket shop, but in a shop that
// looks at the stock before it locks the ledger.
func TestCodeBetweenAcquisitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		compiler, source, flags string // flags: one word more for each test
		ok                      bool
		why                     string
	}{
		{"gcc", "../../../../examples/shop/shop.c", "-O0 -O2 -static", true, ""},
		{"gcc", "between.c", "-O0 -O2 -static", false, "the branch at between.c:"},
		{"g++", "between.cc", "-O0 -O1 -O2", true, ""},
	} {
		for _, flag := range strings.Fields(c.flags) {
			t.Run(filepath.Base(c.source)+flag, func(t *testing.T) {
				r := observe(t, build(t, c.compiler, c.source, flag, "-g", "-pthread"), options{})
				asked := 0
				last := map[event.ThreadID]event.Event{}
				for _, e := range r.Events {
					if from := last[e.Thread]; e.Op == event.Acquire && from.Op == event.Acquire {
						asked++
						if ok, why := r.Link.ReadsNothing(event.Span{From: from.Stack, To: e.Stack}); ok != c.ok || !strings.Contains(why, c.why) {
							t.Errorf("%v, %q\nfrom %v\nto %v", ok, why, r.Link.Frames(from.Stack), r.Link.Frames(e.Stack))
						}
					}
					if e.Op == event.Acquire || e.Op == event.Release {
						last[e.Thread] = e
					}
				}
				if asked == 0 {
					t.Error("no two acquisitions follow each other")
				}
			})
		}
	}
}

// TestPathToWatchedAccess checks that a deadlock is predicted although a kept section accesses a watched
// variable on the way to its second acquisition, and is potential if the code before the access depends on
// what the other section wrote.
func TestPathToWatchedAccess(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct{ program, found, code string }{
		{example(t, "shop"), "predicted deadlock of ledger, stock", ""},
		{build(t, "gcc", "peeks.c", "-O1", "-g", "-pthread"), "potential deadlock of ledger, stock", "the branch at peeks.c:28 depends on memory read at peeks.c:28"},
	} {
		trace := filepath.Join(t.TempDir(), "trace")
		_, r := reported(t, "exec", "--record", trace, "--watch", "entries", "--", c.program)
		wantSummary(t, r, c.found)
		if why := r.Findings[0].Reason; !strings.Contains(why, c.code) {
			t.Errorf("reason %q, want %q in it", why, c.code)
		}
		_, again := reported(t, "analyze", trace)
		wantSummary(t, again, c.found)
	}
}

// TestSwappedWait checks that a deadlock is not predicted whose schedule moves a section before another
// one, if it contains a wait on a condition that did not wait in the run only because of that other one.
// Where the flag is watched, its value shows that. Its twin, a section that only counts, is predicted.
func TestSwappedWait(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "swapped.c", "-O1", "-g", "-pthread")
	for _, c := range []struct {
		shared, way string
		found, code string
	}{
		{"off", "", "potential deadlock of one, two", "the branch at swapped.c:32 depends on memory read at swapped.c:32"},
		{"all", "", "", ""},
		{"off", "counts", "predicted deadlock of one, two", ""}, {"all", "counts", "predicted deadlock of one, two", ""},
	} {
		trace := filepath.Join(t.TempDir(), "trace")
		_, r := reported(t, append([]string{"exec", "--watch-shared=" + c.shared, "--record", trace, "--", program}, strings.Fields(c.way)...)...)
		wantSummary(t, r, c.found)
		_, again := reported(t, "analyze", trace)
		wantSummary(t, again, c.found)
		if len(r.Findings) == 0 {
			continue
		}
		if why := r.Findings[0].Reason; !strings.Contains(why, c.code) {
			t.Errorf("reason %q, want %q in it", why, c.code)
		}
	}
}
