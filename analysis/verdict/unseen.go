package verdict

import (
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Some synchronising instructions are not observed; only the first execution by each thread is
// recorded. Such an instruction may have ordered the two sides of a finding if any thread
// executed it before the later side. One thread is enough: another thread may load what an
// atomic exchange stored by a plain instruction, which is not recorded, and hand it on by
// observed synchronisation. A thread may have executed the instruction again at any time after
// the first, so the time of the first cannot exclude an order.
//
// Of a loop that waits, all executions are recorded until it is not observed any more. What it
// orders comes after the store that ended it, so it may have ordered the sides only if it ended
// after the earlier one and before the later one. The thread of the earlier access of a race only
// hands on, by what was observed, what it did itself.

// inProcesses returns the instructions that may have ordered threads of some processes, with the
// executions by their threads.
func inProcesses(all []run.Executed, own []uint32, names run.Namer) []run.Executed {
	if len(own) == 0 {
		return all
	}
	var out []run.Executed
	for _, e := range all {
		if !concerns(e.Processes, own) {
			continue
		}
		e.Hits = slices.DeleteFunc(slices.Clone(e.Hits), func(h run.Hit) bool {
			pid := names.Thread(h.Thread).TGID
			return pid != 0 && !slices.Contains(own, pid)
		})
		out = append(out, e)
	}
	return out
}

// UnseenOrder reports whether an instruction that was not observed may have ordered the sides of a finding.
func UnseenOrder(executed []run.Executed, f *finding.Finding, names run.Namer) bool {
	return unseenOrder(inProcesses(executed, processesOf(f.Evidence, names), names), f).Given()
}

// unseenOrder returns the reason that an instruction may have ordered the sides of f: of all such instructions, it is
// the one that most threads of f executed.
func unseenOrder(executed []run.Executed, f *finding.Finding) reason.Reason {
	earlier, later := earlierSide(f), laterSide(f)
	best, mostSides := -1, -1
	for i := range executed {
		if sides, anyThread := executedBetween(&executed[i], f, earlier, later); anyThread && len(sides) > mostSides {
			best, mostSides = i, len(sides)
		}
	}
	if best < 0 {
		return reason.Reason{}
	}
	e := &executed[best]
	sides, _ := executedBetween(e, f, earlier, later)
	if len(sides) == 0 {
		sides = e.Threads()
	}
	what := reason.Unseen
	if e.Waits {
		what = reason.UnseenWait
	}
	return reason.Reason{What: what, Threads: sides, Others: e.ObservedUntil > 0, Words: e.Description}
}

// probableOrders returns the orders of calls and loops that waited, where it is known who probably let them go on.
func probableOrders(executed []run.Executed) (all []Order) {
	for i := range executed {
		for _, h := range executed[i].Hits {
			c := h.Cause
			if c == nil || c.Thread == h.Thread {
				continue
			}
			what := reason.WaitEnded
			if c.Asked {
				what = reason.AskChanged
			}
			all = append(all, Order{From: c.Thread, Until: c.Until, To: h.Thread, Since: h.Since,
				Why: reason.Reason{What: what, Thread: h.Thread, Other: c.Thread, Call: c.Name, Words: executed[i].Description}})
		}
	}
	return all
}

// laterSide returns the largest Seq of the events of a finding. Without events it is the largest
// number, since all events may matter.
func laterSide(f *finding.Finding) uint64 {
	later := uint64(0)
	for _, steps := range [][]finding.Step{f.Evidence, f.Witness, f.Observed} {
		for _, s := range steps {
			later = max(later, s.Seq)
		}
	}
	if later == 0 {
		return math.MaxUint64
	}
	return later
}

// earlierSide returns the evidence with the smallest Seq; the zero Step if there is none.
func earlierSide(f *finding.Finding) finding.Step {
	var earlier finding.Step
	for i, s := range f.Evidence {
		if i == 0 || s.Seq < earlier.Seq {
			earlier = s
		}
	}
	return earlier
}

// mayOrder reports whether an execution may have ordered a finding's earlier side before the event
// with the Seq later.
func mayOrder(e *run.Executed, h run.Hit, f *finding.Finding, earlier finding.Step, later uint64) bool {
	if h.Since > later {
		return false
	}
	if !e.Waits {
		return true
	}
	return (h.Until == 0 || h.Until >= earlier.Seq) && (f.Kind != finding.Race || h.Thread != earlier.Thread)
}

// executedBetween returns the threads of the finding's evidence that executed an instruction which
// may have ordered its earlier side before the event with the Seq later, and whether any thread at
// all may have.
func executedBetween(e *run.Executed, f *finding.Finding, earlier finding.Step, later uint64) (sides []event.ThreadID, anyThread bool) {
	anyThread = e.ObservedUntil != 0 && e.ObservedUntil <= later
	for _, h := range e.Hits {
		if !mayOrder(e, h, f, earlier, later) {
			continue
		}
		anyThread = true
		if slices.Contains(sides, h.Thread) {
			continue
		}
		for i := range f.Evidence {
			if f.Evidence[i].Thread == h.Thread {
				sides = append(sides, h.Thread)
				break
			}
		}
	}
	return sides, anyThread
}
