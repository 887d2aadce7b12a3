package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// inverted is a run with opposite orders. T1 seems to hold A while it takes B; whether it does
// depends on its release of A having been recorded.
const inverted = `T0|fork(T1)|1
T0|fork(T2)|2
T1|acq(A)|3
T1|acq(B)|4
T1|rel(B)|5
T1|rel(A)|6
T2|acq(A)|7
T2|rel(A)|8
T2|acq(B)|9
T2|acq(A)|10
T2|rel(A)|11
T2|rel(B)|12
`

// TestContradiction checks that a deadlock is likely at most if a thread acquired one of its locks
// while another thread held it: the record lacks a release.
func TestContradiction(t *testing.T) {
	none := func(*finding.Finding) reason.Reason { return reason.Reason{} }
	for _, c := range []struct {
		name     string
		inferred string // the line of the release that is inferred
		between  string // a line after it
		want     string
	}{
		{"recorded", "", "", "predicted deadlock"},
		{"the release was not seen", "T1|rel(A)|6", "", "likely deadlock"},
		{"the thread let go before something else happened, as at its end", "T1|rel(A)|6", "T0|w(V)|13", "predicted deadlock"},
		{"of another lock than the one acquired next", "T1|rel(B)|5", "", "predicted deadlock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := inverted
			if c.between != "" {
				text = strings.Replace(text, c.inferred, c.inferred+"\n"+c.between, 1)
			}
			run, _, err := eventtest.ParseSTD(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.Index(strings.Split(text, "\n"), c.inferred); i >= 0 && c.inferred != "" {
				run[i].Flags |= event.Inferred
			}
			found := findings(run, none)
			if got := brief(found); !slices.Equal(got, []string{c.want}) {
				t.Fatalf("found %v, want %s", got, c.want)
			}
			want := reason.Reason{}
			if found[0].Confidence == finding.Likely {
				want = reason.Reason{What: reason.HeldByTwo, Thread: 3, Other: 2}
			}
			if diff := cmp.Diff(want, found[0].Reason); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
