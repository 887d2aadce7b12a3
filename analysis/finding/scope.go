package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Scope is the region of a run after which a check of a scope is false, and what the scope state of that region came from.
type Scope struct {
	Check  string `json:"check"`  // the formula, as written
	Sync   string `json:"sync"`   // the event that is the scope's synchronising action
	Region uint64 `json:"region"` // from 0: the region before the first synchronising action
	// Outer is, of a scope in another one, the name of that, and OuterRegion the number of its region, in which Region is counted.
	Outer       string `json:"outer,omitempty"`
	OuterRegion uint64 `json:"outer_region,omitempty"`
	// Last reports that no synchronising action came after the region: it ends with the run.
	Last   bool            `json:"last,omitempty"`
	Atoms  []Truth         `json:"-"`
	Locals []LocalVerdicts `json:"local_properties"`
	// Moved is, of a predicted finding, the number of events that are on the other side of the synchronising action than in
	// the run. The local properties then have the threads with events at it alone.
	Moved uint64 `json:"moved,omitempty"`
	// Concurrent is the number of events that count in the region and are concurrent with a synchronising action next to it:
	// another run may have them in another region.
	Concurrent uint64 `json:"concurrent,omitempty"`
}

// LocalVerdicts are the verdicts of a local property in a region.
type LocalVerdicts struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"`    // of the threads that it is about
	Threads []ThreadVerdict `json:"threads"` // in the order of their numbers, without those of other types; at most MaxVerdicts
	More    int             `json:"more,omitempty"`
}

// MaxVerdicts is the largest number of threads of a LocalVerdicts.
const MaxVerdicts = 16

// ThreadVerdict is a verdict on a thread: T, F, ? or na.
type ThreadVerdict struct {
	Thread  event.ThreadID `json:"thread"`
	Verdict string         `json:"verdict"`
}

// Remember adds the threads to n, so that their names are kept.
func (s *Scope) Remember(n *event.Names) {
	for i := range s.Locals {
		for _, t := range s.Locals[i].Threads {
			n.AddThread(t.Thread)
		}
	}
}
