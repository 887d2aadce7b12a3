package main

import "testing"

func TestLockGraphRow(t *testing.T) {
	out := "BenchmarkLockGraph-2   \t       3\t 162548320 ns/op\t         0.1600 s/search\nBenchmarkLockGraph-2   \t       3\t 262548320 ns/op\t         0.2600 s/search\nPASS\n"
	for _, c := range []struct {
		seconds  float64
		measured string
		met      bool
	}{{parseLockGraph(out), "0.21", true}, {1.5, "1.50", false}, {parseLockGraph("PASS\n"), "not measured", false}} {
		if r := lockRequirement(c.seconds); r.measured != c.measured || r.met != c.met {
			t.Errorf("%v seconds: %+v", c.seconds, r)
		}
	}
}
