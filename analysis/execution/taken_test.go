package execution_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestTakenSignals checks that a signal may wake another thread than in the run only if that one waits
// then, and that without CheckTaken it may not.
func TestTakenSignals(t *testing.T) {
	two := []event.Event{
		of(1, event.Wait, condition), of(2, event.Wait, condition), of(3, event.Signal, condition), of(1, event.Wake, condition),
		of(3, event.Signal, condition), of(2, event.Wake, condition), of(3, event.Signal, condition),
	}
	broadcast := append([]event.Event(nil), two[:6]...)
	broadcast[4].Op = event.Broadcast
	helped := append(append([]event.Event(nil), two[:4]...), of(1, event.Signal, condition), of(2, event.Wake, condition))
	for _, tt := range []struct {
		name  string
		run   []event.Event
		order []int // the numbers of the events that are executed, from 1
		waits []int // the numbers of the events at which threads wait
		taken uint64
		ok    bool
	}{
		{"the other waits again", two[:6], []int{1, 2, 3, 5, 6}, []int{4}, 3, true},
		{"the other has not waited yet", two[:6], []int{1, 3, 2, 5, 6}, []int{4}, 3, false},
		{"nobody takes it", two[:6], []int{1, 2, 3, 5, 6}, []int{4}, 0, false},
		{"another one is taken", two[:6], []int{1, 2, 3, 5, 6}, []int{4}, 5, false},
		{"the second signal is to come", two[:6], []int{1, 2, 3}, []int{4}, 3, false},
		{"the second signal comes first", []event.Event{two[0], two[1], two[2], two[3], of(4, event.Signal, condition), two[5]}, []int{1, 2, 5, 6, 3}, []int{4}, 3, false},
		{"a third signal comes", two, []int{1, 2, 3, 5, 6, 7}, []int{4}, 3, false},
		{"a broadcast comes", broadcast, []int{1, 2, 3, 5, 6}, []int{4}, 3, false},
		{"one waits for the signal of the other", helped, []int{1, 2, 3}, []int{4, 6}, 3, true},
		{"nobody else waits", two[:4], []int{1, 3}, []int{4}, 3, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := append([]event.Event(nil), tt.run...)
			for i := range run {
				run[i].Seq = uint64(i + 1)
			}
			var all []finding.Step
			for _, n := range tt.order {
				all = append(all, step(&run[n-1]))
			}
			for _, n := range tt.waits {
				all = append(all, waiting(&run[n-1]))
			}
			if _, err := execution.Observe(run).CheckClaim(all, execution.Claim{Kind: finding.Deadlock, Taken: tt.taken}); (err == nil) != tt.ok {
				t.Errorf("%v", err)
			}
			if err := execution.Observe(run).Check(all, finding.Deadlock); err == nil {
				t.Error("it is accepted although no signal is taken")
			}
		})
	}
}
