// Package engine runs the analyses of one run and decides what they find. It passes each event to what the analyses share
// and then to the parts (package part), which are listed in parts.go, a line each. When the run has ended, the parts take
// their candidates to a verdict by schedules of the kept part of the run, package verdict judges what they found, and the
// engine makes the report. It is the same for a live run and for a recorded one; it knows neither files nor formats.
package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/calls"
	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/depend"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/misuse"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Options configure the analyses. The zero value is useful.
type Options struct {
	// Names are those of the run. With nil, calls are not counted, and there are no classes of locks.
	Names run.Namer
	// Patterns are counted although nothing may match them.
	Patterns []event.Pattern
	// History is the number of critical sections kept for each lock and thread, for predictions; 0
	// is the default of analysis/predict. A greater number than that default keeps more events
	// too, in proportion.
	History int
	// Reversals bounds, in steps, the search for schedules in which critical sections of a lock
	// are reordered; 0 is the default of analysis/predict, a negative number turns the search off.
	Reversals int
	// Uses records how threads use each variable; see Engine.Uses.
	Uses bool
	// Raced reports whether races on a variable of this name are reported; nil reports all.
	Raced func(name string) bool
	// Locks configures the lock-order analysis: its bounds, and the callback for new edges.
	Locks goodlock.Options
	// LockClasses looks for deadlocks between classes of locks too.
	LockClasses bool
	// OnDeadlock, if not nil, is called for deadlocks of two threads when they are predicted while
	// the program runs. They are findings at the end too.
	OnDeadlock func(*finding.Finding)
	// OnHangOver, if not nil, is called for each hang that goes on after it was found: it is no
	// finding any more.
	OnHangOver func(*finding.Finding)
	Misuse     misuse.Options // which rules of misuse are checked
	// Specification is that of the run; nil if there is none.
	Specification *bind.Run
	// NewChecker makes the checkers of witnesses; default execution.DefaultChecker.
	NewChecker execution.NewChecker
	// Explain collects the pruned candidates and the reasons; see Engine.Pruned.
	Explain bool
	// Done, if not nil, returns why the time for the analysis is over, "" as long as it is not. Candidates that
	// are left then are not searched, and counted. It is called often; once it returns a reason, it always does.
	Done func() string
	// Full, if not nil, reports whether memory is full. It is called now and then; when it returns true, the analyses
	// keep less of the run. See Engine.ShrinkBy and Engine.Bounds.
	Full func() bool
	// Room bounds the memory for findings, in bytes, by an estimate; 0: there is no bound. What is beyond it is
	// counted; see Engine.Bounds.
	Room uint64
	// Asked, if not nil, is called in Finish for each candidate: n of about so many were searched.
	Asked func(n, of int)
}

// Engine runs the analyses of a run.
type Engine struct {
	options        Options
	shared         part.Shared
	depend         *depend.Graph
	contradictions *verdict.Contradictions
	memory         memory
	counts         stats.Counter
	calls          *calls.Counter // nil without names
	parts          parts
	outcome        part.Outcome
	removed        uint64 // findings, for lack of Options.Room
}

// New returns the analyses of a run that has not begun.
func New(o Options) *Engine {
	e := &Engine{options: o, depend: depend.New(depend.Options{}), memory: memory{full: o.Full}}
	held := locks.New()
	search := part.Search{Done: o.Done, Asked: o.Asked, Room: o.Room}
	e.shared = part.Shared{Locks: held, Order: happensbefore.New(happensbefore.Options{Locks: held, Reports: o.most()}), Search: search, Explain: o.Explain}
	e.shared.History = predict.New(predict.Options{Sections: o.History, Events: eventsFor(o.History), Reversals: o.Reversals, Judges: o.NewChecker, BeforeEviction: e.evicting, Done: e.shared.Search.Over})
	e.contradictions = verdict.NewContradictions(e.shared.Order.Contradicted, e.shared.Order.Unsure)
	if o.Names != nil {
		e.calls = calls.New(o.Names.Func, o.Patterns)
	}
	e.parts = newParts(&e.shared, &o)
	return e
}

// most returns the number of findings of a kind for which there is room; 0: there is no bound.
func (o *Options) most() int {
	if o.Room == 0 {
		return 0
	}
	return int(min(max(o.Room/finding.LeastBytes, leastFindings), math.MaxInt32))
}

// leastFindings is the number of findings of a kind for which there is room, however small Options.Room is.
const leastFindings = 1 << 6

// evicting is called before the history loses its oldest events.
func (e *Engine) evicting() {
	for _, p := range e.parts.all {
		p.Evicting()
	}
}

// Event processes the next event of the run.
func (e *Engine) Event(ev *event.Event) {
	e.counts.Event(ev)
	if e.calls != nil {
		e.calls.Event(ev)
	}
	needs := needsOf(ev)
	if needs != part.Calls {
		e.share(ev, needs)
	}
	for _, p := range e.parts.by[needs] {
		p.Event(ev)
	}
	if needs != part.Calls {
		e.memory.event(e) // when all know the event: what it uses is not the oldest
	}
}

