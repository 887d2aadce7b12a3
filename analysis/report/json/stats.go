package jsonreport

import (
	"github.com/tracepredict/tracepredict/analysis/report"
)

// jsonStats are Stats with the fields that only the JSON report has.
type jsonStats struct {
	*report.Stats
	Events          map[string]uint64 `json:"events"`
	EventsPerSecond float64           `json:"events_per_second"`
	Threads         int               `json:"threads"`
}

func toJSONStats(r report.Report) jsonStats {
	out := jsonStats{r.Stats, map[string]uint64{}, r.Run.EventsPerSecond(), r.Run.Threads}
	for _, c := range r.Stats.Events {
		out.Events[c.Operation] = c.Events
	}
	return out
}
