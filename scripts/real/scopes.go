package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// This file has what -scopes measures: properties of scopes, of programs with threads that take turns.

var scopeModes = []mode{plain, checked}

// scopePrograms are in the order of the table, each with its specification.
func scopePrograms() ([]program, map[string]string) {
	own, _ := filepath.Abs("scripts/real/scopes") // fails only without a working directory; then nothing is found
	all := []program{&redis{}, &rocksdb{}}
	return all, map[string]string{all[0].name(): filepath.Join(own, "redis.tps"), all[1].name(): filepath.Join(own, "rocksdb.tps")}
}

var scopeMarks = figures.Marks{Begin: "<!-- scopes: written by make real -->", End: "<!-- end of scopes -->"}

// judged returns what the last run in a mode says of its scopes.
func (r result) judged(m mode) string {
	samples := r.samples[m]
	if len(samples) == 0 {
		return "-"
	}
	var out []string
	for _, note := range samples[len(samples)-1].report.Run.Notes {
		if rest, ok := strings.CutPrefix(note, "scope "); ok {
			out = append(out, strings.ReplaceAll(rest, "|", `\|`))
		}
	}
	return strings.Join(out, "; ")
}

// called returns how many calls the specification's events are.
func called(s sample) (n float64) {
	for _, c := range s.report.Run.Calls {
		n += float64(c.Events)
	}
	return n
}

// renderScopes is the table of -scopes.
func renderScopes(c config, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured with `make real` (rounds: %d, load: %g) on %s.\n\n| | calls | plain, s | checked, s | times | findings | scopes |\n| --- | ---: | ---: | ---: | ---: | --- | --- |\n",
		c.rounds, c.scale, figures.Machine())
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.2f | %.2f | %s | %s |\n", r.name, r.median(checked, called), r.median(plain, load), r.median(checked, load), r.ratio(checked), r.findings(checked), r.judged(checked))
	}
	b.WriteString("\nThe loads:\n\n")
	for _, r := range results {
		fmt.Fprintf(&b, "- %s: %s\n", r.name, r.load)
	}
	return b.String()
}
