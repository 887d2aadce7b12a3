package replay_test

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/replay"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// What was executed unobserved before the later side casts doubt, whoever did it; of
// several places one is named where threads of the finding were.
func TestDoubtOfExecuted(t *testing.T) {
	at := func(place string, left uint64, hits ...trace.Hit) trace.Executed {
		return trace.Executed{Place: place, Hits: hits, Left: left}
	}
	race := []finding.Step{{Thread: 1, Seq: 10}, {Thread: 2, Seq: 20}}
	tests := []struct {
		name     string
		evidence []finding.Step
		witness  []finding.Step
		executed []trace.Executed
		want     string // how the reason begins; "" for none
	}{
		{"nothing", race, nil, nil, ""},
		{"by the earlier side", race, nil, []trace.Executed{at("p", 0, trace.Hit{Thread: 1, Since: 5})}, "T1 synchronised unobserved (p)"},
		{"by the earlier side, between", race, nil, []trace.Executed{at("p", 0, trace.Hit{Thread: 1, Since: 11})}, "T1 synchronised unobserved (p)"},
		{"by the later side, just before", race, nil, []trace.Executed{at("p", 0, trace.Hit{Thread: 2, Since: 20})}, "T2 synchronised unobserved (p)"},
		{"too late", race, nil, []trace.Executed{at("p", 0, trace.Hit{Thread: 2, Since: 21})}, ""},
		{"too late for the sides, not for the witness", race, []finding.Step{{Thread: 3, Seq: 30}}, []trace.Executed{at("p", 0, trace.Hit{Thread: 2, Since: 21})}, "T2 synchronised"},
		{"by a third", race, nil, []trace.Executed{at("p", 0, trace.Hit{Thread: 3, Since: 5})}, "T3 synchronised unobserved (p)"},
		{"not looked at any more", race, nil, []trace.Executed{at("p", 20)}, "some threads synchronised unobserved (p)"},
		{"not looked at any more, too late", race, nil, []trace.Executed{at("p", 21)}, ""},
		{"where the sides were", race, nil, []trace.Executed{at("p", 0, trace.Hit{Thread: 3, Since: 1}), at("q", 0, trace.Hit{Thread: 1, Since: 2}), at("r", 15, trace.Hit{Thread: 1, Since: 3}, trace.Hit{Thread: 2, Since: 4})}, "T1, T2 and perhaps others synchronised unobserved (r)"},
		{"no evidence", nil, nil, []trace.Executed{at("p", 0, trace.Hit{Thread: 2, Since: 99})}, "T2 synchronised"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := replay.Doubt(trace.Summary{Executed: tt.executed})(&finding.Finding{Evidence: tt.evidence, Witness: tt.witness})
			if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// A report has a note for each of a few places, and all of them in order.
func TestExecutedInReport(t *testing.T) {
	var s trace.Summary
	for _, place := range []string{"a", "b", "c", "d", "e"} {
		s.Executed = append(s.Executed, trace.Executed{Place: place, Hits: []trace.Hit{{Thread: 1, Since: 1}, {Thread: 3, Since: 2}}})
	}
	run := replay.Run(s)
	if len(run.Executed) != 5 || len(run.Executed[0].Threads) != 2 || run.Executed[0].Left {
		t.Errorf("executed: %+v", run.Executed)
	}
	if n := len(run.Notes); n != 4 || run.Notes[0] != "T1 and T3 synchronised unobserved: a" || !strings.HasPrefix(run.Notes[3], "2 other places") {
		t.Errorf("notes: %q", run.Notes)
	}
}
