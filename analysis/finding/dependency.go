package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Influence is how a thread matters to another, as reports spell it.
type Influence string

// The influences.
const (
	Creates  Influence = "creates"  // it created the other
	Writes   Influence = "writes"   // it wrote what the other reads
	Signals  Influence = "signals"  // it signalled, posted or sent to what the other waits at
	Contends Influence = "contends" // it takes a lock that the other takes: nothing needs it
)

// Dependency is a thread that matters to a finding without being one of its sides.
type Dependency struct {
	Thread event.ThreadID `json:"thread"`
	How    Influence      `json:"how"`
	On     event.ThreadID `json:"on"` // whom it influences: a side, or another that matters
	// Step is where the thread first did so: the fork, the write, the signal, the
	// acquire.
	Step Step `json:"-"`
}
