package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Limits of protocols of use.
const (
	maxObjects    = 5.0   // seconds, to check 10,000 objects of 50 calls
	maxObjectsMiB = 300.0 // of memory for that
	maxMining     = 10.0  // seconds, to learn from a million calls
)

// protocolCost is what checking or learning protocols takes at worst.
type protocolCost struct {
	objects, objectsMiB float64 // 10,000 objects used by two threads at once: seconds, MiB
	mining, miningMiB   float64 // a million calls, by the dearest of the rules: CPU seconds, MiB
	rule                string  // that one
}

var (
	objectsLine = regexp.MustCompile(`^BenchmarkObjects/(\S+?)(?:-\d+)?\s+\d+\s(.*)`)
	miningLine  = regexp.MustCompile(`^BenchmarkMillionCalls/(\S+?)(?:-\d+)?\s+\d+\s(.*)`)
)

func protocolBenchmarks() (protocolCost, error) {
	objects, err := goBench("^BenchmarkObjects$", "1x", "1", "./analysis/typestate")
	if err != nil {
		return protocolCost{}, err
	}
	mining, err := goBench("^BenchmarkMillionCalls$", "1x", "1", "./analysis/mine")
	if err != nil {
		return protocolCost{}, err
	}
	return parseProtocols(objects, mining)
}

func parseProtocols(objects, mining string) (c protocolCost, err error) {
	names, values := metrics(objects, objectsLine)
	for _, name := range names {
		v := values[name]
		c.objects = max(c.objects, worst(v["ns/op"])/1e9)
		c.objectsMiB = max(c.objectsMiB, worst(v["MiB"]))
	}
	names, values = metrics(mining, miningLine)
	for _, name := range names {
		v := values[name]
		if s := worst(v["cpu-s/op"]); s > c.mining {
			c.mining, c.rule = s, name
		}
		c.miningMiB = max(c.miningMiB, worst(v["peak-MiB"]))
	}
	if c.objects == 0 || c.mining == 0 {
		return c, fmt.Errorf("no benchmark of protocols ran:\n%s%s", objects, mining)
	}
	return c, nil
}

func worst(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Max(values)
}

func (c *protocolCost) requirements() []requirement {
	return []requirement{
		{"10,000 objects of 50 calls, used by two threads at once, checked against their protocol", fmt.Sprintf("less than %.0f s and %.0f MiB", maxObjects, maxObjectsMiB),
			fmt.Sprintf("%.1f s, %.0f MiB", c.objects, c.objectsMiB), c.objects < maxObjects && c.objectsMiB < maxObjectsMiB},
		{"a protocol learned from a million calls, by the dearest rule", fmt.Sprintf("less than %.0f s of CPU time", maxMining),
			fmt.Sprintf("%.1f s", c.mining), c.mining < maxMining},
	}
}

func (c *protocolCost) render(b *strings.Builder) {
	fmt.Fprintf(b, "\n### Protocols of use\n\nChecked: 10,000 objects of 50 calls, by two threads at once (`go test -bench Objects ./analysis/typestate`). Learned: a million calls, by each rule and length of strings, "+
		"of which the dearest is %s (`go test -bench MillionCalls ./analysis/mine`).\n\n| | seconds | MiB |\n| --- | ---: | ---: |\n| checked | %.1f | %.0f |\n| learned | %.1f | %.0f |\n",
		c.rule, c.objects, c.objectsMiB, c.mining, c.miningMiB)
}
