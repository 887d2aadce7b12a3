// Package verdict decides what the findings of a run are worth. Every doubt about a finding, every contradiction of the
// record and every downgrade is here, with its reason (finding/reason). The input is findings, what is known of the run,
// and what the analyses know of its record; the output is the same findings with their final confidence. The package
// finds nothing, and searches for no schedule.
package verdict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Run is what is known of a run besides its events; see Of. The zero value is that nothing is known.
type Run struct {
	// Doubt returns, for a predicted finding or an observed race, the reason why it may be wrong, if there is one: an
	// order that was not observed, an acquire that was not recorded. With a nil Doubt, no finding changes for such a
	// reason.
	Doubt func(*finding.Finding) reason.Reason
	// Misuse is Doubt for an observed misuse.
	Misuse func(*finding.Finding) reason.Reason
	// Incomplete returns why the record may lack events that matter to some evidence, if it may.
	Incomplete func([]finding.Step) reason.Reason
	// Excused reports whether a finding is no error after all.
	Excused func(*finding.Finding) bool
	Orders  []Order   // the probable orders
	Names   run.Namer // of the run; nil: unknown
	Code    Code      // of the program; nil: unknown
}

// Of returns what the summary of a run, its names and its code say. code is nil if the run has all accesses, as an
// imported trace does.
func Of(sum run.Summary, names run.Namer, code Code) Run {
	return Run{
		Doubt:      Doubt(sum, names, code),
		Misuse:     func(f *finding.Finding) reason.Reason { return misuseDoubt(f, sum, names) },
		Incomplete: func(evidence []finding.Step) reason.Reason { return incomplete(sum, evidence, names) },
		Excused:    func(f *finding.Finding) bool { return quitsInside(f, names) },
		Orders:     probableOrders(sum.Executed),
		Names:      names,
		Code:       code,
	}
}

// Record is what the analyses of a run know of its record.
type Record interface {
	// HandedUnseen returns a reason if a side of a finding has the address of what it accesses from a write that was
	// not recorded, as far as is known.
	HandedUnseen(*finding.Finding) reason.Reason
	// Kept passes the events of the run that were kept until yield returns false; Whole reports whether these are all.
	Kept(yield func(*event.Event) bool)
	Whole() bool
}

// Judge judges the findings of a run.
type Judge struct {
	Run            Run
	Record         Record
	Contradictions *Contradictions

	callers map[string]callers            // see perhapsCalledBack; nil: not yet known
	flags   map[event.ObjectID][]handOver // see flagOf; nil: not yet known
}

// Findings takes findings to their final confidence, and leaves out those that are excused. It changes and returns
// found, and changes the reasons of pruned. The order of its steps matters: which variables are flags is asked first,
// while the races of what they may hand over are as certain as they were found; a finding that is less than likely for one
// reason is not doubted for another; what keeps the sides of a finding apart is asked only of those that are likely. What
// violates a property rests on the order of its events alone, and has been checked event by event: it is only doubted for
// what was not observed.
func (j *Judge) Findings(found []finding.Finding, pruned []finding.Pruned) []finding.Finding {
	for i := range found {
		doubt(&found[i], func(f *finding.Finding) reason.Reason { return j.flagOf(f, found) })
	}
	for _, step := range []func(*finding.Finding){Attempt, j.doubted, unlike, j.ordered, (*finding.Finding).ShortenHeld, j.misused} {
		for i := range found {
			if !found[i].Kind.Specified() {
				step(&found[i])
			}
		}
	}
	for i := range found {
		if f := &found[i]; f.Kind.Specified() && j.Run.Doubt != nil {
			doubt(f, j.Run.Doubt)
		}
	}
	if j.Run.Excused != nil {
		found = slices.DeleteFunc(found, func(f finding.Finding) bool { return j.Run.Excused(&f) })
	}
	withholdRefutations(found, pruned, j.Run.Incomplete)
	return found
}

// Now returns the confidence that a finding has as far as is known while the program runs: an event that is not in the
// finding's evidence is not looked at.
func (j *Judge) Now(f finding.Finding) finding.Confidence {
	if j.doubted(&f); f.Confidence == finding.Likely && apart(&f, j.Run.Orders) {
		return finding.Potential
	}
	return f.Confidence
}

// Plainly returns a finding with the confidence that it has for the reasons for doubt alone.
func (j *Judge) Plainly(f finding.Finding) finding.Finding {
	j.doubted(&f)
	unlike(&f)
	return f
}

// doubted is doubt, with what the record says of itself.
func (j *Judge) doubted(f *finding.Finding) {
	if j.Run.Doubt != nil {
		doubt(f, j.doubt)
	}
}

// doubt returns the reason why a finding may be wrong. It sets Finding.Unexplained, and Unrecorded of a race one of whose
// sides has its address from an unrecorded write.
func (j *Judge) doubt(f *finding.Finding) reason.Reason {
	if f.Confidence == finding.Predicted && len(f.Unexplained) == 0 {
		f.Unexplained = j.Contradictions.under(f)
	}
	if why := j.Record.HandedUnseen(f); why.Given() {
		f.Unrecorded = true
		return why
	}
	if why := j.Run.Doubt(f); why.Given() {
		return why
	}
	if why := j.calledBack(f); why.Given() {
		return why
	}
	if why := j.Contradictions.unsure(f); why.Given() {
		return why
	}
	return j.Contradictions.doubt(f)
}

// doubt changes the confidence of a predicted finding that may be wrong to likely. It does so for an observed race too,
// since unobserved synchronisation may have ordered the two accesses; one without a witness, or with one that is
// Unrecorded, becomes potential. So does a finding that is likely for another reason, if its witness is Unrecorded.
func doubt(f *finding.Finding, reasonOf func(*finding.Finding) reason.Reason) {
	if !mayChange(f) {
		return
	}
	why := reasonOf(f)
	switch {
	case !why.Given():
	case f.Unrecorded, len(f.Witness) == 0:
		f.Confidence, f.Reason = finding.Potential, why
	case f.Confidence != finding.Likely:
		f.Confidence, f.Reason = finding.Likely, why
	}
}

// mayChange reports whether a doubt changes the confidence of a finding.
func mayChange(f *finding.Finding) bool {
	switch f.Confidence {
	case finding.Observed:
		return f.Kind == finding.Race || f.Kind == finding.Knowledge // They rest on what nothing orders.
	case finding.Likely:
		return len(f.Witness) > 0 && slices.Contains(f.Assumes, finding.GuardedData)
	}
	return f.Confidence == finding.Predicted
}

// unlike makes a finding likely that is still more, although it rests on events that the record contradicts, or on
// reads of other values.
func unlike(f *finding.Finding) {
	if !f.Confidence.AtLeast(finding.Predicted) {
		return
	}
	switch {
	case len(f.Unexplained) > 0:
		f.Confidence, f.Reason = finding.Likely, unexplained(&f.Unexplained[0])
	case len(f.OtherValues) > 0:
		f.Confidence, f.Reason = finding.Likely, otherValue(&f.OtherValues[0])
	}
}

// misused makes a misuse likely that something unrecorded could make correct: an acquire within a call that could not be
// followed to its return, or the end of an object's memory.
func (j *Judge) misused(f *finding.Finding) {
	if j.Run.Misuse == nil || f.Kind != finding.Misuse || f.Confidence != finding.Observed {
		return
	}
	if why := j.Run.Misuse(f); why.Given() {
		f.Confidence, f.Reason = finding.Likely, why
	}
}
