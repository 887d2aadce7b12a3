package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// The ways to see a store into a watched variable.
const (
	noStore      = "plain"
	cheapStore   = "a probe at a cheap site"
	steppedStore = "a probe at the store, stepped"
	trappedStore = "a hardware watchpoint"
)

// prepareStores lists the variants of a program that does nothing but store.
func prepareStores(c *config) ([]*variant, error) {
	program := filepath.Join(c.dir, "stores")
	if err := compileAs(program, "scripts/bench/testdata/stores.c"); err != nil {
		return nil, err
	}
	stepped := filepath.Join(c.dir, "stores-stepped")
	if err := compileAs(stepped, "scripts/bench/testdata/stores.c", "-DSTEPPED"); err != nil {
		return nil, err
	}
	few := max(c.pairs/20, 1000)
	return []*variant{
		{name: noStore, threads: 1, pairs: 5 * c.pairs, command: []string{program}},
		traced(c, cheapStore, 1, c.pairs, program, "--watch", "x", "--no-watch-hw"),
		traced(c, steppedStore, 1, few, stepped, "--watch", "x", "--no-watch-hw", "--sites=entry"),
		traced(c, trappedStore, 1, few, program, "--watch-hw", "x"),
	}, nil
}

// storeCost is what a way to see a store costs in each round, beyond the store
// itself, in ns: the time that passes, and that of the program's CPU alone, which leaves
// out where it was made to wait.
func storeCost(of, base result) (wall, cpu []float64) {
	for i := range of.samples {
		wall = append(wall, of.samples[i].NsPerPair-base.samples[i].NsPerPair)
		cpu = append(cpu, of.samples[i].CPUPair-base.samples[i].CPUPair)
	}
	return wall, cpu
}

// missedStores counts the stores of which no event was made, over all rounds.
func missedStores(r result) float64 {
	missed := 0.0
	for _, s := range r.samples {
		missed += s.Pairs - (s.events - r.idle.events + 1)
	}
	return missed
}

func (p *page) renderStores(b *strings.Builder) {
	if len(p.stores) == 0 {
		return
	}
	b.WriteString("\n### One thread: a store into a watched variable\n\nWhat observing the store adds. A watchpoint sees accesses through pointers too, and costs nothing where there is no access.\n\n" +
		"| | ns a store | from | to | ns of CPU | relative to the cheap site | missed |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	base, cheapest := p.stores[0], 0.0
	for _, r := range p.stores[1:] {
		wall, cpu := storeCost(r, base)
		median := figures.Median(cpu)
		if r.name == cheapStore {
			cheapest = median
		}
		fmt.Fprintf(b, "| %s | %.0f | %.0f | %.0f | %.0f | %.1f | %.0f |\n", r.name, figures.Median(wall), slices.Min(wall), slices.Max(wall), median, median/cheapest, missedStores(r))
	}
}
