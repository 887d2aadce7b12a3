package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

var marks = figures.Marks{Begin: "<!-- real programs: written by make real -->", End: "<!-- end of real programs -->"}

var pointerMarks = figures.Marks{Begin: "<!-- accesses through pointers: written by make real -->", End: "<!-- end of accesses through pointers -->"}

// newPage is what the page says if there is none.
var newPage = "# What observing costs\n\n## Real programs\n\n" + marks.Begin + "\n" + marks.End + "\n\n" + pointerMarks.Begin + "\n" + pointerMarks.End + "\n\n" + largeMarks.Begin + "\n" + largeMarks.End + "\n"

// Goals: what the docs promise.
const (
	fewLocks    = 50_000 // a second
	maxFew      = 1.1    // times plain, where locks are few
	maxMany     = 1.4    // on memcached, however many they are
	maxStacks   = 1.2    // times as long with call chains as without
	manyProgram = "memcached"
)

func (r result) median(m mode, f func(sample) float64) float64 {
	var values []float64
	for _, s := range r.samples[m] {
		values = append(values, f(s))
	}
	return figures.Median(values)
}

func (r result) worst(m mode, f func(sample) float64) float64 {
	worst := 0.0
	for _, s := range r.samples[m] {
		worst = max(worst, f(s))
	}
	return worst
}

// ratio compares within each round and takes the median; 0 if one is missing.
func (r result) ratio(m mode) float64 { return r.compare(m, plain) }

// compare is ratio to another mode than plain.
func (r result) compare(m, base mode) float64 {
	var values []float64
	for i, s := range r.samples[m] {
		if i < len(r.samples[base]) {
			values = append(values, float64(s.load)/float64(r.samples[base][i].load))
		}
	}
	return figures.Median(values)
}

// locks a second that the program takes when nobody looks: half of its events,
// for each has a release, over the time that the load takes plain.
func (r result) locks() float64 {
	if len(r.samples[plain]) == 0 {
		return 0
	}
	return r.median(execed, events) / 2 / r.median(plain, load)
}

// limit is the program's goal; 0 if it has none.
func (r result) limit() float64 {
	switch {
	case r.name == manyProgram:
		return maxMany
	case r.locks() < fewLocks:
		return maxFew
	}
	return 0
}

func load(s sample) float64    { return s.load.Seconds() }
func startup(s sample) float64 { return s.startup.Seconds() }
func peak(s sample) float64    { return float64(s.peak) / (1 << 20) }
func cpu(s sample) float64     { return s.cpu.Seconds() }

func events(s sample) float64 {
	if s.report.Run.Events == nil {
		return 0
	}
	return float64(*s.report.Run.Events)
}

func lost(s sample) float64 {
	if s.report.Run.Lost == nil {
		return 0
	}
	return float64(*s.report.Run.Lost)
}

// rate is of the time observed.
func rate(s sample) float64 {
	if s.report.Run.Duration <= 0 {
		return 0
	}
	return events(s) / time.Duration(s.report.Run.Duration).Seconds()
}

func render(c config, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured with `make real`, %d rounds, on %s. Ratios are more comparable between machines than seconds.\n\n", c.rounds, figures.Machine())
	b.WriteString("| | plain, s | exec, s | times | attach, s | times | locks a second, plain | goal | met |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, r := range results {
		goal, met := "", ""
		if limit := r.limit(); limit > 0 && r.complete() {
			goal, met = fmt.Sprintf("%.1f", limit), "**no**"
			if r.ratio(execed) <= limit && r.ratio(attach) <= limit {
				met = "yes"
			} else if f := r.ratio(floor); f > limit {
				met += fmt.Sprintf("; out of reach on this machine: programs that do nothing at the same sites take %.2f times", f)
			}
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.0f | %s | %s |\n", r.name, r.median(plain, load), r.median(execed, load),
			r.ratio(execed), r.median(attach, load), r.ratio(attach), r.locks(), goal, met)
	}
	b.WriteString("\n| | | events | events a second | lost, at worst | findings | tracepredict, MB | CPU, s | start-up or attach, s | start-up plain, s |\n" +
		"| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |\n")
	for _, r := range results {
		for _, m := range []mode{execed, attach} {
			if len(r.samples[m]) == 0 {
				continue
			}
			begin := r.median(m, startup)
			if m == attach {
				begin = r.median(m, func(s sample) float64 { return s.attached.Seconds() })
			}
			fmt.Fprintf(&b, "| %s | %s | %.0f | %.0f | %.0f | %s | %.0f | %.1f | %.2f | %.2f |\n", r.name, m, r.median(m, events), r.median(m, rate),
				r.worst(m, lost), r.findings(m), r.worst(m, peak), r.median(m, cpu), begin, r.median(plain, startup))
		}
	}
	b.WriteString(stacksTable(results))
	b.WriteString("\nThe loads:\n\n")
	for _, r := range results {
		fmt.Fprintf(&b, "- %s: %s\n", r.name, r.load)
	}
	return b.String()
}

