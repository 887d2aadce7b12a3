// Command bench measures what tracepredict costs the program that it observes,
// side by side with the alternatives, and writes docs/performance.md.
//
// Everything is measured in one run, the variants in turn in each round, so that
// a busy or throttled machine is the same to all of them; what is told are
// medians over the rounds. It runs from the top of the tree, as root, with
// ./tracepredict built; it exits 1 if a requirement is not met.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

type config struct {
	tool      string
	output    string
	rounds    int
	pairs     int // a thread, in the cheap variant
	benchtime string
	dir       string // of what is built and written meanwhile
}

func main() {
	var c config
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to measure")
	flag.StringVar(&c.output, "output", "docs/performance.md", "the page whose marked part is written")
	flag.IntVar(&c.rounds, "rounds", 7, "`N` rounds, an odd number")
	flag.IntVar(&c.pairs, "pairs", 1_000_000, "lock/unlock pairs of a thread where probes are cheap; a twentieth where they are dear")
	flag.StringVar(&c.benchtime, "benchtime", "1s", "time of each Go benchmark")
	flag.Parse()
	if c.rounds < 1 || c.pairs < 1000 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	met, err := run(c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if !met {
		fmt.Fprintln(os.Stderr, "bench: a requirement is not met; see", c.output)
		os.Exit(1)
	}
}

func run(c config) (met bool, err error) {
	if c.dir, err = os.MkdirTemp("", "tracepredict-bench"); err != nil {
		return false, err
	}
	defer os.RemoveAll(c.dir)
	// The mktemp folder is the caller's alone; nothing in it is secret, and
	// tracepredict runs the program as the user who called sudo.
	if err := os.Chmod(c.dir, 0o755); err != nil {
		return false, err
	}
	native := filepath.Join(c.dir, "pairs")
	if err := compile(native); err != nil {
		return false, err
	}
	kernel, err := newEmptyProbes(&c, native)
	if err != nil {
		return false, err
	}
	defer kernel.Close()
	floor := filepath.Join(c.dir, "pairs-floor")
	if err := compile(floor, "-DFLOOR", "-fcf-protection=none"); err != nil {
		return false, err
	}
	if err := kernel.atFloor(floor); err != nil {
		return false, err
	}
	variants, err := prepare(&c, native, floor, kernel)
	if err != nil {
		return false, err
	}
	results, err := measure(c, variants)
	if err != nil {
		return false, err
	}
	ways, err := prepareStores(&c)
	if err != nil {
		return false, err
	}
	stores, err := measure(c, ways)
	if err != nil {
		return false, err
	}
	stages, err := goBenchmarks(c)
	if err != nil {
		return false, err
	}
	replays, err := replayBenchmarks(c)
	if err != nil {
		return false, err
	}
	reach, err := reachBenchmarks(c)
	if err != nil {
		return false, err
	}
	properties, whole, err := latticeBenchmarks(c)
	if err != nil {
		return false, err
	}
	reports, err := reportBenchmarks(c)
	if err != nil {
		return false, err
	}
	graph, err := lockBenchmarks(c)
	if err != nil {
		return false, err
	}
	ordered, err := orderBenchmark(c)
	if err != nil {
		return false, err
	}
	chains, err := chainsBenchmark()
	if err != nil {
		return false, err
	}
	hang, err := hangBenchmark()
	if err != nil {
		return false, err
	}
	machine := figures.Machine()
	p := page{config: c, machine: machine, results: results, stores: stores, stages: stages, replays: replays, reach: reach, checked: properties, unbounded: whole, reports: reports, lockGraph: graph, chains: chains, hang: hang, ordered: ordered}
	text, met := p.render()
	fmt.Print(text)
	return met, marks.Write(filepath.Clean(c.output), newPage, text)
}
