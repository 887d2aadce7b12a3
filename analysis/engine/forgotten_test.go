package engine_test

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// forgetful is a run whose memory is full when forget is called, and then at each chance.
type forgetful struct {
	*engine.Engine
	must *clock.Must
	full bool
	seq  uint64
}

func newForgetful() *forgetful {
	r := &forgetful{must: clock.New()}
	r.Engine = engine.New(engine.Options{Full: func() bool { return r.full }})
	r.ShrinkBy(func(unused uint64) bool { return r.must.Shrink(unused) > 0 })
	return r
}

func (r *forgetful) do(e event.Event) {
	r.seq++
	e.Seq, e.Time = r.seq, r.seq
	r.must.Stamp(&e)
	r.Event(&e)
	r.must.Done(&e)
}

// forget has thread t use so many other objects of a kind that what was used before is forgotten.
func (r *forgetful) forget(t event.ThreadID, op event.Op, kind event.Kind) {
	r.full = true
	for i := range 1 << 14 {
		r.do(event.Event{Op: op, Thread: t, Object: event.ObjectID(1000 + i), Kind: kind})
	}
	r.full = false
}

// TestForgottenOrder checks that accesses which an object ordered that was forgotten do not race, nor in another schedule
// for certain, and that accesses which nothing ordered still do.
func TestForgottenOrder(t *testing.T) {
	const x = 1 // the object, and 2 the variable
	access := func(thread event.ThreadID) event.Event {
		return event.Event{Op: event.Write, Thread: thread, Object: 2, Kind: event.KindVariable, Stack: event.StackID(thread)}
	}
	for name, c := range map[string]struct {
		kind          event.Kind
		before, after []event.Event
		filler        event.Op
	}{
		"semaphore": {event.KindSemaphore, []event.Event{{Op: event.SemPost, Thread: 2}}, []event.Event{{Op: event.SemWait, Thread: 3}}, event.SemPost},
		"once":      {event.KindOnce, []event.Event{{Op: event.OnceEnter, Thread: 2}, {Op: event.OnceDone, Thread: 2}}, []event.Event{{Op: event.OnceEnter, Thread: 3}, {Op: event.OnceLeave, Thread: 3}}, event.OnceDone},
		"channel":   {event.KindChannel, []event.Event{{Op: event.Send, Thread: 2}}, []event.Event{{Op: event.Receive, Thread: 3}}, event.Send},
		"nothing":   {event.KindSemaphore, nil, nil, event.SemPost},
	} {
		r := newForgetful()
		r.do(event.Event{Op: event.Begin, Thread: 1})
		for _, child := range []event.ThreadID{2, 3} {
			r.do(event.Event{Op: event.Fork, Thread: 1, Peer: child})
			r.do(event.Event{Op: event.Begin, Thread: child})
		}
		r.do(access(2))
		for _, e := range c.before {
			e.Object, e.Kind = x, c.kind
			r.do(e)
		}
		r.forget(1, c.filler, c.kind)
		for _, e := range c.after {
			e.Object, e.Kind = x, c.kind
			r.do(e)
		}
		r.do(access(3))
		found, b := finish(r.Engine, verdict.Run{}, part.Known{}), r.Bounds()
		sure := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Confidence.AtLeast(finding.Predicted) })
		if sure != (c.before == nil) || b.EvictedObjects == 0 {
			t.Errorf("%s: %+v, %+v", name, found, b)
		}
	}
}

// TestForgottenThreads checks that what a thread did comes before its join, although its end was forgotten.
func TestForgottenThreads(t *testing.T) {
	for _, joined := range []bool{true, false} {
		r := newForgetful()
		write := event.Event{Op: event.Write, Thread: 1, Object: 2, Kind: event.KindVariable, Stack: 1}
		r.do(event.Event{Op: event.Begin, Thread: 1})
		fork := func(child event.ThreadID) {
			r.do(event.Event{Op: event.Fork, Thread: 1, Peer: child})
			r.do(event.Event{Op: event.Begin, Thread: child})
		}
		fork(2)
		other := write
		other.Thread, other.Stack = 2, 2
		r.do(other)
		r.do(event.Event{Op: event.End, Thread: 2})
		r.full = true
		for child := event.ThreadID(3); child < 1<<13; child++ {
			fork(child)
			r.do(event.Event{Op: event.End, Thread: child})
		}
		r.full = false
		if joined {
			r.do(event.Event{Op: event.Join, Thread: 1, Peer: 2})
		}
		r.do(write)
		found, b := finish(r.Engine, verdict.Run{}, part.Known{}), r.Bounds()
		if len(found) > 0 == joined || b.EvictedThreads == 0 {
			t.Errorf("joined %t: %+v, %+v", joined, found, b)
		}
	}
}
