package property

import (
	"errors"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// placed identifies a finding: objects that violate a property by an event at one call stack are one finding.
type placed struct {
	property int
	stack    event.StackID
}

// observed makes a finding of the present event, by which this run violates the property of an object.
func (a *Parametric) observed(o *object, l lattice.Letter) {
	k := placed{o.Data.property, a.now.Stack}
	o.Data.broken, o.Data.by = true, k
	if old := a.findings[k]; old != nil && old.Confidence == finding.Observed {
		a.again(k, o)
		return
	}
	f, p := a.finding(o, true), &a.o.Properties[o.Data.property]
	f.Confidence = finding.Observed
	step := finding.StepOf(a.now)
	step.Truth = p.truth(l)
	f.Evidence = []finding.Step{step}
	f.Witness = f.Evidence
	a.doubt(o, f)
	a.keep(k, o, f)
}

// finding returns a finding without evidence.
func (a *Parametric) finding(o *object, observed bool) *finding.Finding {
	p := &a.o.Properties[o.Data.property]
	return &finding.Finding{
		Kind: finding.Property, Property: p.Name, Message: violates(&p.Property, observed), Count: 1, Subject: &finding.Subject{Value: o.Data.value, First: o.Data.made},
	}
}

// again counts one more object of a finding.
func (a *Parametric) again(k placed, o *object) {
	if a.last[k] != o {
		a.findings[k].Count++
	}
	a.last[k] = o
}

// keep keeps a finding of an object. It is counted by one with the same key that is as strong.
func (a *Parametric) keep(k placed, o *object, f *finding.Finding) {
	old := a.findings[k]
	if old != nil && old.Confidence.AtLeast(f.Confidence) {
		a.again(k, o)
		return
	}
	f.AddSides()
	switch {
	case old == nil:
		a.findings[k] = f
		a.order = append(a.order, k)
	case a.last[k] == o:
		f.Count = old.Count
		*old = *f
	default:
		f.Count += old.Count
		*old = *f
	}
	a.last[k] = o
	if a.o.Found != nil {
		a.o.Found(f)
	}
}

// violation handles an event by which some run that the causality allows violates the property of an object.
func (a *Parametric) violation(c *check, v *lattice.Violation) {
	o := c.Object
	e, ok := v.Event()
	if o.Data.broken || v.Observed || !ok {
		return // This run has shown it already.
	}
	w, err := v.Witness()
	if errors.Is(err, lattice.ErrBadBefore) {
		return
	}
	breaking := a.o.History.Log.Find(e.Seq)
	if breaking == nil {
		a.stats.Unkept++
		return
	}
	k := placed{o.Data.property, breaking.Stack}
	if old := a.findings[k]; old != nil && (old.Confidence.AtLeast(finding.Predicted) || a.tries[k] >= maxTries) {
		a.again(k, o)
		return
	}
	a.tries[k]++
	f := a.predicted(c, w, err, breaking.Step())
	if err == nil {
		f.Graph = graphOf(&a.o.Properties[o.Data.property].Property, v.Excerpt(w), a.o.History.Log, a.o.Variables, nil)
	}
	a.keep(k, o, f)
}

// predicted returns the finding of a witness, or of the error in place of one.
func (a *Parametric) predicted(c *check, w *lattice.Witness, err error, breaking finding.Step) *finding.Finding {
	f, p := a.finding(c.Object, false), &a.o.Properties[c.Object.Data.property].Property
	if err != nil {
		f.Confidence, f.Reason, f.Evidence = finding.Potential, reason.Reason{What: reason.NoWitness, Words: err.Error()}, []finding.Step{breaking}
		return f
	}
	h := a.o.History
	completion.Predict(f, a.o.Order)
	f.Observed = a.observedSteps(p, c, w)
	f.Evidence = withOvertaken(stepsOf(h.Log, p, reordered(w, a.keyOf)), w, f.Observed)
	if f.Witness, err = h.Complete(w, func(i int) bool { return c.Has(h.Log[i].Seq) }); err != nil {
		f.Witness = stepsOf(h.Log, p, w.Steps)
		f.Confidence, f.Reason = finding.Potential, reason.Reason{What: reason.NoWitness, Words: err.Error()}
		return f
	}
	addTruth(f.Witness, p, w.Steps)
	a.doubt(c.Object, f)
	return f
}

// observedSteps returns the steps of an object in the order of this run, from the last common state to the last event of
// a witness.
func (a *Parametric) observedSteps(p *Property, c *check, w *lattice.Witness) (out []finding.Step) {
	values := slices.Clone(w.Values)
	for _, x := range c.Between(w) {
		l := a.letter(c.Object.Data.property, values, &x)
		if e := a.o.History.Log.Find(x.Seq); e != nil {
			step := e.Step()
			step.Truth = p.truth(l)
			out = append(out, step)
		}
	}
	return out
}

// doubt lowers the confidence of a finding for what is not known of the run.
func (a *Parametric) doubt(o *object, f *finding.Finding) {
	d, p := &o.Data, &a.o.Properties[o.Data.property]
	why := reason.Reason{}
	switch {
	case a.lost && f.Confidence != finding.Observed:
		why.What = reason.RunLost
	case d.unvalued:
		why.What = reason.ValueMissing
	case d.skipped:
		why = reason.Reason{What: reason.InitialMissing, Words: a.o.Variables[p.Fields[0]]}
	case d.unknown > 0:
		why = reason.Reason{What: reason.InitialMissing, Words: a.o.Variables[d.unknown-1]}
	}
	if why.Given() && !finding.Likely.AtLeast(f.Confidence) {
		f.Confidence, f.Reason = finding.Likely, why
	}
}

// keyOf returns the call stack and the thread of an event of the run.
func (a *Parametric) keyOf(seq uint64) (k key) {
	if e := a.o.History.Log.Find(seq); e != nil {
		k.stack, k.thread = e.Stack, e.Thread
	}
	return k
}
