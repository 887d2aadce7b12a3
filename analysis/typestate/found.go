package typestate

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// key identifies a finding: objects whose protocol is broken by the same call, at one call stack, are one finding.
type key struct {
	protocol, call int
	stack          event.StackID
}

// maxTries bounds the number of searches for a schedule of one finding.
const maxTries = 4

// observed makes a finding of a call by which this run breaks a protocol.
func (a *Analysis) observed(o *object, e *event.Event, call int, before lattice.State) {
	k := key{o.Data.protocol, call, e.Stack}
	if a.inRun[k] {
		a.findings[k].Count++
		return
	}
	a.inRun[k] = true
	f := a.finding(o, call, before, true)
	f.Confidence = finding.Observed
	a.doubt(o, f)
	step := finding.StepOf(e)
	step.Use = a.o.Protocols[o.Data.protocol].Calls[call].Name
	step.Before = a.automata[o.Data.protocol].few(before)
	f.Graph = a.automata[o.Data.protocol].graph([]move{{e.Seq, call, before, broken}})
	f.Evidence = []finding.Step{step}
	f.Witness = f.Evidence
	a.keep(k, f)
}

// finding returns a finding without evidence.
func (a *Analysis) finding(o *object, call int, before lattice.State, observed bool) *finding.Finding {
	p := &a.o.Protocols[o.Data.protocol]
	return &finding.Finding{
		Kind: finding.Typestate, Property: p.Name, Count: 1, Mined: p.Mined,
		Message: a.message(o, call, before, observed), Subject: &finding.Subject{Value: o.Data.value, First: o.Data.first, Made: o.Data.made},
	}
}

// message says which call breaks a protocol, and in which state.
func (a *Analysis) message(o *object, call int, before lattice.State, observed bool) string {
	p, m := &a.o.Protocols[o.Data.protocol], a.automata[o.Data.protocol]
	what := "this run"
	if !observed {
		what = "another schedule of this run"
	}
	what += fmt.Sprintf(" breaks %s: %s ", p.Name, p.Calls[call].Name)
	if p.Unnamed {
		what += "comes"
	} else {
		what += "in state " + strings.Join(m.names(before), " or ") + ","
	}
	if allowed := m.allowed(before); len(allowed) > 0 {
		return what + " where only " + strings.Join(allowed, ", ") + " may follow"
	}
	return what + " where no call may follow"
}

// keep keeps a finding, or puts it in the place of one with the same key.
func (a *Analysis) keep(k key, f *finding.Finding) {
	f.AddSides()
	if old := a.findings[k]; old != nil {
		f.Count += old.Count
		*old = *f
	} else {
		a.findings[k] = f
		a.order = append(a.order, k)
	}
	switch {
	case a.o.Found == nil:
	case a.checks(k.protocol):
		a.o.Found(f)
	case !slices.Contains(a.held, k):
		a.held = append(a.held, k)
	}
}

// violation handles a call by which some order of the calls of an object breaks its protocol.
func (a *Analysis) violation(c *check, v *lattice.Violation) {
	o := c.Object
	e, _ := v.Event()
	if o.Data.broken || v.Observed {
		return // This run has shown it already.
	}
	call := bits.TrailingZeros64(e.Events)
	w, err := v.Witness()
	if errors.Is(err, lattice.ErrBadBefore) {
		return
	}
	breaking, kept := a.o.History.Step(e.Seq)
	if !kept {
		a.stats.Unkept++
		return
	}
	k := key{o.Data.protocol, call, breaking.Stack}
	if old := a.findings[k]; old != nil && (a.inRun[k] || old.Confidence != finding.Potential || old.Count >= maxTries) {
		if a.last[k] != o {
			old.Count++
		}
		a.last[k] = o
		return
	}
	a.last[k] = o
	a.keep(k, a.predicted(c, call, breaking, w, err))
}

