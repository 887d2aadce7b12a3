package jsonreport

import "github.com/tracepredict/tracepredict/analysis/report"

type jsonBaseline struct {
	File  string           `json:"file"`
	Known []report.Earlier `json:"known"`
	Gone  []report.Earlier `json:"gone"`
}

func toJSONBaseline(b *report.Baseline) jsonBaseline {
	return jsonBaseline{
		File:  report.Clean(b.Name),
		Known: each(b.Known, func(f report.Finding) report.Earlier { return report.EarlierOf(&f) }),
		Gone: each(b.Gone, func(f report.Earlier) report.Earlier {
			f.Message = report.Clean(f.Message)
			return f
		}),
	}
}
