package engine_test

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestFullMemory checks that the analyses keep less each time memory is full, down to a least size, count how often, and still predict what comes then.
func TestFullMemory(t *testing.T) {
	const deadlock = "T1|acq(A)|3\nT1|acq(B)|4\nT1|rel(B)|5\nT1|rel(A)|6\nT2|acq(B)|7\nT2|acq(A)|8\nT2|rel(A)|9\nT2|rel(B)|10\n"
	const idle = "T1|w(x)|11\nT1|acq(C)|12\nT1|rel(C)|13\nT2|acq(C)|14\nT2|w(y)|15\nT2|rel(C)|16\n"
	events, _, err := eventtest.ParseSTD(strings.NewReader("T0|fork(T1)|1\nT0|fork(T2)|2\n" + strings.Repeat(idle, 1<<13) + deadlock))
	if err != nil {
		t.Fatal(err)
	}
	evicted := uint64(0)
	for _, c := range []struct {
		full   int // how often memory is full
		events int // kept at the end
		shrunk int
	}{{0, 1 << 18, 0}, {2, 1 << 17, 2}, {1000, 1 << 12, 7}} {
		asked := 0
		s := engine.New(engine.Options{Full: func() bool { asked++; return asked <= c.full }})
		for i := range events {
			s.Event(&events[i])
		}
		found, b := finish(s, verdict.Run{}, part.Known{}), s.Bounds()
		if len(found) != 1 || found[0].Kind != finding.Deadlock || found[0].Confidence != finding.Predicted {
			t.Errorf("full %d times: %+v", c.full, found)
		}
		if b.Events != c.events || b.MemoryFull != c.shrunk {
			t.Errorf("full %d times, asked %d times: %+v", c.full, asked, b)
		}
		if c.full == 1000 && b.EvictedEvents <= evicted {
			t.Errorf("no more events were evicted than %d: %+v", evicted, b)
		}
		evicted = b.EvictedEvents
	}
}

// TestHistoryIsEvictedLast checks that the history keeps its events as long as it is enough to evict the rest.
func TestHistoryIsEvictedLast(t *testing.T) {
	for _, c := range []struct {
		full   []bool // what Full returns, call by call; then false
		events int    // kept at the end
	}{{[]bool{true}, 1 << 18}, {[]bool{true, false, true}, 1 << 18}, {[]bool{true, true}, 1 << 17}, {[]bool{true, true, true}, 1 << 16}} {
		asked := 0
		s := engine.New(engine.Options{Full: func() bool { asked++; return asked <= len(c.full) && c.full[asked-1] }})
		s.ShrinkBy(func(uint64) bool { return true })
		for range 1 << 13 {
			s.Event(&event.Event{Op: event.Begin, Thread: 1})
		}
		if b := s.Bounds(); b.Events != c.events {
			t.Errorf("%v: %d events are kept, want %d", c.full, b.Events, c.events)
		}
	}
}
