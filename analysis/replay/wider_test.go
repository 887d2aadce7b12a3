package replay_test

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestWider checks that a race with a load of more bytes than the variable has is likely, and says why; also after a
// load of the same thread that is not wider, which races as much as before.
func TestWider(t *testing.T) {
	begin := []event.Event{peer(1, event.Fork, 2), peer(1, event.Fork, 3)}
	exact, wider, write := on(2, event.Read, variable), on(2, event.Read, variable), on(3, event.Write, variable)
	exact.Stack, wider.Stack, write.Stack = 1, 2, 3
	wider.Flags |= event.Wider
	for _, tt := range []struct {
		name  string
		reads []event.Event
		want  []finding.Confidence // of the races
	}{
		{"exact", []event.Event{exact}, []finding.Confidence{finding.Observed}},
		{"wider", []event.Event{wider}, []finding.Confidence{finding.Likely}},
		{"exact, then wider", []event.Event{exact, wider}, []finding.Confidence{finding.Observed}},
		{"wider, then exact", []event.Event{wider, exact}, []finding.Confidence{finding.Observed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep := importedReport(t, append(append(begin[:2:2], tt.reads...), write))
			if len(rep.Findings) != len(tt.want) {
				t.Fatalf("%d findings, want %d", len(rep.Findings), len(tt.want))
			}
			for i, f := range rep.Findings {
				likely := strings.Contains(f.Reason, "T2 loads more bytes at once")
				if f.Confidence != tt.want[i] || likely != (tt.want[i] == finding.Likely) {
					t.Errorf("finding %d: %s, %q; want %s", i, f.Confidence, f.Reason, tt.want[i])
				}
			}
		})
	}
}
