// Package goodlock predicts deadlocks from the order in which threads acquire locks: threads that
// each hold one lock and request the next, in a cycle, would block each other permanently if they
// did so at the same time (Havelund, Using Runtime Analysis to Guide Model Checking of Java
// Programs, SPIN 2000, section 3; generalised to cycles of any length as in Agarwal et al., IBM J.
// Res. Dev. 54(5) 2010, and pruned by the must-order, which every schedule keeps).
//
// The trace of a thread is reduced to lock-order edges: the thread requested this lock while it
// held those. An edge has its whole set of held locks, and the acquires that had this form are its
// instances. The held locks are a path in the lock tree of Figure 9, in the order of their
// acquisition, so that releases may come in any order. A cycle of edges is reported if
// distinct threads can take part in it that hold no lock in common (Figure 10's gate locks) and of
// whose requests no two are ordered by the must-order. A lock that a parent holds from before a
// thread's creation until after its join counts as held by that thread too (Sulzmann, Beyond
// Per-Thread Lock Sets, arXiv 2512.23552).
//
// The input is the events of a run with their clocks; the output is findings of kind deadlock and
// confidence potential. The package does not know names, files or schedules.
//
// Memory. All threads share the edges, so ten thousand threads that do the same make one edge. Held
// locks are one persistent stack (see node), so a thread that nests n locks makes n nodes.
// Each edge keeps a bounded number of instances, the first and the latest, spread over threads. The
// acquires of one thread between which it neither influenced another thread nor was influenced by
// one are one instance. A thread that has been joined stays in memory only through the instances
// that refer to it. The state of destroyed locks is removed when it is about half of all.
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
	DefaultMaxEdges = 1 << 16 // Options.MaxEdges
	DefaultBudget   = 1 << 22 // Options.Budget
)

// threadCacheSize is the number of entries of the direct-mapped cache of threads.
const threadCacheSize = 64

// Options bounds memory and search. Users should normally get the zero value.
type Options struct {
	// History is the maximum number of instances of an edge, of which one half is the first and
	// the other half the latest. Default 32, at least 2.
	History int
	// MaxInstances is the number of instances of all edges together beyond which an edge gets
	// no more than four. Default 262144. An instance takes about 300 bytes. Instances of one
	// thread also share a clock (four bytes for each thread) for as long as nothing new orders the
	// thread after other threads.
	MaxInstances int
	// MaxEdges is the maximum number of edges in memory. Default DefaultMaxEdges. When it
	// is reached, edges that need a destroyed lock are evicted; if that does not make room, new
	// edges are dropped and counted.
	MaxEdges int
	// MaxThreads is the maximum length of the cycles searched for. Default 0: no limit.
	MaxThreads int
	// Policy determines whether read-write locks prefer readers or writers. Default ByLockKind.
	Policy Policy
	// Budget bounds one search for cycles, in steps of 0.1 to 0.4 microseconds. Short cycles are
	// searched for first. Default DefaultBudget.
	Budget int
	// MaxFindings is the maximum number of findings; further ones are only counted. Default 1000.
	MaxFindings int
	// MaxCandidates is the maximum number of alternatives that Candidates returns for a finding.
	// Default 32.
	MaxCandidates int
	// Explain, if not nil, is called by Finish with each cycle of edges that is not reported,
	// and the reason.
	Explain func(finding.Pruned)
	// OnEdge, if not nil, is called with the first acquire of each new edge that holds a
	// lock. When there have been no calls for a while, the program has likely shown all its lock
	// orders. The callee may keep the step.
	OnEdge func(finding.Step)
	// OnInverse, if not nil, is called for each two edges that could be a cycle of two threads,
	// when the second is first seen. From then on OnAcquired is called for each acquire of
	// either edge, beginning with that first acquire of the second. OnAcquired must not be nil
	// if OnInverse is not.
	OnInverse  func(older, newer finding.LockOrderEdge)
	OnAcquired func(edge int, thread event.ThreadID, seq uint64)
	// Locks is the table of the locks that threads hold. The caller passes it each event before
	// the analysis gets the event. Default: the analysis has a table of its own.
	Locks *locks.Table
	// Class, if not nil, returns the class of a lock; see Classes. It is called by Classes, and
	// when edges of destroyed locks are evicted.
	Class func(event.ObjectID) Class
}

