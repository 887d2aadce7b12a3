package bind

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/atomicity"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/knowledge"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// formula is an mttl formula, bound to a run.
type formula struct {
	run       *Run
	of        *spec.Formula
	monitor   *knowledge.Monitor
	variables []int               // by Spec.Vars: the index of the formula's variable; -1: it mentions none
	mentioned []bool              // by Spec.Events
	hadThread []bool              // by type of threads: some thread was of it
	seen      int                 // Run.seen when the codes were made
	block     *atomicity.Analysis // of a request for atomicity, unless outside; else nil
	outside   bool                // it is evaluated in the observed threads
	problems  syntax.List
}

// bindFormulas makes the monitors of the formulas of the specification.
func (r *Run) bindFormulas(found func(*finding.Finding), outside bool) error {
	for _, of := range r.spec.Formulas {
		k, codes, problems := r.spec.Knowledge(of, nil)
		if problems.HasErrors() {
			return problems
		}
		f := &formula{
			run: r, of: of, outside: outside, variables: make([]int, len(r.spec.Vars)), mentioned: make([]bool, len(r.spec.Events)),
			hadThread: make([]bool, len(of.Types)),
		}
		for i := range f.variables {
			f.variables[i] = slices.Index(of.Vars, i)
		}
		for _, i := range of.Events {
			f.mentioned[i] = true
		}
		f.monitor = knowledge.New(knowledge.Options{
			Formula: k, Codes: codes, Locals: r.match.FirstLocals(), Found: found, Outside: outside,
			Is: func(id event.ThreadID, number int) bool { return r.match.IsOfType(id, of.Declared[number]) },
			Of: f.isOfType,
		})
		if of.Block != nil && !outside {
			f.block = atomicity.New(atomicity.Options{Property: of.Name, Message: interrupted(of)})
		}
		r.formulas = append(r.formulas, f)
	}
	return nil
}

// interrupted returns the message of a predicted violation of atomicity.
func interrupted(of *spec.Formula) string {
	return fmt.Sprintf("another schedule of this run violates %s: another thread comes between two conflicting steps of one call", of.Name)
}

// bounds passes the events by which a thread enters and leaves the block to the analysis of that.
func (f *formula) bounds(e *event.Event, matched []int) {
	switch {
	case f.block == nil || !e.Op.IsCall():
	case slices.Contains(matched, f.of.Block[0]):
		f.block.Enter(e.Thread, e.Seq)
	case slices.Contains(matched, f.of.Block[1]):
		f.block.Leave(e.Thread, e.Seq)
	}
}

// settle searches for schedules that violate atomicity.
func (f *formula) settle(shared *part.Shared) {
	if f.block != nil && shared != nil {
		f.block.Settle(shared)
	}
}

// predicted returns the violations of atomicity by other schedules, and a note on what was not searched.
func (f *formula) predicted() (found []finding.Finding, notes []string) {
	if f.block == nil {
		return nil, nil
	}
	if s := f.block.Stats(); s.Left > 0 || s.Unsettled > 0 {
		notes = append(notes, f.of.Name+": not all other schedules were searched: "+plural.Sprintf("%d of %d {call was|calls were} not examined", s.Left, s.Blocks)+
			", and "+plural.Sprintf("%d {question was|questions were} left", s.Unsettled))
	}
	return f.block.Finish(), notes
}

func (f *formula) isOfType(id event.ThreadID, typ int) bool {
	is := f.run.match.IsOfType(id, f.of.Types[typ])
	f.hadThread[typ] = f.hadThread[typ] || is
	return is
}

// event passes the next event of the run to the monitor. The matcher has seen it.
func (f *formula) event(e *event.Event) {
	matched := f.run.match.Matched()
	f.bounds(e, matched)
	s := knowledge.State{
		Variable: -1, Happened: matched, Locals: f.run.match.Locals(e.Thread),
		Mentioned: f.of.EachEvent || slices.ContainsFunc(matched, func(i int) bool { return f.mentioned[i] }),
	}
	if e.Op.IsCall() && (!s.Mentioned || f.of.EachEvent) {
		return // It orders nothing.
	}
	if e.Object != 0 && (e.Kind == event.KindVariable || e.Kind == event.KindField) {
		if v := f.run.match.Variable(e.Object); v >= 0 {
			s.Variable = f.variables[v]
			s.Mentioned = s.Mentioned || s.Variable >= 0 && e.Op.IsAccess()
		}
	}
	if f.seen != f.run.seen {
		f.recode()
	}
	f.monitor.Event(e, s)
}

// recode makes the codes again, once another variable was seen and its form is known.
func (f *formula) recode() {
	f.seen = f.run.seen
	if slices.ContainsFunc(f.of.Vars, func(v int) bool { return f.run.objects[v] == 0 }) {
		return
	}
	var codes []knowledge.Code
	if _, codes, f.problems = f.run.spec.Knowledge(f.of, f.run.forms); !f.problems.HasErrors() {
		f.monitor.Recode(codes)
	}
}

// finish returns what the formula's monitor found, and what a reader should know about it.
func (f *formula) finish() (found []finding.Finding, notes []string) {
	m := f.monitor
	say := func(format string, args ...any) {
		notes = append(notes, "mttl "+f.of.Name+": "+fmt.Sprintf(format, args...))
	}
	if f.outside {
		say("it was evaluated in the kernel alone, which does not look at other schedules, and looks for no races on what is watched: --monitor=user does")
		f.hadThread = nil
	}
	for number, i := range f.of.Declared {
		if !m.Begun(number) {
			say("no thread of this run was the %s of the specification, so that its state is the initial one for all others", f.run.spec.Threads[i].Name)
		}
	}
	for typ, had := range f.hadThread {
		if t := &f.run.spec.Threads[f.of.Types[typ]]; !had {
			say("no thread of this run was a %s (%s), so that the formula says nothing of it", t.Name, t)
		}
	}
	if n := m.Faults(); n > 0 {
		say("%s", plural.Sprintf("a division by zero made an expression 0 %d {time|times}", n))
	}
	if n := m.Omitted(); n > 0 {
		say("%s", plural.Sprintf("%d more {violation is|violations are} not shown", n))
	}
	if n := m.LeftOut(); n > 0 {
		say("%s", plural.Sprintf("%d {thread|threads} that had ended {was|were} left out, since others never came to know of the end", n))
	}
	if n := m.Unmet(); n > 0 && !f.of.Ready { // check atomicity looks at other schedules
		say("%s", plural.Sprintf("%d {thread|threads} began after others had ended that nobody had joined: {it was|they were} not compared with these, though {its|their} work may overlap in another run", n))
	}
	if n := m.Unbound(); n > 0 {
		say("%s", plural.Sprintf("%d {thread|threads} that began while too many others lived {was|were} left out", n))
	}
	found, more := f.predicted()
	return append(m.Finish(), found...), append(notes, more...)
}

// definition returns the formula, for a report.
func (f *formula) definition() run.Definition {
	d := run.Definition{Name: f.of.Name, Text: f.of.Text}
	s := f.run.spec
	if f.of.Ready {
		return d
	}
	say := func(name, text string) {
		if text != "" && text != name {
			d.Where = append(d.Where, run.Meaning{Name: name, Text: text})
		}
	}
	for _, i := range f.of.Events {
		say(s.Events[i].Name, s.Events[i].Text)
	}
	for _, i := range f.of.Vars {
		say(s.Vars[i].Name, s.Vars[i].Path)
	}
	return d
}
