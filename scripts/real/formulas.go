package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// This file has what -formulas measures: functions that should be atomic, of programs with threads that help each other.

// formulaPrograms are in the order of the table, each with its specification.
func formulaPrograms() ([]program, map[string]string) {
	own, _ := filepath.Abs("scripts/real/formulas") // fails only without a working directory; then nothing is found
	all := []program{&redis{}, &rocksdb{}}
	return all, map[string]string{all[0].name(): filepath.Join(own, "redis.tps"), all[1].name(): filepath.Join(own, "rocksdb.tps")}
}

var formulaMarks = figures.Marks{Begin: "<!-- formulas: written by make real -->", End: "<!-- end of formulas -->"}

// violations returns how many findings the last run in a mode has for each formula.
func (r result) violations(m mode) string {
	samples := r.samples[m]
	if len(samples) == 0 {
		return "-"
	}
	count := map[string]int{}
	var order []string
	for _, f := range samples[len(samples)-1].report.Findings {
		if f.Kind != "knowledge" {
			continue
		}
		name := f.Confidence + " of `" + strings.TrimSuffix(strings.TrimPrefix(f.Property, "atomicity("), ")") + "`"
		if count[name]++; count[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		order[i] = fmt.Sprintf("%d %s", count[name], name)
	}
	if len(order) == 0 {
		return "none"
	}
	return strings.Join(order, ", ")
}

// renderFormulas is the table of -formulas.
func renderFormulas(c config, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured with `make real` (rounds: %d, load: %g) on %s.\n\n| | calls | plain, s | checked, s | times | violations |\n| --- | ---: | ---: | ---: | ---: | --- |\n",
		c.rounds, c.scale, figures.Machine())
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.2f | %.2f | %s |\n", r.name, r.median(checked, called), r.median(plain, load), r.median(checked, load), r.ratio(checked), r.violations(checked))
	}
	b.WriteString("\nThe loads:\n\n")
	for _, r := range results {
		fmt.Fprintf(&b, "- %s: %s\n", r.name, r.load)
	}
	return b.String()
}
