package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// maxNamedThreads bounds the threads that a sentence names.
const maxNamedThreads = 4

// someThreads returns "T1" or "T1 and T2", and with others "T1, T2 and perhaps others". Of many threads it names the first.
func someThreads(ids []event.ThreadID, others bool) string {
	var words []string
	for _, id := range ids {
		words = append(words, number(id))
	}
	if more := len(words) - maxNamedThreads; more > 1 {
		words = append(words[:maxNamedThreads], fmt.Sprintf("%d more", more))
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
		notes = append(notes, fmt.Sprintf("%s synchronised unobserved: %s", someThreads(e.Threads(), e.ObservedUntil > 0), e.Description))
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
