package missed

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file finds stores to atomic variables that nobody is notified of, while another thread waits until the variable
// changes, as by std::atomic::wait. In this run that thread found the new value. In a schedule in which it looks before the
// store it sleeps, and nothing wakes it: unlike a signal of a condition, a store alone wakes nobody.
//
// Which loads are those of a wait, and which ones belong to a notification, only their call stacks show, and these have
// names when the run has ended. So what is kept of the run is, by call stacks, which load of a thread read from which store
// of another one that does not come before it in every schedule otherwise; and when each thread was last where it loaded.

// maxPairs bounds the pairs of call stacks, and the places of loads, that are kept.
const maxPairs = 1 << 12

// atomics is what is kept of loads and stores of atomic variables.
type atomics struct {
	stores map[event.ObjectID]store
	pairs  map[pair]*missedStore
	loads  map[place]uint64 // the Seq of a thread's last load at a call stack
	full   bool             // of some loads it is not kept, and these may be of a notification
}

type store struct {
	step   finding.Step
	before uint64 // the value that it replaced, if known
	known  bool
}

// pair has the call stacks of a load and of the store that it read from.
type pair struct{ load, store event.StackID }

type place struct {
	thread event.ThreadID
	stack  event.StackID
}

// missedStore is a store that a load might have come before.
type missedStore struct {
	load, store finding.Step
	count       int
}

func (a *atomics) event(e *event.Event) {
	if e.Flags&event.Atomic == 0 || e.Kind != event.KindVariable || e.Stack == 0 {
		return
	}
	if e.Op != event.Write {
		a.load(e)
	}
	if e.Op.IsWrite() {
		a.store(e)
	}
}

func (a *atomics) load(e *event.Event) {
	at := place{e.Thread, e.Stack}
	if _, known := a.loads[at]; known || len(a.loads) < maxPairs {
		a.loads[at] = e.Seq
	} else {
		a.full = true
	}
	s, known := a.stores[e.Object]
	if !known || e.Op != event.Read || s.step.Thread == e.Thread || e.Flags&(event.NoSource|event.Late|event.AfterHole) != 0 ||
		s.known && s.before == s.step.Value || e.Since != e.Epoch {
		return // the last: the thread has learned nothing new by the load, so that it came after the store anyhow
	}
	key := pair{e.Stack, s.step.Stack}
	if p := a.pairs[key]; p != nil {
		p.count++
	} else if len(a.pairs) < maxPairs {
		a.pairs[key] = &missedStore{finding.StepOf(e), s.step, 1}
	}
}

func (a *atomics) store(e *event.Event) {
	last, known := a.stores[e.Object]
	if !known && len(a.stores) >= maxPairs {
		return
	}
	known = known && last.step.Flags&e.Flags&event.HasValue != 0
	a.stores[e.Object] = store{finding.StepOf(e), last.step.Value, known}
}

func (a *atomics) remember(n *event.Names) {
	for _, s := range a.stores {
		s.step.Remember(n)
	}
	for _, p := range a.pairs {
		p.load.Remember(n)
		p.store.Remember(n)
	}
}

// finish returns the findings. A store is none if a thread notifies anybody after it, whatever of: but for the thread that
// waits, which does so later.
func (a *atomics) finish(known *part.Known) (out []finding.Finding) {
	if known.AtomicWait == nil || a.full {
		return nil
	}
	for _, p := range a.pairs {
		if waits, _ := known.AtomicWait(p.load.Stack); !waits || a.notified(p, known) {
			continue
		}
		load, store := p.load, p.store
		load.Blocked, load.Flags, load.Value = true, load.Flags&^event.HasValue, 0 // there it has the value from before
		f := finding.Finding{
			Kind: finding.Deadlock, Confidence: finding.Likely, Reason: reason.Reason{What: reason.AnotherNotification}, NoCycle: true, Count: p.count,
			Evidence: []finding.Step{load}, Lost: []finding.Step{store},
		}
		if f.AddSides(); known.Unseen != nil && known.Unseen(&f) {
			continue // a notification may not have been seen, either
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(f, g finding.Finding) int { return int(int64(f.Evidence[0].Seq) - int64(g.Evidence[0].Seq)) })
	return perStore(out)
}

// notified reports whether a thread may notify the one that waits.
func (a *atomics) notified(p *missedStore, known *part.Known) bool {
	for at, seq := range a.loads {
		if at.thread == p.load.Thread || seq < p.store.Seq {
			continue
		}
		if _, notifies := known.AtomicWait(at.stack); notifies {
			return true
		}
	}
	return false
}

// perStore leaves one finding of each thread that waits and store: a wait has several loads.
func perStore(all []finding.Finding) []finding.Finding {
	var out []finding.Finding
	for _, f := range all {
		if !slices.ContainsFunc(out, func(g finding.Finding) bool {
			return g.Lost[0].Stack == f.Lost[0].Stack && g.Evidence[0].Thread == f.Evidence[0].Thread && g.Evidence[0].Object == f.Evidence[0].Object
		}) {
			out = append(out, f)
		}
	}
	return out
}
