// Package eraser finds which locks protect which variables. A variable that several threads use,
// some of them writing, should have a lock that all of them hold: the candidate set, refined at
// every access, must not become empty (Savage et al., Eraser, TOCS 15(4) 1997; as described by
// Havelund, Using Runtime Analysis to Guide Model Checking of Java Programs, SPIN 2000, section
// 2).
//
// The original algorithm also warns of accesses that no schedule can bring together, since it
// knows neither fork nor join. Here a finding requires more: two concrete accesses of two threads,
// one of them a write, not both atomic, whose locksets do not exclude each other and which the
// must-order of the events leaves unordered. So a variable may pass from owner to owner by fork,
// join, barrier or message. Such a change of owner does not restart the candidate set: otherwise
// the paper's first example (two tasks, each with its own lock, after their parent's
// initialisation) would not be reported.
//
// The input is the events of a run with their clocks; the output is findings of kind race and
// confidence potential. The package does not know names, files or schedules.
package eraser

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// state is the state of a variable (Havelund, section 2.2, Figure 3).
type state uint8

// The states.
const (
	virgin         state = iota // not accessed yet
	exclusive                   // accessed by one thread, its owner
	shared                      // read by several threads
	sharedModified              // used by several threads, written by at least one
)

var stateNames = [...]string{"VIRGIN", "EXCLUSIVE", "SHARED", "SHARED-MODIFIED"}

// String returns the state's name as the paper spells it.
func (s state) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "UNKNOWN"
}

// leave determines which first access takes a variable out of virgin. The paper does not define
// this for a read.
type leave uint8

// The values of leave.
const (
	leaveOnAny   leave = iota // any first access
	leaveOnWrite              // the first write; reads before it are ignored
)

// seed determines the access with which the candidate set starts. The paper's two examples need
// different values.
type seed uint8

// The values of seed.
const (
	seedShared seed = iota // with the first access by a second thread
	seedFirst              // with the first access, which leaves virgin
)

// minDestroyed is the number of objects that must be destroyed before unused locksets are removed.
// The number must also be at least half the number of locksets.
const minDestroyed = 1 << 12

const (
	defaultHistory    = 64
	defaultMaxPairs   = 64
	defaultExtraPairs = 1 << 12
)

// cacheSize is the number of entries of each direct-mapped cache: of threads, of variables, and of
// operations on locksets.
const cacheSize = 64

// Options selects a variant of the algorithm and bounds its memory. Users should normally get the
// zero value.
type Options struct {
	// Plain ignores the must-order: the findings are the paper's warnings, one for each variable.
	Plain bool
	// EveryPair also reports the pairs of variables without a warning of the state machine.
	// The state machine tolerates a first owner that initialises a variable without the lock, and
	// so misses some races. EveryPair is for callers that search for a witness and drop findings
	// without one. It has no effect with Plain.
	EveryPair bool
	// leave defaults to leaveOnAny.
	leave leave
	// seed defaults to seedShared.
	seed seed
	// History is the maximum number of accesses kept for a variable: the last of each thread,
	// lockset, call stack, operation and atomicity. Default 64.
	History int
	// MaxPairs is the number of pairs of call stacks for which each variable can be reported.
	// Default 64.
	MaxPairs int
	// ExtraPairs is the number of further pairs, for all variables together. Default 4096; if
	// MaxPairs is set, 0.
	ExtraPairs int
	// Reports is the number of reports that are kept once Shrink was called. Default 8192.
	Reports int
	// Uses records how threads use each variable; see Analysis.Uses.
	Uses bool
	// CollectPruned collects the pairs of accesses that exclude each other by a lock or are
	// ordered; see Analysis.Excluded and Ordered.
	CollectPruned bool
	// Locks is the table of the locks that threads hold. The caller passes it each event before
	// the analysis gets the event. Default: the analysis has a table of its own.
	Locks *locks.Table
	// onAccess, if not nil, is called with the verdict on each access. The verdict is valid only
	// during the call.
	onAccess func(*verdict)
}

// verdict is the state of a variable after one access.
type verdict struct {
	seq      uint64 // of the access
	variable event.ObjectID
	state    state
	// seeded reports whether the candidate set has been started.
	seeded bool
	// candidates are the locks that all accesses had in common since the set was started, sorted.
	candidates []event.ObjectID
	// warning reports whether the variable is sharedModified and has no candidate left.
	warning bool
}

