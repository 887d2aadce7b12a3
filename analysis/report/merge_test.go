package report_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestAThousandPhilosophersAreOneFinding checks that their deadlock is one finding, with the
// fingerprint of that of five philosophers.
func TestAThousandPhilosophersAreOneFinding(t *testing.T) {
	rep := report.Build(report.Run{}, []finding.Finding{reporttest.Philosophers(1000), reporttest.Philosophers(5), reporttest.Philosophers(7)}, reporttest.PhilosopherTable(1000))
	if len(rep.Findings) != 1 {
		t.Fatalf("%d findings", len(rep.Findings))
	}
	f := rep.Findings[0]
	if len(f.Evidence) != 5 || f.Count != 3 || f.ThreadCount != 1000 || len(f.Others) != 2 || len(f.Others[1].Threads) != 16 {
		t.Errorf("%d sides, seen %d times by %d threads, %d others", len(f.Evidence), f.Count, f.ThreadCount, len(f.Others))
	}
	if d := cmp.Diff([]int{0, 1}, f.Explains); d != "" {
		t.Error(d)
	}
}

// TestOneDefectManyObjects checks that such findings become one.
func TestOneDefectManyObjects(t *testing.T) {
	got := reporttest.PairsOfPhilosophers().Findings
	if len(got) != 1 || got[0].Count != 20 || got[0].ThreadCount != 4 || len(got[0].Others) != 16 {
		t.Fatalf("%d findings", len(got))
	}
	var objects []string
	for _, o := range got[0].Others[0].Objects {
		objects = append(objects, fmt.Sprintf("%#x", o.Addr))
	}
	if d := cmp.Diff([]string{"0x1080", "0x10c0"}, objects); d != "" {
		t.Error(d)
	}
}

func TestMergeShowsTheStrongest(t *testing.T) {
	weak, twin, again := reporttest.Race(), reporttest.Race(), reporttest.Race()
	twin.Confidence, twin.Count, twin.Reason = finding.Predicted, 1, reason.Reason{}
	again.Evidence = slices.Clone(again.Evidence)
	again.Evidence[0].Seq, again.Count = 108, 2
	got := report.Build(report.Run{}, []finding.Finding{weak, twin, again}, reporttest.ShopTable()).Findings
	if len(got) != 1 {
		t.Fatalf("%d findings, want 1", len(got))
	}
	if got[0].Confidence != finding.Predicted || got[0].Reason != "" {
		t.Errorf("shown: %s (%s)", got[0].Confidence, got[0].Reason)
	}
	if got[0].Count != 5 { // weak and twin are the same 3 instances
		t.Errorf("count %d, want 5", got[0].Count)
	}
}
