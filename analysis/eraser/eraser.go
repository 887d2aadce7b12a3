// Package eraser watches which locks protect which variables. A variable that
// several threads use, some of them writing, ought to have a lock that all of
// them hold: the candidate set, refined at every access, must not run empty
// (Savage et al., Eraser, TOCS 15(4) 1997; as described by Havelund, Using Runtime
// Analysis to Guide Model Checking of Java Programs, SPIN 2000, section 2).
//
// The plain algorithm also warns of accesses that no schedule can bring
// together, since it knows neither fork nor join. Here a finding needs more: two
// concrete accesses of two threads, one of them a write, not both atomic, whose
// held locks do not exclude one another and which the must-order of the events
// leaves unordered. So a variable may pass from owner to owner by fork, join,
// barrier or message. Ownership that passes so starts no candidate set anew:
// the paper's first example (two tasks, each with its own lock, after their
// parent's initialisation) would be forgiven.
//
// In go the events of a run with their clocks, out come findings of kind race
// and confidence potential. What it never knows: names, files, schedules.
package eraser

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// State is where a variable stands (Havelund, section 2.2, Figure 3).
type State uint8

// The states.
const (
	Virgin         State = iota // not accessed yet
	Exclusive                   // accessed by one thread, its owner
	Shared                      // read by several
	SharedModified              // used by several, written by at least one
)

var stateNames = [...]string{"VIRGIN", "EXCLUSIVE", "SHARED", "SHARED-MODIFIED"}

// String returns the state's name as the paper spells it.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "UNKNOWN"
}

// Leave says which first access takes a variable out of Virgin; the paper
// names none for a read.
type Leave uint8

// The readings of Leave.
const (
	LeaveOnAny   Leave = iota // any first access
	LeaveOnWrite              // the first write; reads before it count for nothing
)

// Seed says where the candidate set starts; the paper's two examples need
// different answers.
type Seed uint8

// The readings of Seed.
const (
	SeedShared Seed = iota // with the first access by a second thread
	SeedFirst              // with the first access that leaves Virgin
)

// minDeaths is how many objects must have gone before the sets of their locks are
// looked for, if half of all sets may be such.
const minDeaths = 1 << 12

const (
	defaultHistory  = 64
	defaultMaxPairs = 64
)

// cacheSize is how many threads, how many variables, and how many steps from lockset
// to lockset, are found without a map.
const cacheSize = 64

// Options chooses a reading of the algorithm and bounds its memory. The zero
// value is what a user should get.
type Options struct {
	// Plain leaves the must-order out: the findings are the paper's warnings,
	// one for each variable.
	Plain bool
	// EveryPair reports also the pairs of variables that the state machine does
	// not warn of: it forgives a first owner who prepares a variable without
	// the lock, and with it some races. For a stage that looks for a witness
	// and drops what has none. Not with Plain.
	EveryPair bool
	// Leave defaults to LeaveOnAny.
	Leave Leave
	// Seed defaults to SeedShared.
	Seed Seed
	// History is how many accesses are kept for a variable: the last of each
	// thread, lockset, place, operation and atomicity. Default 64.
	History int
	// MaxPairs is how many pairs of places a variable can be reported for.
	// Default 64.
	MaxPairs int
	// Uses keeps account of how threads use each variable; see Analysis.Uses.
	Uses bool
	// Apart collects the pairs of accesses that a lock keeps apart, or that are ordered; see
	// Analysis.Apart and Ordered.
	Apart bool
	// Locks are the locks that threads hold, which has taken each event before the analysis
	// gets it. Default: the analysis follows them itself.
	Locks *locks.Table
	// OnAccess, if not nil, is called with the verdict of each access. The verdict
	// is valid during the call only.
	OnAccess func(*Verdict)
}

// Verdict is what the state machine says after one access.
type Verdict struct {
	Seq      uint64 // of the access
	Variable event.ObjectID
	State    State
	// Seeded reports whether there is a candidate set yet.
	Seeded bool
	// Candidates are the locks that all accesses so far had in common, sorted.
	Candidates []event.ObjectID
	// Warning: the variable is SharedModified and has no candidate left.
	Warning bool
}

// Stats counts what bounds made the analysis forget.
type Stats struct {
	Variables       int    // in memory now
	Locksets        int    // interned now
	EvictedAccesses uint64 // accesses forgotten for want of room (History)
	DroppedPairs    uint64 // pairs not kept for want of room (MaxPairs)
}

// Analysis is the lockset analysis. It implements finding.Analysis.
type Analysis struct {
	opts          Options
	locks         *locks.Table
	ownLocks      bool // locks is not shared
	sets          *table
	threads       map[event.ThreadID]*thread
	threadCache   [cacheSize]*thread // direct-mapped cache of threads, by the low bits of the ID
	vars          map[event.ObjectID]*variable
	variableCache [cacheSize]*variable // likewise of vars
	done          []*raceReport        // of variables whose lifetime ended
	dead          map[pairKey]*dead    // of done, by pair of places
	order         publication
	apart         *apart // nil: not asked for
	stats         Stats
	verdict       Verdict
	limit         int // of interned sets, before unused ones are dropped
	deaths        int // of objects, since then
	minimum       int // of deaths, before unused sets are dropped
}

var _ finding.Analysis = (*Analysis)(nil)

