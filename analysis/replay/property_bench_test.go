package replay_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/analysis/replay"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// The run on which properties are checked: threads write variables of their own, and sometimes,
// so many writes apart on average, enter a critical section of one of some locks.
const (
	writers   = 8
	apart     = 24
	mutexes   = 4
	cycleSize = 10 // states of the monitor
	benchCone = 64 // states of a level, and events in the queue
)

// writtenTrace is the trace of a run with so many writes.
func writtenTrace(tb testing.TB, writes int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := trace.NewWriter(&out, trace.WriterOptions{Names: unnamed{}})
	if err != nil {
		tb.Fatal(err)
	}
	r, seq := rand.New(rand.NewPCG(1, 2)), uint64(0)
	do := func(t int, op event.Op, o int, k event.Kind, value uint64) {
		seq++
		e := event.Event{Seq: seq, Thread: event.ThreadID(t + 1), Op: op, Object: event.ObjectID(o + 1), Kind: k}
		if k == event.KindVariable {
			e.Value, e.Flags = value, event.HasValue
		}
		w.Event(&e)
	}
	for t := range writers {
		do(t, event.Init, t, event.KindVariable, 0)
	}
	for range writes {
		t, section := r.IntN(writers), r.IntN(apart) == 0
		lock := writers + r.IntN(mutexes)
		if section {
			do(t, event.Acquire, lock, event.KindMutex, 0)
		}
		do(t, event.Write, t, event.KindVariable, r.Uint64N(10))
		if section {
			do(t, event.Release, lock, event.KindMutex, 0)
		}
	}
	if err := w.Close(run.Summary{Events: seq, Threads: writers}); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// round is a monitor whose states form a cycle. It advances if the sum of the values is a
// multiple of 5, and is never bad. A cut may have all of its states.
type round lattice.State

func (round) Start(into []lattice.State) []lattice.State { return append(into, 0) }
func (m round) States() int                              { return int(m) + 1 }
func (m round) Bad(s lattice.State) bool                 { return s == lattice.State(m) }
func (m round) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	if l&1 != 0 {
		from = (from + 1) % lattice.State(m)
	}
	return append(into, from)
}

type sums struct{}

func (sums) Letter(values []uint64, _ uint64) (l lattice.Letter) {
	var sum uint64
	for _, v := range values {
		sum += v
	}
	if sum%5 == 0 {
		l |= 1
	}
	if values[0] > values[writers-1] {
		l |= 2
	}
	if values[0] == 7 {
		l |= 4
	}
	return l
}

// checked runs the analysis of properties, and measures memory at each quarter of the writes.
type checked struct {
	*property.Analysis
	b        *testing.B
	writes   int
	all      int
	heap     [4]float64 // MB, after a garbage collection
	resident [4]float64 // MB
	mallocs  [4]uint64
	states   [4]uint64
	looking  time.Duration // processor time of measuring memory
}

func newChecked(b *testing.B, writes int) *checked {
	b.Helper()
	o := property.Options{
		Properties: []property.Property{{Name: "round", Monitor: round(cycleSize), Labels: sums{}}},
		Window:     benchCone, Queue: benchCone,
		Variable: func(id event.ObjectID) int { return int(id) - 1 },
	}
	for t := range writers {
		o.Variables = append(o.Variables, "v"+strconv.Itoa(t))
		o.Properties[0].Variables = append(o.Properties[0].Variables, t)
	}
	a, err := property.New(o)
	if err != nil {
		b.Fatal(err)
	}
	return &checked{Analysis: a, b: b, all: writes}
}

func (c *checked) Event(e *event.Event) {
	c.Analysis.Event(e)
	if e.Op == event.Write {
		if c.writes++; c.writes%(c.all/4) == 0 {
			c.look(c.writes/(c.all/4) - 1)
		}
	}
}

func (c *checked) look(quarter int) {
	began := busy(c.b)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.mallocs[quarter], c.states[quarter] = m.Mallocs, c.Stats().Cuts
	runtime.GC()
	runtime.ReadMemStats(&m)
	c.heap[quarter], c.resident[quarter] = float64(m.HeapAlloc)/1e6, resident()
	c.looking += busy(c.b) - began
}

// resident returns the resident set size of this process in MB; 0 if it is not known.
func resident() float64 {
	raw, _ := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 50)
	return float64(pages) * float64(os.Getpagesize()) / 1e6
}

// BenchmarkProperties checks a property whose monitor has ten states on the trace of a million
// writes of eight threads, from the file to the last level, with events kept for witnesses, on
// one core.
func BenchmarkProperties(b *testing.B) {
	const writes = 1_000_000
	file := writtenTrace(b, writes)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one core
	var took time.Duration
	n := 0
	var last *checked
	for b.Loop() {
		src, err := trace.NewReader(bytes.NewReader(file), "written")
		if err != nil {
			b.Fatal(err)
		}
		last = newChecked(b, writes)
		began := busy(b)
		if _, err := replay.Events(src, last); err != nil {
			b.Fatal(err)
		}
		last.Finish()
		took += busy(b) - began - last.looking
		n += writes
	}
	s := last.Stats()
	if s.Levels != writes {
		b.Fatalf("%d levels of %d writes", s.Levels, writes)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n)/took.Seconds(), "events/s")
	b.ReportMetric(float64(s.Cuts)/float64(s.Levels), "states/level")
	b.ReportMetric(float64(last.mallocs[3]-last.mallocs[0])/float64(last.states[3]-last.states[0]), "allocs/state")
	for i, quarter := range []string{"25", "50", "75", "100"} {
		b.ReportMetric(last.heap[i], "heap-MB-at-"+quarter)
		b.ReportMetric(last.resident[i], "rss-MB-at-"+quarter)
	}
}
