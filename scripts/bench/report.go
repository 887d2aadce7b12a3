package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// written is how long a report of a thousand findings takes, medians over its runs.
type written struct {
	form    string // "text" or "json"
	seconds float64
	size    float64 // MB
}

// maxWritten is the limit, in seconds.
const maxWritten = 1.0

var reportLine = regexp.MustCompile(`^BenchmarkReport/(\S+?)(?:-\d+)?\s+\d+\s(.*)`)

func reportBenchmarks(c config) ([]written, error) {
	out, err := goBench("^BenchmarkReport$", c.benchtime, strconv.Itoa(min(c.rounds, 5)), "./analysis/report")
	if err != nil {
		return nil, err
	}
	ws := parseWritten(out)
	if len(ws) == 0 {
		return nil, fmt.Errorf("no benchmark of reports ran:\n%s", out)
	}
	return ws, nil
}

func parseWritten(out string) (ws []written) {
	order, values := metrics(out, reportLine)
	for _, form := range order {
		v := values[form]
		ws = append(ws, written{form, figures.Median(v["s/report"]), figures.Median(v["MB"])})
	}
	return ws
}

// writtenRequirements has a row for each form, also where it was not measured.
func writtenRequirements(ws []written) (rs []requirement) {
	for _, form := range []string{"text", "json"} {
		r := requirement{text: "seconds for a report of 1,000 findings with schedules and stacks, " + form, limit: fmt.Sprintf("at most %.0f", maxWritten), measured: "not measured"}
		if i := slices.IndexFunc(ws, func(w written) bool { return w.form == form }); i >= 0 {
			r.measured, r.met = fmt.Sprintf("%.2f, for %.1f MB", ws[i].seconds, ws[i].size), ws[i].seconds > 0 && ws[i].seconds <= maxWritten
		}
		rs = append(rs, r)
	}
	return rs
}
