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
// CheckUnexplained accepts a plain one, and names it.
func TestCheckLoadsOutOfOrder(t *testing.T) {
	const valued = event.Atomic | event.HasValue
	tests := []struct {
		name  string
		op    event.Op
		flags event.Flags
		want  string // part of the error; "": accepted
		plain bool   // CheckUnexplained accepts what is refused
	}{
		{"in order", event.Read, valued, "is not that of the write before it", false},
		{"late", event.Read, valued | event.Late, "", false},
		{"no source", event.Read, event.Atomic | event.NoSource, "is not that of the write before it", false},
		{"late, and no source", event.Read, valued | event.NoSource | event.Late, "is not that of the write before it", false},
		{"an exchange without a source", event.Update, valued | event.NoSource, "is not that of the write before it", false},
		{"an exchange", event.Update, valued, "", false},
		{"a plain read", event.Read, event.HasValue, "is not that of the write before it", true},
		{"a plain read without a source", event.Read, event.NoSource, "is not that of the write before it", true},
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
			reads, err := execution.Observe(events).CheckClaim(steps, execution.Claim{Kind: finding.Race, Unexplained: true})
			if (err == nil) != (tt.want == "" || tt.plain) || len(reads) > 0 != tt.plain || tt.plain && (len(reads) != 1 || reads[0] != 3) {
				t.Errorf("unexplained reads: %v, %v", reads, err)
			}
		})
	}
}

// TestCheckUnexplainedLoads checks that CheckUnexplained accepts an atomic load without a source only if
// the variable may have had the value from the beginning.
func TestCheckUnexplainedLoads(t *testing.T) {
	load := func(thread event.ThreadID, value uint64, flags event.Flags) event.Event {
		return event.Event{Thread: thread, Op: event.Read, Object: 1, Flags: event.Atomic | event.HasValue | flags, Value: value}
	}
	store := load(1, 5, 0)
	store.Op = event.Write
	for name, c := range map[string]struct {
		run []event.Event
		ok  bool
	}{
		"the first":               {[]event.Event{load(2, 5, event.NoSource)}, true},
		"always the same":         {[]event.Event{load(1, 5, event.NoSource), load(2, 5, event.NoSource|event.Late)}, true},
		"another than before":     {[]event.Event{load(2, 0, 0), load(2, 5, event.NoSource)}, false},
		"another than was stored": {[]event.Event{store, load(2, 6, event.NoSource)}, false},
	} {
		for i := range c.run {
			c.run[i].Seq = uint64(i + 1)
		}
		if _, err := execution.Observe(c.run).CheckClaim(steps(c.run, first(len(c.run))), execution.Claim{Kind: finding.Property, Unexplained: true}); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
