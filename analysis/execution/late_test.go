package execution_test

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestCheckLoadsOutOfOrder checks that a load marked Late may come after a store that it did not
// see, and that a load or a read-modify-write without a source is refused everywhere.
func TestCheckLoadsOutOfOrder(t *testing.T) {
	const valued = event.Atomic | event.HasValue
	tests := []struct {
		name  string
		op    event.Op
		flags event.Flags
		want  string // part of the error; "": accepted
	}{
		{"in order", event.Read, valued, "is not that of the write before it"},
		{"late", event.Read, valued | event.Late, ""},
		{"no source", event.Read, event.Atomic | event.NoSource, "is not that of the write before it"},
		{"late, and no source", event.Read, valued | event.NoSource | event.Late, "is not that of the write before it"},
		{"an exchange without a source", event.Update, valued | event.NoSource, "is not that of the write before it"},
		{"an exchange", event.Update, valued, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events := []event.Event{
				{Seq: 1, Thread: 1, Op: event.Write, Object: 1, Flags: valued, Value: 1},
				{Seq: 2, Thread: 1, Op: event.Write, Object: 1, Flags: valued, Value: 2},
				{Seq: 3, Thread: 2, Op: tt.op, Object: 1, Flags: tt.flags, Value: 1},
				{Seq: 4, Thread: 1, Op: event.Write, Object: 2},
				{Seq: 5, Thread: 2, Op: event.Write, Object: 2},
			}
			var steps []finding.Step
			for _, e := range events {
				steps = append(steps, finding.Step{Seq: e.Seq, Thread: e.Thread, Op: e.Op, Object: e.Object})
			}
			err := execution.Observe(events).Check(steps, finding.Race)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
