package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// same reports whether the program did observed what it did plain.
func (o *outcome) same() bool {
	return o.err == nil && o.plain.status == o.observed.status && o.plain.output == o.observed.output
}

// harmed returns the names of the programs that did not do the same, or could not be tried.
func harmed(all []outcome) (names []string) {
	for i := range all {
		if o := &all[i]; o.missing == "" && !o.same() {
			names = append(names, o.name)
		}
	}
	return names
}

// line describes an outcome for the one who waits.
func (o *outcome) line() string {
	switch {
	case o.missing != "":
		return fmt.Sprintf("%s: left out, there is no %s", o.name, o.missing)
	case o.err != nil:
		return fmt.Sprintf("%s: %v", o.name, o.err)
	case !o.same():
		return fmt.Sprintf("%s: %s instead of %s, or it wrote something else", o.name, o.observed.status, o.plain.status)
	}
	return fmt.Sprintf("%s: the same; %.2f s, plain %.2f s; findings: %s", o.name, o.observed.took.Seconds(), o.plain.took.Seconds(), o.findings())
}

// levels are the confidences, the strongest first.
var levels = []string{"observed", "confirmed", "predicted", "likely"}

// findings counts them by confidence.
func (o *outcome) findings() string {
	counts := map[string]int{}
	for _, f := range o.report.Findings {
		counts[f.Confidence]++
	}
	var parts []string
	for _, level := range levels {
		if n := counts[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, level))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func render(all []outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Made with `make real` on %s. *CPU* is processor time in seconds: of the program plain, and observed with its probes; then that of tracepredict, with the reading of its files, and the time that this reading takes.\n\n", figures.Machine())
	b.WriteString("| program | ends and writes as plain | CPU plain | observed | tracepredict | plans, s | findings | lines | notes | MB |\n| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |\n")
	var left []string
	for i := range all {
		o := &all[i]
		if o.missing != "" {
			left = append(left, o.name)
			continue
		}
		same := "yes"
		if !o.same() {
			same = "**no**"
		}
		s := &o.report.Stats
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d | %d | %d |\n", o.name, same, seconds(o.plain.cpu), seconds(s.Program.CPU), seconds(s.Tool.CPU), seconds(s.Plans.Time),
			o.findings(), o.lines, len(o.report.Run.Notes), s.Tool.Peak>>20)
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "\nNot installed: %s.\n", strings.Join(left, ", "))
	}
	b.WriteString(messages(all))
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }

// messages lists the findings.
func messages(all []outcome) string {
	var b strings.Builder
	for i := range all {
		fs := slices.Clone(all[i].report.Findings)
		for _, f := range fs {
			if b.Len() == 0 {
				b.WriteString("\n| program | confidence | finding |\n| --- | --- | --- |\n")
			}
			fmt.Fprintf(&b, "| %s | %s | %s: %s |\n", all[i].name, f.Confidence, f.Kind, strings.ReplaceAll(f.Message, "|", `\|`))
		}
	}
	return b.String()
}