// stacksTable compares exec with and without call chains; "" if that was not measured.
func stacksTable(results []result) string {
	var b strings.Builder
	for _, r := range results {
		if len(r.samples[bare]) == 0 || len(r.samples[execed]) == 0 {
			continue
		}
		times, met := r.compare(execed, bare), "**no**"
		if times < maxStacks {
			met = "yes"
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %.1f | %s |\n", r.name, r.median(bare, load), r.median(execed, load), times, maxStacks, met)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nWhat call stacks cost (`--stacks=none` beside the default):\n\n| | without, s | with, s | times | goal, below | met |\n| --- | ---: | ---: | ---: | ---: | --- |\n" + b.String()
}

// complete describes whether every mode that has a goal of its own was measured.
func (r result) complete() bool {
	for _, m := range []mode{plain, execed, attach} {
		if len(r.samples[m]) == 0 {
			return false
		}
	}
	return true
}

// findings names the most that a run had, by confidence.
func (r result) findings(m mode) string {
	most := map[string]int{}
	for _, s := range r.samples[m] {
		counts := map[string]int{}
		for _, f := range s.report.Findings {
			kind := f.Confidence + " " + f.Kind
			counts[kind]++
			most[kind] = max(most[kind], counts[kind])
		}
	}
	var parts []string
	for kind, n := range most {
		parts = append(parts, fmt.Sprintf("%d %s", n, kind))
	}
	if len(parts) == 0 {
		return "none"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// renderPointers is the table of -pointers: how much longer the load takes than under exec alone, and which
// share of the functions with accesses through pointers was watched to the end.
func renderPointers(c config, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured with `make real REALFLAGS=-pointers`, %d rounds, on %s.\n\n", c.rounds, figures.Machine())
	b.WriteString("| | plain, s | exec, s | start-up, s |")
	for _, m := range pointerModes[2:] {
		budget, _ := m.budget()
		fmt.Fprintf(&b, " %s: times exec | functions watched to the end | start-up, s | findings |", budget)
	}
	b.WriteString("\n| --- | ---: | ---: | ---: |" + strings.Repeat(" ---: | ---: | ---: | --- |", len(pointerModes)-2) + "\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f |", r.name, r.median(plain, load), r.median(execed, load), r.median(execed, startup))
		for _, m := range pointerModes[2:] {
			fmt.Fprintf(&b, " %.2f | %s | %.2f | %s |", r.compare(m, execed), r.watched(m), r.median(m, startup), r.findings(m))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// watched returns how many functions were watched to the end, of those with accesses through pointers, in the
// run in which they were fewest.
func (r result) watched(m mode) string {
	fewest, text := 2.0, "-"
	for _, s := range r.samples[m] {
		p := s.report.Run.Pointers
		if p == nil {
			continue
		}
		if p.Functions == 0 {
			if fewest > 1 {
				fewest, text = 1, "all"
			}
			continue
		}
		left := p.Functions - len(p.Sampled)
		if share := float64(left) / float64(p.Functions); share < fewest {
			fewest, text = share, fmt.Sprintf("%d of %d", left, p.Functions)
		}
	}
	return text
}
