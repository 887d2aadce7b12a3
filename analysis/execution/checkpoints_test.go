package execution_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestCheckpoints checks that the same is said of witnesses that begin as the run does, whether the checker goes on from
// states of the run or begins with the first step, and whichever witnesses it has checked before.
func TestCheckpoints(t *testing.T) {
	accepted, refused, unexplained := 0, 0, 0
	for seed := range uint64(testtool.Cases(300, 3000, 10_000)) {
		r := rand.New(rand.NewPCG(seed, 8))
		run := shortRun(r, 40)
		for i := range run { // some values that no write has left
			if e := &run[i]; e.Op == event.Read && r.IntN(8) == 0 {
				e.Value, e.Flags = 77, e.Flags|event.HasValue
			}
		}
		kept := execution.Observe(run)
		kept.SetCheckpoints(1 + r.IntN(4))
		for range 6 {
			order := first(len(run))
			order = order[:r.IntN(len(order)+1)]
			for from := r.IntN(len(order) + 1); len(order) > from && r.IntN(3) > 0; {
				at := from + r.IntN(len(order)-from)
				order = slices.Delete(order, at, at+1)
			}
			witness := steps(run, order)
			fresh := execution.Observe(run)
			fresh.SetCheckpoints(1 << 20)
			want, got := fresh.Check(witness, finding.Property), kept.Check(witness, finding.Property)
			wantSeqs, wantLenient := fresh.CheckClaim(witness, execution.Claim{Kind: finding.Property, Unexplained: true})
			gotSeqs, gotLenient := kept.CheckClaim(witness, execution.Claim{Kind: finding.Property, Unexplained: true})
			if fmt.Sprint(want) != fmt.Sprint(got) || fmt.Sprint(wantLenient) != fmt.Sprint(gotLenient) || !slices.Equal(wantSeqs, gotSeqs) {
				t.Fatalf("%v: %v, %v %v; from the first step: %v, %v %v\n%s", order, got, gotLenient, gotSeqs, want, wantLenient, wantSeqs, text(run))
			}
			if want == nil {
				accepted++
			} else {
				refused++
			}
			unexplained += len(wantSeqs)
		}
	}
	if accepted == 0 || refused == 0 || unexplained == 0 {
		t.Errorf("%d accepted, %d refused, %d unexplained: the test shows nothing", accepted, refused, unexplained)
	}
}
