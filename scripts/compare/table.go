package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// render writes the tables: the defects, the innocent programs, the sums, the times.
func render(tools []tool, rows []row) string {
	var b strings.Builder
	b.WriteString("Made with `make compare`:")
	for i, t := range tools {
		fmt.Fprintf(&b, " %s of %s%s", t.name, t.version, []string{";", "."}[min(1, (i+1)/len(tools))])
	}
	fmt.Fprintf(&b, " On %s.\n\n### Defects\n\n", figures.Machine())
	head(&b, "program", "what is wrong", tools)
	for _, r := range rows {
		if len(r.expect) > 0 {
			line(&b, r)
		}
	}
	b.WriteString("\n### Innocent programs\n\n")
	head(&b, "program", "why it looks like one", tools)
	for _, r := range rows {
		if len(r.expect) == 0 {
			line(&b, r)
		}
	}
	b.WriteString("\n### In all\n\n")
	sums(&b, tools, rows)
	times(&b, tools, rows)
	return b.String()
}

func head(b *strings.Builder, first, second string, tools []tool) {
	fmt.Fprintf(b, "| %s | %s |", first, second)
	for _, t := range tools {
		fmt.Fprintf(b, " %s |", t.name)
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(tools)) + "\n")
}

func line(b *strings.Builder, r row) {
	fmt.Fprintf(b, "| `%s` | %s |", r.name, r.title)
	for _, v := range r.verdicts {
		fmt.Fprintf(b, " %s |", v.cell(len(r.expect) == 0))
	}
	b.WriteString("\n")
}

// cell describes a verdict in a few words.
func (v verdict) cell(innocent bool) string {
	var parts []string
	switch {
	case v.found:
		parts = append(parts, "found")
	case !innocent:
		parts = append(parts, "**missed**")
	case len(v.false) == 0:
		parts = append(parts, "quiet")
	}
	for _, f := range v.false {
		text := "**false**: " + f.kind
		if len(f.objects) > 0 {
			text += " `" + strings.Join(f.objects, "`, `") + "`"
		}
		parts = append(parts, text)
	}
	if v.unended {
		parts = append(parts, "did not end")
	}
	return strings.Join(parts, "; ")
}

// sums counts programs: the defects that were found, and the programs with a false report.
func sums(b *strings.Builder, tools []tool, rows []row) {
	defects, innocent := 0, 0
	for _, r := range rows {
		if len(r.expect) > 0 {
			defects++
		} else {
			innocent++
		}
	}
	fmt.Fprintf(b, "| | found, of %d defects | missed | programs with a false alarm, of %d innocent | of %d defective |\n| --- | ---: | ---: | ---: | ---: |\n", defects, innocent, defects)
	for i, t := range tools {
		found, falseInnocent, falseDefect := 0, 0, 0
		for _, r := range rows {
			v := r.verdicts[i]
			if v.found {
				found++
			}
			if len(v.false) > 0 && len(r.expect) == 0 {
				falseInnocent++
			} else if len(v.false) > 0 {
				falseDefect++
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", t.name, found, defects-found, falseInnocent, falseDefect)
	}
}

func times(b *strings.Builder, tools []tool, rows []row) {
	if !slices.ContainsFunc(rows, func(r row) bool { return len(r.times) > 0 }) {
		return
	}
	b.WriteString("\n### Times\n\nOf some of the programs, alone on the machine: the whole run, start-up of the tool included, as a multiple of the plain run's; medians.\n\n| program | plain, s |")
	for _, t := range tools {
		fmt.Fprintf(b, " %s |", t.name)
	}
	b.WriteString("\n| --- | ---: |" + strings.Repeat(" ---: |", len(tools)) + "\n")
	for _, r := range rows {
		if len(r.times) == 0 {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %.2f |", r.name, r.plain.Seconds())
		for _, ratio := range r.times {
			fmt.Fprintf(b, " %.1f |", ratio)
		}
		b.WriteString("\n")
	}
}
