package replay

import (
	"fmt"
	"math"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Unobserved synchronisation may have ordered two sides of a finding if any thread executed
// a synchronising instruction that is not observed before the later side. One thread is
// enough: another thread may load what an atomic exchange stored by a plain instruction,
// which is not recorded, and hand it on by observed synchronisation. Only the first hit of
// each thread is known, so the time of that hit cannot exclude an order.

// unseenOrder returns a sentence on the instruction, of those that may have ordered the
// sides of f, that most threads of f executed. It is "" if there is none.
func unseenOrder(executed []run.Executed, f *finding.Finding) string {
	later := laterSide(f)
	best, who := -1, -1
	for i := range executed {
		if sides, any := before(&executed[i], f, later); any && len(sides) > who {
			best, who = i, len(sides)
		}
	}
	if best < 0 {
		return ""
	}
	e := &executed[best]
	sides, _ := before(e, f, later)
	if len(sides) == 0 {
		sides = e.Threads()
	}
	return fmt.Sprintf("%s synchronised unobserved (%s), which may order any two events", names(sides, e.ObservedUntil > 0), e.Description)
}

// laterSide returns the Seq of the last event of the finding's evidence. Without evidence it
// is the largest number, since all events may matter.
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

// before returns the threads of the finding that executed an instruction before an event,
// and reports whether any thread at all may have.
func before(e *run.Executed, f *finding.Finding, later uint64) (sides []event.ThreadID, any bool) {
	any = e.ObservedUntil != 0 && e.ObservedUntil <= later
	for _, h := range e.Hits {
		if h.Since > later {
			continue
		}
		any = true
		for i := range f.Evidence {
			if f.Evidence[i].Thread == h.Thread {
				sides = append(sides, h.Thread)
				break
			}
		}
	}
	return sides, any
}

// names returns "T1", "T1 and T2", "T1, T2 and perhaps others".
func names(ids []event.ThreadID, others bool) string {
	var words []string
	for _, id := range ids {
		words = append(words, fmt.Sprintf("T%d", id))
	}
	switch n := len(words); {
	case n == 0:
		return "some threads"
	case others:
		return strings.Join(words, ", ") + " and perhaps others"
	case n == 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// maxExecutedNotes bounds the notes on such instructions; the JSON report has more.
const maxExecutedNotes = 3

func executedNotes(all []run.Executed) []string {
	var notes []string
	for i := range all {
		e := &all[i]
		if i == maxExecutedNotes {
			return append(notes, fmt.Sprintf("%d other places that synchronise in ways that are not observed were executed too", len(all)-i))
		}
		notes = append(notes, fmt.Sprintf("%s synchronised unobserved: %s", names(e.Threads(), e.ObservedUntil > 0), e.Description))
	}
	return notes
}
