package goodlock

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Lock classes, after Linux's lockdep (Documentation/locking/lockdep-design.rst): all locks of one
// field of one type, or created at one call site, are one class, and the lock order is that of the
// classes. So a run shows a lock-order error even if no two of its threads acquired the same pair
// of locks: a1 before b1, and b2 before a2.
//
// By definition, the search is that for cycles over the same edges, in which each lock is
// replaced by its class (TestClassesAgainstBruteForce). What differs:
//
//   - A cycle is not reported if each of its links is a single lock, or if a cycle of locks of the
//     same classes is already known.
//   - A lock requested while another of its class is held is no error by itself: programs acquire
//     such locks by address, or parent before child. Lockdep reports it unless the program is
//     annotated; here the same two locks must have been acquired in both orders, if only by one
//     thread, and locks of the class within one another by two threads.
//   - Threads that also hold locks of a further common class may hold the same lock of it when
//     they work on the same objects. So such a class is a gate here; in lockdep it is not.

// Class identifies a class of locks. Locks of two processes are never of one class, nor are locks
// without a name.
type Class struct {
	Name    string
	Process uint32
}

// classes searches for cycles of lock classes. A class is identified by its first lock.
type classes struct {
	a         *Analysis                         // of the locks
	search    *Analysis                         // of the classes: its edges are those between classes
	of        map[event.ObjectID]event.ObjectID // cache of class: by lock, its class
	first     map[Class]event.ObjectID          // by class: its first lock
	names     map[event.ObjectID]string         // names of classes
	sameClass map[event.ObjectID]*sameClass     // by class
	pairsLeft int                               // number of pairs that may still be recorded
	held      map[member]bool                   // scratch memory of heldClasses
	found     []finding.Finding
	known     map[string]bool // by cycleKey: cycles of classes that are already reported
}

// sameClass records how locks of one class are requested while others of the class are held.
type sameClass struct {
	pairs     map[[2]event.ObjectID]bool // held, requested
	both      bool                       // some two locks were acquired in both orders
	instances []*instance
}

// maxSameClass bounds the instances kept of a class within itself.
const maxSameClass = 32

func (a *Analysis) newClasses() *classes {
	opts := a.opts
	opts.Explain, opts.OnEdge, opts.OnInverse, opts.OnAcquired, opts.Class = nil, nil, nil, nil, nil
	search := New(opts)
	search.writerPreferring = a.writerPreferring // a class has the policy of its first lock
	return &classes{
		a: a, search: search, of: map[event.ObjectID]event.ObjectID{}, first: map[Class]event.ObjectID{},
		names: map[event.ObjectID]string{}, sameClass: map[event.ObjectID]*sameClass{}, pairsLeft: opts.MaxEdges, held: map[member]bool{}, known: map[string]bool{},
	}
}

// class returns the class of a lock, as the class's first lock. A lock without a class is its own
// class.
func (c *classes) class(lock event.ObjectID) event.ObjectID {
	if first, ok := c.of[lock]; ok {
		return first
	}
	class := c.a.opts.Class(lock)
	first, ok := c.first[class]
	if class.Name == "" || !ok {
		first = lock
	}
	if class.Name != "" {
		c.first[class], c.names[first] = first, class.Name
	}
	if len(c.of) >= 4*c.a.opts.MaxEdges {
		clear(c.of) // c.of is only a cache
	}
	c.of[lock] = first
	return first
}

func (c *classes) member(m member) member { return locks.MemberOf(c.class(m.Lock()), m.Shared()) }

// addEdge adds an edge of locks to the edges of classes.
func (c *classes) addEdge(p *edge) {
	if p.node.parent.holds(p.requested.Lock()) {
		return // a read lock acquired again: no other lock is involved
	}
	requested := c.member(p.requested)
	above := c.heldClasses(p, requested.Lock())
	if above.parent == nil && p.node.depth > 1 {
		return
	}
	s := c.search
	n := s.child(above, requested, 0)
	if n.edge == nil {
		n.edge = s.edges.find(n)
	}
	if n.edge == nil {
		if len(s.edgesByID) >= s.opts.MaxEdges {
			c.a.stats.DroppedEdges++
			return
		}
		s.nextID++
		s.addEdge(n)
	}
	of := n.edge
	for _, x := range p.instances {
		of.instances = append(of.instances, c.copyInstance(s.room(of), x, p))
	}
}

