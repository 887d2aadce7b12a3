package main

import (
	"fmt"
	"regexp"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// told is how long after the last event of threads that block each other this is told, in
// milliseconds: on average over the runs, and at worst.
type told struct{ mean, worst float64 }

// maxTold is the limit, in milliseconds.
const maxTold = 1000

var hangLine = regexp.MustCompile(`^Benchmark(HangTold)(?:-\d+)?\s+\d+\s(.*)`)

func hangBenchmark() (told, error) {
	out, err := goBench("^BenchmarkHangTold$", "10x", "1", "./cmd/tracepredict/e2e")
	if err != nil {
		return told{}, err
	}
	t := parseTold(out)
	if t.worst == 0 {
		return t, fmt.Errorf("no benchmark of hangs ran:\n%s", out)
	}
	return t, nil
}

func parseTold(out string) told {
	_, values := metrics(out, hangLine)
	v := values["HangTold"]
	return told{figures.Median(v["ms-until-told"]), figures.Median(v["ms-at-worst"])}
}

// hangRequirement is the row for what was measured; no time is not measured.
func hangRequirement(t told) requirement {
	r := requirement{
		text:  "ms from the last event of threads that block each other for good until the hang is reported, ten runs",
		limit: fmt.Sprintf("at most %d", maxTold), measured: "not measured",
	}
	if t.worst > 0 {
		r.measured, r.met = fmt.Sprintf("%.0f on average, %.0f at worst", t.mean, t.worst), t.worst <= maxTold
	}
	return r
}
