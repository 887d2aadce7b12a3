package report

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// Headline returns the verdict in one line: what was found and in what program.
func Headline(r Report) string {
	return fmt.Sprintf("tracepredict: %s in %s", outcome(r), observed(r.Run))
}

// Summary returns the verdict with the size of the run.
func Summary(r Report) string {
	lost := "nothing lost"
	switch {
	case r.Run.Cut:
		lost = "CUT SHORT"
	case r.Run.Lost > 0:
		lost = plural.Thousands(r.Run.Lost) + " LOST"
		if r.Run.LostThreads > 0 {
			lost += " in " + plural.Counted(uint64(r.Run.LostThreads), "thread", "threads")
		}
	}
	if b := r.Run.Bounds; b != nil && b.CutShortBy != "" {
		lost += fmt.Sprintf(", ANALYSIS CUT SHORT by %s: %s left", b.CutShortBy, plural.Counted(b.NotSearched, "candidate", "candidates"))
	}
	figures := []string{plural.Counted(r.Run.Events, "event", "events"), plural.Counted(uint64(max(r.Run.Threads, 0)), "thread", "threads")}
	if r.Run.Duration > 0 { // imported traces and those cut short have none
		figures = append(figures, Seconds(r.Run.Duration))
	}
	return fmt.Sprintf("%s: %s, %s", Headline(r), strings.Join(figures, ", "), lost)
}

// observed returns "shop (pid 12)", "server (pid 12, started as sh)", or "make (pid 12) and 3
// processes from it".
func observed(r Run) string {
	program := path.Base(cmp.Or(r.LastProgram, r.Program))
	if r.PID == 0 { // an imported trace has none
		return program
	}
	started := ""
	if r.LastProgram != "" {
		started = ", started as " + path.Base(r.Program)
	}
	program = fmt.Sprintf("%s (pid %d%s)", program, r.PID, started)
	if n := len(r.Processes); n > 1 {
		program += fmt.Sprintf(" and %s from it", plural.Counted(uint64(n-1), "process", "processes"))
	}
	return program
}

// outcome returns "1 deadlock, 2 races predicted; 1 race potential".
func outcome(r Report) string {
	fs := r.Causes()
	if len(fs) == 0 && r.Run.Properties != nil && !r.Run.Properties.Complete {
		return "no findings on the part of the runs that was checked,"
	}
	if len(fs) == 0 {
		if r.Baseline != nil {
			return "no new findings"
		}
		return "no findings"
	}
	var groups []string
	for len(fs) > 0 {
		n := 1
		for n < len(fs) && fs[n].Lead.Confidence == fs[0].Lead.Confidence {
			n++
		}
		groups = append(groups, kindCounts(fs[:n])+" "+string(fs[0].Lead.Confidence))
		fs = fs[n:]
	}
	return strings.Join(groups, "; ")
}

// kindCounts returns "1 deadlock, 2 races".
func kindCounts(fs []Cause) string {
	var order []finding.Kind
	counts := map[finding.Kind]uint64{}
	for _, c := range fs {
		kind := c.Lead.Kind
		if counts[kind] == 0 {
			order = append(order, kind)
		}
		counts[kind]++
	}
	parts := make([]string, 0, len(order))
	for _, k := range order {
		noun := kindNoun(k)
		parts = append(parts, plural.Counted(counts[k], noun, kindPlural(noun)))
	}
	return strings.Join(parts, ", ")
}

// kindNoun returns what findings of a kind are called where they are counted.
func kindNoun(k finding.Kind) string {
	if k == finding.Knowledge {
		return "knowledge formula"
	}
	return string(k)
}

func kindPlural(s string) string {
	if strings.HasSuffix(s, "y") {
		return s[:len(s)-1] + "ies"
	}
	return s + "s"
}

// Seconds returns a duration as "0.812 s", "12.5 s" or "3m20s".
func Seconds(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
