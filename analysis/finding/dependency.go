package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Influence is the way in which a thread matters to another one, as reports spell it.
type Influence string

// The influences.
const (
	Creates  Influence = "creates"  // it created the other
	Writes   Influence = "writes"   // it wrote a value that the other reads
	Signals  Influence = "signals"  // it signalled, posted or sent to the object that the other waits on
	Contends Influence = "contends" // it only acquires a lock that the other acquires too
)

// Dependency is a thread that matters to a finding without being one of its sides.
type Dependency struct {
	Thread event.ThreadID `json:"thread"`
	How    Influence      `json:"how"`
	On     event.ThreadID `json:"on"` // the thread that it influences: a side, or another one that matters
	// Step is the first event of the influence: the fork, the write, the signal or the
	// acquire.
	Step Step `json:"-"`
}
