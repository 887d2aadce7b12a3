package suite

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// contradictions are the locks of which the record contradicts itself: a thread acquired one that
// another thread held, or the memory of one became another object while it was held. A release
// was then not seen, so that its thread seemed to hold the lock for longer than it did.
type contradictions struct {
	locks map[event.ObjectID]contradiction
	last  event.Event // the last event if that is an inferred release; else the zero value
}

type contradiction struct {
	holder, other event.ThreadID // other acquired the lock; 0: its memory became another object
}

// maxContradictions bounds the locks that are kept. If there are more, every lock counts as one.
const maxContradictions = 1 << 12

// event processes the next event of the run.
func (c *contradictions) event(e *event.Event) {
	if before := &c.last; before.Object != 0 {
		if before.Object == e.Object {
			c.pair(before, e)
		}
		c.last = event.Event{}
	}
	if e.Op == event.Release && e.Flags&event.Inferred != 0 {
		c.last = event.Event{Thread: e.Thread, Object: e.Object}
	}
}

// pair processes an inferred release and the event after it, on the same lock.
func (c *contradictions) pair(release, e *event.Event) {
	what := contradiction{holder: release.Thread}
	switch {
	case e.Op.IsAcquire() && e.Thread != release.Thread:
		what.other = e.Thread
	case e.Op == event.Destroy && e.Flags&event.Inferred != 0:
	default:
		return
	}
	if _, known := c.locks[e.Object]; !known && len(c.locks) < maxContradictions {
		c.locks[e.Object] = what
	}
}

// doubt returns the reason why a finding may be wrong that rests on such a lock; "" if none does.
func (c *contradictions) doubt(f *finding.Finding) string {
	if len(c.locks) == 0 {
		return ""
	}
	check := func(locks []event.ObjectID) string {
		for _, id := range locks {
			what, bad := c.locks[id]
			switch {
			case bad && what.other != 0:
				return fmt.Sprintf("the record contradicts itself: T%d acquired one of its locks while T%d held it, so a release was not seen", what.other, what.holder)
			case bad:
				return fmt.Sprintf("the record contradicts itself: the memory of one of its locks became another object while T%d held the lock, so a release was not seen", what.holder)
			case len(c.locks) == maxContradictions:
				return "the record contradicts itself: many locks were acquired while another thread held them, so releases were not seen"
			}
		}
		return ""
	}
	if why := check(f.Objects); why != "" {
		return why
	}
	for _, s := range slices.Concat(f.Evidence, f.Witness) {
		if why := check(s.Held); why != "" {
			return why
		}
	}
	return ""
}

// WithContradictions returns a function that returns the reason for doubt of another one, or else
// that, known so far, the record contradicts itself about one of the finding's locks; nil for nil.
func (s *Suite) WithContradictions(doubt func(*finding.Finding) string) func(*finding.Finding) string {
	if doubt == nil {
		return nil
	}
	return func(f *finding.Finding) string {
		if why := doubt(f); why != "" {
			return why
		}
		return s.contradictions.doubt(f)
	}
}
