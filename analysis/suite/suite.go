// Package suite runs the analyses over the events of one run and decides what they find: each
// potential finding is checked against the kept trace of the run, which yields a witness or the
// reason why there is none. The input is events, the output findings. The suite does not know
// names, files or formats.
package suite

import (
	"fmt"
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
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Options configures the analyses. The zero value is useful.
type Options struct {
	// History is the number of critical sections kept for each lock and thread, for predictions; 0
	// is the default of analysis/predict. A greater number than that default keeps more events
	// too, in proportion.
	History int
	// Reversals bounds, in steps, the search for schedules in which critical sections of a lock
	// are reordered; 0 is the default of analysis/predict, a negative number turns the search off.
	Reversals int
	// Uses records how threads use each variable; see Suite.Uses.
	Uses bool
	// Locks configures the lock-order analysis: its bounds, and the callback for new edges.
	Locks goodlock.Options
	// LockClass, if not nil, also searches for deadlocks between classes of locks. It returns the
	// class of a lock, "" for none, and the process of the lock.
	LockClass func(event.ObjectID) (class string, process uint32)
	// OnDeadlock, if not nil, is called for deadlocks of two threads when they are predicted while
	// the program runs. Finish returns them too.
	OnDeadlock func(*finding.Finding)
	// OnHangOver, if not nil, is called for each hang that goes on after it was found: it is no
	// finding any more.
	OnHangOver func(*finding.Finding)
	Misuse     misuse.Options // which rules of misuse are checked
	// NewChecker makes the checkers of witnesses; default execution.DefaultChecker.
	NewChecker execution.NewChecker
	// Explain collects the pruned candidates and the reasons; see Suite.Pruned.
	Explain bool
	// Done, if not nil, returns why the time for the analysis is over, "" as long as it is not. Candidates that
	// are left then are not searched, and counted. It is called often; once it returns a reason, it always does.
	Done func() string
	// Full, if not nil, reports whether memory is full. It is called now and then; when it returns true, the analyses
	// keep less of the run. See Suite.ShrinkBy and Suite.Bounds.
	Full func() bool
	// Asked, if not nil, is called in Finish for each candidate: n of about so many were searched.
	Asked func(n, of int)
}

// Suite holds all analyses of a run.
type Suite struct {
	locks          *locks.Table // shared by the analyses
	eraser         *eraser.Analysis
	order          *happensbefore.Analysis
	goodlock       *goodlock.Analysis
	history        *predict.History // the kept part of the trace
	depend         *depend.Graph
	hangs          *hang.Analysis
	misuse         *misuse.Analysis
	early          early
	policy         goodlock.Policy
	contradictions *verdict.Contradictions
	// earlyRaces holds the races that were predicted before events were evicted, and earlyTries, by the pair
	// without its variable, how many candidates were asked about then.
	earlyRaces map[accessPair]finding.Finding
	earlyTries map[accessPair]int
	earlyLeft  int // questions that may still be asked before an eviction
	explain    bool
	pruned     []finding.Pruned
	// decidesNothing is that of DecideBy; nil: nothing is known of the code.
	decidesNothing func(from, to event.StackID) bool
	differs        func(read event.StackID, seen, other uint64, initially bool) bool // that of BranchBy; nil: nothing is known of the code
	course         func(event.Detour) event.Course                                   // likewise
	handovers      Handovers
	checked        misuse.Options // Options.Misuse
	waits          Waits          // that of WaitsBy
	// lockOptions are those of another lock-order analysis of the same events, and byValueWitnesses
	// the counts of its witnesses; see byValue.
	lockOptions      goodlock.Options
	byValueWitnesses execution.Tally
	notAsked         uint64 // candidates for races or deadlocks that were not asked about, or not for all threads
	search           search
	memory           memory
	named            func(event.ObjectID) bool // that of NamedBy; nil: nothing is known
}

// New returns a suite.
func New(o Options) *Suite {
	held := locks.New()
	s := &Suite{policy: o.Locks.Policy, locks: held, explain: o.Explain, depend: depend.New(depend.Options{}), hangs: hang.New(o.OnHangOver), earlyRaces: map[accessPair]finding.Finding{}, earlyTries: map[accessPair]int{}, earlyLeft: earlyQuestions, search: search{done: o.Done, asked: o.Asked}, memory: memory{full: o.Full}}
	s.lockOptions = o.Locks
	s.lockOptions.OnEdge, s.lockOptions.Explain, s.lockOptions.Class = nil, nil, nil
	history := predict.New(predict.Options{Sections: o.History, Events: eventsFor(o.History), Reversals: o.Reversals, Judges: o.NewChecker, BeforeEviction: s.predictRaces, Done: s.search.over})
	s.history = history
	if o.Explain {
		o.Locks.Explain = func(p finding.Pruned) {
			s.setOrderedBy(&p)
			p.ShortenHeld()
			s.pruned = append(s.pruned, p)
		}
	}
	o.Misuse.Locks = held
	s.misuse, s.checked = misuse.New(o.Misuse), o.Misuse
	s.eraser = eraser.New(eraser.Options{EveryPair: true, Uses: o.Uses, CollectPruned: o.Explain, Locks: held})
	s.order = happensbefore.New(happensbefore.Options{Locks: held})
	s.contradictions = verdict.NewContradictions(s.order.Contradicted, s.order.Unsure)
	s.early = early{found: map[string][]finding.Finding{}, report: o.OnDeadlock}
	online := predict.NewOnline(history, s.early.add)
	o.Locks.OnInverse, o.Locks.OnAcquired = online.Inverse, online.Acquired
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

// Event processes the next event of the run; finding.Analysis.
func (s *Suite) Event(e *event.Event) {
	if e.Kind == event.KindInstance || e.Op.IsCall() {
		return // the analyses do not use it
	}
	s.memory.event(s)
	s.locks.Event(e)
	s.contradictions.Event(e)
	if s.hangs.Wants(e) {
		s.hangs.Event(e)
	}
	s.misuse.Event(e)
	if e.Op.IsMisuse() {
		return // it orders nothing
	}
	s.history.Event(e)
	if e.Op == event.AcquireAgain {
		s.goodlock.Event(e)
		return // it does not change the state of the other analyses
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
	s.early.remember(n)
	s.contradictions.Remember(n)
	for _, f := range s.earlyRaces {
		rememberFinding(n, &f)
	}
}

// Uses returns how threads used each variable so far, and under which locks; with Options.Uses.
func (s *Suite) Uses() []run.Use { return s.eraser.Uses() }

// DecideBy sets the function that reports whether the code which a thread executed between two
// consecutive events, at these call stacks, comes from the first to the second whatever other threads
// have written. Without it, no candidate that depends on this becomes a finding.
func (s *Suite) DecideBy(nothing func(from, to event.StackID) bool) { s.decidesNothing = nothing }

// BranchBy sets the function that reports whether the code that made a read, at a call stack, certainly takes another
// branch where it reads another value than the one that it has seen: other or, if initially, the value which the
// variable has when the program begins; and the function that answers a Detour. Without them, no schedule is used in
// which a read of data sees another value.
func (s *Suite) BranchBy(differs func(read event.StackID, seen, other uint64, initially bool) bool, course func(event.Detour) event.Course) {
	s.differs, s.course = differs, course
}

// Waits says what is known of the code that waits on conditions, given by the call stacks of waits. If a
// function is nil, nothing is known.
type Waits struct {
	Elsewhere       func(a, b event.StackID) bool // the two are at different places of the program's code
	PassesNothingOn func(wait event.StackID) bool // if it is woken for something else, it can only wait again
}

// WaitsBy sets what is known of the code that waits on conditions. Without it, no signal is assumed to be
// lost because another thread takes it.
func (s *Suite) WaitsBy(w Waits) { s.waits = w }

// Finish returns the findings, judged by what is known of the run.
func (s *Suite) Finish(known verdict.Run) []finding.Finding {
	judge := s.Judge(known)
	deadlocks := s.goodlock.Finish()
	observed, raced := s.order.Races(), s.eraser.Races()
	s.search.expect(len(deadlocks) + len(observed) + min(len(raced), maxOthers))
	deadlocks, groups := s.settled(deadlocks, s.goodlock.Candidates())
	races, others := s.races(observed, raced)
	s.addPrunedRaces(races, others)
	races = append(races, s.predicted(others)...)
	races = append(races, s.published(races, judge)...)
	deadlocks, races = s.byValue(groups.finish(deadlocks, s.early.rest()), races)
	deadlocks = s.byAnyValue(deadlocks)
	s.unpruned(deadlocks)
	hangs := s.hangs.Finish()
	stuck := addSchedules(deadlocks, withoutCycles(s.stuck(), append(slices.Clone(deadlocks), hangs...)))
	found := slices.Concat(races, deadlocks, stuck, s.goodlock.Classes(), s.misuse.Finish(), s.destroys())
	s.addDependencies(found)
	return judge.Findings(append(found, hangs...), s.pruned)
}

// Judge returns a judge of findings, by what is known of the run and by what the analyses know of its record.
func (s *Suite) Judge(known verdict.Run) *verdict.Judge {
	return &verdict.Judge{Run: known, Record: record{s}, Contradictions: s.contradictions}
}

// record is verdict.Record.
type record struct{ *Suite }

// Kept implements verdict.Record.
func (r record) Kept(yield func(*event.Event) bool) { r.history.Kept(yield) }

// Whole implements verdict.Record.
func (r record) Whole() bool { return r.history.Evicted() == 0 && r.history.Thinned() == 0 }

// Refutes implements verdict.Record.
func (r record) Refutes(reason string) bool { return predict.Refutes(reason) }

// HandedUnseen implements verdict.Record.
func (r record) HandedUnseen(f *finding.Finding) string { return r.handedUnseen(f) }

// addDependencies adds the threads that matter to each finding. Many findings are about the same threads.
func (s *Suite) addDependencies(found []finding.Finding) {
	known := map[string][]finding.Dependency{}
	for i := range found {
		key := fmt.Sprint(slices.Sorted(slices.Values(found[i].Threads)))
		depends, ok := known[key]
		if !ok {
			depends = s.depend.Extend(found[i].Threads)
			known[key] = depends
		}
		found[i].Depends, found[i].Partial = slices.Clone(depends), s.depend.Partial()
	}
}

// settled takes potential deadlocks to a verdict, and returns them without those that cannot happen since
// one side comes before another in every schedule: the clocks do not show the order by semaphores. Of a
// finding.Nest of which enough are predicted, it only counts the others.
func (s *Suite) settled(deadlocks []finding.Finding, candidates [][][]uint64) ([]finding.Finding, nests) {
	out := deadlocks[:0]
	groups := nests{}
	for i := range deadlocks {
		f, potential := deadlocks[i], deadlocks[i] // out overwrites deadlocks
		if groups.count(&f) {
			s.early.settle(&f) // so that it is not reported again
			s.search.expect(-1)
			continue
		}
		r := s.settle(&f, candidates[i])
		if s.early.settle(&f); f.Confidence != finding.Potential {
			s.search.foundEarly(r)
		}
		if !r.Ordered() || f.Confidence != finding.Potential {
			out = append(out, f)
			groups.settled(&potential, out, len(out)-1)
		} else {
			groups.settled(&potential, out, -1)
		}
	}
	return out, groups
}

// Witnesses returns the number of witnesses found, and of those that the checker refused.
func (s *Suite) Witnesses() execution.Tally {
	w := s.history.Witnesses()
	w.Add(s.byValueWitnesses)
	return w
}

// HangsOver returns the number of hangs that went on, and so are no findings.
func (s *Suite) HangsOver() int { return s.hangs.Withdrawn() }

// Hangs returns the hangs of the run so far, in the order in which they were found, with those
// that went on.
func (s *Suite) Hangs() []finding.Finding { return s.hangs.Findings() }
