package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
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
	return unseenOrder(inProcesses(executed, processesOf(f.Evidence, names), names), f) != ""
}

// unseenOrder returns a sentence on an instruction that may have ordered the sides of f: of all
// such instructions, the one that most threads of f executed. It is "" if there is none.
func unseenOrder(executed []run.Executed, f *finding.Finding) string {
	earlier, later := earlierSide(f), laterSide(f)
	best, mostSides := -1, -1
	for i := range executed {
		if sides, anyThread := executedBetween(&executed[i], f, earlier, later); anyThread && len(sides) > mostSides {
			best, mostSides = i, len(sides)
		}
	}
	if best < 0 {
		return ""
	}
	e := &executed[best]
	sides, _ := executedBetween(e, f, earlier, later)
	if len(sides) == 0 {
		sides = e.Threads()
	}
	what := "may order any two events"
	if e.Waits {
		what = "may order what followed after what other threads did before"
	}
	return fmt.Sprintf("%s synchronised unobserved (%s), which %s", names(sides, e.ObservedUntil > 0), e.Description, what)
}

// probableOrders returns the orders of calls and loops that waited, where it is known who probably let them go on.
func probableOrders(executed []run.Executed) (all []Order) {
	for i := range executed {
		for _, h := range executed[i].Hits {
			c := h.Cause
			if c == nil || c.Thread == h.Thread {
				continue
			}
			did := "probably ended its wait"
			if c.Asked {
				did = "changed what it asked for"
			}
			all = append(all, Order{From: c.Thread, Until: c.Until, To: h.Thread, Since: h.Since,
				Why: fmt.Sprintf("T%d went on after %s of T%d, which %s (%s): that probably keeps the two sides apart in other schedules too", h.Thread, c.Name, c.Thread, did, executed[i].Description)})
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

// maxNamed bounds the threads that a sentence names.
const maxNamed = 4

// names returns "T1" or "T1 and T2", and with others "T1, T2 and perhaps others". Of many threads it names the first.
func names(ids []event.ThreadID, others bool) string {
	var words []string
	for _, id := range ids {
		words = append(words, fmt.Sprintf("T%d", id))
	}
	if more := len(words) - maxNamed; more > 1 {
		words = append(words[:maxNamed], fmt.Sprintf("%d more", more))
	}
	switch {
	case len(words) == 0:
		return "some threads"
	case others:
		return strings.Join(words, ", ") + " and perhaps others"
	default:
		return plural.Enumerated(words)
	}
}

// maxExecutedNotes bounds the number of notes on unobserved instructions.
const maxExecutedNotes = 3

// UnseenNotes returns notes on the unobserved instructions that were executed. Instructions of
// one description, such as those of an inlined function, share a note.
func UnseenNotes(all []run.Executed) []string {
	var notes []string
	all = byDescription(all)
	for i := range all {
		e := &all[i]
		if i == maxExecutedNotes {
			return append(notes, plural.Sprintf("%d other {place that synchronises in a way that is not observed was|places that synchronise in ways that are not observed were} executed too", len(all)-i))
		}
		notes = append(notes, fmt.Sprintf("%s synchronised unobserved: %s", names(e.Threads(), e.ObservedUntil > 0), e.Description))
	}
	return notes
}

// byDescription returns one Executed for each description, in the order of the first of each, with
// the threads of all.
func byDescription(all []run.Executed) []run.Executed {
	var out []run.Executed
	at := map[string]int{}
	for _, e := range all {
		i, ok := at[e.Description]
		if !ok {
			i = len(out)
			at[e.Description] = i
			out = append(out, run.Executed{Description: e.Description, Waits: e.Waits})
		}
		one := &out[i]
		one.ObservedUntil = max(one.ObservedUntil, e.ObservedUntil)
		for _, h := range e.Hits {
			if !slices.ContainsFunc(one.Hits, func(x run.Hit) bool { return x.Thread == h.Thread }) {
				one.Hits = append(one.Hits, h)
			}
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Hits, func(a, b run.Hit) int { return cmp.Compare(a.Thread, b.Thread) })
	}
	return out
}