// heldClasses returns the node of the classes, each once, of the locks that p holds. It records locks of the
// class that is requested, and leaves them out.
func (c *classes) heldClasses(p *edge, requested event.ObjectID) *node {
	held, _ := p.node.parent.path()
	modes := make([]bool, len(held)) // by lock: shared
	for n := p.node.parent; n.parent != nil; n = n.parent {
		modes[n.depth-1] = n.m.Shared()
	}
	clear(c.held)
	above := c.search.root
	for i, lock := range held {
		k := c.member(locks.MemberOf(lock, modes[i]))
		switch {
		case k.Lock() == requested:
			c.addSameClass(requested, lock, p)
		case !c.held[k]:
			c.held[k] = true
			above = c.search.child(above, k, 0)
		}
	}
	return above
}

// copyInstance copies x, an instance of the edge of locks p, into an instance of an edge of
// classes, and returns that.
func (c *classes) copyInstance(to, x *instance, p *edge) *instance {
	*to = *x
	to.original, to.clock = p, c.a.clocks.share(x.clock)
	return to
}

// addSameClass records that a lock was acquired while another of its class was held.
func (c *classes) addSameClass(class, held event.ObjectID, p *edge) {
	n := c.sameClass[class]
	if n == nil {
		n = &sameClass{pairs: map[[2]event.ObjectID]bool{}}
		c.sameClass[class] = n
	}
	w := p.requested.Lock()
	n.both = n.both || n.pairs[[2]event.ObjectID{w, held}]
	if pair := [2]event.ObjectID{held, w}; !n.pairs[pair] && c.pairsLeft > 0 {
		c.pairsLeft--
		n.pairs[pair] = true
	}
	for _, x := range p.instances {
		if len(n.instances) < maxSameClass && !slices.ContainsFunc(n.instances, func(y *instance) bool { return y.thread == x.thread && y.at.stack == x.at.stack }) {
			n.instances = append(n.instances, c.copyInstance(&instance{}, x, p))
		}
	}
}

// classify adds an edge to the edges of classes.
func (a *Analysis) classify(p *edge) {
	if a.opts.Class == nil {
		return
	}
	if a.classes == nil {
		a.classes = a.newClasses()
	}
	a.classes.addEdge(p)
}

// lockEdge returns the edge of locks to which an instance of edge p belongs.
func (x *instance) lockEdge(p *edge) *edge {
	if x.original != nil {
		return x.original
	}
	return p
}

// remember adds the threads and objects that a finding may still name.
func (c *classes) remember(n *event.Names) {
	keep := func(x *instance) {
		n.AddThread(x.thread.id)
		n.AddObject(x.original.requested.Lock())
		for p := x.at.parent; p.parent != nil; p = p.parent {
			n.AddObject(p.m.Lock())
		}
	}
	for _, p := range c.search.edgesByID {
		for _, x := range p.instances {
			keep(x)
		}
	}
	for _, in := range c.sameClass {
		for _, x := range in.instances {
			keep(x)
		}
	}
}

// Classes returns the deadlocks between classes of locks, with Options.Class; it is called after
// Finish. Each cycle of classes is returned once. The findings are potential, because the run
// shows no locks that all of their threads acquired.
func (a *Analysis) Classes() []finding.Finding {
	if a.opts.Class == nil {
		return nil
	}
	for _, p := range a.edgesByID {
		a.classify(p)
	}
	c := a.classes
	if c == nil {
		return nil
	}
	for _, r := range a.final {
		c.known[c.keyOfReport(r)] = true
	}
	s := c.search.newSearch()
	s.onCycle = func(cycle []*edge) {
		if s.tuples = 0; len(c.found) < a.opts.MaxFindings && !c.known[c.keyOfEdges(cycle)] {
			s.choose(0)
		}
	}
	s.onChoice = c.addCycle
	s.run()
	a.stats.BudgetHit = a.stats.BudgetHit || s.steps < 0
	c.addSameClassFindings()
	return c.found
}

