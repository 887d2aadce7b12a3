package engine_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// lockHeavy returns a part of a run that may be repeated any number of times: threads use four
// locks in turns. One time in eight they acquire a second lock inside, and one time in accesses
// (0: never) they read or write a variable there.
func lockHeavy(threads, accesses int) []event.Event {
	var out []event.Event
	add := func(t event.ThreadID, op event.Op, o event.ObjectID, k event.Kind) {
		out = append(out, event.Event{Thread: t, Op: op, Object: o, Kind: k, Stack: event.StackID(o)})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for len(out) < 1<<16 {
		t := event.ThreadID(1 + random.IntN(threads))
		first := event.ObjectID(1 + random.IntN(4))
		add(t, event.Acquire, first, event.KindMutex)
		inner := random.IntN(8) == 0 && first < 4
		if inner {
			add(t, event.Acquire, first+1, event.KindMutex)
		}
		if accesses > 0 && random.IntN(accesses) == 0 {
			op := event.Read
			if random.IntN(2) == 0 {
				op = event.Write
			}
			add(t, op, 4+first, event.KindVariable)
		}
		if inner {
			add(t, event.Release, first+1, event.KindMutex)
		}
		add(t, event.Release, first, event.KindMutex)
	}
	return out
}

// line passes events through the clocks, then through an analysis.
type line struct {
	seq  uint64
	must *clock.Must
	next func(*event.Event)
	e    event.Event
}

func (l *line) pass(e *event.Event) {
	l.seq++
	l.e = *e
	l.e.Seq = l.seq
	l.must.Stamp(&l.e)
	if l.next != nil {
		l.next(&l.e)
	}
	l.must.Done(&l.e)
}

func newLine(threads int, next func(*event.Event)) *line {
	l := &line{must: clock.New(), next: next}
	for t := 2; t <= threads; t++ {
		l.pass(&event.Event{Thread: 1, Op: event.Fork, Peer: event.ThreadID(t)})
	}
	return l
}

// stages returns new analyses by name.
func stages() map[string]func(*event.Event) {
	e, g, h := eraser.New(eraser.Options{}), goodlock.New(goodlock.Options{}), predict.New(predict.Options{})
	o := happensbefore.New(happensbefore.Options{})
	return map[string]func(*event.Event){"clock": nil, "eraser": e.Event, "goodlock": g.Event, "happensbefore": o.Event, "history": h.Event, "all": engine.New(engine.Options{}).Event}
}

// BenchmarkSteady measures one event of a lock-heavy run in its steady state: for the clocks
// alone, for the clocks and one analysis, and for all analyses together. The observer must keep up
// with threads that cause a record every microsecond.
func BenchmarkSteady(b *testing.B) {
	for _, threads := range []int{2, 8} {
		for _, accesses := range []int{0, 50} {
			events := lockHeavy(threads, accesses)
			for _, name := range []string{"clock", "eraser", "happensbefore", "goodlock", "history", "all"} {
				b.Run(fmt.Sprintf("threads=%d/accesses=%d/%s", threads, accesses, name), func(b *testing.B) {
					l := newLine(threads, stages()[name])
					for range 8 {
						for i := range events {
							l.pass(&events[i])
						}
					}
					b.ReportAllocs()
					before := busy(b)
					for i := 0; b.Loop(); i++ {
						l.pass(&events[i%len(events)])
					}
					b.ReportMetric(float64(busy(b)-before)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}

// busy returns the CPU time of this process so far, which does not depend on other processes.
func busy(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestMemoryDoesNotGrowWithTheRun checks that a run many times as long needs the same memory, once
// the kept trace has reached its bounds: at once if no observed variable is accessed in critical
// sections, otherwise when the maximum number of events is kept.
func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("ten million events")
	}
	for _, tt := range []struct {
		name     string
		accesses int
		events   int
	}{
		{"locks alone", 0, 0},
		{"an access in five sections", 5, 0},
		{"an access in fifty sections, little memory", 50, 1 << 15},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events := lockHeavy(4, tt.accesses)
			before := live()
			e, g, h := eraser.New(eraser.Options{}), goodlock.New(goodlock.Options{}), predict.New(predict.Options{Events: tt.events})
			o := happensbefore.New(happensbefore.Options{})
			l := newLine(4, func(x *event.Event) {
				o.Event(x)
				h.Event(x)
				e.Event(x)
				g.Event(x)
			})
			var peak [2]uint64
			for i, until := range []uint64{1_000_000, longRun} {
				for l.seq < until {
					for k := range events {
						l.pass(&events[k])
					}
					peak[i] = max(peak[i], live()-before)
				}
			}
			t.Logf("%d KB after a million events, %d KB after %d million", peak[0]>>10, peak[1]>>10, longRun/1_000_000)
			if peak[1] > peak[0]+peak[0]/5 {
				t.Errorf("memory grew from %d to %d bytes", peak[0], peak[1])
			}
			if found := g.Finish(); len(found) > 0 {
				t.Errorf("a deadlock where locks are acquired in order: %+v", found[0])
			}
			runtime.KeepAlive(h)
			runtime.KeepAlive(o)
			runtime.KeepAlive(events)
		})
	}
}

// live returns the size of the heap after a garbage collection.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
