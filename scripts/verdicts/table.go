package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// counts has the number of programs for each level.
type counts [levels]int

func (c counts) of(least level) (n int) {
	for l := least; l < levels; l++ {
		n += c[l]
	}
	return n
}

func count(rows []row) (innocents, defects counts) {
	for _, r := range rows {
		if r.innocent() {
			innocents[r.level]++
		} else {
			defects[r.level]++
		}
	}
	return innocents, defects
}

// render writes the tables: what the programs come to, and those on which the verdict is wrong.
func render(rows []row) string {
	innocents, defects := count(rows)
	var b strings.Builder
	fmt.Fprintf(&b, "Made with `make verdicts` on %s.\n\n| programs | all |", figures.Machine())
	for l := observed; l >= none; l-- {
		fmt.Fprintf(&b, " %v |", l)
	}
	b.WriteString("\n| --- | ---: |" + strings.Repeat(" ---: |", int(levels)) + "\n")
	line(&b, innocent, innocents)
	line(&b, defective, defects)
	list(&b, "Innocent, but observed or predicted", rows, func(r row) bool { return r.innocent() && r.level >= predicted })
	list(&b, "Innocent, but likely", rows, func(r row) bool { return r.innocent() && r.level == likely })
	list(&b, "Defective, but missed or only potential", rows, func(r row) bool { return !r.innocent() && r.level < likely })
	return b.String()
}

func line(b *strings.Builder, name string, c counts) {
	fmt.Fprintf(b, "| %s | %d |", name, c.of(none))
	for l := observed; l >= none; l-- {
		fmt.Fprintf(b, " %d |", c[l])
	}
	b.WriteString("\n")
}

func list(b *strings.Builder, title string, rows []row, belongs func(row) bool) {
	fmt.Fprintf(b, "\n### %s\n\n", title)
	any := false
	for _, r := range rows {
		if !belongs(r) {
			continue
		}
		if !any {
			b.WriteString("| program | why it is so | verdict | finding |\n| --- | --- | --- | --- |\n")
		}
		any = true
		fmt.Fprintf(b, "| `%s` | %s | %v | %s |\n", r.name, figures.Cell(r.title), r.level, figures.Cell(r.first))
	}
	if !any {
		b.WriteString("None.\n")
	}
}

// What the verdicts may come to at worst, in percent.
const (
	mostLikelyInnocent    = 35
	leastLikelyDefects    = 82
	leastPotentialDefects = 90
)

// check is an error for each way in which the verdicts are worse than they may be.
func check(rows []row) error {
	var errs []error
	innocents, defects := count(rows)
	for _, r := range rows {
		if r.innocent() && r.level >= predicted {
			errs = append(errs, fmt.Errorf("%s is innocent, but %v: %s", r.name, r.level, r.first))
		}
	}
	for _, r := range innocentConfirmed(rows) {
		errs = append(errs, fmt.Errorf("%s is innocent, but confirmed: %s", r.name, r.first))
	}
	if n, all := innocents[likely], innocents.of(none); 100*n > mostLikelyInnocent*all {
		errs = append(errs, fmt.Errorf("%d of %d innocent programs are likely, more than %d %%", n, all, mostLikelyInnocent))
	}
	for _, least := range []struct {
		level
		percent int
	}{{likely, leastLikelyDefects}, {potential, leastPotentialDefects}} {
		if n, all := defects.of(least.level), defects.of(none); 100*n < least.percent*all {
			errs = append(errs, fmt.Errorf("%d of %d defective programs are at least %v, fewer than %d %%", n, all, least.level, least.percent))
		}
	}
	return errors.Join(errs...)
}
