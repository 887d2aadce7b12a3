package main

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// minOrdered is the number of decoded events a second happens-before is to take on one core.
const minOrdered = 25e6

var orderLine = regexp.MustCompile(`^Benchmark(Events)(?:-\d+)?\s+\d+\s(.*)`)

// orderBenchmark measures happens-before alone; the median over its runs, 0 if it gave
// no number.
func orderBenchmark(c config) (perSecond float64, err error) {
	out, err := goBench("^BenchmarkEvents$", c.benchtime, strconv.Itoa(min(c.rounds, 5)), "./analysis/happensbefore")
	if err != nil {
		return 0, err
	}
	return parseOrdered(out), nil
}

func parseOrdered(out string) float64 {
	_, values := metrics(out, orderLine)
	return 1e6 * figures.Median(values["Events"]["Mevents/cpu-s"])
}

func orderRequirement(perSecond float64) requirement {
	q := requirement{text: "decoded events a second through happens-before alone, half of them operations on 1,000 locks by 32 threads, on one core",
		limit: fmt.Sprintf("at least %.0f million", minOrdered/1e6), measured: "not measured"}
	if perSecond > 0 {
		q.measured, q.met = fmt.Sprintf("%.1f million", perSecond/1e6), perSecond >= minOrdered
	}
	return q
}
