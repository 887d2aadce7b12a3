package main

import (
	"slices"
	"strings"
	"testing"
)

func TestRenderScaling(t *testing.T) {
	one := func(name string, threads int, costs ...float64) result {
		r := result{variant: &variant{name: name, threads: threads}}
		for _, ns := range costs {
			r.samples = append(r.samples, sample{NsPerPair: ns / float64(threads)})
		}
		return r
	}
	results := []result{one(plain, 1, 10), one(cheap, 1, 100, 120, 90), one(plain, 2, 20), one(cheap, 2, 110, 115, 300)}
	text, met := renderScaling(results, []int{1, 2})
	for _, want := range []string{"| plain | 10 | 20 | 2.00 |\n", "| tracepredict | 100 | 115 | 1.15 |\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !met {
		t.Errorf("1.15 is not met:\n%s", text)
	}
	if _, met := renderScaling(append(results, one(plain, 4, 1), one(cheap, 4, 160)), []int{1, 2, 4}); met {
		t.Error("1.6 is met")
	}
}

func TestScalingThreads(t *testing.T) {
	for cpus, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4}, 64: {1, 2, 4, 8, 16}} {
		if got := scalingThreads(cpus); !slices.Equal(got, want) {
			t.Errorf("%d CPUs: %v, want %v", cpus, got, want)
		}
	}
}
