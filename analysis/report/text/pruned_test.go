package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

func TestExplain(t *testing.T) {
	compare(t, "pruned.txt", text(t, reporttest.Explained(reporttest.Dropped()), report.Options{Width: 120}))
}

func TestExplainNothing(t *testing.T) {
	if got := text(t, reporttest.Explained(nil), report.Options{}); !strings.Contains(got, "No candidate was pruned") {
		t.Errorf("%s", got)
	}
}
