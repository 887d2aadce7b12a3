// Package finding is what analyses give: findings as data, in terms of the
// event model's identifiers. It knows neither names nor files nor output
// formats: the report floor resolves and prints.
package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Analysis takes the events of a run in trace order and gives its findings
// at the end. It never sees BPF, a ring buffer or an ELF file, so that a
// recorded trace, a live process and a hand-written test are the same to it.
type Analysis interface {
	// Event is called once for each event, in trace order. The event is
	// reused: what is kept must be copied.
	Event(*event.Event)
	// Finish is called once, after the last event.
	Finish() []Finding
}

// Kind is the sort of error.
type Kind string

// The kinds of finding, as reports spell them.
const (
	Race     Kind = "race"
	Deadlock Kind = "deadlock"
	Misuse   Kind = "misuse"
	Property Kind = "property"
)

// Confidence says what a finding rests on.
type Confidence string

// The confidences, from strongest.
const (
	// Observed: this run did it.
	Observed Confidence = "observed"
	// Predicted: there is a witness that the checker accepts.
	Predicted Confidence = "predicted"
	// Potential: a heuristic such as a lockset or a lock graph says so, or
	// something unseen could order it.
	Potential Confidence = "potential"
)

// Order is the tier that predicted the finding.
type Order string

// The tiers.
const (
	OrderNone           Order = ""
	OrderSync           Order = "sync"
	OrderExclusion      Order = "exclusion"
	OrderSyncPreserving Order = "sync-preserving"
	OrderReversal       Order = "reversal"
)

// Step is one event of evidence or of a witness.
type Step struct {
	Seq    uint64           `json:"seq,omitempty"`     // of the observed event; 0 for a step that was only attempted
	Time   uint64           `json:"time_ns,omitempty"` // on CLOCK_MONOTONIC; 0 if unknown
	Thread event.ThreadID   `json:"thread"`
	Op     event.Op         `json:"operation"`
	Flags  event.Flags      `json:"-"`
	Object event.ObjectID   `json:"-"`              // 0 if the operation has none
	Peer   event.ThreadID   `json:"peer,omitempty"` // of fork, join
	Place  event.StackID    `json:"-"`
	Value  uint64           `json:"-"` // with event.HasValue in Flags
	Held   []event.ObjectID `json:"-"` // locks held before the step, in order of acquisition
	// HeldAt[i] is where Held[i] was acquired.
	HeldAt []event.StackID `json:"-"`
	// HeldRead has bit i set where Held[i] is known to be held for reading; of the first 64.
	HeldRead uint64 `json:"-"`
	// Blocked marks a last step of a deadlock witness: the thread waits here.
	Blocked bool `json:"blocked,omitempty"`
	// Readers is the number of threads that hold the read-write lock that is waited for,
	// where it is not known which threads these are.
	Readers int `json:"readers,omitempty"`
	// Truth has the propositions of the property and whether they hold after the step,
	// for steps at which the property reads them; else nil.
	Truth []Truth `json:"-"`
}

// Truth says whether a proposition holds.
type Truth struct {
	Name  string
	Holds bool
}

// Remember adds what the step names.
func (s *Step) Remember(n *event.Names) {
	n.Thread(s.Thread)
	n.Thread(s.Peer)
	n.Object(s.Object)
	for _, id := range s.Held {
		n.Object(id)
	}
}

// Finding is one error that this run or another schedule of it shows. Its JSON tags
// are those of the report, which embeds it and prints names for identifiers.
type Finding struct {
	Kind       Kind       `json:"kind"`
	Confidence Confidence `json:"confidence"`
	// Reason says, where Confidence is potential although a witness might
	// be expected, why: one sentence, for the user.
	Reason   string `json:"reason,omitempty"`
	Property string `json:"property"`       // the name of the specification's property, or ""
	Rule     Rule   `json:"rule,omitempty"` // the rule of use that it breaks, or ""
	// Message is for findings whose sentence the report cannot make of kind
	// and evidence; else "".
	Message string           `json:"message"`
	Objects []event.ObjectID `json:"-"`       // locks in cycle order, or the variable
	Threads []event.ThreadID `json:"threads"` // in the order of Evidence
	// Evidence has one step a side: the two accesses of a race; for a
	// deadlock, for each thread of the cycle the acquire that would block,
	// with what it holds; for a property the events that changed places, or
	// the one by which the observed run violates it.
	Evidence []Step `json:"-"`
	Witness  []Step `json:"-"` // the interleaving, where there is one
	// Observed, for a property, is what the run did instead of Witness: the events that
	// the property reads, from the last state that the two have in common.
	Observed []Step   `json:"-"`
	Order    Order    `json:"order"`
	Assumes  []string `json:"assumes"` // "race-free", "guarded-data"
	// Bounded, for a deadlock: one of the acquisitions that wait gives up after a time
	// limit.
	Bounded bool `json:"bounded,omitempty"`
	// Nobody, for a deadlock that was observed: the threads of Evidence are no cycle, but
	// nobody is left who could end their waits. Lost are signals of conditions that
	// they wait on, sent when nobody waited: the last of each.
	Nobody bool   `json:"nobody_left,omitempty"`
	Lost   []Step `json:"-"`
	// Classes, of a deadlock between classes of locks: their names, sorted. Then no two
	// sides need have the same lock.
	Classes []string `json:"lock_classes,omitempty"`
	// Depends are the other threads that matter to it; Partial that there may be more.
	Depends []Dependency `json:"-"`
	Partial bool         `json:"depends_partial,omitempty"`
	Count   int          `json:"count"` // how many instances were merged into this one, at least 1
	// By are the threads of all these instances, where they may be more than Threads.
	By []event.ThreadID `json:"-"`
}

// Doubted makes the predicted findings that may be wrong all the same potential ones,
// and so the observed races: that nothing ordered two accesses is for what was seen.
// Doubt says why, in a sentence; "" if there is no such reason. Nil doubts nothing.
func Doubted(all []Finding, doubt func(*Finding) string) []Finding {
	for i := range all {
		f := &all[i]
		if doubt == nil || f.Confidence == Potential || f.Confidence == Observed && f.Kind != Race {
			continue
		}
		if why := doubt(f); why != "" {
			f.Confidence, f.Reason = Potential, why
		}
	}
	return all
}