// predicted returns the finding of a witness, or of the error in place of one.
func (a *Analysis) predicted(c *check, call int, breaking finding.Step, w *lattice.Witness, err error) *finding.Finding {
	o := c.Object
	if err != nil {
		f := a.finding(o, call, c.Object.Data.start, false)
		f.Confidence, f.Reason, f.Evidence = finding.Potential, reason.Reason{What: reason.NoWitness, Words: err.Error()}, []finding.Step{breaking}
		a.name(c, f.Evidence)
		return f
	}
	f := a.finding(o, call, a.before(c, w), false)
	completion.Predict(f, a.o.Order)
	f.Observed = a.steps(between(c, w))
	f.Evidence = append(a.steps([]uint64{breaking.Seq}), a.steps(a.cause(c, w, breaking.Seq))...)
	moves, inRun, m := a.moves(c, w), a.movesOfRun(c, w), a.automata[o.Data.protocol]
	a.name(c, f.Observed)
	a.name(c, f.Evidence)
	m.addStates(f.Observed, inRun)
	m.addStates(f.Evidence, inRun)
	m.addStates(f.Evidence, moves)
	f.Graph = m.graph(moves)
	if f.Witness, err = a.o.History.Execution(w, c.Has); err != nil {
		f.Witness = a.witness(w)
		a.name(c, f.Witness)
		m.addStates(f.Witness, moves)
		f.Confidence, f.Reason = finding.Potential, reason.Reason{What: reason.NoWitness, Words: err.Error()}
		return f
	}
	a.name(c, f.Witness)
	m.addStates(f.Witness, moves)
	a.doubt(o, f)
	return f
}

// name names the calls of the object in steps.
func (a *Analysis) name(c *check, steps []finding.Step) {
	for i := range steps {
		if x, ok := c.Find(steps[i].Seq); ok && x.Reads {
			steps[i].Use = a.o.Protocols[c.Object.Data.protocol].Calls[bits.TrailingZeros64(x.Events)].Name
		}
	}
}

// cause returns the call that decides, by being on the other side than in this run, that the last one of a witness breaks
// the protocol: the last one that comes before it now and changes the state, else the last one that does not any more, else
// the last one that is on the other side of any. It returns none if there is none.
func (a *Analysis) cause(c *check, w *lattice.Witness, breaking uint64) []uint64 {
	var late, inverted []uint64
	s, m := a.common(c, w), a.automata[c.Object.Data.protocol]
	for i, x := range w.Steps {
		if !x.Reads || x.Seq == breaking {
			continue
		}
		after := m.step(s, bits.TrailingZeros64(x.Letter))
		if x.Seq > breaking && (after != s || len(late) == 0) {
			late = []uint64{x.Seq}
		}
		if slices.ContainsFunc(w.Steps[:i], func(y lattice.Step) bool { return y.Seq > x.Seq }) {
			inverted = []uint64{x.Seq}
		}
		s = after
	}
	if len(late) > 0 {
		return late
	}
	for _, seq := range slices.Backward(between(c, w)) {
		if seq < breaking && !slices.ContainsFunc(w.Steps, func(x lattice.Step) bool { return x.Seq == seq }) {
			return []uint64{seq}
		}
	}
	return inverted
}

// doubt lowers the confidence of a predicted finding for what is not known of the run or the protocol.
func (a *Analysis) doubt(o *object, f *finding.Finding) {
	switch {
	case a.lost && f.Confidence != finding.Observed:
		f.Reason.What = reason.RunLost
	case a.o.Protocols[o.Data.protocol].Mined:
		f.Reason.What = reason.Learned
	case !o.Data.created:
		f.Reason.What = reason.CreationUnseen
	default:
		return
	}
	f.Confidence = finding.Likely
}

// common returns the states of the object after the part of a witness that is as in this run.
func (a *Analysis) common(c *check, w *lattice.Witness) lattice.State {
	s := c.Object.Data.start
	for _, x := range c.Steps {
		if x.Seq <= w.From && x.Reads {
			s = a.automata[c.Object.Data.protocol].step(s, bits.TrailingZeros64(x.Events))
		}
	}
	return s
}

// before returns the states of the object before the last step of a witness.
func (a *Analysis) before(c *check, w *lattice.Witness) lattice.State {
	m, s := a.automata[c.Object.Data.protocol], a.common(c, w)
	for _, x := range w.Steps[:max(0, len(w.Steps)-1)] {
		if x.Reads {
			s = m.step(s, bits.TrailingZeros64(x.Letter))
		}
	}
	return s
}

// between returns the Seqs of the calls from the last common state to the last event of a witness, as observed.
func between(c *check, w *lattice.Witness) (seqs []uint64) {
	for _, x := range c.Between(w) {
		seqs = append(seqs, x.Seq)
	}
	return seqs
}

// steps returns events of the run as steps, those that are kept.
func (a *Analysis) steps(seqs []uint64) (out []finding.Step) {
	for _, seq := range seqs {
		if s, ok := a.o.History.Step(seq); ok {
			out = append(out, s)
		}
	}
	return out
}

// witness returns the steps of a witness alone.
func (a *Analysis) witness(w *lattice.Witness) []finding.Step {
	var seqs []uint64
	for i := range w.Steps {
		seqs = append(seqs, w.Steps[i].Seq)
	}
	return a.steps(seqs)
}
