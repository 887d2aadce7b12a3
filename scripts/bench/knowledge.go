package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// Limits of formulas on what threads know.
const (
	maxBank   = 1.3 // time of the bank's transactions, relative to plain
	maxComers = 1.2 // memory of the tool with 100,000 threads, relative to that with 10,000
)

// The bank of the paper: so many transactions, and so many seconds of work in them.
const (
	bankThreads, bankTransactions = 2, 1000 // a thread
	bankSeconds                   = 2.0
)

// Threads that come and go in the two runs that are compared.
const fewComers, manyComers = 10_000, 100_000

// observedBank is the variant whose formulas are checked.
const observedBank = "tracepredict exec --spec"

// knowledgeCost is what formulas on what threads know cost.
type knowledgeCost struct {
	bank      []result // the plain one first
	few, many float64  // MiB of memory of the tool, at most, while threads come and go
	forms     kernelForm
}

func knowledgeBenchmarks(c *config) (k knowledgeCost, err error) {
	variants, err := prepareBank(c)
	if err != nil {
		return k, err
	}
	if k.bank, err = measure(*c, variants); err != nil {
		return k, err
	}
	comers := filepath.Join(c.dir, "comers")
	if err := compileAs(comers, "scripts/bench/testdata/comers.c"); err != nil {
		return k, err
	}
	if k.few, err = c.memoryOfComers(comers, fewComers); err != nil {
		return k, err
	}
	if k.many, err = c.memoryOfComers(comers, manyComers); err != nil {
		return k, err
	}
	k.forms, err = measureForms(c)
	return k, err
}

// runKnowledge prints the part of the page on knowledge.
func runKnowledge(c config) (met bool, err error) {
	k, err := knowledgeBenchmarks(&c)
	if err != nil {
		return false, err
	}
	var b strings.Builder
	met = renderRequirements(&b, k.requirements())
	k.render(&b)
	fmt.Print(b.String())
	return met, nil
}

// prepareBank lists the variants of the bank, with as much work as makes the plain one take bankSeconds.
func prepareBank(c *config) ([]*variant, error) {
	program := filepath.Join(c.dir, "bank")
	if err := compileAs(program, "scripts/bench/testdata/bank.c"); err != nil {
		return nil, err
	}
	const trial = 1_000_000
	s, err := (&variant{threads: bankThreads, command: []string{program, strconv.Itoa(trial)}}).run(bankTransactions / 10)
	if err != nil {
		return nil, err
	}
	work := strconv.Itoa(int(trial * bankSeconds * 1e9 / (s.NsPerPair * bankThreads * bankTransactions)))
	observed := traced(c, observedBank, bankThreads, bankTransactions, program, "--spec", "scripts/bench/testdata/bank.tps", "--fail-on", "never")
	observed.command = append(observed.command, work)
	return []*variant{
		{name: plain, threads: bankThreads, pairs: bankTransactions, command: []string{program, work}},
		observed,
	}, nil
}

// memoryOfComers returns the most memory, in MiB, of any process of the tool while so many threads come and go under a
// formula that binds them all.
func (c *config) memoryOfComers(program string, threads int) (float64, error) {
	cmd := exec.Command(c.tool, "exec", "--watch-shared=off", "--spec", "scripts/bench/testdata/comers.tps", "--fail-on", "never",
		"--output", filepath.Join(c.dir, "comers.txt"), "--", program, strconv.Itoa(threads))
	if log, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", cmd, err, log)
	}
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, fmt.Errorf("%s: its memory is not known", cmd)
	}
	fmt.Fprintf(os.Stderr, "%d threads that come and go: %d KiB\n", threads, u.Maxrss)
	return float64(u.Maxrss) / 1024, nil // the kernel counts the children that the process awaited
}

// slowdown is how many times as long the transactions take, median of the rounds.
func (k *knowledgeCost) slowdown() float64 {
	var ratios []float64
	for i := range k.bank[0].samples {
		ratios = append(ratios, k.bank[1].samples[i].NsPerPair/k.bank[0].samples[i].NsPerPair)
	}
	return figures.Median(ratios)
}

func (k *knowledgeCost) requirements() []requirement {
	bank := requirement{
		text:     fmt.Sprintf("%d transactions of a bank with locks, %.0f s of work in them, under formulas of atomicity: time, relative to plain", bankThreads*bankTransactions, bankSeconds),
		limit:    fmt.Sprintf("less than %.1f", maxBank),
		measured: "not measured",
	}
	if len(k.bank) == 2 {
		bank.measured, bank.met = fmt.Sprintf("%.2f", k.slowdown()), k.slowdown() < maxBank
	}
	comers := requirement{
		text:     fmt.Sprintf("memory of tracepredict while 100,000 threads come and go under a formula that binds them all, relative to %d", fewComers),
		limit:    fmt.Sprintf("at most %.1f", maxComers),
		measured: "not measured",
	}
	if k.few > 0 {
		comers.measured, comers.met = fmt.Sprintf("%.2f: %.0f MiB and %.0f MiB", k.many/k.few, k.few, k.many), k.many <= maxComers*k.few
	}
	return append([]requirement{bank, comers}, k.forms.requirements()...)
}

func (k *knowledgeCost) render(b *strings.Builder) {
	if len(k.bank) != 2 {
		return
	}
	fmt.Fprintf(b, "\n### What threads know of each other\n\nThe bank of the paper on DAME: %d threads make %d transactions each, half of them transfers between two accounts, half balances of both; "+
		"each account has a lock, and a transaction works between its two. Both accounts are watched, and the formulas of atomic blocks of both methods checked (`scripts/bench/testdata/bank.tps`). "+
		"The paper's own tool took 3.4 times as long.\n\n| | seconds | from | to | seconds of CPU | of the tool |\n| --- | ---: | ---: | ---: | ---: | ---: |\n", bankThreads, bankTransactions)
	for _, r := range k.bank {
		var all []float64
		for _, s := range r.samples {
			all = append(all, s.NsPerPair*s.Pairs/1e9)
		}
		fmt.Fprintf(b, "| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", r.name, figures.Median(all), slices.Min(all), slices.Max(all),
			r.median(func(s sample) float64 { return s.CPU }), r.median(func(s sample) float64 { return s.toolCPU }))
	}
	k.forms.render(b)
}
