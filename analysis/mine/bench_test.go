package mine

import (
	"fmt"
	"math/rand"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkMillionCalls learns from a million calls, with the tree and the minimal automaton. It also
// reports CPU time, which other processes change little, and the peak of the process's memory.
func BenchmarkMillionCalls(b *testing.B) {
	for _, input := range []struct {
		name      string
		sequences func() [][]Symbol
	}{{"random", randomCalls}, {"loops", loops}} {
		for _, o := range []Options{
			{K: 1, S: 100, Rule: Equal}, {K: 1, S: 50, Rule: Equal}, {K: 2, S: 50, Rule: Equal}, {K: 2, S: 100, Rule: Equal}, {K: 2, S: 80, Rule: Strict},
			{K: 2, S: 50, Rule: And}, {K: 2, S: 50, Rule: Or}, {K: 4, S: 80, Rule: Equal}, {K: 4, S: 80, Rule: And},
		} {
			b.Run(fmt.Sprintf("%s/%v/k=%d/s=%d", input.name, o.Rule, o.K, o.S), func(b *testing.B) {
				benchmark(b, input.sequences(), func(t *Tree) (*Automaton, error) { return SKStrings(t, o) })
			})
		}
		b.Run(input.name+"/tails/k=2", func(b *testing.B) {
			benchmark(b, input.sequences(), func(t *Tree) (*Automaton, error) { return KTails(t, 2) })
		})
	}
}

func benchmark(b *testing.B, sequences [][]Symbol, learn func(*Tree) (*Automaton, error)) {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Logf("the peak is that of all benchmarks so far: %v", err)
	}
	before := cpuSeconds(b)
	for b.Loop() {
		t := NewTree()
		mustAdd(b, t, sequences...)
		a, err := learn(t)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(t.States()), "tree-states")
		b.ReportMetric(float64(len(a.States)), "merged-states")
		if m, err := a.Minimal(); err != nil {
			b.Log(err)
		} else {
			b.ReportMetric(float64(len(m.States)), "minimal-states")
		}
	}
	b.ReportMetric((cpuSeconds(b)-before)/float64(b.N), "cpu-s/op")
	b.ReportMetric(peakMiB(b), "peak-MiB")
}

// randomCalls are 50 calls of 6 methods on each of 20,000 objects: nearly all sequences are
// distinct.
func randomCalls() [][]Symbol {
	random := rand.New(rand.NewSource(1))
	sequences := make([][]Symbol, 20_000)
	for i := range sequences {
		for range 50 {
			sequences[i] = append(sequences[i], Symbol(random.Intn(6)))
		}
	}
	return sequences
}

// loops are 10,000 objects of one protocol, with some 100 calls each: open; then reads and writes,
// each write with a flush at some time after it; close.
func loops() [][]Symbol {
	const open, read, write, flush, closes = 0, 1, 2, 3, 4
	random := rand.New(rand.NewSource(1))
	sequences := make([][]Symbol, 10_000)
	for i := range sequences {
		s, dirty := []Symbol{open}, false
		for len(s) < 98 || dirty {
			switch n := random.Intn(10); {
			case n < 5:
				s = append(s, read)
			case n < 8:
				s, dirty = append(s, write), true
			case dirty:
				s, dirty = append(s, flush), false
			}
		}
		sequences[i] = append(s, closes)
	}
	return sequences
}

func peakMiB(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	n, err := strconv.Atoi(strings.Fields(rest + " 0")[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(n) / 1024
}

func cpuSeconds(b *testing.B) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
