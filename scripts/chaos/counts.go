package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// count is what came of the rounds of one happening.
type count struct {
	rounds  int
	reports int    // valid ones
	lossy   int    // of these, those that say that events were lost
	lost    uint64 // these events
	skipped string // why there were none

	repaired int // those after which breakpoints were left, which tracepredict repair removed
	removed  int // these breakpoints
}

// counts are those of all happenings.
type counts map[happening]*count

func newCounts() counts {
	c := counts{}
	for _, h := range happenings {
		c[h] = &count{}
	}
	return c
}

// add adds a round with its report, nil if it had none.
func (c counts) add(h happening, r *report) {
	n := c[h]
	if n.rounds++; r == nil {
		return
	}
	if n.reports++; r.Run.Lost > 0 {
		n.lossy++
		n.lost += r.Run.Lost
	}
}

// addRepaired adds the breakpoints that tracepredict repair removed after a round.
func (c counts) addRepaired(h happening, removed int) {
	if removed > 0 {
		c[h].repaired++
		c[h].removed += removed
	}
}

// print prints a line for each happening, and one for all.
func (c counts) print(w io.Writer, took time.Duration, seed, served uint64) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
	fmt.Fprintln(table, "what happened\trounds\treports\tof these with losses\tevents lost\t")
	var all count
	for _, h := range happenings {
		n := c[h]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t\n", h, n.rounds, n.reports, n.lossy, n.lost)
		all.rounds, all.reports = all.rounds+n.rounds, all.reports+n.reports
	}
	_ = table.Flush()
	for _, h := range happenings {
		if n := c[h]; n.repaired > 0 {
			fmt.Fprintf(w, "chaos: after %d of %d rounds of %s the kernel left breakpoints, which tracepredict repair removed: %d\n", n.repaired, n.rounds, h, n.removed)
		}
		if c[h].skipped != "" {
			fmt.Fprintf(w, "chaos: no rounds of %s: %s\n", h, c[h].skipped)
		}
	}
	fmt.Fprintf(w, "chaos: %d rounds in %v, seed %d: %d requests were answered, %d reports\n", all.rounds, took.Round(time.Second), seed, served, all.reports)
}
