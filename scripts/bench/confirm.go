package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/scripts/figures"
	"github.com/tracepredict/tracepredict/scripts/trial"
)

// What confirming a finding may take in the median: so many plain runs of the program, and seconds besides.
const maxPlainRuns, maxBesides = 3, 1.0

// confirmedExamples are the examples whose findings are confirmed, and what tracepredict watches of them.
var confirmedExamples = []struct {
	name  string
	flags []string
}{
	{"bank", nil}, {"errand", nil}, {"philosophers", nil}, {"ring", nil}, {"classes", nil},
	{"shop", nil}, {"fields", nil}, {"rwlock_race", nil}, {"spinlock", nil}, {"pipe", nil}, {"flag", nil},
	{"valve", []string{"--spec", "examples/valve/valve.tps"}}, {"refs", []string{"--spec", "examples/refs/refs.tps"}},
	{"socket", []string{"--spec", "examples/socket/socket.tps"}}, {"sale", []string{"--spec", "examples/sale/sale.tps"}},
}

// confirmedIn is how long it took to confirm a finding, in seconds.
type confirmedIn struct {
	example string
	plain   float64 // a run of the program, in seconds
	tries   float64 // all runs of it until the finding was confirmed
}

// besides returns what a finding took beside the plain runs that it may take.
func (c confirmedIn) besides() float64 { return c.tries - maxPlainRuns*c.plain }

// confirmBenchmarks confirms the findings of the examples, in turn in each round.
func confirmBenchmarks(c *config) (all []confirmedIn, err error) {
	for range min(c.rounds, 3) {
		for _, e := range confirmedExamples {
			found, err := c.confirmed(e.name, e.flags)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// confirmed runs an example plain, and then with --confirm.
func (c *config) confirmed(example string, flags []string) (all []confirmedIn, err error) {
	program, report := filepath.Join(c.dir, example), filepath.Join(c.dir, "confirm.json")
	if log, err := exec.Command("make", "-C", "examples", "OUT="+c.dir, program).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", example, err, log)
	}
	begun := time.Now()
	if log, err := exec.Command(program).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", program, err, log)
	}
	plain := time.Since(begun).Seconds()
	args := append([]string{"exec", "--confirm", "--fail-on", "never", "--format", "json", "--output", report}, flags...)
	cmd := exec.Command(c.tool, append(args, "--", program)...)
	if log, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, log)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	findings, err := trial.Findings(string(text))
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		if f.IsConfirmed() {
			all = append(all, confirmedIn{example, plain, f.Confirmation.Total.Seconds()})
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %.2f s plain, confirmed: %d of %d\n", example, plain, len(all), len(findings))
	return all, nil
}

// runConfirm prints the row on confirming.
func runConfirm(c config) (met bool, err error) {
	all, err := confirmBenchmarks(&c)
	if err != nil {
		return false, err
	}
	var b strings.Builder
	met = renderRequirements(&b, []requirement{confirmRequirement(all)})
	fmt.Print(b.String())
	return met, nil
}

// confirmRequirement returns the row for what was measured; nothing means that it was not.
func confirmRequirement(all []confirmedIn) requirement {
	r := requirement{
		text:     "time to confirm a finding of the examples, all tries together, beside three plain runs of the program: seconds, median",
		limit:    fmt.Sprintf("at most %.0f", maxBesides),
		measured: "not measured",
	}
	if len(all) == 0 {
		return r
	}
	var besides, tries, plain []float64
	for _, one := range all {
		besides, tries, plain = append(besides, one.besides()), append(tries, one.tries), append(plain, one.plain)
	}
	m := figures.Median(besides)
	r.measured = fmt.Sprintf("%.2f, of %.2f in all; a plain run takes %.2f; %s", m, figures.Median(tries), figures.Median(plain), plural.Counted(uint64(len(all)), "finding", "findings"))
	r.met = m <= maxBesides
	return r
}
