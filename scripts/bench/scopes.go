package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// This file measures the programs of section 4 of Soueidi, El-Hokayem and Falcone, Opportunistic Monitoring of Multithreaded
// Programs (FASE 2023), each monitored in several ways, as its Figures 5 to 7 do.

// scopeWay is a way to monitor a program.
type scopeWay struct {
	key, name string
	define    string   // the monitor that is compiled into the program; "" for none
	flags     []string // of tracepredict exec; nil: it does not run
	size      float64  // of its runs: what is fast runs longer
}

const (
	longer    = 10
	heldWay   = "held"
	kernelWay = "kernel"
)

func scopeWays() []scopeWay {
	return []scopeWay{
		{"plain", "plain", "", nil, longer},
		{"global", "global", "GLOBAL", nil, longer},
		{"local", "opportunistic, in the program", "LOCAL", nil, longer},
		{heldWay, "global, held", "HELD", nil, 1},
		{"user", "global, asynchronous", "", []string{"--monitor=user"}, 1},
		{kernelWay, "opportunistic", "", []string{"--monitor=kernel"}, 1},
	}
}

// scopePoint is what is measured of a program at one value of a figure's axis.
type scopePoint struct {
	figure        string // readers, cwidth or programs
	x             string
	program, spec string
	args          []string
}

// Sizes of the runs: the paper has 100,000 writes and 400,000 reads, as the longer runs here have, and does not say at which
// width it varies the readers, nor at how many readers the width.
const (
	scopeWrites  = 10_000
	scopeReads   = 40_000
	fixedWidth   = 30
	fixedReaders = 3
)

func scopePoints(scale float64) []scopePoint {
	n := func(of int) string { return strconv.Itoa(max(1, int(float64(of)*scale))) }
	readersWriters := func(figure string, x, readers, width int) scopePoint {
		return scopePoint{figure, strconv.Itoa(x), "readers_writers", "readers_writers",
			[]string{strconv.Itoa(readers), strconv.Itoa(width), n(scopeWrites), n(scopeReads)}}
	}
	var points []scopePoint
	for _, readers := range []int{1, 3, 7, 15, 23, 31, 63, 127} {
		points = append(points, readersWriters("readers", readers, readers, fixedWidth))
	}
	for _, width := range []int{1, 5, 10, 15, 30, 60, 100, 150} {
		points = append(points, readersWriters("cwidth", width, fixedReaders, width))
	}
	return append(points,
		scopePoint{"programs", "2-bakery", "bakery", "bakery2", []string{"2", n(2000)}},
		scopePoint{"programs", "n-bakery", "bakery", "bakery4", []string{"4", n(500)}},
		scopePoint{"programs", "ping-pong", "ping_pong", "ping_pong", []string{n(3000)}},
		scopePoint{"programs", "producer-consumer", "producer_consumer", "producer_consumer", []string{"2", n(10_000)}},
		scopePoint{"programs", "mergesort", "mergesort", "mergesort", []string{"200000", n(3)}})
}

// scopeTimes is what was measured of a point in one way.
type scopeTimes struct {
	micros  []float64 // an event
	records float64   // an event; of the last run
}

// scopes is what was measured of all.
type scopes struct {
	ways   []scopeWay
	points []scopePoint                      // of runs of size 1
	times  map[string]map[string]*scopeTimes // by figure and x, then by way
}

func (p *scopePoint) name() string { return p.figure + " " + p.x }

// scopeLimit ends a run that hangs.
const scopeLimit = 2 * time.Minute

// measureScopes measures all points in all ways in each round; the order turns, so that none always runs after the same other.
func measureScopes(c *config) (*scopes, error) {
	s := &scopes{ways: scopeWays(), points: scopePoints(1), times: map[string]map[string]*scopeTimes{}}
	programs, err := compileScopes(c.dir, s)
	if err != nil {
		return nil, err
	}
	for round := range c.rounds {
		for j := range s.points {
			for i := range s.ways {
				w := s.ways[(i+round)%len(s.ways)]
				p := scopePoints(c.scale * w.size)[j]
				if err := s.measure(c, p, w, programs[p.program+w.define]); err != nil {
					return nil, err
				}
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, c.rounds)
	}
	return s, nil
}

// compileScopes compiles the programs with each monitor.
func compileScopes(dir string, s *scopes) (map[string]string, error) {
	programs := map[string]string{}
	for _, p := range s.points {
		for _, w := range s.ways {
			key := p.program + w.define
			if programs[key] != "" {
				continue
			}
			programs[key] = filepath.Join(dir, key)
			var flags []string
			if w.define != "" {
				flags = append(flags, "-D"+w.define)
			}
			if err := compileAs(programs[key], filepath.Join(scopeFolder, p.program+".c"), flags...); err != nil {
				return nil, err
			}
		}
	}
	return programs, nil
}

const scopeFolder = "scripts/bench/programs"

func (s *scopes) measure(c *config, p scopePoint, w scopeWay, program string) error {
	args := append([]string{program}, p.args...)
	report := ""
	if w.flags != nil {
		report = filepath.Join(c.dir, "scopes.json")
		args = slices.Concat([]string{c.tool, "exec", "--watch-shared=off", "--spec", filepath.Join(scopeFolder, p.spec+".tps"), "--format", "json", "--output", report},
			w.flags, []string{"--"}, args)
	}
	seconds, events, err := runScope(args)
	if refused := new(exec.ExitError); w.key == kernelWay && errors.As(err, &refused) && refused.ExitCode() == 2 {
		fmt.Fprintf(os.Stderr, "%-28s %-30s refused\n", p.name(), w.name)
		return nil
	}
	if err != nil {
		return err
	}
	by := s.times[p.name()]
	if by == nil {
		by = map[string]*scopeTimes{}
		s.times[p.name()] = by
	}
	if by[w.key] == nil {
		by[w.key] = &scopeTimes{}
	}
	t := by[w.key]
	t.micros = append(t.micros, seconds*1e6/events)
	fmt.Fprintf(os.Stderr, "%-28s %-30s %8.3f s, %8.3f µs an event\n", p.name(), w.name, seconds, seconds*1e6/events)
	if report == "" {
		return nil
	}
	var sample sample
	if err := sample.readReport(report); err != nil {
		return err
	}
	if sample.lost > 0 {
		return fmt.Errorf("%s: %.0f events were lost", strings.Join(args, " "), sample.lost)
	}
	t.records = sample.events / events
	return nil
}

// runScope returns how long the threads of a program took, in seconds, by its own clock, and how many events the property has
// of them.
func runScope(args []string) (seconds, events float64, err error) {
	what := strings.Join(args, " ")
	ctx, cancel := context.WithTimeout(context.Background(), scopeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second // until it is killed
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s%s", what, err, &stdout, &stderr)
	}
	var result struct{ Seconds, Events, Violations *float64 }
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %q", what, err, stdout.Bytes())
	}
	if result.Seconds == nil || result.Events == nil || result.Violations == nil {
		return 0, 0, fmt.Errorf("%s: it printed no measurement: %q", what, stdout.Bytes())
	}
	if *result.Violations > 0 {
		return 0, 0, fmt.Errorf("%s: its monitor found %.0f violations", what, *result.Violations)
	}
	return *result.Seconds, *result.Events, nil
}

