package property

import (
	"errors"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// violation makes a finding of a violation of a property, or adds it to the count of the finding with the same
// key.
func (a *Analysis) violation(property int, v *lattice.Violation) {
	if a.violated[property] {
		return // The observed run has shown it already.
	}
	k := key{property: property}
	e, ok := v.Event()
	if ok {
		k = a.keyOf(e.Seq)
		k.property = property
	}
	a.violated[property] = a.violated[property] || v.Observed
	old := a.findings[k]
	switch {
	case old == nil && !v.Observed && a.countOf(property) >= maxFindings:
		a.omitted++
		return
	case old != nil && !a.mayImprove(old, v):
		old.Count++
		return
	}
	f, w, observed := a.finding(property, v)
	switch {
	case f == nil:
	case observed && w != nil && ok && a.slices[property].uncertain:
		a.violated[property] = true
		a.await(waiting{property: property, key: k, found: f, witness: w}, e.Seq)
	default:
		a.publish(k, f, observed)
	}
}

// maxTries bounds the number of searches for a witness of one finding.
const maxTries = 4

// mayImprove reports whether a violation may lead to a finding of higher confidence than the
// existing one.
func (a *Analysis) mayImprove(old *finding.Finding, v *lattice.Violation) bool {
	if v.Observed {
		return old.Confidence != finding.Observed
	}
	return old.Confidence == finding.Potential && old.Count < maxTries
}

// countOf returns the number of findings of a property.
func (a *Analysis) countOf(property int) (n int) {
	for _, k := range a.order {
		if k.property == property {
			n++
		}
	}
	return n
}

// finding returns the finding of a violation, and whether the observed run itself shows it.
// The finding is nil if an earlier state of its witness was bad already.
func (a *Analysis) finding(property int, v *lattice.Violation) (f *finding.Finding, w *lattice.Witness, observed bool) {
	if _, ok := v.Event(); !ok {
		return a.atStart(&a.o.Properties[property]), nil, true
	}
	p, own := &a.o.Properties[property], a.slices[property]
	w, err := v.Witness()
	if errors.Is(err, lattice.ErrBadBefore) {
		return nil, nil, false
	}
	observed = v.Observed || err == nil && own.isObserved(w)
	f = &finding.Finding{Kind: finding.Property, Property: p.Name, Message: violates(p, observed), Count: 1}
	if observed {
		f.Confidence = finding.Observed
	} else {
		completion.Predict(f, a.o.Order)
	}
	switch {
	case err != nil:
		e, _ := v.Event()
		f.Evidence = a.steps(p, []lattice.Step{{Seq: e.Seq}})
		a.downgrade(f, finding.Potential, reason.Reason{What: reason.NoWitness, Words: err.Error()})
	case observed:
		f.Evidence = a.steps(p, w.Steps)
		f.Witness = f.Evidence
	default:
		own.explain(f, w)
		f.Graph = graphOf(p, v.Excerpt(w), a.history.Log, a.o.Variables, a.objects)
	}
	if why := a.missingInput(p, observed); why.Given() {
		a.downgrade(f, finding.Likely, why)
	}
	f.AddSides()
	return f, w, observed
}

// atStart returns the finding of a property that the state before any event violates. All schedules begin in it, so that
// only values that are not known make it doubtful.
func (a *Analysis) atStart(p *Property) *finding.Finding {
	f := &finding.Finding{
		Kind: finding.Property, Property: p.Name, Confidence: finding.Observed, Count: 1, AtStart: true,
		Message: withMeaning("the state before any event violates "+p.Name, p), InitialTruth: p.truth(p.Labels.Letter(a.initial, 0)),
	}
	for _, v := range p.Variables {
		f.Initial = append(f.Initial, finding.Initial{Name: a.o.Variables[v], Object: a.objects[v], Value: a.initial[v], Known: a.initialKnown[v]})
		if a.objects[v] != 0 {
			f.Objects = append(f.Objects, a.objects[v])
		}
	}
	if why := a.missingInitial(p); why.Given() {
		a.downgrade(f, finding.Likely, why)
	}
	return f
}

// isObserved reports whether a witness is a part of the observed run from w.From on. The lattice
// may find the observed run as one path of many before it reports that run as observed.
func (s *slice) isObserved(w *lattice.Witness) bool {
	h := &s.analysis.history
	if len(w.Steps) == 0 {
		return false
	}
	next := 0
	for i := h.Log.Index(w.From + 1); i < h.Log.Index(w.Steps[len(w.Steps)-1].Seq+1); i++ {
		if !h.reads[i].of(s) {
			continue
		}
		if next == len(w.Steps) || w.Steps[next].Seq != h.Log[i].Seq {
			return false
		}
		next++
	}
	return next == len(w.Steps)
}

// violates returns the message of a finding.
func violates(p *Property, observed bool) string {
	if observed {
		return withMeaning("this run violates "+p.Name, p)
	}
	return withMeaning("another schedule of this run violates "+p.Name, p)
}

// withMeaning returns a message with what the violation of the property means, if the specification has that.
func withMeaning(what string, p *Property) string {
	if p.Message != "" {
		what += ": " + p.Message
	}
	return what
}

// downgrade lowers the confidence of a finding, and sets the reason, unless it is that low already.
func (a *Analysis) downgrade(f *finding.Finding, to finding.Confidence, why reason.Reason) {
	if !to.AtLeast(f.Confidence) {
		f.Confidence, f.Reason = to, why
	}
}

// explain fills in the evidence and the witness of a finding about another run.
func (s *slice) explain(f *finding.Finding, w *lattice.Witness) {
	a, p := s.analysis, s.property
	f.Observed = s.observedSteps(w)
	f.Evidence = a.evidence(p, w, f.Observed)
	steps, err := a.history.Complete(w, func(i int) bool { return a.history.reads[i].of(s) })
	if err != nil {
		f.Witness = a.steps(p, w.Steps)
		a.downgrade(f, finding.Potential, reason.Reason{What: reason.NoWitness, Words: err.Error()})
		return
	}
	f.Witness = steps
	addTruth(f.Witness, p, w.Steps)
}

// observedSteps returns the events that the property reads, in the order of the observed run,
// from the last common state to the last event of the witness.
func (s *slice) observedSteps(w *lattice.Witness) []finding.Step {
	last := w.From
	for i := range w.Steps {
		last = max(last, w.Steps[i].Seq)
	}
	var out []finding.Step
	values, h, p := slices.Clone(w.Values), &s.analysis.history, s.property
	for i := h.Log.Index(w.From + 1); i < h.Log.Index(last+1); i++ {
		k := h.reads[i]
		if k.locks && k.mask&p.Events == 0 || !k.of(s) {
			continue
		}
		if k.variable >= 0 {
			values[k.variable] = h.Log[i].Value
		}
		step := h.Log[i].Step()
		step.Truth = p.truth(p.Labels.Letter(values, k.mask&p.Events))
		out = append(out, step)
	}
	return out
}

// evidence returns the events of a witness that are reordered, and the one that violates the
// property, then the observed steps that the witness leaves out, since they come after it.
func (a *Analysis) evidence(p *Property, w *lattice.Witness, observed []finding.Step) []finding.Step {
	return withOvertaken(a.steps(p, reordered(w, a.keyOf)), w, observed)
}

// withOvertaken returns evidence, and behind it the observed steps that the witness leaves out.
func withOvertaken(out []finding.Step, w *lattice.Witness, observed []finding.Step) []finding.Step {
	for _, s := range observed {
		overtaken := !slices.ContainsFunc(w.Steps, func(w lattice.Step) bool { return w.Seq == s.Seq })
		if overtaken && len(out) < maxEvidence {
			out = append(out, s)
		}
	}
	return out
}

// truth returns which propositions hold in a letter.
func (p *Property) truth(l lattice.Letter) []finding.Truth {
	var out []finding.Truth
	for bit, name := range p.Propositions {
		out = append(out, finding.Truth{Name: name, Holds: l>>bit&1 != 0})
	}
	return out
}

// missingInput returns as a reason something that was not recorded and on which a finding of the
// property depends.
func (a *Analysis) missingInput(p *Property, observed bool) reason.Reason {
	switch {
	case a.lostEvents && !observed:
		return reason.Reason{What: reason.RunLost}
	case !a.allValued:
		return reason.Reason{What: reason.ValueMissing}
	}
	return a.missingInitial(p)
}

// missingInitial returns as a reason a variable of the property whose initial value was not recorded.
func (a *Analysis) missingInitial(p *Property) reason.Reason {
	for _, v := range p.Variables {
		if !a.initialKnown[v] {
			return reason.Reason{What: reason.InitialMissing, Words: a.o.Variables[v]}
		}
	}
	return reason.Reason{}
}

// keyOf returns the call stack and the thread of an event of the run.
func (a *Analysis) keyOf(seq uint64) (k key) {
	if e := a.history.Log.Find(seq); e != nil {
		k.stack, k.thread = e.Stack, e.Thread
	}
	return k
}

// reordered returns the events of a witness that are reordered, and the one that violates the
// property. Of several events with the same key it returns the last.
func reordered(w *lattice.Witness, keyOf func(seq uint64) key) []lattice.Step {
	var out []lattice.Step
	seen := map[key]bool{}
	for i := len(w.Steps) - 1; i >= 0 && len(out) < maxEvidence; i-- {
		k := keyOf(w.Steps[i].Seq)
		if !seen[k] && (i == len(w.Steps)-1 || inverted(w.Steps, i)) {
			seen[k] = true
			out = append(out, w.Steps[i])
		}
	}
	slices.Reverse(out)
	return out
}

// maxEvidence bounds the number of steps in the evidence of a finding.
const maxEvidence = 6

// inverted reports whether another step is on the other side of step i than in the observed run.
func inverted(steps []lattice.Step, i int) bool {
	for j := range steps {
		if (j < i) != (steps[j].Seq < steps[i].Seq) && j != i {
			return true
		}
	}
	return false
}

// steps returns the steps of a witness, with which propositions hold after each.
func (a *Analysis) steps(p *Property, in []lattice.Step) []finding.Step {
	return stepsOf(a.history.Log, p, in)
}

// stepsOf returns the steps of a witness that are kept, with which propositions hold after each.
func stepsOf(log kept.Log, p *Property, in []lattice.Step) []finding.Step {
	var out []finding.Step
	for i := range in {
		if e := log.Find(in[i].Seq); e != nil {
			out = append(out, e.Step())
		}
	}
	addTruth(out, p, in)
	return out
}

// addTruth adds to the steps that are steps of the witness w which propositions hold after them.
func addTruth(steps []finding.Step, p *Property, w []lattice.Step) {
	for i := range steps {
		k := slices.IndexFunc(w, func(s lattice.Step) bool { return s.Seq == steps[i].Seq })
		if k < 0 || !w[k].Reads {
			continue
		}
		steps[i].Truth = p.truth(w[k].Letter)
	}
}
