// Command bench measures what tracepredict costs the program that it observes,
// side by side with the alternatives, and writes docs/performance.md.
//
// Everything is measured in one run, the variants in turn in each round, so that a busy or
// throttled machine affects all of them equally. The page shows medians over the rounds. The
// command runs from the top of the tree, as root, with ./tracepredict built. It exits with 1
// if a requirement is not met.
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
	scopes    bool   // measure monitors of scopes alone
	knowledge bool   // measure formulas on knowledge alone
	confirm   bool   // measure confirming alone
	contended bool   // measure profile --contended alone
	scaling   bool   // measure what a pair costs with ever more threads alone
	beside    string // another tracepredict that is measured too; "": none
	scale     float64
}

func main() {
	var c config
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to measure")
	flag.StringVar(&c.output, "output", "docs/performance.md", "the page whose marked part is written")
	flag.IntVar(&c.rounds, "rounds", 7, "`N` rounds, an odd number")
	flag.IntVar(&c.pairs, "pairs", 1_000_000, "lock/unlock pairs of a thread where probes are cheap; a twentieth where they are dear")
	flag.StringVar(&c.benchtime, "benchtime", "1s", "time of each Go benchmark")
	flag.BoolVar(&c.scopes, "scopes", false, "measure monitors of scopes alone, and write their part of the page")
	flag.BoolVar(&c.knowledge, "knowledge", false, "measure formulas on what threads know alone, and print their rows")
	flag.BoolVar(&c.confirm, "confirm", false, "measure how long findings take to be confirmed alone, and print their row")
	flag.BoolVar(&c.contended, "contended", false, "measure profile --contended alone, on memcached and beside bpftrace, and print it")
	flag.BoolVar(&c.scaling, "scaling", false, "measure lock/unlock pairs of one thread and of more, up to the number of CPUs, alone, and print them")
	flag.StringVar(&c.beside, "beside", "", "with -scaling: another `TRACEPREDICT`, to compare with")
	flag.Float64Var(&c.scale, "scale", 1, "with -scopes and -contended: times the usual size of the runs")
	flag.Parse()
	if c.rounds < 1 || c.pairs < 1000 || c.scale <= 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	measured := run
	switch {
	case c.scopes:
		measured = runScopes
	case c.knowledge:
		measured = runKnowledge
	case c.confirm:
		measured = runConfirm
	case c.scaling:
		measured = runScaling
	case c.contended:
		measured = runContended
	}
	met, err := inFolder(c, measured)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if !met {
		fmt.Fprintln(os.Stderr, "bench: a requirement is not met; see above")
		os.Exit(1)
	}
}

// inFolder measures with a folder for what is built and written meanwhile.
func inFolder(c config, measured func(config) (met bool, err error)) (met bool, err error) {
	if c.dir, err = os.MkdirTemp("", "tracepredict-bench"); err != nil {
		return false, err
	}
	defer os.RemoveAll(c.dir)
	// The mktemp folder is the caller's alone; nothing in it is secret, and
	// tracepredict runs the program as the user who called sudo.
	if err := os.Chmod(c.dir, 0o755); err != nil {
		return false, err
	}
	return measured(c)
}

func run(c config) (met bool, err error) {
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
	p := page{config: c, machine: figures.Machine(), results: results, stores: stores}
	if p.knowledge, err = knowledgeBenchmarks(&c); err != nil {
		return false, err
	}
	if err := p.withoutKernel(); err != nil {
		return false, err
	}
	if p.hang, err = hangBenchmark(); err != nil {
		return false, err
	}
	if p.confirmed, err = confirmBenchmarks(&c); err != nil {
		return false, err
	}
	text, met := p.render()
	fmt.Print(text)
	return met, marks.Write(filepath.Clean(c.output), newPage, text)
}

// withoutKernel measures what needs no probes.
func (p *page) withoutKernel() (err error) {
	if p.stages, err = goBenchmarks(p.config); err != nil {
		return err
	}
	if p.replays, err = replayBenchmarks(p.config); err != nil {
		return err
	}
	if p.reach, err = reachBenchmarks(p.config); err != nil {
		return err
	}
	if p.checked, p.unbounded, err = latticeBenchmarks(p.config); err != nil {
		return err
	}
	if p.reports, err = reportBenchmarks(p.config); err != nil {
		return err
	}
	if p.lockGraph, err = lockBenchmarks(p.config); err != nil {
		return err
	}
	if p.ordered, err = orderBenchmark(p.config); err != nil {
		return err
	}
	if p.protocols, err = protocolBenchmarks(); err != nil {
		return err
	}
	p.chains, err = chainsBenchmark()
	return err
}
