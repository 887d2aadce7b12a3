package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// merge returns one finding for each fingerprint.
func merge(all []Finding) []Finding {
	slices.SortFunc(all, compareInstances)
	groups := map[string][]Finding{}
	for _, f := range all {
		groups[f.Fingerprint] = append(groups[f.Fingerprint], f)
	}
	out := make([]Finding, 0, len(groups))
	for _, group := range groups {
		out = append(out, join(group))
	}
	return out
}

// maxOthers is the number of merged instances that a finding keeps.
const maxOthers = 16

// join merges instances of the same defect into one finding, which shows the first of them.
func join(group []Finding) Finding {
	best := group[0]
	best.Count, best.within = count(group), slices.Clone(best.within)
	threads, seen := map[event.ThreadID]bool{}, map[string]bool{}
	for i := range group {
		f := &group[i]
		for _, s := range f.Evidence {
			threads[s.Thread] = true
		}
		for _, t := range f.AllThreads {
			threads[t] = true
		}
		if i > 0 {
			best.within = append(best.within, f.within...)
		}
		key := instanceKey(f.Finding)
		if !seen[key] && i > 0 && len(best.Others) < maxOthers {
			best.Others = append(best.Others, f.instance())
		}
		seen[key] = true
	}
	best.ThreadCount = len(threads)
	return best
}

// instanceKey is equal for findings in which the same threads act on the same objects.
func instanceKey(f finding.Finding) string {
	var b strings.Builder
	for _, s := range f.Evidence {
		fmt.Fprintf(&b, "%d/%d ", s.Thread, s.Object)
	}
	return b.String()
}

func (f *Finding) instance() Instance {
	return Instance{
		Confidence: f.Confidence, Objects: f.Objects[:min(len(f.Objects), maxOthers)],
		Threads: each(f.Evidence[:min(len(f.Evidence), maxOthers)], func(s Step) event.ThreadID { return s.Thread }),
	}
}

// count returns the number of instances in a group. Findings with exactly the same events
// come from several analyses and are the same instances, so only the largest of their counts
// is added.
func count(group []Finding) int {
	byEvents := map[string]int{}
	for _, f := range group {
		key := eventsKey(f.Finding)
		byEvents[key] = max(byEvents[key], f.Count)
	}
	n := 0
	for _, k := range byEvents {
		n += k
	}
	return n
}

// eventsKey is equal for findings with the same events as evidence.
func eventsKey(f finding.Finding) string {
	var b strings.Builder
	for _, s := range f.Evidence {
		fmt.Fprintf(&b, "%d/%d/%d ", s.Seq, s.Thread, s.Object)
	}
	return b.String()
}

// compareInstances orders instances of a defect, the one to show first: by the strongest
// confidence, the fewest sides, a witness (a short one first), and the earliest evidence. The
// last comparison only makes the result independent of the order of the input.
func compareInstances(a, b Finding) int {
	if order := cmp.Or(
		cmp.Compare(rank(confidences, a.Confidence), rank(confidences, b.Confidence)),
		cmp.Compare(len(a.Finding.Evidence), len(b.Finding.Evidence)),
		cmp.Compare(witnessCost(a.Finding), witnessCost(b.Finding)),
		slices.CompareFunc(a.Finding.Evidence, b.Finding.Evidence, compareSteps),
	); order != 0 {
		return order
	}
	reasons := cmp.Compare(a.Reason, b.Reason)
	a.Finding.Reason, b.Finding.Reason = reason.Reason{}, reason.Reason{} // they have pointers
	a.Finding.Graph, b.Finding.Graph = nil, nil
	return cmp.Or(reasons, cmp.Compare(fmt.Sprintf("%+v", a.Finding), fmt.Sprintf("%+v", b.Finding)))
}

// witnessCost returns the length of the witness; without one, more than any length.
func witnessCost(f finding.Finding) int {
	if len(f.Witness) == 0 {
		return int(^uint(0) >> 1)
	}
	return len(f.Witness)
}

var (
	confidences = finding.Confidences()
	kinds       = []finding.Kind{finding.Property, finding.Scoped, finding.Typestate, finding.Knowledge, finding.Deadlock, finding.Race, finding.Misuse}
)

// AtLeast returns the report without the findings that are weaker than least; Hidden counts
// those.
func (r Report) AtLeast(least finding.Confidence) Report {
	shown := 0 // they are sorted by confidence
	for shown < len(r.Findings) && r.Findings[shown].Confidence.AtLeast(least) {
		shown++
	}
	hidden := maps.Clone(r.Hidden) // those that were left out before
	if hidden == nil {
		hidden = map[finding.Confidence]int{}
	}
	for _, f := range r.Findings[shown:] {
		hidden[f.Confidence]++
	}
	r.Findings, r.Least, r.Hidden = r.Findings[:shown:shown], least, hidden
	return r
}

// Count returns the number of findings of a confidence, including those that are not shown.
func (r Report) Count(c finding.Confidence) int {
	n := r.Hidden[c]
	for _, f := range r.Findings {
		if f.Confidence == c {
			n++
		}
	}
	return n
}

// rank returns the index of x in order; if x is not in it, the length of order.
func rank[T comparable](order []T, x T) int {
	if i := slices.Index(order, x); i >= 0 {
		return i
	}
	return len(order)
}

// compare orders the findings of a report.
func (n Names) compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(rank(confidences, a.Confidence), rank(confidences, b.Confidence)),
		cmp.Compare(rank(kinds, a.Kind), rank(kinds, b.Kind)),
		cmp.Compare(a.Kind, b.Kind),
		slices.CompareFunc(a.Evidence, b.Evidence, n.compareSites),
		cmp.Compare(a.Fingerprint, b.Fingerprint),
	)
}

func (n Names) compareSites(a, b Step) int {
	x, y := a.Stack.Top(), b.Stack.Top()
	return cmp.Or(cmp.Compare(n[x.File], n[y.File]), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Function, y.Function))
}
