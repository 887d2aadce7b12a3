package suite

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// usedAlone is the reason why a destroy that nothing orders after the last use may be correct.
const usedAlone = "something that was not observed may have told the thread that the lock is used no more"

// destroys returns the locks that were destroyed although nothing in this run orders that after the last
// release by another thread: in another schedule, the thread uses a lock that is no more. If the threads
// may have synchronised without a record, the release may have come before in every schedule, and there
// is no finding.
func (s *Suite) destroys() (out []finding.Finding) {
	unordered := s.order.Destroys()
	if s.checked.Off || slices.Contains(s.checked.Except, finding.DestroyUnordered) || len(unordered) == 0 || s.handovers.Unseen == nil {
		return nil
	}
	last := map[event.ObjectID]finding.Step{} // the last acquire of each lock, whose call stack is known
	s.history.Kept(func(e *event.Event) bool {
		switch {
		case e.Op == event.Acquire:
			last[e.Object] = finding.StepOf(e)
		case e.Op == event.Destroy && slices.Contains(unordered, e.Seq):
			if r, ok := last[e.Object]; ok && r.Thread != e.Thread {
				out = s.addDestroy(out, finding.StepOf(e), r)
			}
		}
		return true
	})
	return out
}

// addDestroy adds the finding of a destroy and a use, or counts it if there is one of the same call
// stacks.
func (s *Suite) addDestroy(all []finding.Finding, destroy, use finding.Step) []finding.Finding {
	f := finding.Finding{Kind: finding.Misuse, Rule: finding.DestroyUnordered, Confidence: finding.Likely, Reason: usedAlone, Count: 1,
		Objects: []event.ObjectID{destroy.Object}, Threads: []event.ThreadID{destroy.Thread, use.Thread}, Evidence: []finding.Step{destroy, use}}
	if s.handovers.Unseen(&f) {
		return all
	}
	for i := range all {
		if g := &all[i]; g.Evidence[0].Stack == destroy.Stack && g.Evidence[1].Stack == use.Stack {
			g.Count++
			return all
		}
	}
	return append(all, f)
}
