package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestNestedLocks checks that the deadlocks between two nestings are one finding with its pairs of locks, and that
// those of other sections are others.
func TestNestedLocks(t *testing.T) {
	tab := &reporttest.Table{Stacks: map[event.StackID][]event.Frame{}}
	for id := range event.StackID(8) {
		tab.Stacks[id] = []event.Frame{{Function: "nest" + string('a'+rune(id)), File: "nest.c", Line: 10 + int(id)}}
	}
	got := text(t, report.Build(reporttest.ShopRun(), reporttest.Nested(4), tab), report.Options{})
	for _, want := range []string{"tracepredict: 1 deadlock predicted in ", "1. DEADLOCK predicted, and 2 other pairs of locks", "also: 'object #4' and 'object #3'; "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	apart := reporttest.Nested(4)
	for i := range apart {
		apart[i].Evidence[0].HeldAt[0] = event.StackID(5 + i) // sections that begin elsewhere
	}
	if got := text(t, report.Build(reporttest.ShopRun(), apart, tab), report.Options{}); !strings.Contains(got, "tracepredict: 3 deadlocks predicted in ") {
		t.Errorf("sections apart are joined:\n%s", got)
	}
}
