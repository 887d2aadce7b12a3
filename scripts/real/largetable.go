package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

var largeMarks = figures.Marks{Begin: "<!-- large programs: written by make real -->", End: "<!-- end of large programs -->"}

// builds names the tools in the tables.
var builds = []string{"this", "other"}

func renderLarge(l *large) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured with `make real` (rounds: %d, size: %g, steps: %d) on %s.", l.rounds, l.scale, l.steps, figures.Machine())
	if len(l.versions) > 1 {
		fmt.Fprintf(&b, " *This* build is %s, the *other* one %s.", l.versions[0], l.versions[1])
	}
	b.WriteString("\n")
	if len(l.trained) > 0 {
		b.WriteString("\n" + l.trainedTable())
	}
	if len(l.started) > 0 {
		b.WriteString("\n" + l.startedTable())
	}
	return b.String()
}

// trainedTable has a row for each way in which the stand-in ran.
func (l *large) trainedTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s: libraries of %d MB | plans kept | begins, s | whole, s | ends, s | ms a step | times plain | times the floor | MB | CPU, s | lines of notes | lost |\n"+
		"| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n", standIn, l.built.size/1e6)
	for _, group := range l.ways() {
		for _, w := range group {
			runs := l.trained[w.key()]
			if len(runs) == 0 {
				continue
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(l.row(w, runs), " | "))
		}
	}
	return b.String()
}

// row returns the cells of a way.
func (l *large) row(w way, runs []trained) []string {
	name := w.name
	if w.tool != "" && len(l.versions) > 1 {
		name += ", " + w.build()
	}
	seconds := func(f func(trained) time.Duration) string {
		return fmt.Sprintf("%.2f", medianOf(runs, func(t trained) float64 { return f(t).Seconds() }))
	}
	whole := "-"
	if !w.counted() {
		whole = seconds(func(t trained) time.Duration { return t.whole })
	}
	cells := []string{name, "-", seconds(func(t trained) time.Duration { return t.begin }), whole, seconds(func(t trained) time.Duration { return t.end }),
		fmt.Sprintf("%.2f", medianOf(runs, func(t trained) float64 { return t.step })), times(runs, l.trained[plainKey]), times(runs, l.trained[floorKey])}
	if w.tool == "" {
		return append(cells, "-", "-", "-", "-")
	}
	cells[1] = "yes"
	if w.cold {
		cells[1] = "no"
	}
	peak, notes, lost := uint64(0), 0, noneLost
	for _, t := range runs {
		peak, notes = max(peak, t.peak), max(notes, t.notes)
		if lost == noneLost {
			lost = t.lost
		}
	}
	return append(cells, fmt.Sprint(peak>>20), seconds(func(t trained) time.Duration { return t.cpu }), fmt.Sprint(notes), strings.TrimSuffix(lost, " lost"))
}

// The keys of the ways that others are compared with.
var (
	plainKey = way{name: string(plain)}.key()
	floorKey = way{name: nothing}.key()
)

// nothing is the floor: whatever is done at the same sites, a step takes no less.
const nothing = "programs that do nothing (the floor)"

// build says which of the two a way has.
func (w way) build() string {
	if w.other {
		return builds[1]
	}
	return builds[0]
}

// times compares a step within each round and returns the median, "-" if there is nothing to compare.
func times(runs, base []trained) string {
	var values []float64
	for i, t := range runs {
		if i < len(base) && base[i].step > 0 {
			values = append(values, t.step/base[i].step)
		}
	}
	if len(values) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", figures.Median(values))
}

func medianOf[T any](samples []T, f func(T) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, f(s))
	}
	return figures.Median(values)
}

// startedTable has a row for each program that is installed.
func (l *large) startedTable() string {
	var b strings.Builder
	head, line := "| from start to end, s | plain | CPU |", "| --- | ---: | ---: |"
	for i := range l.tools() {
		build := ""
		if len(l.versions) > 1 {
			build = ", " + builds[i]
		}
		head += fmt.Sprintf(" no plans kept%s | CPU | plans kept%s | CPU | times plain |", build, build)
		line += " ---: | ---: | ---: | ---: | ---: |"
	}
	b.WriteString(head + "\n" + line + "\n")
	for _, p := range installed {
		rounds := l.started[p.name]
		if len(rounds) == 0 {
			continue
		}
		cells := func(of func(startTimes) startTime) {
			fmt.Fprintf(&b, " %.2f | %.2f |", medianOf(rounds, func(s startTimes) float64 { return of(s).whole.Seconds() }),
				medianOf(rounds, func(s startTimes) float64 { return of(s).cpu.Seconds() }))
		}
		fmt.Fprintf(&b, "| `%s` |", strings.Join(p.args, " "))
		cells(func(s startTimes) startTime { return s.plain })
		for i := range l.tools() {
			cells(func(s startTimes) startTime { return s.cold[i] })
			cells(func(s startTimes) startTime { return s.warm[i] })
			fmt.Fprintf(&b, " %.1f |", medianOf(rounds, func(s startTimes) float64 { return s.warm[i].whole.Seconds() / s.plain.whole.Seconds() }))
		}
		b.WriteString("\n")
	}
	return b.String()
}