// Stats counts what is in memory, and what was discarded because of a bound.
type Stats struct {
	Edges            int    // number in memory now
	Instances        int    // number in memory now
	EvictedInstances uint64 // instances discarded for lack of room (History, MaxInstances)
	EvictedEdges     uint64 // edges of destroyed locks, discarded to make room
	DroppedEdges     uint64 // acquires whose edge was new and had no room (MaxEdges)
	DroppedFindings  uint64 // choices of instances whose finding had no room (MaxFindings)
	// BudgetHit reports whether a search ended before it had looked at all cycles (Budget).
	BudgetHit bool
	// LongerCycles reports whether there may be cycles of more than MaxThreads threads.
	LongerCycles bool
}

// Analysis is the lock order analysis. It implements finding.Analysis.
type Analysis struct {
	opts             Options
	locks            *locks.Table
	ownLocks         bool // locks is not shared
	threads          map[event.ThreadID]*thread
	threadCache      [threadCacheSize]*thread // direct-mapped cache of threads, by the low bits of the ID
	root             *node                    // of the lock tree
	nodes            int                      // number of nodes of the lock tree
	edges            edgeTable
	edgesByID        []*edge                 // all edges, by id
	forest           *forest                 // their nodes
	inverseNests     map[[2]*node]int        // by the outermost locks of two edges: inverses recorded; see addInverse
	nextID           int                     // the latest edge id
	instanceCount    int                     // number of instances of all edges
	destroyed        map[event.ObjectID]bool // destroyed locks that occur in some edge
	clocks           clockPool
	instanceCache    instanceCache
	periods          uint64             // number of periods begun so far
	shrunk           bool               // Shrink was called
	searches         int                // number of breadth-first searches so far
	reports          map[string]*report // by findingKey
	nests            map[finding.Nest]*nestCount
	pairs            int       // number of cycles that are no findings of their own, of all nests
	classes          *classes  // nil until needed
	final            []*report // set by Finish: the reports in the order of the findings
	stats            Stats
	retryAt          uint64                  // value of DroppedEdges at which makeRoom tries again
	writerPreferring map[event.ObjectID]bool // rwlocks whose readers wait behind a waiting writer
	destroyCount     int                     // objects destroyed since the tree was last emptied
	sweepAfter       int                     // minimum of destroyCount before sweep runs
}

var _ finding.Analysis = (*Analysis)(nil)

// New returns an analysis.
func New(opts Options) *Analysis {
	setDefault(&opts.History, defaultHistory)
	setDefault(&opts.MaxInstances, defaultMaxInstances)
	setDefault(&opts.MaxEdges, DefaultMaxEdges)
	setDefault(&opts.Budget, DefaultBudget)
	setDefault(&opts.MaxFindings, defaultMaxFindings)
	setDefault(&opts.MaxCandidates, defaultMaxCandidates)
	opts.History = max(opts.History, 2)
	own := opts.Locks == nil
	if own {
		opts.Locks = locks.New()
	}
	a := &Analysis{
		opts:             opts,
		locks:            opts.Locks,
		ownLocks:         own,
		threads:          map[event.ThreadID]*thread{},
		root:             &node{},
		edges:            edgeTable{},
		forest:           newForest(),
		inverseNests:     map[[2]*node]int{},
		destroyed:        map[event.ObjectID]bool{},
		writerPreferring: map[event.ObjectID]bool{},
		reports:          map[string]*report{},
		nests:            map[finding.Nest]*nestCount{},
		sweepAfter:       minDestroyed,
	}
	a.instanceCache.grow(minCacheSize)
	return a
}

func setDefault(v *int, def int) {
	if *v <= 0 {
		*v = def
	}
}

// Stats returns what is in memory, and what was discarded.
func (a *Analysis) Stats() Stats {
	s := a.stats
	s.Edges, s.Instances = len(a.edgesByID), a.instanceCount
	return s
}

