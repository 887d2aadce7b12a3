package main

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// maxLockGraph is how long the search for deadlocks in a large graph of locks may take,
// in seconds.
const maxLockGraph = 1.0

var lockGraphLine = regexp.MustCompile(`^Benchmark(LockGraph)(?:-\d+)?\s+\d+\s(.*)`)

// lockBenchmarks returns how long it takes, in seconds, the median over its runs.
func lockBenchmarks(c config) (float64, error) {
	out, err := goBench("^BenchmarkLockGraph$", "3x", strconv.Itoa(min(c.rounds, 3)), "./analysis/deadlock/goodlock")
	if err != nil {
		return 0, err
	}
	s := parseLockGraph(out)
	if s == 0 {
		return 0, fmt.Errorf("no benchmark of a graph of locks ran:\n%s", out)
	}
	return s, nil
}

func parseLockGraph(out string) float64 {
	_, values := metrics(out, lockGraphLine)
	return figures.Median(values["LockGraph"]["s/search"])
}

// lockRequirement is the row for a measured time; 0 is not measured.
func lockRequirement(seconds float64) requirement {
	r := requirement{
		text:  "seconds to find 1,000 cycles of two to five threads among 10,000 locks and 50,000 lock orders",
		limit: fmt.Sprintf("at most %.0f", maxLockGraph), measured: "not measured",
	}
	if seconds > 0 {
		r.measured, r.met = fmt.Sprintf("%.2f", seconds), seconds <= maxLockGraph
	}
	return r
}
