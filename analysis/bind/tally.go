package bind

import (
	"fmt"
	"path"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// tally counts the objects of a property by what the observed run says of it, in LTL₃. It stays empty for a safety property.
type tally struct {
	property *spec.Property
	of       [3]judged // by verdict
	open     uint64    // objects of these, the order of whose events may be another one
	unknown  judged    // of which not all was recorded
}

// judged is the objects with one verdict.
type judged struct {
	objects, ended uint64
	first          []named
}

// named is an object that a note names.
type named struct {
	value uint64
	first finding.Step
}

// maxNamed is the most objects that a note names of one verdict.
const maxNamed = 3

// add counts an object.
func (t *tally) add(j *property.Judged) {
	of := &t.unknown
	if j.Known {
		of = &t.of[j.Verdict]
		if j.Open {
			t.open++
		}
	}
	if of.objects++; j.Ended {
		of.ended++
	}
	if len(of.first) < maxNamed {
		of.first = append(of.first, named{j.Value, j.First})
	}
}

// remember adds to n what the notes name.
func (t *tally) remember(n *event.Names) {
	for _, of := range []*judged{&t.of[0], &t.of[1], &t.of[2], &t.unknown} {
		for i := range of.first {
			of.first[i].first.Remember(n)
		}
	}
}

// notes says of how many objects the property is true, false or unknown at the end of the run, and names the first ones.
func (t *tally) notes(names run.Namer) (notes []string) {
	say := func(of *judged, verdict string) {
		if of.objects > 0 {
			notes = append(notes, fmt.Sprintf("property %s: ", t.property.Name)+verdict+of.text(names))
		}
	}
	say(&t.of[monitor.True], "true, whatever would follow, ")
	say(&t.of[monitor.False], "false, whatever would follow, ")
	say(&t.of[monitor.Unknown], "unknown, as what would follow decides, ")
	say(&t.unknown, "whether it is true is not known, since not all events and values were recorded, ")
	if t.open > 0 {
		notes = append(notes, plural.Sprintf("property %s: of %d {object|objects} this is so in the order of the records, and nothing shows that the accesses came in it", t.property.Name, t.open))
	}
	return notes
}

// text says how many objects there are, and names the first ones.
func (j *judged) text(names run.Namer) string {
	var each []string
	for i := range j.first {
		x := &j.first[i]
		each = append(each, fmt.Sprintf("%s, first seen by T%d%s", subject(x.value), x.first.Thread, in(names.Frames(x.first.Stack))))
	}
	text := plural.Sprintf("of %d {object|objects}", j.objects)
	if j.ended > 0 {
		text += plural.Sprintf(", of which %d {has|have} ended", j.ended)
	}
	if more := j.objects - uint64(len(each)); more > 0 {
		each = append(each, fmt.Sprintf("%d more", more))
	}
	return text + " (" + strings.Join(each, "; ") + ")"
}

// in says where a call stack is, in short: notes name several.
func in(frames []event.Frame) string {
	for _, f := range frames {
		if f.Line > 0 {
			return fmt.Sprintf(" in %s at %s:%d", f.Function, path.Base(f.File), f.Line)
		}
	}
	return ""
}

// subject returns an object's value: as an address, or else as a handle.
func subject(value uint64) string {
	if value < 4096 {
		return fmt.Sprint(value)
	}
	return fmt.Sprintf("%#x", value)
}