// Stats counts what is in memory, and what was discarded because of a bound.
type Stats struct {
	Variables       int    // number in memory now
	Locksets        int    // number of interned locksets in memory now
	EvictedAccesses uint64 // accesses discarded for lack of room (History)
	DroppedPairs    uint64 // pairs not kept for lack of room (MaxPairs, ExtraPairs, Shrink)
}

// Analysis is the lockset analysis. It implements finding.Analysis.
type Analysis struct {
	opts           Options
	locks          *locks.Table
	ownLocks       bool // locks is not shared with other analyses
	sets           *table
	threads        map[event.ThreadID]*thread
	threadCache    [cacheSize]*thread // direct-mapped cache of threads, by the low bits of the ID
	vars           map[event.ObjectID]*variable
	variableCache  [cacheSize]*variable         // direct-mapped cache of vars
	fresh          []*raceReport                // made since TakeNew was last called
	retiredReports []*raceReport                // reports on variables whose lifetime ended
	retired        map[retiredKey]*retiredCount // counts of retiredReports
	publication    publication
	published      publishedPairs
	pruned         *prunedPairs // nil without Options.CollectPruned
	extraPairs     int          // number of pairs in memory beyond Options.MaxPairs of a variable
	stats          Stats
	verdict        verdict
	limit          int // number of interned sets beyond which unused ones are removed
	destroyCount   int // objects destroyed since unused sets were last removed
	compactAfter   int // minimum of destroyCount before unused sets are removed
	liveReports    int // reports on the variables in vars
	reportRoom     int // maximum of liveReports and retiredReports together; 0: there is none
}

var _ finding.Analysis = (*Analysis)(nil)

// New returns an analysis.
func New(opts Options) *Analysis {
	if opts.History <= 0 {
		opts.History = defaultHistory
	}
	if opts.MaxPairs <= 0 {
		opts.MaxPairs, opts.ExtraPairs = defaultMaxPairs, max(opts.ExtraPairs, defaultExtraPairs)
	}
	if opts.Reports <= 0 {
		opts.Reports = defaultReports
	}
	var pairs *prunedPairs
	if opts.CollectPruned {
		pairs = newPrunedPairs()
	}
	own := opts.Locks == nil
	if own {
		opts.Locks = locks.New()
	}
	return &Analysis{
		opts:         opts,
		locks:        opts.Locks,
		ownLocks:     own,
		pruned:       pairs,
		sets:         newTable(),
		threads:      map[event.ThreadID]*thread{},
		vars:         map[event.ObjectID]*variable{},
		retired:      map[retiredKey]*retiredCount{},
		publication:  publication{objects: map[event.ObjectID]*event.Clock{}},
		published:    publishedPairs{pairs: map[pairKey]*publishedPair{}},
		limit:        cacheLimit,
		compactAfter: minDestroyed,
	}
}

// Stats returns what is in memory, and what was discarded.
func (a *Analysis) Stats() Stats {
	s := a.stats
	s.Variables, s.Locksets = len(a.vars), len(a.sets.sets)
	return s
}

// Event processes the next event of the run.
func (a *Analysis) Event(e *event.Event) {
	if a.publication.enabled || e.Kind == event.KindField {
		a.publication.enabled = true
		a.publication.update(e)
	}
	switch {
	case e.Op.IsAcquire():
		if a.ownLocks {
			a.locks.Thread(e.Thread).Acquire(e)
		}
	case e.Op == event.Release:
		if a.ownLocks {
			a.locks.Thread(e.Thread).Release(e.Object)
		}
	case e.Op.IsAccess():
		a.access(e)
	default:
		a.otherEvent(e)
	}
}

// otherEvent processes an event that is neither an access nor a lock operation.
func (a *Analysis) otherEvent(e *event.Event) {
	if a.ownLocks {
		a.locks.Event(e)
	}
	switch e.Op {
	case event.Join:
		a.dropThread(e.Peer)
	case event.End:
		a.dropThread(e.Thread)
	case event.Init:
		a.retire(e.Object)
	case event.Destroy:
		a.retire(e.Object)
		if a.destroyCount++; a.destroyCount >= max(a.compactAfter, len(a.sets.sets)/2) {
			a.compact()
		}
	}
}

// Remember adds the threads and objects that a finding may still name.
func (a *Analysis) Remember(n *event.Names) {
	a.locks.Remember(n)
	for id, v := range a.vars {
		n.AddObject(id)
		v.remember(n)
	}
	for _, r := range a.retiredReports {
		r.remember(n)
	}
	for _, r := range a.published.all {
		r.remember(n)
	}
	a.pruned.remember(n)
}

