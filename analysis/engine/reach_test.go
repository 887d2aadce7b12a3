package engine_test

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/misuse"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The size of the run of BenchmarkReach.
const (
	reachThreads    = 32
	reachLocks      = 1000
	reachNesting    = 3
	reachInversions = 20
	reachRound      = 1 << 18 // approximate number of events of one repetition
)

// reachEvent is one event of the run: an acquire, or otherwise a release, of a lock by a thread.
type reachEvent struct {
	thread  uint8
	acquire bool
	lock    uint16
}

// reach returns the repeated part of the run. Threads run in random turns; each acquires one to
// three locks in ascending order and releases them, except that pairs of threads now and then
// acquire two locks in both orders. No lock is held at the end, so that the part can be repeated.
func reach() []reachEvent {
	r := rand.New(rand.NewPCG(1, 2))
	var out []reachEvent
	var plan, held [reachThreads][]uint16
	var taken [reachLocks]bool
	inverted := 0
	for turn := 0; ; turn++ {
		t := r.IntN(reachThreads)
		closing := len(out) >= reachRound
		switch {
		case len(plan[t]) > 0:
			if l := plan[t][0]; !taken[l] {
				taken[l], held[t], plan[t] = true, append(held[t], l), plan[t][1:]
				out = append(out, reachEvent{uint8(t), true, l})
			} else if turn%64 == 0 {
				plan[t] = nil // the thread stops here, so that an inversion does not become a deadlock
			}
		case len(held[t]) > 0:
			l := held[t][len(held[t])-1]
			taken[l], held[t] = false, held[t][:len(held[t])-1]
			out = append(out, reachEvent{uint8(t), false, l})
		case closing:
			if idle(&held) && idle(&plan) {
				return out
			}
		case turn%512 == 0:
			n := inverted % (2 * reachInversions)
			a, b := uint16(n/2*2), uint16(n/2*2+1)
			if n%2 == 1 {
				a, b = b, a
			}
			plan[t] = []uint16{a, b}
			inverted++
		default:
			plan[t] = ascending(r, 1+r.IntN(reachNesting))
		}
	}
}

func idle(lists *[reachThreads][]uint16) bool {
	for _, l := range lists {
		if len(l) > 0 {
			return false
		}
	}
	return true
}

// ascending returns n locks in ascending order, none of which is acquired in both orders.
func ascending(r *rand.Rand, n int) []uint16 {
	var out []uint16
	low := 2 * reachInversions
	for ; n > 0; n-- {
		low += 1 + r.IntN((reachLocks-low)/(n+1))
		out = append(out, uint16(low))
	}
	return out
}

// reachSink is one analysis or several.
type reachSink interface{ Event(*event.Event) }

// BenchmarkReach passes events of a thousand locks and 32 threads to the analyses. One operation
// is one event, stamped with its clock. The last case also computes the findings.
func BenchmarkReach(b *testing.B) {
	round := reach()
	for _, c := range []struct {
		name string
		sink func() reachSink
	}{
		{"eraser", func() reachSink { return eraser.New(eraser.Options{}) }},
		{"goodlock", func() reachSink { return goodlock.New(goodlock.Options{}) }},
		{"predict", func() reachSink { return predict.New(predict.Options{}) }},
		{"happens-before", func() reachSink { return happensbefore.New(happensbefore.Options{}) }},
		{"misuse", func() reachSink { return misuse.New(misuse.Options{}) }},
		{"all", func() reachSink { return engine.New(engine.Options{OnDeadlock: func(*finding.Finding) {}}) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			sink := c.sink()
			b.ResetTimer()
			before := cpuTime(b)
			run(b.N, round, sink)
			if s, ok := sink.(*engine.Engine); ok {
				n := 0
				for _, f := range finish(s, verdict.Run{}, part.Known{}) {
					if f.Confidence == finding.Predicted {
						n++
					}
				}
				b.ReportMetric(float64(n), "predicted")
			}
			cpu := float64(cpuTime(b) - before)
			b.ReportMetric(cpu/float64(b.N), "cpu-ns/event")
			b.ReportMetric(float64(b.N)/cpu*1e9, "events/s")
		})
	}
}

// cpuTime returns the CPU time of the process so far, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// run emits n events: the forks of the threads, and then repetitions of the given part. Like the
// observer, it reuses one event and sets only the fields that differ.
func run(n int, round []reachEvent, sink reachSink) {
	m := clock.New()
	e := &event.Event{Thread: 1, Op: event.Fork}
	feed := func() {
		e.Seq++
		e.Time += 300
		m.Stamp(e)
		sink.Event(e)
		m.Done(e)
	}
	for t := range reachThreads - 1 {
		e.Peer = event.ThreadID(t + 2)
		feed()
	}
	e.Peer, e.Kind = 0, event.KindMutex
	for n > 0 {
		part := round[:min(n, len(round))]
		for i := range part {
			x := &part[i]
			e.Thread, e.Op, e.Object = event.ThreadID(x.thread+1), event.Release, event.ObjectID(x.lock+1)
			if x.acquire {
				e.Op = event.Acquire
			}
			e.Stack = event.StackID(x.lock)*2 + event.StackID(e.Op)
			feed()
		}
		n -= len(part)
	}
}
