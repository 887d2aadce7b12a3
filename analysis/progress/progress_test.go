package progress

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// program has locks a and b, locks 3 to 5 without names that were initialised at one source
// location, and others of which only the address is known.
type program struct{}

func (program) Object(id event.ObjectID) run.Object {
	switch {
	case id < 3:
		return run.Object{Name: string(rune('a' - 1 + int(id))), Kind: event.KindMutex, Addr: 16 * uint64(id)}
	case id < 6:
		return run.Object{Addr: 16 * uint64(id), Kind: event.KindMutex, Init: 7}
	}
	return run.Object{Addr: 16 * uint64(id), Kind: event.KindMutex}
}

func (program) Func(event.FuncID) event.Func { return event.Func{} }

func (program) Thread(id event.ThreadID) run.Thread {
	return run.Thread{Start: "worker"}
}

func (program) Frames(id event.StackID) []event.Frame {
	return []event.Frame{{Function: "f", File: "/src/x.c", Line: int(id)}}
}

func edgeStep(thread event.ThreadID, stack event.StackID, locks ...event.ObjectID) finding.Step {
	held := locks[:len(locks)-1]
	return finding.Step{
		Thread: thread, Op: event.Acquire, Object: locks[len(held)], Stack: stack,
		Held: held, HeldAt: slices.Repeat([]event.StackID{stack - 1}, len(held)),
	}
}

func TestEachNewEdgeIsReported(t *testing.T) {
	var out bytes.Buffer
	n := LockOrderEdges{Names: program{}, Out: &out}
	for _, s := range []finding.Step{
		edgeStep(2, 21, 1, 2), edgeStep(3, 31, 2, 1), edgeStep(3, 41, 1, 2), // a in b again
		edgeStep(2, 51, 3, 1, 4), edgeStep(2, 51, 4, 1, 5), // initialised at the same source location
		edgeStep(2, 61, 9, 1),
	} {
		n.Report(s)
	}
	want := `tracepredict: new lock order (1): T2 worker takes 'b' in f at x.c:21 while it holds 'a' from x.c:20
tracepredict: new lock order (2): T3 worker takes 'a' in f at x.c:31 while it holds 'b' from x.c:30
tracepredict: new lock order (3): T2 worker takes a mutex initialised in f at x.c:7 in f at x.c:51 while it holds a mutex initialised in f at x.c:7 from x.c:50 and 'a' from x.c:50
tracepredict: new lock order (4): T2 worker takes 'a' in f at x.c:61 while it holds the mutex 0x90 from x.c:60
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// clock is a timer that tests wind.
type clock struct {
	now, due time.Duration
	call     func()
}

func (c *clock) after(d time.Duration, f func()) Timer {
	c.due, c.call = c.now+d, f
	return c
}

func (c *clock) Reset(d time.Duration) bool {
	c.due = c.now + d
	return true
}

func (c *clock) Stop() bool {
	c.call = nil
	return true
}

func (c *clock) wind(d time.Duration) {
	if c.now += d; c.now >= c.due && c.call != nil {
		call := c.call
		c.call = nil
		call()
	}
}

func TestItSettlesWhenThereIsNothingNew(t *testing.T) {
	var c clock
	q := NewQuiet(30*time.Second, c.after)
	n := LockOrderEdges{Names: program{}, Quiet: q}
	settled := false
	n.Report(edgeStep(2, 21, 1, 2)) // before it begins
	q.Begin(func() { settled = true })
	c.wind(20 * time.Second)
	n.Report(edgeStep(2, 21, 2, 1)) // new: 30 s from now
	c.wind(20 * time.Second)
	n.Report(edgeStep(3, 21, 2, 1)) // not new
	if settled {
		t.Error("it settled 20 s after a new lock order")
	}
	c.wind(10 * time.Second)
	if !settled || !q.End() {
		t.Error("it did not settle after 30 s")
	}
}

func TestItDoesNotSettleOnceEnded(t *testing.T) {
	var c clock
	q := NewQuiet(time.Second, c.after)
	q.Begin(func() { t.Error("it settled") })
	if q.End() {
		t.Error("it says that it settled")
	}
	c.wind(2 * time.Second)
	if (*Quiet)(nil).End() {
		t.Error("there was nothing to wait for")
	}
}
