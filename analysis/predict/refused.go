package predict

import (
	"errors"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxRefused bounds the refused prefixes that are kept.
const maxRefused = 64

// refusedPrefix is the beginning of a sync-preserving schedule whose last event the checker has refused, because
// something was not recorded. Each schedule that begins so is refused there: most schedules of a run that contain the
// event begin so.
type refusedPrefix struct {
	slot  uint32
	epoch event.Epoch   // of the refused event
	upto  []event.Epoch // by slot: of the last event of the log before it
	at    []event.Epoch // by slot: of the last one of the schedule before it
	err   error
}

// remember keeps the prefix of a schedule that the checker has refused.
func (q *question) remember(err error, steps []finding.Step) {
	var r *execution.Refusal
	d := q.h.ofLog()
	if q.lenient || q.taken != 0 || !execution.Unseen(err) || !errors.As(err, &r) || r.Step > len(steps) || len(d.refused) == maxRefused {
		return
	}
	x := q.h.entry(steps[r.Step-1].Seq)
	if x == nil {
		return
	}
	p := refusedPrefix{slot: x.Slot, epoch: x.Epoch, upto: make([]event.Epoch, len(q.c.at)), at: make([]event.Epoch, len(q.c.at)), err: err}
	copy(p.upto, q.h.cut)
	for i := range q.h.log {
		e := &q.h.log[i]
		if e.Seq >= x.Seq {
			break
		}
		p.upto[e.Slot] = e.Epoch
	}
	for slot := range p.at {
		p.at[slot] = min(q.c.at[slot], p.upto[slot])
	}
	d.refused = append(d.refused, p)
}

// refusedBefore returns the error of the checker if it has refused a schedule that begins as that of the closure.
func (q *question) refusedBefore() error {
	if q.lenient || q.taken != 0 {
		return nil
	}
	for i := range q.h.ofLog().refused {
		if p := &q.h.derived.refused[i]; p.begins(q.c) {
			return p.err
		}
	}
	return nil
}

// begins reports whether the schedule of a closure begins with the prefix.
func (p *refusedPrefix) begins(c *closure) bool {
	if len(c.at) != len(p.at) || c.at[p.slot] < p.epoch {
		return false
	}
	for slot, at := range p.at {
		if min(c.at[slot], p.upto[slot]) != at {
			return false
		}
	}
	return true
}
