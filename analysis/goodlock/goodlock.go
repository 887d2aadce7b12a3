// Package goodlock predicts deadlocks from the order in which locks are taken:
// threads that hold one lock and want the next, in a cycle, would block for
// ever if they met (Havelund, Using Runtime Analysis to Guide Model Checking
// of Java Programs, SPIN 2000, section 3; generalised to cycles of any length
// as in Agarwal et al., IBM J. Res. Dev. 54(5) 2010, and pruned by the order
// that every schedule keeps).
//
// What a thread does is reduced to patterns: it wanted this lock while it
// held those. The lock tree of Figure 9 is kept as the path of locks held, in
// the order of their acquisition, so that releases may come in any order. A
// cycle of patterns is reported if it can be taken by distinct threads, holding
// no lock in common (Figure 10's gate locks), of which no two must come one
// after the other. A lock that a parent holds from before a thread's creation
// until after its join is held for that thread too (Sulzmann, Beyond
// Per-Thread Lock Sets, arXiv 2512.23552).
//
// In go the events of a run with their clocks, out come findings of kind
// deadlock and confidence potential. What it never knows: names, files,
// schedules.
//
// Memory. Patterns are shared by all threads, so ten thousand threads that do
// the same are one pattern; of its instances a bounded number is kept, the
// first and the latest, spread over threads. Instances of one thread between
// which it neither influenced another nor was influenced are one. A thread
// that has been joined lives on only in the instances that name it, and what
// destroyed locks leave behind is swept when it is as much as the rest.
package goodlock

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

const (
	defaultHistory       = 32
	defaultMaxInstances  = 1 << 18
	defaultMaxFindings   = 1000
	defaultMaxCandidates = 32
)

// The bounds that a user can change have these defaults.
const (
	DefaultMaxPatterns = 1 << 16 // Options.MaxPatterns
	DefaultBudget      = 1 << 22 // Options.Budget
)

// cacheSize is how many threads are found without a map.
const cacheSize = 64

// Options bounds memory and search. The zero value is what a user should get.
type Options struct {
	// History is how many instances are kept of a pattern, half of them the
	// first and half the latest. Default 32, at least 2.
	History int
	// MaxInstances is how many instances are kept of all patterns together;
	// beyond it a pattern gets no more than four. Default 262144, of about 300
	// bytes each, and a clock (four bytes for each thread) for those of a
	// thread between which nothing ordered it anew.
	MaxInstances int
	// MaxPatterns is how many patterns are kept at a time. Default DefaultMaxPatterns.
	// Patterns that need a destroyed lock make room; beyond that new ones are
	// dropped and counted.
	MaxPatterns int
	// MaxThreads is the longest cycle searched for. Default 0: no limit.
	MaxThreads int
	// Policy is whom read-write locks prefer. Default AsMade.
	Policy Policy
	// Budget bounds a search for cycles, in steps of 0.1 to 0.4 microseconds.
	// Short cycles are searched first. Default DefaultBudget.
	Budget int
	// MaxFindings is how many findings are kept; further ones are counted.
	// Default 1000.
	MaxFindings int
	// MaxCandidates is how many alternatives Candidates gives a finding.
	// Default 32.
	MaxCandidates int
	// Explain, if not nil, is called with the cycles of lock orders that are not
	// reported, and why. It is called by Finish.
	Explain func(finding.Pruned)
	// OnPattern, if not nil, is called for each new pattern when it is first
	// seen, by its first acquisition: once they stay away, the program has
	// likely shown all it does. The step is the caller's to keep.
	OnPattern func(finding.Step)
	// OnOpposed, if not nil, is called for each two nestings that two threads could
	// block each other in, when the second is first seen. OnTaken is then called for
	// each acquisition of one of them, that first one too.
	OnOpposed func(older, newer finding.Nesting)
	OnTaken   func(nesting int, thread event.ThreadID, seq uint64)
	// Locks are the locks that threads hold, which has taken each event before the analysis
	// gets it. Default: the analysis follows them itself.
	Locks *locks.Table
	// Class, if not nil, gives the class of a lock; see Classes. It is called from
	// Classes, and where destroyed locks make room.
	Class func(event.ObjectID) Class
}

