package replay_test

import (
	"bytes"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/analysis/replay"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// nothing is a sink that does nothing, to measure reading and clocks alone.
type nothing struct{}

func (nothing) Event(*event.Event) {}

// potential runs the analyses that find candidates, without those that find witnesses.
type potential struct {
	eraser   *eraser.Analysis
	goodlock *goodlock.Analysis
}

func (p potential) Event(e *event.Event) {
	p.eraser.Event(e)
	p.goodlock.Event(e)
}

// busyTrace is the trace of a busy run of eight threads.
func busyTrace(tb testing.TB, events int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := trace.NewWriter(&out, trace.WriterOptions{Names: unnamed{}})
	if err != nil {
		tb.Fatal(err)
	}
	busy := eventtest.NewBusy(8, 10)
	var e event.Event
	for range events {
		busy.Next(&e)
		w.Event(&e)
	}
	if err := w.Close(run.Summary{Events: uint64(events), Threads: 8}); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

type unnamed struct{}

func (unnamed) Frames(event.StackID) []event.Frame { return nil }
func (unnamed) Func(event.FuncID) event.Func       { return event.Func{} }
func (unnamed) Object(event.ObjectID) run.Object   { return run.Object{} }
func (unnamed) Thread(event.ThreadID) run.Thread   { return run.Thread{} }

// BenchmarkReplay replays a trace of a million events: decompression, decoding and clocks alone;
// with the analyses that find candidates; with all analyses. An operation is an event. Each
// trace is analysed anew, so that the cost of setting up an analysis is divided among the events.
func BenchmarkReplay(b *testing.B) {
	const events = 1 << 20
	file := busyTrace(b, events)
	for _, c := range []struct {
		name string
		sink func() replay.Sink
	}{
		{"clocks", func() replay.Sink { return nothing{} }},
		{"clocks,eraser,goodlock", func() replay.Sink {
			return potential{eraser.New(eraser.Options{}), goodlock.New(goodlock.Options{})}
		}},
		{"all", func() replay.Sink { return engine.New(engine.Options{}) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one core
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began, n := busy(b), uint64(0)
			for b.Loop() {
				src, err := trace.NewReader(bytes.NewReader(file), "busy")
				if err != nil {
					b.Fatal(err)
				}
				read, err := replay.Events(src, c.sink())
				if err != nil || read != events {
					b.Fatalf("%d events: %v", read, err)
				}
				n += read
			}
			took := busy(b) - began
			runtime.ReadMemStats(&after)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took)/float64(n), "cpu-ns/event")
			b.ReportMetric(float64(n)/took.Seconds(), "events/s")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n), "B/event")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/event")
		})
	}
}

// busy returns the processor time of this process so far, on which other processes have no
// influence.
func busy(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestBusy: the benchmark's run has no findings, and is possible.
func TestBusy(t *testing.T) {
	src, err := trace.NewReader(bytes.NewReader(busyTrace(t, 1<<15)), "busy")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := replay.Report(src, replay.Options{})
	if err != nil || len(rep.Findings) > 0 {
		t.Errorf("%d findings, %v", len(rep.Findings), err)
	}
}