// New makes an analysis.
func New(opts Options) *Analysis {
	if opts.History <= 0 {
		opts.History = defaultHistory
	}
	if opts.MaxPairs <= 0 {
		opts.MaxPairs = defaultMaxPairs
	}
	var pairs *apart
	if opts.Apart {
		pairs = newApart()
	}
	own := opts.Locks == nil
	if own {
		opts.Locks = locks.New()
	}
	return &Analysis{
		opts:     opts,
		locks:    opts.Locks,
		ownLocks: own,
		apart:    pairs,
		sets:     newTable(),
		threads:  map[event.ThreadID]*thread{},
		vars:     map[event.ObjectID]*variable{},
		dead:     map[pairKey]*dead{},
		order:    publication{objects: map[event.ObjectID][]event.Epoch{}},
		limit:    cacheLimit,
		minimum:  minDeaths,
	}
}

// Stats reports what is in memory and what was forgotten.
func (a *Analysis) Stats() Stats {
	s := a.stats
	s.Variables, s.Locksets = len(a.vars), len(a.sets.sets)
	return s
}

// Event takes the next event of the run.
func (a *Analysis) Event(e *event.Event) {
	if a.order.on = a.order.on || e.Kind == event.KindField; a.order.on {
		a.order.take(e)
	}
	switch {
	case e.Op.IsAccess():
		a.access(e)
	case e.Op.IsAcquire():
		if a.ownLocks {
			a.thread(e.Thread).locks.Acquire(e)
		}
	case e.Op == event.Release:
		t := a.thread(e.Thread)
		if a.ownLocks {
			t.locks.Release(e.Object)
		}
		t.made = min(t.made, t.locks.Same)
	case e.Op == event.Join && a.ownLocks:
		a.locks.Event(e)
	case e.Op == event.End:
		if a.ownLocks {
			a.locks.Event(e)
		}
		delete(a.threads, e.Thread)
		a.threadCache[e.Thread%cacheSize] = nil
	case e.Op == event.Init:
		a.retire(e.Object)
	case e.Op == event.Destroy:
		a.retire(e.Object)
		if a.deaths++; a.deaths >= max(a.minimum, len(a.sets.sets)/2) {
			a.compact()
		}
	}
}

// Remember adds the threads and objects that a finding may still name.
func (a *Analysis) Remember(n *event.Names) {
	for _, t := range a.threads {
		n.Thread(t.locks.ID)
		for _, h := range t.locks.Held {
			n.Object(h.Lock())
		}
	}
	for id, v := range a.vars {
		n.Object(id)
		v.remember(n)
	}
	for _, r := range a.done {
		r.remember(n)
	}
	a.apart.remember(n)
}

// thread is the lockset of a thread. It is made at an access, not at each lock: most
// critical sections of most programs have no access that is observed.
type thread struct {
	locks *locks.Thread
	set   setID   // of the locks held, valid at an access
	sets  []setID // by index in locks.Held: of the locks up to there; the first made are valid
	made  int
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

// makeSet makes the lockset of a thread, from the first lock on that has none.
func (a *Analysis) makeSet(t *thread) {
	if len(a.sets.sets) > a.limit {
		a.compact()
	}
	t.set, t.sets = 0, t.sets[:t.made]
	if t.made > 0 {
		t.set = t.sets[t.made-1]
	}
	for ; t.made < len(t.locks.Held); t.made++ {
		t.set = a.sets.add(t.set, t.locks.Held[t.made].Member)
		t.sets = append(t.sets, t.set)
	}
}

// retire ends the lifetime of a variable: what was found stays, the rest goes.
func (a *Analysis) retire(id event.ObjectID) {
	v := a.vars[id]
	if v == nil {
		return
	}
	for _, r := range a.reports(v) {
		a.bury(r)
	}
	delete(a.vars, id)
	a.variableCache[id%cacheSize] = nil
}

// dead counts the reports of one pair of places against variables that are gone.
type dead struct {
	n    int
	last *raceReport
}

// maxDead bounds the reports kept of one pair of places against variables that are
// gone: objects that come and go are the same error again and again.
const maxDead = 64

// bury keeps a report against a variable that is gone, or counts it to another of
// the same two places.
func (a *Analysis) bury(r *raceReport) {
	x, y := &r.steps[0], &r.steps[1]
	k := keyOf(&access{place: x.Place, op: x.Op}, &event.Event{Stack: y.Place, Op: y.Op})
	d := a.dead[k]
	if d == nil {
		d = &dead{}
		a.dead[k] = d
	}
	if d.n == maxDead {
		d.last.count += r.count
		return
	}
	d.n, d.last = d.n+1, r
	a.done = append(a.done, r)
}

// compact drops the interned sets that nothing names any longer: programs
// that make and destroy locks would fill the table in the long run.
func (a *Analysis) compact() {
	old := a.sets.sets
	a.sets.reset()
	renew := func(id *setID) { *id = a.sets.intern(old[*id]) }
	for _, t := range a.threads {
		t.made = 0
	}
	for _, v := range a.vars {
		renew(&v.candidates)
		renew(&v.guard)
		renew(&v.use.guards)
		for _, x := range v.accesses {
			renew(&x.set)
		}
	}
	a.limit, a.deaths = max(cacheLimit, 2*len(a.sets.sets)), 0
}
