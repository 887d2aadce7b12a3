package observer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestRepeated checks that an attempt which its code repeats is a request that waits, if its thread holds another lock.
func TestRepeated(t *testing.T) {
	for _, tt := range []struct {
		name, records string
		want          string
	}{
		{"holds nothing", "1 acquire B kind=try", "T1 acquire B1 try"},
		{"holds a lock", "1 acquire A\n1 acquire B kind=try", "T1 acquire B2 repeated"},
		{"fails", "1 acquire A\n1 acquire B kind=try failed", "T1 acquire-failed B2 try"},
		{"waits anyhow", "1 acquire A\n1 acquire B", "T1 acquire B2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := listenWith(Options{Repeated: func(event.StackID) bool { return true }})
			for _, r := range parseRecords(t, tt.records) {
				l.o.Record(&r)
			}
			if diff := cmp.Diff(tt.want, l.lines[len(l.lines)-1]); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
