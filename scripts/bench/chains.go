package main

import (
	"fmt"
	"regexp"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// named is the cost of naming a thousand call stacks of a large program.
type named struct {
	seconds, peak float64 // peak: MB resident at most
}

// Limits of it.
const (
	maxNaming     = 3.0
	maxNamingPeak = 500.0
)

var chainsLine = regexp.MustCompile(`^Benchmark(Chains)(?:-\d+)?\s+\d+\s(.*)`)

func chainsBenchmark() (named, error) {
	out, err := goBench("^BenchmarkChains$", "3x", "1", "./probes/symbolize")
	if err != nil {
		return named{}, err
	}
	n := parseChains(out)
	if n.seconds == 0 {
		return n, fmt.Errorf("no benchmark of call stacks ran:\n%s", out)
	}
	return n, nil
}

func parseChains(out string) named {
	_, values := metrics(out, chainsLine)
	v := values["Chains"]
	return named{figures.Median(v["s/run"]), figures.Median(v["peak-MB"])}
}

// chainsRequirement returns the row for a measurement; zero seconds mean that none was made.
func chainsRequirement(n named) requirement {
	r := requirement{
		text:  "time to name the frames of 1,000 distinct call stacks of 20 frames, from all over a program of 100 MB with debug information: seconds, and MB resident at most",
		limit: fmt.Sprintf("at most %.0f s, %.0f MB", maxNaming, maxNamingPeak), measured: "not measured",
	}
	if n.seconds > 0 {
		r.measured, r.met = fmt.Sprintf("%.2f s, %.0f MB", n.seconds, n.peak), n.seconds <= maxNaming && n.peak <= maxNamingPeak
	}
	return r
}
