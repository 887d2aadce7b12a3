package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// candidate is a built finding with the identifiers it was built from, which
// decide between candidates that read the same.
type candidate struct {
	Finding
	raw finding.Finding
}

// merge keeps one finding for each fingerprint.
func merge(all []candidate) []Finding {
	slices.SortFunc(all, compareCandidates)
	groups := map[string][]candidate{}
	for _, c := range all {
		groups[c.Fingerprint] = append(groups[c.Fingerprint], c)
	}
	out := make([]Finding, 0, len(groups))
	for _, group := range groups {
		best := group[0].Finding
		best.Count = count(group)
		out = append(out, best)
	}
	return out
}

// count adds up instances. Two analyses that report the very same events
// report one set of instances, so of those only the larger count is taken.
func count(group []candidate) int {
	byEvents := map[string]int{}
	for _, c := range group {
		key := eventsKey(c.raw)
		byEvents[key] = max(byEvents[key], c.Count)
	}
	n := 0
	for _, k := range byEvents {
		n += k
	}
	return n
}

func eventsKey(f finding.Finding) string {
	var b strings.Builder
	for _, s := range f.Evidence {
		fmt.Fprintf(&b, "%d/%d/%d ", s.Seq, s.Thread, s.Object)
	}
	return b.String()
}

// compareCandidates puts the one to show first: the strongest confidence, then
// a witness (a short one), then the earliest evidence. What is left decides
// only so that the order of the input does not.
func compareCandidates(a, b candidate) int {
	if c := cmp.Or(
		cmp.Compare(rank(confidences, a.Confidence), rank(confidences, b.Confidence)),
		cmp.Compare(witnessCost(a.raw), witnessCost(b.raw)),
		slices.CompareFunc(a.raw.Evidence, b.raw.Evidence, compareSteps),
	); c != 0 {
		return c
	}
	return cmp.Compare(fmt.Sprintf("%+v", a.raw), fmt.Sprintf("%+v", b.raw))
}

func witnessCost(f finding.Finding) int {
	if len(f.Witness) == 0 {
		return int(^uint(0) >> 1)
	}
	return len(f.Witness)
}

var (
	confidences = []finding.Confidence{finding.Observed, finding.Predicted, finding.Potential}
	kinds       = []finding.Kind{finding.Property, finding.Deadlock, finding.Race, finding.Misuse}
)

// AtLeast gives the report without the findings that are weaker than least, which are
// counted in Hidden.
func (r Report) AtLeast(least finding.Confidence) Report {
	shown := 0 // they are sorted by confidence
	for shown < len(r.Findings) && rank(confidences, r.Findings[shown].Confidence) <= rank(confidences, least) {
		shown++
	}
	hidden := map[finding.Confidence]int{}
	for _, f := range r.Findings[shown:] {
		hidden[f.Confidence]++
	}
	r.Findings, r.Least, r.Hidden = r.Findings[:shown:shown], least, hidden
	return r
}

// count is how many findings of a confidence the run has, also those not shown.
func (r Report) count(c finding.Confidence) int {
	n := r.Hidden[c]
	for _, f := range r.Findings {
		if f.Confidence == c {
			n++
		}
	}
	return n
}

func rank[T comparable](order []T, x T) int {
	if i := slices.Index(order, x); i >= 0 {
		return i
	}
	return len(order)
}

// compare orders the findings of a report.
func (n names) compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(rank(confidences, a.Confidence), rank(confidences, b.Confidence)),
		cmp.Compare(rank(kinds, a.Kind), rank(kinds, b.Kind)),
		cmp.Compare(a.Kind, b.Kind),
		slices.CompareFunc(a.Evidence, b.Evidence, n.compareSites),
		cmp.Compare(a.Fingerprint, b.Fingerprint),
	)
}

func (n names) compareSites(a, b Step) int {
	x, y := a.Stack.Top(), b.Stack.Top()
	return cmp.Or(cmp.Compare(n[x.File], n[y.File]), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Function, y.Function))
}

// fingerprint hashes what Build documents. Every part is quoted, so that no
// name can imitate a border between parts.
func fingerprint(f *Finding) string {
	sides := make([]string, 0, len(f.Evidence))
	for i := range f.Evidence {
		sides = append(sides, side(f, i))
	}
	slices.Sort(sides)
	objects := make([]string, 0, len(f.Objects))
	for _, o := range f.Objects {
		objects = append(objects, identity(o))
	}
	slices.Sort(objects)
	message := f.Message
	if len(f.Evidence) > 0 {
		message = "" // it may hold addresses; the sides say enough
	}
	whole := fmt.Appendf(nil, "1 %q %q %q %q %q", f.Kind, f.Property, message, objects, sides)
	if f.Rule != "" {
		whole = fmt.Appendf(whole, " %q", f.Rule)
	}
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:])
}

func side(f *Finding, i int) string {
	step := f.Evidence[i]
	parts := []string{site(step.Stack)}
	if step.Object != nil {
		parts = append(parts, identity(*step.Object))
	}
	if f.Kind == finding.Misuse {
		parts = append(parts, step.Op.String())
	}
	for _, h := range step.Held {
		if f.Kind == finding.Deadlock && wantedByOther(f, i, h.Object) {
			parts = append(parts, identity(h.Object), site(h.Stack))
		}
	}
	return fmt.Sprintf("%q", parts)
}

// identity names an object the same in every run: an anonymous one by where
// it was initialised, and where that is unknown only by its kind.
func identity(o Object) string {
	if !o.Anonymous {
		return o.Name
	}
	return fmt.Sprintf("%s initialised at %s", o.Kind, site(o.Init))
}

func site(s Stack) string {
	f := s.Top()
	if f.Function == "" && f.File == "" && f.Module == "" {
		return "" // an address alone moves
	}
	file := ""
	if f.File != "" {
		file = path.Base(f.File)
	}
	if file == "" || f.Line == 0 {
		return fmt.Sprintf("%s %s+%#x", path.Base(f.Module), f.Function, f.Offset)
	}
	return fmt.Sprintf("%s %s:%d", f.Function, file, f.Line)
}
