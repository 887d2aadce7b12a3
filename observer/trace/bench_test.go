package trace

import (
	"bytes"
	"io"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// lockHeavy makes the n-th event of four threads that take turns, not quite in order, at
// acquiring one of 64 locks, and update a counter in each critical section. The times are like
// those of a busy server: some µs apart, and never the same.
type lockHeavy struct {
	rng   uint64
	seq   uint64
	time  uint64
	state [4]struct {
		step int
		lock event.ObjectID
	}
	counter [65]uint64
}

func (l *lockHeavy) random(n uint64) uint64 {
	l.rng ^= l.rng << 13
	l.rng ^= l.rng >> 7
	l.rng ^= l.rng << 17
	return l.rng % n
}

func (l *lockHeavy) next(e *event.Event) {
	if l.rng == 0 {
		l.rng = 88172645463325252
	}
	t := l.random(4)
	s := &l.state[t]
	l.seq++
	l.time += 300 + l.random(5000)
	*e = event.Event{Seq: l.seq, Time: l.time, Thread: event.ThreadID(t + 1), Kind: event.KindMutex}
	switch s.step {
	case 0:
		s.lock = event.ObjectID(1 + l.random(64))
		e.Op, e.Object, e.Stack = event.Acquire, s.lock, event.StackID(10+uint32(s.lock)%7)
	case 1:
		l.counter[s.lock]++
		e.Op, e.Object, e.Kind, e.Stack = event.Update, 64+s.lock, event.KindVariable, event.StackID(20+uint32(s.lock)%7)
		e.Flags, e.Value = event.HasValue, l.counter[s.lock]
	case 2:
		e.Op, e.Object, e.Stack = event.Release, s.lock, event.StackID(30+uint32(s.lock)%7)
	}
	s.step = (s.step + 1) % 3
}

func lockHeavyTrace(tb testing.TB, n int) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	var l lockHeavy
	var e event.Event
	for range n {
		l.next(&e)
		w.Event(&e)
	}
	if err := w.Close(run.Summary{}); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// TestSize checks that an event takes at most 6 bytes of a file.
func TestSize(t *testing.T) {
	const n = 300_000
	size := float64(len(lockHeavyTrace(t, n))) / n
	t.Logf("%.2f bytes an event", size)
	if size > 6 {
		t.Errorf("%.2f bytes an event", size)
	}
}

// TestSteady checks that reading and writing do not allocate for each event.
func TestSteady(t *testing.T) {
	const n = 500_000
	file := lockHeavyTrace(t, n)
	r, err := NewReader(bytes.NewReader(file), "t.trace")
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	next := func() {
		for range n / 20 {
			if err := r.Next(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if perEvent := testing.AllocsPerRun(18, next) / (n / 20); perEvent > 0.001 {
		t.Errorf("%v allocations for each event read", perEvent)
	}
	w, err := NewWriter(io.Discard, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(run.Summary{})
	var l lockHeavy
	write := func() {
		for range n / 20 {
			l.next(&e)
			w.Event(&e)
		}
	}
	if perEvent := testing.AllocsPerRun(18, write) / (n / 20); perEvent > 0.01 {
		t.Errorf("%v allocations for each event written", perEvent)
	}
}

func BenchmarkWrite(b *testing.B) {
	w, err := NewWriter(io.Discard, WriterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close(run.Summary{})
	events := make([]event.Event, 1<<16)
	var l lockHeavy
	for i := range events {
		l.next(&events[i])
	}
	b.ReportAllocs()
	seq := uint64(0)
	for i := 0; b.Loop(); i++ {
		e := &events[i%len(events)]
		seq++
		e.Seq = seq
		w.Event(e)
	}
}

func BenchmarkRead(b *testing.B) {
	file := lockHeavyTrace(b, 1<<18)
	var r *Reader
	var e event.Event
	b.ReportAllocs()
	for b.Loop() {
		if r == nil || r.Next(&e) == io.EOF {
			var err error
			if r, err = NewReader(bytes.NewReader(file), ""); err != nil {
				b.Fatal(err)
			}
		}
	}
}
