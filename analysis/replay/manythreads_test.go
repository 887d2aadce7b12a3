package replay_test

import (
	"fmt"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/replay"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

// manyThreads returns a run of n threads that are all alive at once. T1 creates them, or in a chain each the
// next. Each then does what use writes, given its number.
func manyThreads(n int, chain bool, use func(b *strings.Builder, i int)) string {
	var b strings.Builder
	for i := 2; i <= n; i++ {
		from := 1
		if chain {
			from = i - 1
		}
		fmt.Fprintf(&b, "T%d|fork(T%d)|1\n", from, i)
	}
	for i := 1; i <= n; i++ {
		use(&b, i)
	}
	for i := 2; i <= n; i++ {
		fmt.Fprintf(&b, "T1|join(T%d)|9\n", i)
	}
	return b.String()
}

// takeMutex locks and unlocks a mutex that all threads use.
func takeMutex(b *strings.Builder, i int) { fmt.Fprintf(b, "T%d|acq(m)|2\nT%d|rel(m)|3\n", i, i) }

// increment increments a counter that all threads use, under a mutex.
func increment(b *strings.Builder, i int) {
	fmt.Fprintf(b, "T%d|acq(m)|2\nT%d|r(x)|4\nT%d|w(x)|5\nT%d|rel(m)|3\n", i, i, i, i)
}

// storeTwice writes a variable of its own, and one that all threads write.
func storeTwice(b *strings.Builder, i int) { fmt.Fprintf(b, "T%d|w(x%d)|2\nT%d|w(y)|3\n", i, i, i) }

// nestTwo holds one of a hundred mutexes while it takes the next: their order is a cycle.
func nestTwo(b *strings.Builder, i int) {
	x, y := i%100, (i+1)%100
	fmt.Fprintf(b, "T%d|acq(l%d)|2\nT%d|acq(l%d)|3\nT%d|rel(l%d)|4\nT%d|rel(l%d)|5\n", i, x, i, y, i, y, i, x)
}

// TestManyThreads: a run of thousands of threads that are all alive at once is analysed in bounded memory,
// whether they know nothing of each other or each learns what all before it did.
func TestManyThreads(t *testing.T) {
	const atMost = 2 << 30 // bytes
	some := testtool.Cases(1000, 4000, 40_000)
	for _, c := range []struct {
		name     string
		threads  int
		chain    bool
		use      func(*strings.Builder, int)
		findings int
	}{
		{"mutex", 40_000, false, takeMutex, 0},
		{"counter", some, false, increment, 0},
		{"writes", some, false, storeTwice, 1},
		{"nested", some, false, nestTwo, 1},
		{"chain", some, true, takeMutex, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := std.NewReader(strings.NewReader(manyThreads(c.threads, c.chain, c.use)), "text", std.ReaderOptions{})
			peak := uint64(0)
			full := func() bool {
				live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
				metrics.Read(live)
				peak = max(peak, live[0].Value.Uint64())
				return false
			}
			rep, err := replay.Report(src, replay.Options{Engine: engine.Options{Full: full}})
			if err != nil || len(rep.Findings) != c.findings {
				t.Errorf("%d findings, want %d; %v", len(rep.Findings), c.findings, err)
			}
			if peak > atMost {
				t.Errorf("%d MiB of memory in use", peak>>20)
			}
		})
	}
}
