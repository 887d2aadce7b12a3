package finding

import (
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

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
	// Ordered: one of two sides happens after the other in every schedule, because of By
	// if that is known.
	Ordered Why = "ordered"
	// CommonLock: Lock is held at both accesses of a race.
	CommonLock Why = "common-lock"
	// Refuted: none of the searched schedules shows the error; see Reason.
	Refuted Why = "refuted"
	// Unknown: the events that would decide it were discarded or never observed; see Reason.
	Unknown Why = "unknown"
	// Budget: the budget was spent before the search reached it; see Reason.
	Budget Why = "budget"
)

// Pruned is a candidate that is no finding, or a finding without a witness, and the argument
// by which it was pruned.
type Pruned struct {
	Kind Kind `json:"kind"`
	Why  Why  `json:"why"`
	// Reason says more than Why, Lock and By, if there is more to say.
	Reason reason.Reason  `json:"-"`
	Lock   event.ObjectID `json:"-"` // of GateLock, ParentGateLock, CommonLock; else 0
	// By is, for Ordered, the event that orders two sides: a fork or a join, or else the read
	// of a value or the end of a wait by the later side. Its Op is None if it is unknown.
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
