package jsonreport

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

type jsonSuppressions struct {
	Findings      int               `json:"findings"`
	Count         int               `json:"count"`
	ForOtherTools int               `json:"other_tools"`
	By            []jsonSuppression `json:"by"`
}

type jsonSuppression struct {
	Name      string `json:"name"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Findings  int    `json:"findings"`
	Observed  int    `json:"observed"`
	Confirmed int    `json:"confirmed"`
	Predicted int    `json:"predicted"`
	Likely    int    `json:"likely"`
	Potential int    `json:"potential"`
	Count     int    `json:"count"`
	Expired   bool   `json:"expired,omitempty"`
}

func toJSONSuppressions(s *report.Suppressions) *jsonSuppressions {
	if s == nil {
		return nil
	}
	out := &jsonSuppressions{ForOtherTools: s.ForOtherTools, By: []jsonSuppression{}}
	for _, e := range s.Each {
		j := jsonSuppression{Name: report.Clean(e.Name), File: report.Clean(e.File), Line: e.Line, Count: e.Count, Expired: e.Expired,
			Observed: e.Findings[finding.Observed], Confirmed: e.Findings[finding.Confirmed], Predicted: e.Findings[finding.Predicted],
			Likely: e.Findings[finding.Likely], Potential: e.Findings[finding.Potential]}
		j.Findings = j.Observed + j.Confirmed + j.Predicted + j.Likely + j.Potential
		out.By, out.Findings, out.Count = append(out.By, j), out.Findings+j.Findings, out.Count+j.Count
	}
	return out
}
