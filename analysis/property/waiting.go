package property

import (
	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// A violation in the order of the trace is one of this run only if the record proves it; see
// prover.go. Which events may have come before it is known once each thread has recorded another
// one, or after twice MaxDelay, or at the end of the run. Until then the violation waits.

// waiting is a violation in the order of the trace.
type waiting struct {
	property int
	key      key
	found    *finding.Finding // what is reported if the record proves it
	witness  *lattice.Witness
	thread   event.ThreadID          // that violates the property
	bound    uint64                  // Seq of the record by which it has; 0: not recorded yet
	until    uint64                  // time, in ns, at which the wait ends
	missing  map[event.ThreadID]bool // threads that live and have recorded nothing since bound
}

// await makes a violation by the event with a Seq wait.
func (a *Analysis) await(w waiting, seq uint64) {
	x := a.history.Log.Find(seq)
	if x == nil {
		a.settle(&w)
		return
	}
	w.thread, w.until = x.Thread, x.Time+2*uint64(MaxDelay)
	if x.Flags&event.Watched != 0 || !isUncertain(x.Op, x.Flags, x.Time) {
		w.bound = seq
	}
	for _, y := range a.history.Log[a.history.Log.Index(seq+1):] {
		w.record(y.Thread, y.Seq, y.Flags)
	}
	if w.bound != 0 && a.missesNone(&w) {
		a.settle(&w)
		return
	}
	a.waits = append(a.waits, w)
}

// record handles a record after the violation, which may bound it.
func (w *waiting) record(thread event.ThreadID, seq uint64, flags event.Flags) {
	if w.bound == 0 && thread == w.thread && bounds(flags) {
		w.bound = seq
	}
}

// missesNone finds the threads that live and have recorded nothing since the record that bounds the
// violation: what they record next may have happened before. It reports whether there are none. If two
// threads were there before the first record, there may be others that have recorded nothing so far.
func (a *Analysis) missesNone(w *waiting) bool {
	w.missing = map[event.ThreadID]bool{}
	strangers := 0
	for i := range a.history.Log {
		x := &a.history.Log[i]
		switch {
		case x.Op == event.End:
			delete(w.missing, x.Thread)
		case bounds(x.Flags):
			a.seen(w, x.Thread, x.Seq)
		}
		switch {
		case x.Op == event.Fork:
			a.seen(w, x.Peer, x.Seq)
		case x.Op == event.Begin && x.Flags&event.Inferred != 0:
			strangers++
		}
	}
	if strangers > 1 {
		w.missing[noThread] = true
	}
	return len(w.missing) == 0
}

// noThread stands for threads that are not known: no event is by it.
const noThread event.ThreadID = 0

// seen handles an event by a thread, or the creation of it.
func (a *Analysis) seen(w *waiting, thread event.ThreadID, seq uint64) {
	if seq >= w.bound {
		delete(w.missing, thread)
	} else {
		w.missing[thread] = true
	}
}

// elapse handles an event for the violations that wait.
func (a *Analysis) elapse(e *event.Event) {
	rest := a.waits[:0]
	for i := range a.waits {
		if w := &a.waits[i]; a.isOver(w, e) {
			a.settle(w)
		} else {
			rest = append(rest, *w)
		}
	}
	a.waits = rest
}

// isOver reports whether a violation need not wait any longer once an event has come.
func (a *Analysis) isOver(w *waiting, e *event.Event) bool {
	if e.Time > w.until {
		return true
	}
	if w.bound == 0 {
		w.record(e.Thread, e.Seq, e.Flags)
		return w.bound != 0 && a.missesNone(w)
	}
	if e.Op == event.End || bounds(e.Flags) {
		delete(w.missing, e.Thread)
	}
	return len(w.missing) == 0
}

// settle reports a violation that has waited: as one of this run if the record proves it, else as
// one of another schedule.
func (a *Analysis) settle(w *waiting) {
	own := a.slices[w.property]
	if own.proves() {
		a.publish(w.key, w.found, true)
		return
	}
	a.violated[w.property] = false
	p := own.property
	f := &finding.Finding{Kind: finding.Property, Property: p.Name, Message: violates(p, false), Count: 1}
	completion.Predict(f, a.o.Order)
	f.Reason = reason.Reason{What: reason.OrderOpen}
	own.explain(f, w.witness)
	if why := a.missingInput(p, false); why.Given() {
		a.downgrade(f, finding.Likely, why)
	}
	f.AddSides()
	if old := a.findings[w.key]; old != nil && old.Confidence != finding.Potential {
		old.Count++
		return
	}
	a.publish(w.key, f, false)
}

// publish adds a finding to those of the run, or puts it in the place of a weaker one with its key.
func (a *Analysis) publish(k key, f *finding.Finding, observed bool) {
	a.violated[k.property] = a.violated[k.property] || observed
	if old := a.findings[k]; old != nil {
		f.Count += old.Count
		*old = *f
	} else {
		a.findings[k] = f
		a.order = append(a.order, k)
	}
	if a.o.Found != nil {
		a.o.Found(f)
	}
}
