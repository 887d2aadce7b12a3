package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// This file joins findings that have one cause: races, and deadlocks of two threads.
//
// Two critical sections that nest many locks in opposite orders make a deadlock of each two neighbouring locks, and a
// person mends them all at once. Deadlocks have one cause if their sides are in the same two outermost sections, by the
// lock and the place of its acquisition.
//
// With races, it is the memory that has the cause. A variable that nothing guards is often accessed in
// many places, and each pair of these is a race with a fingerprint of its own: a person mends them
// all at once. So the text shows the strongest of them, and names the other pairs.
//
// Races on one object have one cause, a variable of two programs being two objects. So have races on several objects, if the same source
// locations access them, as one function that is called for each. Only races of which every pair
// has such a location in common with those on the strongest object join it: a chain of pairs, each
// with a side in common with the next, would join what has nothing to do with each other.
//
// Causes are found in what a report shows, after suppressions: a finding that is suppressed is in
// none, and the strongest of the others is shown. Nothing else depends on them. The fingerprint of
// each finding stays what it is.

// Cause is the findings that have one cause.
type Cause struct {
	Lead   *Finding   // the strongest, of several the one whose fingerprint comes first
	Others []*Finding // in the same order
}

// Pairs returns the number of pairs of accesses or locks, those that are no findings of their own included.
func (c *Cause) Pairs() int { return 1 + len(c.Others) + c.MorePairs() }

// MorePairs returns the number of pairs of locks that are no findings of their own.
func (c *Cause) MorePairs() int {
	n := c.Lead.MorePairs
	for _, f := range c.Others {
		n += f.MorePairs
	}
	return n
}

// Causes returns the findings by their causes, in the order of the report.
func (r Report) Causes() []Cause {
	sorted := make([]*Finding, 0, len(r.Findings))
	for i := range r.Findings {
		sorted = append(sorted, &r.Findings[i])
	}
	slices.SortStableFunc(sorted, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(rank(confidences, a.Confidence), rank(confidences, b.Confidence)), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	out, n := joinBySides(byObject(sorted)), r.Names()
	slices.SortStableFunc(out, func(a, b Cause) int { return n.compare(*a.Lead, *b.Lead) })
	return out
}

// byObject joins the races on one object, and the deadlocks of two outermost sections.
func byObject(sorted []*Finding) []Cause {
	var out []Cause
	at := map[string]int{}
	for _, f := range sorted {
		key := cmp.Or(objectKey(f), nestKey(f))
		if i, ok := at[key]; ok {
			out[i].Others = append(out[i].Others, f)
			continue
		}
		if key != "" {
			at[key] = len(out)
		}
		out = append(out, Cause{Lead: f})
	}
	return out
}

// joinBySides joins causes with a stronger one if each of their pairs has a side in common with it.
func joinBySides(all []Cause) []Cause {
	var out []Cause
	with := map[string][]int{} // the causes in out by the sides of the races on their first object
	for _, c := range all {
		if i := commonCause(&c, with); i >= 0 {
			out[i].Others = append(append(out[i].Others, c.Lead), c.Others...)
			continue
		}
		for side := range c.sides() {
			with[side] = append(with[side], len(out))
		}
		out = append(out, c)
	}
	return out
}

// commonCause returns the first cause with which every pair of c has a side in common; -1 if there
// is none.
func commonCause(c *Cause, with map[string][]int) int {
	var left []int
	for i, f := range append([]*Finding{c.Lead}, c.Others...) {
		var found []int
		for _, s := range sidesOf(f) {
			found = append(found, with[s]...)
		}
		if i > 0 {
			found = slices.DeleteFunc(found, func(j int) bool { return !slices.Contains(left, j) })
		}
		left = found
	}
	if len(left) == 0 {
		return -1
	}
	return slices.Min(left)
}

// sides returns the source locations of all pairs.
func (c *Cause) sides() map[string]bool {
	set := map[string]bool{}
	for _, f := range append([]*Finding{c.Lead}, c.Others...) {
		for _, s := range sidesOf(f) {
			set[s] = true
		}
	}
	return set
}

// sidesOf returns the known source locations of a race, which has two sides.
func sidesOf(f *Finding) []string {
	if f.Kind != finding.Race || len(f.Evidence) != 2 {
		return nil
	}
	var all []string
	for i := range f.Evidence {
		if s := site(f.Evidence[i].Stack); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// objectKey returns what races on one object have in common: a variable or field by its name, memory
// by where it was allocated, and by its offset there. It is "" for findings that are not joined.
func objectKey(f *Finding) string {
	if f.Kind != finding.Race || len(f.Evidence) != 2 || len(f.Objects) == 0 {
		return ""
	}
	o := &f.Objects[0]
	switch {
	case o.Numbered:
		return ""
	case o.Anonymous && o.InBlock() && site(o.Init) != "":
		offset := o.Block.Offset
		if o.Block.Element > 0 {
			offset %= o.Block.Element
		}
		return fmt.Sprintf("block %s+%d", site(o.Init), offset)
	case o.Anonymous:
		return fmt.Sprintf("address %d %#x", o.TGID, o.Addr)
	}
	// Programs of one run may have variables of the same name.
	return "name " + identity(o, f) + "\n" + programsOf(f)
}

// nestKey returns what predicted deadlocks of two outermost sections have in common; "" for other findings.
func nestKey(f *Finding) string {
	nest, ok := f.Nest()
	if !ok {
		return ""
	}
	return fmt.Sprint("sections ", nest)
}

// OtherPair returns "read in sell at shop.c:10 with write in refund at shop.c:20", with the object and
// the confidence if they are not those of lead, or the two locks of a deadlock.
func (n Names) OtherPair(lead, f *Finding) string {
	if f.Kind == finding.Deadlock {
		return locksOf(lead, f)
	}
	a, b := f.Evidence[0], f.Evidence[1]
	text := access(a)
	if objectKey(f) != objectKey(lead) {
		text += " of " + Quoted(a.Object)
	}
	text += n.inAccess(a) + " with " + access(b) + n.inAccess(b)
	if f.Confidence != lead.Confidence {
		text += fmt.Sprintf(" (%s)", f.Confidence)
	}
	return text
}

// locksOf returns "'a' and 'b'", with the confidence if it is not that of lead.
func locksOf(lead, f *Finding) string {
	var names []string
	for i := range f.Objects {
		names = append(names, Quoted(&f.Objects[i]))
	}
	text := strings.Join(names, " and ")
	if f.Confidence != lead.Confidence {
		text += fmt.Sprintf(" (%s)", f.Confidence)
	}
	return text
}
