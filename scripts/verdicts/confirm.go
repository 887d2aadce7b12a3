package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// outcome is what came of confirming the finding of a program.
type outcome int

const (
	yes      outcome = iota
	no               // in none of its tries
	happened         // which does not say whether it is an error
	untried          // the tool says why, or it tries no finding of that kind
)

func (r row) outcome() outcome {
	switch {
	case r.tried == nil || !r.tried.Confirmed && r.tried.Try == 0:
		return untried
	case r.tried.Confirmed:
		return yes
	case r.tried.Happened:
		return happened
	}
	return no
}

// confirmations counts the defective programs of a level by what came of confirming their findings.
func confirmations(rows []row, l level) (n [untried + 1]int) {
	for _, r := range rows {
		if !r.innocent() && r.level == l {
			n[r.outcome()]++
		}
	}
	return n
}

// innocentConfirmed returns the innocent programs of which a finding was confirmed.
func innocentConfirmed(rows []row) (wrong []row) {
	for _, r := range rows {
		if r.innocent() && r.confirmed() {
			wrong = append(wrong, r)
		}
	}
	return wrong
}

// renderConfirmed writes what came of confirming the findings.
func renderConfirmed(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Made with `make verdicts` on %s.\n\n", figures.Machine())
	b.WriteString("| defective programs | all | confirmed | not confirmed | happened | not tried | confirmed, of those that a run can confirm |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, l := range []level{predicted, likely} {
		n := confirmations(rows, l)
		settled := n[yes] + n[no]
		fmt.Fprintf(&b, "| %v | %d | %d | %d | %d | %d | %s |\n", l, settled+n[happened]+n[untried], n[yes], n[no], n[happened], n[untried], percent(n[yes], settled))
	}
	innocents, _ := count(rows)
	fmt.Fprintf(&b, "\nInnocent programs with a finding that was confirmed: %d of %d.\n", len(innocentConfirmed(rows)), innocents.of(none))
	b.WriteString(listWhy("Innocent, but confirmed", innocentConfirmed(rows)))
	for _, part := range []struct {
		title string
		outcome
	}{{"Defective, and happened, but perhaps harmless", happened}, {"Defective, but not confirmed", no}, {"Defective, and not tried", untried}} {
		var of []row
		for _, r := range rows {
			if !r.innocent() && (r.level == predicted || r.level == likely) && r.outcome() == part.outcome {
				of = append(of, r)
			}
		}
		b.WriteString(listWhy(part.title, of))
	}
	return b.String()
}

// listWhy lists programs, those with the same reason one after the other.
func listWhy(title string, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n", title)
	if len(rows) == 0 {
		return b.String() + "None.\n"
	}
	b.WriteString("| program | verdict | finding | why |\n| --- | --- | --- | --- |\n")
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.tried.Text(), b.tried.Text()) })
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %v | %s | %s |\n", r.name, r.level, figures.Cell(r.first), figures.Cell(r.tried.Text()))
	}
	return b.String()
}

// percent writes a part of a whole.
func percent(part, all int) string {
	if all == 0 {
		return "none"
	}
	return fmt.Sprintf("%d %%", 100*part/all)
}