// keyOfReport returns the key of the cycle of classes to which a cycle of locks belongs.
func (c *classes) keyOfReport(r *report) string {
	ids := make([]event.ObjectID, 0, len(r.steps))
	for _, s := range r.steps {
		ids = append(ids, c.class(s.Object))
	}
	return cycleKey(ids)
}

// keyOfEdges returns the key of a cycle of edges of classes.
func (c *classes) keyOfEdges(cycle []*edge) string {
	ids := make([]event.ObjectID, 0, len(cycle))
	for _, p := range cycle {
		ids = append(ids, p.requested.Lock())
	}
	return cycleKey(ids)
}

// cycleKey returns the key of a cycle, which does not depend on where the cycle begins.
func cycleKey(ids []event.ObjectID) string {
	best := ""
	for i := range ids {
		var b []byte
		for j := range ids {
			b = binary.BigEndian.AppendUint64(b, uint64(ids[(i+j)%len(ids)]))
		}
		if best == "" || string(b) < best {
			best = string(b)
		}
	}
	return best
}

// addCycle adds a finding for a cycle of classes, unless each of its links is a single lock.
func (c *classes) addCycle(cycle []*edge, choice []*instance) {
	key, same := c.keyOfEdges(cycle), true
	for i, x := range choice {
		same = same && x.original.waitsFor(choice[(i+1)%len(choice)].original)
	}
	if same || c.known[key] {
		return
	}
	c.known[key] = true
	c.add(choice)
}

// addSameClassFindings adds findings for the classes of which two locks were acquired in both
// orders.
func (c *classes) addSameClassFindings() {
	var all []event.ObjectID
	for class, n := range c.sameClass {
		if n.both && !c.known[cycleKey([]event.ObjectID{class, class})] {
			all = append(all, class)
		}
	}
	slices.Sort(all)
	for _, class := range all {
		if x, y := c.sameClass[class].concurrentPair(); x != nil && len(c.found) < c.a.opts.MaxFindings {
			c.add([]*instance{x, y})
		}
	}
}

// concurrentPair returns two concurrent instances of a class within itself, or nil if there are
// none.
func (n *sameClass) concurrentPair() (x, y *instance) {
	for i, x := range n.instances {
		for _, y := range n.instances[i+1:] {
			if concurrent(x.original, x, y.original, y) {
				return x, y
			}
		}
	}
	return nil, nil
}

// add adds the finding, with the earliest acquire first.
func (c *classes) add(choice []*instance) {
	first := 0
	for i, x := range choice {
		if x.last.seq < choice[first].last.seq {
			first = i
		}
	}
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Count: 1}
	var threads []string
	for i := range choice {
		x := choice[(first+i)%len(choice)]
		s := x.step(x.original, x.last)
		f.Evidence = append(f.Evidence, s)
		f.Objects, f.Threads = append(f.Objects, s.Object), append(f.Threads, s.Thread)
		f.HasTimeout = f.HasTimeout || s.Flags&event.Timed != 0
		if name := c.names[c.class(s.Object)]; name != "" && !slices.Contains(f.Classes, name) {
			f.Classes = append(f.Classes, name)
		}
		threads = append(threads, fmt.Sprintf("T%d", s.Thread))
	}
	slices.Sort(f.Classes)
	which := fmt.Sprintf("locks of the classes '%s'", strings.Join(f.Classes, "' and '"))
	if len(f.Classes) == 1 {
		which = fmt.Sprintf("locks of the class '%s'", f.Classes[0])
		if len(f.Objects) > 1 && c.class(f.Objects[0]) != c.class(f.Objects[1]) {
			which += " and another"
		}
	}
	f.Message = fmt.Sprintf("%s are taken in orders that can block threads for ever, by %s: they took other locks than each other, but nothing keeps them from taking the same",
		which, strings.Join(threads, " and "))
	f.Reason = reason.Reason{What: reason.ClassesOnly}
	c.found = append(c.found, f)
}
