// Package kept has the log of events of a run as analyses keep it, to make schedules of it later. It takes events in the
// order of the run and finds them by their numbers; what is discarded, and when, is up to the analysis.
package kept

import (
	"sort"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Event is an event of the run without its clock, its arguments and the function called, and so without pointers, so that
// the garbage collector does not scan a log.
type Event struct {
	Seq, Time, Value uint64
	Thread           event.ThreadID
	Object, Object2  event.ObjectID
	Peer             event.ThreadID
	Stack            event.StackID
	Slot             uint32
	Epoch            event.Epoch
	Flags            event.Flags
	Op               event.Op
	Kind             event.Kind
}

// Event returns the event as one of a run.
func (x *Event) Event() event.Event {
	return event.Event{
		Seq: x.Seq, Time: x.Time, Value: x.Value, Thread: x.Thread, Object: x.Object, Object2: x.Object2, Peer: x.Peer,
		Stack: x.Stack, Slot: x.Slot, Epoch: x.Epoch, Flags: x.Flags, Op: x.Op, Kind: x.Kind,
	}
}

// Step returns the event as a step of evidence, without the locks held before it.
func (x *Event) Step() finding.Step {
	return finding.Step{
		Seq: x.Seq, Time: x.Time, Thread: x.Thread, Op: x.Op, Flags: x.Flags, Object: x.Object, Peer: x.Peer,
		Stack: x.Stack, Value: x.Value,
	}
}

// Log is a sequence of events in the order of Seq.
type Log []Event

// Add appends an event. The log grows in large steps up to full events, since copying it often would cost more than all
// other work on it.
func (l *Log) Add(e *event.Event, full int) {
	n := len(*l)
	if n == cap(*l) {
		grown := make(Log, n, min(max(1<<10, 4*n), max(full, n+1)))
		copy(grown, *l)
		*l = grown
	}
	*l = (*l)[:n+1]
	x := &(*l)[n]
	x.Seq, x.Time, x.Value, x.Thread, x.Object, x.Object2, x.Peer = e.Seq, e.Time, e.Value, e.Thread, e.Object, e.Object2, e.Peer
	x.Stack, x.Slot, x.Epoch, x.Flags, x.Op, x.Kind = e.Stack, e.Slot, e.Epoch, e.Flags, e.Op, e.Kind
}

// Index returns the index at which the event of that Seq is, or would be.
func (l Log) Index(seq uint64) int {
	return sort.Search(len(l), func(i int) bool { return l[i].Seq >= seq })
}

// Find returns the event of that Seq; nil if it is not in the log.
func (l Log) Find(seq uint64) *Event {
	at := l.Index(seq)
	if at == len(l) || l[at].Seq != seq {
		return nil
	}
	return &l[at]
}

// Events returns the events of the log as those of a run, which a checker of schedules takes.
func (l Log) Events() []event.Event {
	out := make([]event.Event, len(l))
	for i := range l {
		out[i] = l[i].Event()
	}
	return out
}

// Remember adds the threads, objects and call stacks of the events to n, so that their names are kept.
func (l Log) Remember(n *event.Names) {
	for i := range l {
		x := &l[i]
		n.AddThread(x.Thread)
		n.AddThread(x.Peer)
		n.AddObject(x.Object)
		n.AddObject(x.Object2)
		n.AddStack(x.Stack)
	}
}
