package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// minReach is the number of lock events a second all analyses must take together.
const minReach = 2e6

// reachEvents is the number of there are.
const reachEvents = "10000000x"

// reachBenchmarks measures lock events over a thousand locks and 32 threads.
func reachBenchmarks(c config) ([]replayed, error) {
	out, err := goBench("^BenchmarkReach$", reachEvents, strconv.Itoa(min(c.rounds, 3)), "./analysis/engine")
	if err != nil {
		return nil, err
	}
	found := parse(out, reachLine)
	if len(found) == 0 {
		return nil, fmt.Errorf("no benchmark of lock events ran:\n%s", out)
	}
	return found, nil
}

var reachLine = regexp.MustCompile(`^BenchmarkReach/(\S+?)(?:-\d+)?\s+\d+\s(.*)`)

func reachRequirements(all []replayed) []requirement {
	for _, r := range all {
		if r.name == "all" {
			return []requirement{{"lock events a second over 1,000 locks and 32 threads through all analyses, on one core",
				fmt.Sprintf("at least %.0f million", minReach/1e6), fmt.Sprintf("%.1f million", r.perSecond/1e6), r.perSecond >= minReach}}
		}
	}
	return nil
}

func renderReach(b *strings.Builder, all []replayed) {
	b.WriteString("\n### Many locks\n\nTen million lock events over 1,000 locks and 32 threads, nested up to three deep, 20 pairs of locks acquired in both orders; each row includes its clock, and *all* its " +
		"findings: `go test -pgo=cmd/tracepredict/default.pgo -run '^$' -bench Reach -benchtime " + reachEvents + " ./analysis/engine`. Seconds and nanoseconds are CPU time.\n\n" +
		"| | million events a second | ns an event |\n| --- | ---: | ---: |\n")
	for _, r := range all {
		fmt.Fprintf(b, "| %s | %.1f | %.0f |\n", r.name, r.perSecond/1e6, r.ns)
	}
}
