package execution

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestInterruption: a schedule shows an interruption only if the events of the other thread come between the two of the block,
// and conflict with them.
func TestInterruption(t *testing.T) {
	const x, m = event.ObjectID(1), event.ObjectID(2)
	run := []event.Event{
		{Thread: 1, Op: event.Read, Object: x},    // 1
		{Thread: 1, Op: event.Acquire, Object: m}, // 2
		{Thread: 1, Op: event.Write, Object: x},   // 3
		{Thread: 1, Op: event.Release, Object: m}, // 4
		{Thread: 2, Op: event.Acquire, Object: m}, // 5
		{Thread: 2, Op: event.Write, Object: x},   // 6
		{Thread: 2, Op: event.Release, Object: m}, // 7
		{Thread: 3, Op: event.Read, Object: x},    // 8
	}
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	for _, c := range []struct {
		steps []int
		claim Interruption
		want  string // part of the refusal; "": it is accepted
	}{
		{[]int{1, 5, 6, 7, 2, 3}, Interruption{First: 1, From: 6, To: 6, Last: 3}, ""},
		{[]int{1, 2, 8, 3}, Interruption{First: 1, From: 8, To: 8, Last: 3, Open: true}, "do not conflict"},
		{[]int{1, 2, 3, 8, 4}, Interruption{First: 3, From: 8, To: 8, Last: 4, Open: true}, "do not conflict"},
		{[]int{5, 6, 1, 2}, Interruption{First: 1, From: 6, To: 6, Last: 2}, "writer"},
		{[]int{5, 6, 7, 3}, Interruption{First: 1, From: 6, To: 6, Last: 3}, "goes on with event 1"},
		{[]int{1, 5, 6, 2}, Interruption{First: 1, From: 6, To: 6, Last: 2}, "is held by thread 2"},
		{[]int{1, 2, 3}, Interruption{First: 1, From: 6, To: 6, Last: 3}, "were executed"},
		{[]int{1, 5, 6, 7, 2}, Interruption{First: 1, From: 6, To: 6, Last: 3}, "goes on with event 2"},
		{[]int{1, 5, 6, 7, 2, 3}, Interruption{First: 1, From: 6, To: 6, Last: 9}, "no event 9"},
		{[]int{1, 5, 6, 7, 2, 3}, Interruption{First: 1, From: 5, To: 8, Last: 3}, "should be of one thread"},
	} {
		var steps []finding.Step
		for _, seq := range c.steps {
			steps = append(steps, finding.StepOf(&run[seq-1]))
		}
		_, err := Observe(run).CheckClaim(steps, Claim{Kind: finding.Knowledge, Interruption: &c.claim})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %+v: %v, want %q", c.steps, c.claim, err, c.want)
		}
	}
}
