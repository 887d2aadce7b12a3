package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// What more threads cost: each locks and unlocks a mutex of its own, so that only what observes them can make them wait for
// each other.

const (
	mostScaling   = 1.5 // what a pair may cost with 16 threads on 16 CPUs, relative to one thread
	mostOfTwo     = 1.15
	scalingOfTwo  = 2
	scalingOfMost = 16
)

// runScaling measures and prints.
func runScaling(c config) (met bool, err error) {
	program, tsan := filepath.Join(c.dir, "own"), filepath.Join(c.dir, "own-tsan")
	if err := compile(program, "-DOWN"); err != nil {
		return false, err
	}
	if err := compile(tsan, "-DOWN", "-fsanitize=thread"); err != nil {
		return false, err
	}
	var variants []*variant
	threads := scalingThreads(runtime.NumCPU())
	for _, n := range threads {
		variants = append(variants, &variant{name: plain, threads: n, pairs: 5 * c.pairs, command: []string{program}}, traced(&c, cheap, n, c.pairs, program))
		if c.beside != "" {
			other := c
			other.tool = c.beside
			variants = append(variants, traced(&other, c.beside, n, c.pairs, program))
		}
		variants = append(variants, &variant{name: sanitizer, threads: n, pairs: c.pairs, command: []string{tsan}})
	}
	results, err := measure(c, variants)
	if err != nil {
		return false, err
	}
	text, met := renderScaling(results, threads)
	fmt.Printf("Measured with `bench -scaling`, on %s.\n\n%s", figures.Machine(), text)
	return met, nil
}

// scalingThreads returns the numbers of threads that are measured on so many CPUs.
func scalingThreads(cpus int) (all []int) {
	for n := 1; n <= min(cpus, scalingOfMost); n *= 2 {
		all = append(all, n)
	}
	return all
}

// renderScaling returns a row for each way to run the program: ns a pair of each thread, by the number of threads.
func renderScaling(results []result, threads []int) (text string, met bool) {
	var b strings.Builder
	b.WriteString("| ns a pair, with so many threads |")
	for _, n := range threads {
		fmt.Fprintf(&b, " %d |", n)
	}
	fmt.Fprintf(&b, " most, relative to one |\n| --- |%s ---: |\n", strings.Repeat(" ---: |", len(threads)))
	var names []string
	for _, r := range results {
		if !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	met = true
	for _, name := range names {
		fmt.Fprintf(&b, "| %s |", name)
		costs := costsOf(results, name)
		for _, cost := range costs {
			fmt.Fprintf(&b, " %.0f |", cost)
		}
		most := costs[len(costs)-1] / costs[0]
		fmt.Fprintf(&b, " %.2f |\n", most)
		if name == cheap {
			met = most <= scalingLimit(threads[len(threads)-1])
		}
	}
	fmt.Fprintf(&b, "\nlimit for tracepredict: %.2f times the pair of one thread with %d threads, %.2f with %d\n", mostOfTwo, scalingOfTwo, mostScaling, scalingOfMost)
	return b.String(), met
}

// costsOf returns the medians of a way to run the program, in ns a pair of each thread, in the order of the numbers of threads.
func costsOf(results []result, name string) (all []float64) {
	for _, r := range results {
		if r.name != name {
			continue
		}
		var costs []float64
		for _, s := range r.samples {
			costs = append(costs, s.NsPerPair*float64(r.threads))
		}
		all = append(all, figures.Median(costs))
	}
	return all
}

// scalingLimit returns what a pair may cost with so many threads, relative to one.
func scalingLimit(threads int) float64 {
	if threads <= scalingOfTwo {
		return mostOfTwo
	}
	return mostScaling
}