// thread is the lockset of a thread. It is computed at an access, not at each acquire, because
// most critical sections of most programs contain no observed access.
type thread struct {
	locks    *locks.Thread
	set      setID    // the locks held; valid at an access
	prefixes []prefix // of the locks held at an earlier access, from the outermost lock on
}

// prefix is the lockset of a lock and of all locks that were acquired before it.
type prefix struct {
	last member
	set  setID
}

func (a *Analysis) thread(id event.ThreadID) *thread {
	cached := &a.threadCache[id%cacheSize]
	if t := *cached; t != nil && t.locks.ID == id {
		return t
	}
	t := a.threads[id]
	if t == nil {
		t = &thread{locks: a.locks.Thread(id)}
		a.threads[id] = t
	}
	*cached = t
	return t
}

// dropThread drops the state of a thread that ended.
func (a *Analysis) dropThread(id event.ThreadID) {
	delete(a.threads, id)
	a.threadCache[id%cacheSize] = nil
}

// updateSet sets t.set to the lockset of the thread. It reuses the prefixes of an earlier access as
// far as the thread holds the same locks, acquired in the same order.
func (a *Analysis) updateSet(t *thread) {
	if len(a.sets.sets) > a.limit {
		a.compact()
	}
	t.set = 0
	for i := range t.locks.Held {
		m := t.locks.Held[i].Member
		if i == len(t.prefixes) || t.prefixes[i].last != m {
			t.prefixes = append(t.prefixes[:i], prefix{m, a.sets.add(t.set, m)})
		}
		t.set = t.prefixes[i].set
	}
}

// retire ends the lifetime of a variable: it keeps the reports and drops all else.
func (a *Analysis) retire(id event.ObjectID) {
	v := a.vars[id]
	if v == nil {
		return
	}
	a.liveReports -= len(v.order)
	for _, r := range a.reports(v) {
		a.retireReport(r)
	}
	a.extraPairs -= max(0, len(v.order)-a.opts.MaxPairs)
	delete(a.vars, id)
	a.variableCache[id%cacheSize] = nil
}

// retiredKey identifies reports that are counted together: those at one pair of call stacks, apart
// from those without a warning, so that these leave no warning without room.
type retiredKey struct {
	pair      pairKey
	noWarning bool
}

// key returns what identifies the reports that are counted with r.
func (r *raceReport) key() retiredKey {
	x, y := &r.steps[0], &r.steps[1]
	return retiredKey{keyOf(&access{stack: x.Stack, op: x.Op}, &event.Event{Stack: y.Stack, Op: y.Op}), r.noWarning}
}

// retiredCount counts the reports on variables whose lifetime ended, for one retiredKey.
type retiredCount struct {
	n    int
	last *raceReport
}

// maxRetired bounds the reports kept for one retiredKey on variables whose lifetime ended: such
// reports on many short-lived objects are one error.
const maxRetired = 64

// retireReport keeps a report on a variable whose lifetime ended. If there are maxRetired of its
// key, it adds the count of the report to the last of those instead.
func (a *Analysis) retireReport(r *raceReport) {
	k := r.key()
	d, full := a.retired[k], a.reportRoom > 0 && a.liveReports+len(a.retiredReports) >= a.reportRoom
	switch {
	case d == nil && full:
		a.stats.DroppedPairs++
		return
	case d == nil:
		d = &retiredCount{}
		a.retired[k] = d
	case d.n == maxRetired || full:
		d.last.count += r.count
		return
	}
	d.n, d.last = d.n+1, r
	a.retiredReports = append(a.retiredReports, r)
}

// compact removes the interned sets that are no longer in use. Without it, a program that creates
// and destroys locks would fill the table in the long run.
func (a *Analysis) compact() {
	old := a.sets.sets
	a.sets.reset()
	renew := func(id *setID) { *id = a.sets.intern(old[*id]) }
	for _, t := range a.threads {
		t.prefixes = t.prefixes[:0]
	}
	for _, v := range a.vars {
		renew(&v.candidates)
		renew(&v.guard)
		renew(&v.use.guards)
		for _, x := range v.accesses {
			renew(&x.set)
		}
	}
	a.limit, a.destroyCount = max(cacheLimit, 2*len(a.sets.sets)), 0
}
