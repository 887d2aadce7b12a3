package report_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/format"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

func TestManyFindings(t *testing.T) {
	if rep := report.Build(reporttest.ShopRun(), reporttest.Many(reporttest.ManyFindings), reporttest.ManyTable()); len(rep.Findings) != reporttest.ManyFindings {
		t.Errorf("%d findings, want %d that differ", len(rep.Findings), reporttest.ManyFindings)
	}
}

// bytesOut counts what is written.
type bytesOut int

func (n *bytesOut) Write(p []byte) (int, error) {
	*n += bytesOut(len(p))
	return len(p), nil
}

// BenchmarkReport builds the report of a thousand findings, whose names and stacks exist
// already, and writes it in each format.
func BenchmarkReport(b *testing.B) {
	fs, names := reporttest.Many(reporttest.ManyFindings), reporttest.ManyTable()
	for _, f := range format.All() {
		b.Run(f.Name, func(b *testing.B) {
			b.ReportAllocs()
			size := bytesOut(0)
			for b.Loop() {
				if err := f.Write(&size, report.Build(reporttest.ShopRun(), fs, names), report.Options{Width: 120}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/1e6/float64(b.N), "MB")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/report")
		})
	}
}