// needsOf returns what a part must need to get an event; 0 if all parts get it.
func needsOf(e *event.Event) part.Needs {
	switch {
	case e.Kind == event.KindInstance || e.Op.IsCall():
		return part.Calls
	case e.Op.IsMisuse():
		return part.Misuses
	case e.Op == event.AcquireAgain:
		return part.Again
	}
	return 0
}

// share passes an event to what the parts share.
func (e *Engine) share(ev *event.Event, needs part.Needs) {
	e.shared.Locks.Event(ev)
	e.contradictions.Event(ev)
	if needs == part.Misuses {
		return // it orders nothing
	}
	e.shared.History.Event(ev)
	if needs == part.Again {
		return // it does not change who holds what
	}
	e.shared.Order.Event(ev)
	e.depend.Event(ev)
}

// Remember adds the threads and objects that a finding may still name.
func (e *Engine) Remember(n *event.Names) {
	e.shared.History.Remember(n)
	e.shared.Order.Remember(n)
	e.depend.Remember(n)
	e.contradictions.Remember(n)
	e.counts.Remember(n)
	for _, p := range e.parts.all {
		p.Remember(n)
	}
}

// Uses returns how threads used each variable so far, and under which locks; with Options.Uses.
func (e *Engine) Uses() []run.Use { return e.parts.race.Uses() }

// Hangs returns the hangs of the run so far, in the order in which they were found, with those
// that went on.
func (e *Engine) Hangs() []finding.Finding { return e.parts.hang.Hangs() }

// Calls returns how often functions were called that match patterns.
func (e *Engine) Calls() []run.Calls {
	if e.calls == nil {
		return nil
	}
	return e.calls.Counts()
}

// Pruned returns, after Finish and with Options.Explain, the candidates that are no findings, or
// have no witness, each with its reason.
func (e *Engine) Pruned() []finding.Pruned { return e.shared.Pruned }

// Judge returns a judge of findings, by what is known of the run and by what the analyses know of its record.
func (e *Engine) Judge(known verdict.Run) *verdict.Judge {
	return &verdict.Judge{Run: known, Record: &e.shared, Contradictions: e.contradictions}
}

// Finish returns the findings, judged by what is known of the run and of its program. It returns an error if the
// specification does not fit the program.
func (e *Engine) Finish(known verdict.Run, program part.Known) ([]finding.Finding, error) {
	e.shared.Known, e.shared.Judge = program, e.Judge(known)
	for _, p := range e.parts.all {
		e.shared.Search.Expect(p.Close())
	}
	out := &e.outcome
	for _, p := range e.parts.all {
		p.Settle(out)
	}
	e.revisit()
	for _, p := range e.parts.all {
		p.Finish(out)
	}
	if out.Err != nil {
		return nil, out.Err
	}
	e.addDependencies(out.Findings)
	out.Findings = e.shared.Judge.Findings(out.Findings, e.shared.Pruned)
	if e.options.Room > 0 {
		out.Findings, e.removed = finding.WithinBytes(out.Findings, e.options.Room)
	}
	return out.Findings, nil
}

// revisit has parts ask again for schedules in which a read sees another write than in the run, but the same value
// (predict.History.ByValue).
func (e *Engine) revisit() {
	held := locks.New()
	var looks []part.Look
	var by routes[part.Look]
	for _, p := range e.parts.all {
		r, ok := p.(part.Revisiter)
		if !ok {
			continue
		}
		look := r.Revisit(held)
		looks = append(looks, look)
		by.add(p.Needs(), look)
	}
	history := e.shared.History.ByValue(clock.New(), func(ev *event.Event) {
		held.Event(ev)
		for _, l := range by[needsOf(ev)] {
			l.Event(ev)
		}
	})
	if history == nil {
		return
	}
	for _, l := range looks {
		l.Settle(history)
	}
	e.shared.Revisited = history.Witnesses()
}

// addDependencies adds the threads that matter to each finding. Many findings are about the same threads. That of a
// property names all threads whose events it reads.
func (e *Engine) addDependencies(found []finding.Finding) {
	known := map[string][]finding.Dependency{}
	for i := range found {
		f := &found[i]
		if f.Kind.Specified() {
			continue
		}
		key := fmt.Sprint(slices.Sorted(slices.Values(f.Threads)))
		depends, ok := known[key]
		if !ok {
			depends = e.depend.Extend(f.Threads)
			known[key] = depends
		}
		f.Depends, f.Partial = slices.Clone(depends), e.depend.Partial()
	}
}

// Witnesses returns the number of witnesses found, and of those that the checker refused.
func (e *Engine) Witnesses() execution.Tally {
	w := e.shared.History.Witnesses()
	w.Add(e.shared.Revisited)
	w.Add(e.outcome.Witnesses)
	return w
}
