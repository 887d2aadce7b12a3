// Package suite runs the analyses over one run's events and settles what they
// find: each potential finding is taken to the history of the run, which gives
// it a witness or the reason why there is none. Events in, findings out; the
// suite knows nothing of names, files or formats.
package suite

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/depend"
	"github.com/tracepredict/tracepredict/analysis/eraser"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/goodlock"
	"github.com/tracepredict/tracepredict/analysis/hang"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/misuse"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Options configure the analyses. The zero value is useful.
type Options struct {
	// History is how many critical sections are kept for each lock and
	// thread, for predictions; 0 is the default of analysis/predict. Beyond that
	// default more events are kept too, in proportion.
	History int
	// Reversals bounds the search for schedules in which critical sections of a lock
	// change places, in steps; 0 is the default of analysis/predict, negative is none.
	Reversals int
	// Uses keeps account of how threads use each variable; see Suite.Uses.
	Uses bool
	// Locks bounds the analysis of lock orders, and whom to call for new ones.
	Locks goodlock.Options
	// LockClass, if not nil, has deadlocks looked for between classes of locks too. It
	// gives the class of a lock, "" for none, and the process whose lock it is.
	LockClass func(event.ObjectID) (class string, process uint32)
	// OnDeadlock, if not nil, is called with deadlocks of two threads when they are
	// predicted, while the program runs. Finish gives them too.
	OnDeadlock func(*finding.Finding)
	Misuse     misuse.Options // which rules of misuse are looked at
	// Judges judge witnesses; default execution.Observed.
	Judges execution.Bench
	// Explain collects what was dropped, and why; see Suite.Pruned.
	Explain bool
}

// Suite is all analyses of a run.
type Suite struct {
	locks    *locks.Table // what the analyses share
	eraser   *eraser.Analysis
	order    *happensbefore.Analysis
	goodlock *goodlock.Analysis
	history  *predict.History
	depend   *depend.Graph
	hangs    *hang.Analysis
	misuse   *misuse.Analysis
	explain  bool
	pruned   []finding.Pruned
}

// New makes a suite.
func New(o Options) *Suite {
	history := predict.New(predict.Options{Sections: o.History, Events: eventsFor(o.History), Reversals: o.Reversals, Judges: o.Judges})
	held := locks.New()
	s := &Suite{locks: held, explain: o.Explain, history: history, depend: depend.New(depend.Options{}), hangs: hang.New(), misuse: misuse.New(o.Misuse)}
	if o.Explain {
		o.Locks.Explain = func(p finding.Pruned) {
			s.ordered(&p)
			s.pruned = append(s.pruned, p)
		}
	}
	s.eraser = eraser.New(eraser.Options{Uses: o.Uses, Apart: o.Explain, Locks: held})
	s.order = happensbefore.New(happensbefore.Options{Locks: held})
	if o.OnDeadlock != nil {
		online := predict.NewOnline(history, o.OnDeadlock)
		o.Locks.OnOpposed, o.Locks.OnTaken = online.Opposed, online.Taken
	}
	if o.LockClass != nil {
		o.Locks.Class = func(id event.ObjectID) (c goodlock.Class) {
			c.Name, c.Process = o.LockClass(id)
			return c
		}
	}
	o.Locks.Locks = held
	s.goodlock = goodlock.New(o.Locks)
	return s
}

// Event takes the next event of the run; the signature of finding.Analysis.
func (s *Suite) Event(e *event.Event) {
	if e.Kind == event.KindInstance || e.Op.IsCall() {
		return // it orders nothing
	}
	s.locks.Event(e)
	if hang.Wants(e.Op) {
		s.hangs.Event(e)
	}
	s.misuse.Event(e)
	if e.Op.IsMisuse() {
		return // likewise
	}
	s.history.Event(e)
	if e.Op == event.AcquireAgain {
		s.goodlock.Event(e)
		return // it changes nothing for the others
	}
	s.order.Event(e)
	s.eraser.Event(e)
	s.goodlock.Event(e)
	s.depend.Event(e)
}

// Remember adds the threads and objects that a finding may still name.
func (s *Suite) Remember(n *event.Names) {
	s.history.Remember(n)
	s.order.Remember(n)
	s.eraser.Remember(n)
	s.goodlock.Remember(n)
	s.depend.Remember(n)
	s.hangs.Remember(n)
	s.misuse.Remember(n)
}

// Uses reports how threads used each variable so far, and under which locks; with
// Options.Uses.
func (s *Suite) Uses() []run.Use { return s.eraser.Uses() }

// Finish returns the findings. Doubt says of a predicted finding, or a race that was
// observed, in a sentence, why it may be wrong all the same: an order that nobody watched, a lock that
// nobody saw taken; "" if there is no such reason. With one, a finding is
// potential. Nil doubts nothing.
func (s *Suite) Finish(doubt func(*finding.Finding) string) []finding.Finding {
	races := s.races()
	s.unraced(races)
	deadlocks := s.goodlock.Finish()
	candidates := s.goodlock.Candidates()
	for i := range deadlocks {
		s.settle(&deadlocks[i], candidates[i])
	}
	found := slices.Concat(races, deadlocks, s.goodlock.Classes(), s.misuse.Finish())
	for i := range found {
		found[i].Depends, found[i].Partial = s.depend.Extend(found[i].Threads), s.depend.Partial()
	}
	return finding.Doubted(append(found, s.hangs.Finish()...), doubt)
}

// Witnesses counts the schedules that were found and then judged.
func (s *Suite) Witnesses() execution.Tally { return s.history.Witnesses() }

// Hangs returns the hangs of the run so far, in the order in which they were found.
func (s *Suite) Hangs() []finding.Finding { return s.hangs.Findings() }
