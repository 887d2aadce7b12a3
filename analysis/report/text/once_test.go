package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestEachRoleOfACycleIsShownOnce checks that the report of a cycle shows each role once, so
// that one of a thousand sides fits on a page.
func TestEachRoleOfACycleIsShownOnce(t *testing.T) {
	for name, f := range map[string]finding.Finding{"same": reporttest.Philosophers(1000), "late": reporttest.Philosophers(1000, 3, 700), "four": reporttest.Philosophers(4)} {
		rep := report.Build(report.Run{Summary: run.Summary{Program: "philosophers", Threads: 1001}}, []finding.Finding{f}, reporttest.PhilosopherTable(1000))
		compare(t, "cycle-"+name+".txt", text(t, rep, report.Options{Width: 120}))
	}
}

func TestOtherInstancesAreNamed(t *testing.T) {
	if says := text(t, reporttest.PairsOfPhilosophers(), report.Options{Width: 120}); !strings.Contains(says, "DEADLOCK predicted, seen 20 times by 4 threads") ||
		!strings.Contains(says, "also seen: T3 and T4 on the mutex 0x1080") {
		t.Error(says)
	}
}