// Stats counts what is in memory and what bounds made the analysis forget.
type Stats struct {
	Patterns         int    // in memory now
	Instances        int    // likewise
	EvictedInstances uint64 // forgotten for want of room (History, MaxInstances)
	EvictedPatterns  uint64 // of destroyed locks, forgotten to make room (MaxPatterns)
	DroppedPatterns  uint64 // instances of patterns for which there was no room (MaxPatterns)
	DroppedFindings  uint64 // cycles of instances not kept for want of room (MaxFindings)
	// BudgetHit: a search ended before all cycles were looked at (Budget).
	BudgetHit bool
	// LongerRings: there may be cycles of more than MaxThreads.
	LongerRings bool
}

// Analysis is the lock order analysis. It implements finding.Analysis.
type Analysis struct {
	opts        Options
	locks       *locks.Table
	ownLocks    bool // locks is not shared
	threads     map[event.ThreadID]*thread
	threadCache [cacheSize]*thread // direct-mapped cache of threads, by the low bits of the ID
	root        *node
	nodes       int
	patterns    map[string]*pattern
	wanting     map[event.ObjectID][]wanter // with Options.OnOpposed: by wanted lock
	ordered     []*pattern                  // by id
	nextID      int
	kept        int                     // instances of all patterns
	dead        map[event.ObjectID]bool // destroyed locks that some pattern names
	inUse       map[event.ObjectID]int  // patterns that name a lock
	clocks      clockPool
	again       agains
	stretches   uint64
	reports     map[string]*report
	classes     *classes // nil until needed
	final       []*report
	stats       Stats
	retryAt     uint64                  // of DroppedPatterns, when making room is tried again
	queueing    map[event.ObjectID]bool // rwlocks of which a reader waits behind a writer that waits
	deaths      int                     // of objects, since the tree was planted
	sweepAfter  int                     // deaths of objects before what they leave behind is swept
}

var _ finding.Analysis = (*Analysis)(nil)

// New makes an analysis.
func New(opts Options) *Analysis {
	setDefault(&opts.History, defaultHistory)
	setDefault(&opts.MaxInstances, defaultMaxInstances)
	setDefault(&opts.MaxPatterns, DefaultMaxPatterns)
	setDefault(&opts.Budget, DefaultBudget)
	setDefault(&opts.MaxFindings, defaultMaxFindings)
	setDefault(&opts.MaxCandidates, defaultMaxCandidates)
	opts.History = max(opts.History, 2)
	own := opts.Locks == nil
	if own {
		opts.Locks = locks.New()
	}
	a := &Analysis{
		opts:       opts,
		locks:      opts.Locks,
		ownLocks:   own,
		threads:    map[event.ThreadID]*thread{},
		root:       &node{},
		patterns:   map[string]*pattern{},
		wanting:    map[event.ObjectID][]wanter{},
		dead:       map[event.ObjectID]bool{},
		inUse:      map[event.ObjectID]int{},
		queueing:   map[event.ObjectID]bool{},
		reports:    map[string]*report{},
		sweepAfter: minDeaths,
	}
	a.again.grow(fewAgain)
	return a
}

func setDefault(v *int, def int) {
	if *v <= 0 {
		*v = def
	}
}

// Stats reports what is in memory and what was forgotten.
func (a *Analysis) Stats() Stats {
	s := a.stats
	s.Patterns, s.Instances = len(a.ordered), a.kept
	return s
}

// Remember adds the threads and locks that a finding may still name.
func (a *Analysis) Remember(n *event.Names) {
	for _, t := range a.threads {
		n.Thread(t.id)
		for _, h := range t.locks.Held {
			n.Object(h.Lock())
		}
	}
	for _, p := range a.ordered {
		n.Object(p.wanted.Lock())
		for _, m := range p.held {
			n.Object(m.Lock())
		}
		for _, x := range p.kept {
			n.Thread(x.thread.id)
		}
	}
	for _, r := range a.reports {
		for i := range r.steps {
			r.steps[i].Remember(n)
		}
	}
	if a.classes != nil {
		a.classes.remember(n)
	}
}

