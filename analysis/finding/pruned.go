package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Why says what speaks against a candidate, as reports spell it.
type Why string

// What may speak against a candidate.
const (
	// OneThread: its sides need distinct threads, and there are not enough.
	OneThread Why = "one-thread"
	// GateLock: two sides hold Lock, which lets in one of them at a time.
	GateLock Why = "gate-lock"
	// ParentGateLock: Lock keeps two sides apart; a parent held it from the creation
	// of one of their threads until its join.
	ParentGateLock Why = "parent-gate-lock"
	// Ordered: one of two sides comes after the other in every schedule, by By
	// where that is known.
	Ordered Why = "ordered"
	// CommonLock: of a race, Lock is held at both accesses.
	CommonLock Why = "common-lock"
	// Refuted: no schedule of those that were looked for leads there; see Reason.
	Refuted Why = "refuted"
	// Unknown: what would tell was forgotten or never seen; see Reason.
	Unknown Why = "unknown"
	// Budget: the search ended before it came there; see Reason.
	Budget Why = "budget"
)

// Pruned is a candidate that is no finding, or none with a witness, and why.
type Pruned struct {
	Kind Kind `json:"kind"`
	Why  Why  `json:"why"`
	// Reason is the rest of it in one sentence, where there is more to say than
	// Why, Lock and By do.
	Reason string         `json:"-"`
	Lock   event.ObjectID `json:"-"` // of GateLock, ParentGateLock, CommonLock; else 0
	// By is of Ordered what orders two sides: a fork or join, or else the read of a
	// value or what was waited for, by the later one; Op is None where it is not known.
	By Step `json:"-"`
	// Evicted: some events of the candidate were evicted; Why holds for those that
	// were kept.
	Evicted bool             `json:"partial,omitempty"`
	Objects []event.ObjectID `json:"-"` // as in a Finding
	// Evidence has a step a side, as in a Finding; of a race it may be empty.
	Evidence []Step `json:"-"`
	// Count is the number of times that the candidate was seen at the sides' stacks; 0 is once.
	Count uint64 `json:"count"`
}
