package bind

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Threads are the live threads of a run, by their names. It asks for each thread once, since it may be asked at each
// event. Make it with NewThreads, and pass it all events: to Named before they are handled, to Event once they have been.
type Threads struct {
	names run.Namer
	known map[event.ThreadID]run.Thread
}

// NewThreads returns the threads of a run that has not begun.
func NewThreads(names run.Namer) Threads {
	return Threads{names, map[event.ThreadID]run.Thread{}}
}

func (t Threads) of(id event.ThreadID) run.Thread {
	x, ok := t.known[id]
	if !ok {
		x = t.names.Thread(id)
		t.known[id] = x
	}
	return x
}

// Type returns what the type of a thread depends on: its start routine, its name, and whether it is the first thread.
func (t Threads) Type(id event.ThreadID) (start, name string, first bool) {
	x := t.of(id)
	return x.Start, x.Name, x.Main
}

// Process returns the number of a thread's process.
func (t Threads) Process(id event.ThreadID) uint32 { return t.of(id).TGID }

// Named gives a thread the name that an event says. It is called before the event is handled.
func (t Threads) Named(e *event.Event) {
	if e.Op == event.Named {
		x := t.of(e.Thread)
		x.Name = e.ThreadName()
		t.known[e.Thread] = x
	}
}

// Event forgets a thread that ends.
func (t Threads) Event(e *event.Event) {
	if e.Op == event.End {
		delete(t.known, e.Thread)
	}
}
