package misuse

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// freedLocks are the locks whose memory was freed while a thread held them, each with its finding.
type freedLocks map[event.ObjectID]*finding.Finding

// maxFreed bounds freedLocks.
const maxFreed = 1 << 10

// freed processes the end of the memory that an object is in. If a thread held the object, the event
// just before is the release that removed it from its holder.
func (a *Analysis) freed(e *event.Event) {
	r, held := a.heldBefore(e)
	if !held {
		return
	}
	f := a.report(finding.FreeHeld, stepOf(e), r.acquire)
	if f == nil {
		return
	}
	a.explained(e.Object)
	if f.Count == 1 {
		f.Confidence, f.Reason = finding.Likely, reason.Reason{What: reason.PerhapsUnused}
	}
	if a.freedLocks == nil {
		a.freedLocks = freedLocks{}
	}
	if len(a.freedLocks) < maxFreed {
		a.freedLocks[e.Object] = f
	}
}

// unlockedFreed reports whether an event is the unlock of a lock by the thread that held it when its
// memory was freed, and settles the finding.
func (a *Analysis) unlockedFreed(e *event.Event) bool {
	f := a.freedLocks[e.Object]
	if f == nil {
		return false
	}
	f.Confidence, f.Reason = finding.Observed, reason.Reason{}
	return true
}
