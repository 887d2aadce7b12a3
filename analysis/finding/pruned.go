package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Why is the argument by which a candidate was pruned, as reports spell it.
type Why string

// The arguments.
const (
	// OneThread: the sides need distinct threads, and there are not enough.
	OneThread Why = "one-thread"
	// GateLock: two sides hold Lock, so that only one of them can run at a time.
	GateLock Why = "gate-lock"
	// ParentGateLock: Lock excludes two sides from running at the same time: a parent
	// held it from the creation of one of their threads until its join.
	ParentGateLock Why = "parent-gate-lock"
	// Ordered: one of two sides comes after the other in every schedule, because of By
	// where that is known.
	Ordered Why = "ordered"
	// CommonLock: Lock is held at both accesses of a race.
	CommonLock Why = "common-lock"
	// Refuted: no schedule of those that were searched leads there; see Reason.
	Refuted Why = "refuted"
	// Unknown: the events that would decide it were discarded or never observed; see Reason.
	Unknown Why = "unknown"
	// Budget: the budget was spent before the search reached it; see Reason.
	Budget Why = "budget"
)

// Pruned is a candidate that is no finding, or no finding with a witness, and why.
type Pruned struct {
	Kind Kind `json:"kind"`
	Why  Why  `json:"why"`
	// Reason is a sentence on what Why, Lock and By do not say; "" if they say all.
	Reason string         `json:"-"`
	Lock   event.ObjectID `json:"-"` // of GateLock, ParentGateLock, CommonLock; else 0
	// By is the event that orders two sides, of Ordered: a fork or a join, or else the read
	// of a value or the end of a wait by the later side; its Op is None where it is not
	// known.
	By Step `json:"-"`
	// Evicted reports that some events of the candidate were evicted; Why holds for those
	// that were kept.
	Evicted bool             `json:"partial,omitempty"`
	Objects []event.ObjectID `json:"-"` // as in a Finding
	// Evidence has a step for each side, as in a Finding; of a race it may be empty.
	Evidence []Step `json:"-"`
	// Count is the number of times that the candidate was seen at the sides' stacks; 0 is once.
	Count uint64 `json:"count"`
}