var scopeMarks = figures.Marks{Begin: "<!-- scopes: written by make bench -->", End: "<!-- end of scopes -->"}

// runScopes measures the scopes and writes their table beside the page, and their part of the page.
func runScopes(c config) (met bool, err error) {
	s, err := measureScopes(&c)
	if err != nil {
		return false, err
	}
	text, met := s.render(c.rounds, c.scale)
	fmt.Print(text)
	table := filepath.Join(filepath.Dir(c.output), "figures", "scopes.csv")
	if err := s.write(table); err != nil {
		return false, err
	}
	return met, scopeMarks.Write(filepath.Clean(c.output), newPage, text)
}

// write writes all that was measured as a table, which plots scopes draws.
func (s *scopes) write(name string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows := [][]string{{"figure", "x", "way", "us", "least", "most", "records"}}
	for _, p := range s.points {
		for _, w := range s.ways {
			t := s.times[p.name()][w.key]
			if t == nil {
				continue // --monitor=kernel does not take this scope
			}
			rows = append(rows, []string{p.figure, p.x, w.name, fmt.Sprintf("%.4f", figures.Median(t.micros)),
				fmt.Sprintf("%.4f", slices.Min(t.micros)), fmt.Sprintf("%.4f", slices.Max(t.micros)), fmt.Sprintf("%.3f", t.records)})
		}
	}
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Limits of opportunistic monitoring.
const (
	wideRegion    = 30  // events of a reader in a region
	minTimesWider = 3.0 // as fast as global monitoring from there on
)

// opportunistic is the requirement; ok is false if no run under both monitors was measured.
func (s *scopes) opportunistic() (q requirement, ok bool) {
	least := 0.0
	for _, p := range s.points {
		width, err := strconv.Atoi(p.x)
		held, kernel := s.times[p.name()][heldWay], s.times[p.name()][kernelWay]
		if p.figure != "cwidth" || err != nil || width < wideRegion || held == nil || kernel == nil {
			continue
		}
		if times := figures.Median(held.micros) / figures.Median(kernel.micros); !ok || times < least {
			least, ok = times, true
		}
	}
	return requirement{fmt.Sprintf("readers-writers, each reader reads %d times and more in a region: opportunistic monitoring, relative to global monitoring that holds each thread until its event is judged", wideRegion),
		fmt.Sprintf("at least %.0f times as fast", minTimesWider), fmt.Sprintf("%.1f times", least), least >= minTimesWider}, ok
}

var scopeFigures = []struct{ key, axis, caption string }{
	{"readers", "readers", "The time of readers-writers over the number of readers"},
	{"cwidth", "reads of a reader in a region", "The time of readers-writers over the width of regions"},
	{"programs", "program", "The time of the other programs"},
}

func (s *scopes) render(rounds int, scale float64) (text string, met bool) {
	var b strings.Builder
	met = true
	fmt.Fprintf(&b, "Measured with `make bench`, medians of %d rounds in µs an event, runs of %g times the size, on %s. Where there is a dash, `--monitor=kernel` does not take the scope. Data: [scopes.csv](figures/scopes.csv).\n", rounds, scale, figures.Machine())
	if q, ok := s.opportunistic(); ok {
		b.WriteString("\n")
		met = renderRequirements(&b, []requirement{q})
	}
	for _, f := range scopeFigures {
		fmt.Fprintf(&b, "\n![%s](figures/scopes-%s.svg)\n\n| %s |", f.caption, f.key, f.axis)
		for _, w := range s.ways {
			fmt.Fprintf(&b, " %s |", w.name)
		}
		b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(s.ways)) + "\n")
		for _, p := range s.points {
			if p.figure != f.key {
				continue
			}
			fmt.Fprintf(&b, "| %s |", p.x)
			for _, w := range s.ways {
				if t := s.times[p.name()][w.key]; t != nil {
					fmt.Fprintf(&b, " %.2f |", figures.Median(t.micros))
				} else {
					b.WriteString(" – |")
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String(), met
}