// Remember adds the threads and locks that a finding may still name.
func (a *Analysis) Remember(n *event.Names) {
	for _, t := range a.threads {
		n.AddThread(t.id)
		for _, h := range t.locks.Held {
			n.AddObject(h.Lock())
		}
	}
	for lock := range a.forest.locks {
		n.AddObject(lock)
	}
	for _, p := range a.edgesByID {
		for _, x := range p.instances {
			n.AddThread(x.thread.id)
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

// thread records which locks a thread holds, and which locks its parent held all its life.
type thread struct {
	id         event.ThreadID
	locks      *locks.Thread
	nodes      []*node // the tree nodes of the prefixes of locks.Held; only the first validNodes are valid
	validNodes int
	segment    uint64      // counts the events that may order the thread with other threads
	period     uint64      // identifies the period since segment or clock changed; unique, not 0
	clock      *clock      // the latest must-order clock; the entry of the thread's own slot is stale
	clockEpoch event.Epoch // the thread's epoch when clock was last up to date

	fork, join link // the fork and the join of the thread

	parent   *thread   // nil once joined, or both detached and ended
	forkHeld []section // the critical sections that the parent was in when it created the thread
	within   *thread   // the parent if it joined the thread, otherwise nil
	guards   []section // those of forkHeld in which the parent still was at the join
	ended    bool
	detached bool
}

// section is a critical section of a thread.
type section struct {
	m      member
	seq    uint64 // of the acquire
	holder *thread
}

func (a *Analysis) thread(id event.ThreadID) *thread {
	cached := &a.threadCache[id%threadCacheSize]
	if t := *cached; t != nil && t.id == id {
		return t
	}
	t := a.threads[id]
	if t == nil {
		t = &thread{id: id, locks: a.locks.Thread(id)}
		a.beginPeriod(t)
		a.threads[id] = t
	}
	*cached = t
	return t
}

// Event processes the next event of the run.
func (a *Analysis) Event(e *event.Event) {
	if a.ownLocks {
		a.locks.Event(e)
	}
	switch e.Op {
	case event.None, event.AcquireFailed, event.Init:
		return
	case event.Destroy:
		a.destroy(e.Object)
		return
	}
	t := a.thread(e.Thread)
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		if e.Flags&event.HasValue != 0 {
			a.recordKind(e)
		}
		a.acquire(t, e)
		return
	case event.AcquireAgain:
		a.acquireAgain(t, e)
		return
	case event.Release:
		t.validNodes = min(t.validNodes, t.locks.Same)
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
	t.segment++ // the event may have an edge of the must-order to or from another thread
	a.beginPeriod(t)
}

// acquire records an edge if the thread holds other locks. The tree nodes are looked up only
// then, because most critical sections of most programs contain no other.
func (a *Analysis) acquire(t *thread, e *event.Event) {
	if t.locks.Unchanged {
		return
	}
	if e.Flags&(event.Try|event.Inferred) == 0 && (len(t.locks.Held) > 1 || a.mayBlockReaders(e)) {
		a.addRequest(t, e)
	}
	if a.nodes > 4*a.opts.MaxEdges {
		a.clearTree()
	}
}

func (a *Analysis) fork(t *thread, e *event.Event) {
	c := a.thread(e.Peer)
	if c == t {
		return
	}
	c.parent, c.forkHeld, c.fork = t, nil, linkOf(e)
	for _, h := range t.locks.Held {
		c.forkHeld = append(c.forkHeld, section{h.Member, h.Seq, t})
	}
}

// join records the end of the joined thread. If t is its parent, join also finds the locks that t
// held during the whole life of the child.
func (a *Analysis) join(t *thread, e *event.Event) {
	c := a.threads[e.Peer]
	if c == nil {
		return
	}
	c.join = linkOf(e)
	if c.parent == t {
		c.within = t
		for _, s := range c.forkHeld {
			if i := t.locks.Find(s.m.Lock()); i >= 0 && t.locks.Held[i].Seq == s.seq {
				c.guards = append(c.guards, s)
			}
		}
	}
	a.end(c)
	a.dropThread(c)
}

func (a *Analysis) detach(id event.ThreadID) {
	c := a.threads[id]
	if c == nil {
		return
	}
	c.detached = true
	if c.ended {
		a.dropThread(c)
	}
}

// end records that a thread has ended, and drops the state that only a running thread needs.
func (a *Analysis) end(t *thread) {
	t.ended = true
	t.nodes, t.validNodes = nil, 0
	a.clocks.drop(t.clock)
	t.clock = nil
	if t.detached {
		a.dropThread(t)
	}
}

func (a *Analysis) dropThread(t *thread) {
	t.parent, t.forkHeld = nil, nil
	delete(a.threads, t.id)
	if cached := &a.threadCache[t.id%threadCacheSize]; *cached == t {
		*cached = nil
	}
}