// thread is what one thread holds, and which locks its parent held around it.
type thread struct {
	id      event.ThreadID
	locks   *locks.Thread
	nodes   []*node // by index in locks.Held: of the path up to there; the first placed are valid
	placed  int
	segment uint64      // counts what may order the thread with others
	stretch uint64      // names what lies between changes of segment and clock; of the analysis' own
	clock   *clock      // the latest snapshot, without the thread's own slot
	taken   event.Epoch // when it was

	born, reaped link // its creation and its join

	parent   *thread   // until joined or detached
	forkHeld []section // what the parent held when it made the thread
	within   *thread   // the parent, if it joined the thread
	guards   []section // of forkHeld, those held until the join
	ended    bool
	detached bool
}

// section is a critical section of a thread.
type section struct {
	m      member
	seq    uint64
	holder *thread
}

func (a *Analysis) thread(id event.ThreadID) *thread {
	cached := &a.threadCache[id%cacheSize]
	if t := *cached; t != nil && t.id == id {
		return t
	}
	t := a.threads[id]
	if t == nil {
		t = &thread{id: id, locks: a.locks.Thread(id)}
		a.stretch(t)
		a.threads[id] = t
	}
	*cached = t
	return t
}

// Event takes the next event of the run.
func (a *Analysis) Event(e *event.Event) {
	if a.ownLocks {
		a.locks.Event(e)
	}
	switch e.Op {
	case event.None, event.AcquireFailed, event.Init:
		return
	case event.Destroy:
		a.destroyed(e.Object)
		return
	}
	t := a.thread(e.Thread)
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		if e.Flags&event.HasValue != 0 {
			a.madeAs(e)
		}
		a.acquire(t, e)
		return
	case event.AcquireAgain:
		a.acquireAgain(t, e)
		return
	case event.Release:
		t.placed = min(t.placed, t.locks.Same)
		if e.Flags&event.InCondWait == 0 {
			return
		}
	case event.Fork:
		a.fork(t, e)
	case event.Join:
		a.join(t, e)
	case event.Detach:
		a.detach(e.Peer)
	case event.End:
		a.end(t)
	}
	t.segment++ // the event may have an edge of the must-order
	a.stretch(t)
}

// acquire records a lock-order edge where the thread holds other locks. Its nodes are looked
// for then: most critical sections of most programs have none inside.
func (a *Analysis) acquire(t *thread, e *event.Event) {
	if t.locks.Again {
		return
	}
	if e.Flags&(event.Try|event.Inferred) == 0 && (len(t.locks.Held) > 1 || a.queues(e)) {
		a.wanted(t, e)
	}
	if a.nodes > 4*a.opts.MaxPatterns {
		a.replant()
	}
}

func (a *Analysis) fork(t *thread, e *event.Event) {
	c := a.thread(e.Peer)
	if c == t {
		return
	}
	c.parent, c.forkHeld, c.born = t, nil, linkOf(e)
	for _, h := range t.locks.Held {
		c.forkHeld = append(c.forkHeld, section{h.Member, h.Seq, t})
	}
}

// join learns which locks the parent held all through its child's life.
func (a *Analysis) join(t *thread, e *event.Event) {
	c := a.threads[e.Peer]
	if c == nil {
		return
	}
	c.reaped = linkOf(e)
	if c.parent == t {
		c.within = t
		for _, s := range c.forkHeld {
			if i := t.locks.Find(s.m.Lock()); i >= 0 && t.locks.Held[i].Seq == s.seq {
				c.guards = append(c.guards, s)
			}
		}
	}
	a.end(c)
	a.forget(c)
}

func (a *Analysis) detach(id event.ThreadID) {
	c := a.threads[id]
	if c == nil {
		return
	}
	c.detached = true
	if c.ended {
		a.forget(c)
	}
}

// end drops what only a running thread needs.
func (a *Analysis) end(t *thread) {
	t.ended = true
	t.nodes, t.placed = nil, 0
	a.clocks.drop(t.clock)
	t.clock = nil
	if t.detached {
		a.forget(t)
	}
}

func (a *Analysis) forget(t *thread) {
	t.parent, t.forkHeld = nil, nil
	delete(a.threads, t.id)
	if cached := &a.threadCache[t.id%cacheSize]; *cached == t {
		*cached = nil
	}
}
