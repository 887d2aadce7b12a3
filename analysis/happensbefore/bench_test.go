package happensbefore

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

const mixLocks, mixThreads = 1000, 32

// mixture returns a run of 32 threads and a thousand locks, with as many lock operations, nested
// up to three deep, as accesses of the variables that the locks guard. A critical section that
// accesses its variable does so several times.
func mixture(events int) []event.Event {
	const again = 4
	r := rand.New(rand.NewPCG(1, 2))
	var run []event.Event
	for t := event.ThreadID(2); t <= mixThreads; t++ {
		run = append(run, event.Event{Thread: 1, Op: event.Fork, Peer: t})
	}
	for len(run) < events {
		t := event.ThreadID(1 + r.IntN(mixThreads))
		first, depth := r.IntN(mixLocks-3), 1+r.IntN(3)
		for i := range depth {
			l := event.ObjectID(1 + first + i)
			run = append(run, event.Event{Thread: t, Op: event.Acquire, Object: l, Kind: event.KindMutex, Stack: 1})
			op := []event.Op{event.Read, event.Write}[r.IntN(2)]
			for range again * r.IntN(2) {
				run = append(run, event.Event{Thread: t, Op: op, Object: l + mixLocks, Kind: event.KindVariable, Stack: 2 + event.StackID(op)})
			}
		}
		for i := range depth {
			run = append(run, event.Event{Thread: t, Op: event.Release, Object: event.ObjectID(first + depth - i), Kind: event.KindMutex, Stack: 9})
		}
	}
	return run
}

// stamped sets the slots and epochs of the events, and removes their clocks, which are not
// needed.
func stamped(run []event.Event) []event.Event {
	m := clock.New()
	for i := range run {
		e := &run[i]
		e.Seq = uint64(i + 1)
		m.Stamp(e)
		m.Done(e)
		e.Must = nil
	}
	return run
}

// brief holds the fields in which events of the mixture differ. As in the pipeline, one Event is
// reused for all.
type brief struct {
	thread event.ThreadID
	object event.ObjectID
	stack  event.StackID
	slot   uint32
	epoch  event.Epoch
	op     event.Op
	kind   event.Kind
}

func abridged(run []event.Event) []brief {
	var out []brief
	for i := range run {
		e := &run[i]
		out = append(out, brief{e.Thread, e.Object, e.Stack, e.Slot, e.Epoch, e.Op, e.Kind})
	}
	return out
}

func (b *brief) decode(e *event.Event) {
	e.Seq++
	e.Thread, e.Object, e.Stack, e.Slot, e.Epoch, e.Op, e.Kind = b.thread, b.object, b.stack, b.slot, b.epoch, b.op, b.kind
}

// cpu returns the CPU time of this thread in seconds, which measures better than wall-clock time
// on a busy machine.
func cpu() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(1 /* RUSAGE_THREAD */, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// BenchmarkEvents measures happens-before alone, on decoded events: half of them
// operations on a thousand locks, half accesses.
func BenchmarkEvents(b *testing.B) {
	run := stamped(mixture(1 << 14))
	a := New(Options{})
	for i := range run {
		a.Event(&run[i])
	}
	brief := abridged(run[mixThreads:])
	e := event.Event{Seq: uint64(len(run))}
	b.ReportAllocs()
	at, n := cpu(), 0
	for b.Loop() {
		for i := range brief {
			brief[i].decode(&e)
			a.Event(&e)
		}
		n += len(brief)
	}
	if used := cpu() - at; used > 0 {
		b.ReportMetric(float64(n)/used/1e6, "Mevents/cpu-s")
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
