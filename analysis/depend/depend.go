// Package depend finds the threads that matter to a finding: those that it names, and those
// without which these would not have reached their events. It implements the dependency graph
// and the extended race window of Havelund (Using Runtime Analysis to Guide Model Checking of
// Java Programs, SPIN 2000, Figure 11), with edges that the figure lacks: a thread that waits
// for a signal depends on the threads that send it.
//
// A thread needs the thread that created it, the threads that write what it reads, and
// those that signal what it waits for; and so on from these. Threads that only acquire the
// same locks are listed separately: they can block it, but it does not need them.
//
// The input is the events of a run, the output dependencies. The package does not know findings,
// names or schedules, and ignores the order of events: a reader of a variable depends on each
// thread that writes it, before or after.
//
// Memory is bounded by MaxUses, for any number of threads and objects; Partial reports that
// some of them were left out.
package depend

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

const defaultMaxUses = 1 << 16

// Options bound the graph. The zero value is useful.
type Options struct {
	// MaxUses bounds the number of threads, plus that of pairs of a thread and an object
	// that it uses. Each takes about 200 bytes. Default 65536.
	MaxUses int
}

// role is a set of the kinds of operation that a thread performs on an object.
type role uint8

const (
	reads role = 1 << iota
	writes
	waits
	signals
	locks
)

// rolesOf has the roles that each operation shows.
var rolesOf = [event.NumOps]role{
	event.Read: reads, event.Write: writes, event.Update: reads | writes,
	event.Acquire: locks, event.AcquireRead: locks, event.AcquireFailed: locks,
	event.Wait: waits, event.Wake: waits, event.Signal: signals, event.Broadcast: signals,
	event.BarrierArrive: signals, event.BarrierDepart: waits,
	event.SemPost: signals, event.SemWait: waits, event.SemFailed: waits,
	event.OnceEnter: waits, event.OnceDone: signals, event.OnceLeave: waits,
	event.Send: signals, event.Receive: waits, event.Receiving: waits, event.ReceiveFailed: waits,
}

// Graph is the dependency graph of a run.
type Graph struct {
	opts    Options
	threads map[event.ThreadID]*thread
	cache   [cachedThreads]*thread // direct-mapped cache of threads, by number modulo its length
	uses    int                    // number of uses of all threads
	partial bool                   // MaxUses was reached
	// users has the uses of each object. It is nil until it is needed, and after a new use.
	users map[event.ObjectID][]*use
}

// The sizes of the caches in front of the maps of threads and of uses.
const (
	cachedThreads = 64
	minCached     = 16      // initial number of cached uses of a thread
	maxCached     = 1 << 12 // largest number of cached uses of a thread
)

// thread has the uses of a thread.
type thread struct {
	id      event.ThreadID
	created step // the fork by its parent; op is None if it was not recorded
	uses    map[event.ObjectID]*use
	cache   []cachedUse // direct-mapped cache of uses, by object; its length is a power of two; nil after the thread's end
}

// cachedUse is a cached use in four bytes, with the object in the bits above the roles. It is
// small since there may be as many uses as threads times objects. Most events add no role, so
// that the cache answers for them.
type cachedUse uint32

const roleBits = 5

// cachedUseOf returns the cached form of a use; 0, which stands for no use, if the object's
// number is too large.
func cachedUseOf(object event.ObjectID, r role) cachedUse {
	if object >= 1<<(32-roleBits) {
		return 0
	}
	return cachedUse(object)<<roleBits | cachedUse(r)
}

// has reports whether k is a use of the object that has all of the roles r.
func (k cachedUse) has(object event.ObjectID, r role) bool {
	return event.ObjectID(k>>roleBits) == object && r&^role(k&(1<<roleBits-1)) == 0
}

// use has the roles of one thread for one object.
type use struct {
	thread event.ThreadID
	object event.ObjectID
	roles  role
	// supply is the event that first showed the role writes or signals, the later one if both;
	// without these roles the first acquire; op is None if there was none.
	supply step
}

// step is the part of a finding.Step that dependencies have. There are many of them.
type step struct {
	seq, time    uint64
	thread, peer event.ThreadID
	object       event.ObjectID
	stack        event.StackID
	flags        event.Flags
	op           event.Op
}

func (s *step) full() finding.Step {
	return finding.Step{Seq: s.seq, Time: s.time, Thread: s.thread, Op: s.op, Flags: s.flags, Object: s.object, Peer: s.peer, Stack: s.stack}
}

// New returns an empty graph.
func New(opts Options) *Graph {
	if opts.MaxUses <= 0 {
		opts.MaxUses = defaultMaxUses
	}
	return &Graph{opts: opts, threads: map[event.ThreadID]*thread{}}
}

// Event adds the next event of the run.
func (g *Graph) Event(e *event.Event) {
	switch {
	case e.Op == event.Fork:
		g.fork(e)
	case e.Op == event.End:
		if t := g.threads[e.Thread]; t != nil {
			t.cache = nil
		}
	case e.Op < event.NumOps && rolesOf[e.Op] != 0 && e.Object != 0:
		if t := g.thread(e.Thread); t != nil {
			g.recordUse(t, e)
		}
	}
}

// fork records which thread created another.
func (g *Graph) fork(e *event.Event) {
	g.thread(e.Thread)
	if c := g.thread(e.Peer); c != nil && c.created.op == event.None {
		c.created = step{seq: e.Seq, time: e.Time, thread: e.Thread, op: e.Op, peer: e.Peer, stack: e.Stack}
	}
}

// recordUse adds the roles that an event of thread t shows to the thread's use of the object.
func (g *Graph) recordUse(t *thread, e *event.Event) {
	if len(t.cache) < maxCached && len(t.cache) <= len(t.uses) {
		t.cache = make([]cachedUse, max(minCached, 2*len(t.cache)))
	}
	slot := &t.cache[int(e.Object)&(len(t.cache)-1)]
	if slot.has(e.Object, rolesOf[e.Op]) {
		return
	}
	u := g.use(t, e.Object)
	if u == nil {
		return
	}
	if fresh := rolesOf[e.Op] &^ u.roles; fresh != 0 {
		u.add(fresh, e)
	}
	*slot = cachedUseOf(e.Object, u.roles)
}

// add adds the new roles fresh, which event e shows.
func (u *use) add(fresh role, e *event.Event) {
	const supplies = writes | signals
	if fresh&supplies != 0 || fresh&locks != 0 && u.supply.op == event.None {
		u.supply = step{seq: e.Seq, time: e.Time, thread: e.Thread, op: e.Op, flags: e.Flags & (event.Atomic | event.Kernel), object: e.Object, stack: e.Stack}
	}
	u.roles |= fresh
}

// thread returns a thread, which it adds if it is new; nil if there is no room.
func (g *Graph) thread(id event.ThreadID) *thread {
	slot := &g.cache[id%cachedThreads]
	if t := *slot; t != nil && t.id == id {
		return t
	}
	t := g.threads[id]
	if t == nil {
		if !g.room() {
			return nil
		}
		t = &thread{id: id}
		g.threads[id] = t
	}
	*slot = t
	return t
}

// room reports whether there is room for one more thread or use.
func (g *Graph) room() bool {
	full := len(g.threads)+g.uses >= g.opts.MaxUses
	g.partial = g.partial || full
	return !full
}

// use returns the use of an object by a thread, which it adds if it is new; nil if there is no
// room.
func (g *Graph) use(t *thread, object event.ObjectID) *use {
	u := t.uses[object]
	if u == nil {
		if !g.room() {
			return nil
		}
		g.uses++
		if t.uses == nil {
			t.uses = map[event.ObjectID]*use{}
		}
		u = &use{thread: t.id, object: object}
		t.uses[object] = u
		g.users = nil
	}
	return u
}

// leastUses is the bound on threads and uses below which Shrink does not go.
const leastUses = 1 << 12

// Shrink halves MaxUses, and drops threads and uses beyond it: the uses of the older objects, then the older threads. It
// reports whether there were any.
func (g *Graph) Shrink() bool {
	if g.opts.MaxUses/2 < leastUses {
		return false
	}
	g.opts.MaxUses /= 2
	if len(g.threads)+g.uses <= g.opts.MaxUses {
		return false
	}
	g.partial = true
	g.dropUses(g.middle())
	ids := slices.Sorted(maps.Keys(g.threads))
	for _, id := range ids[:max(0, len(ids)-g.opts.MaxUses/2)] {
		g.uses -= len(g.threads[id].uses)
		delete(g.threads, id)
	}
	g.threads = maps.Collect(maps.All(g.threads))
	g.users, g.cache = nil, [cachedThreads]*thread{}
	return true
}

// middle returns the object before which half of all uses are.
func (g *Graph) middle() event.ObjectID {
	var objects []event.ObjectID
	for _, t := range g.threads {
		objects = slices.AppendSeq(objects, maps.Keys(t.uses))
	}
	if len(objects) == 0 {
		return 0
	}
	slices.Sort(objects)
	return objects[len(objects)/2]
}

// dropUses drops the uses of all objects before one.
func (g *Graph) dropUses(before event.ObjectID) {
	g.uses = 0
	for _, t := range g.threads {
		uses := make(map[event.ObjectID]*use, len(t.uses)/2)
		for id, u := range t.uses {
			if id >= before {
				uses[id] = u
			}
		}
		t.uses = uses
		clear(t.cache)
		g.uses += len(uses)
	}
}

// Partial reports whether there was no room for all threads and uses, so that further threads
// may matter.
func (g *Graph) Partial() bool { return g.partial }

// Remember adds the threads and objects that a dependency may name.
func (g *Graph) Remember(n *event.Names) {
	for _, t := range g.threads {
		n.AddThread(t.id)
		for object := range t.uses {
			n.AddObject(object)
		}
	}
}

// Extend returns the threads outside a window that matter to those inside, each with one
// reason. A thread comes before those that matter only through it.
func (g *Graph) Extend(window []event.ThreadID) []finding.Dependency {
	x := extension{g: g, reached: map[event.ThreadID]bool{}, objects: map[supplyKey]bool{}, found: []finding.Dependency{}}
	for _, id := range slices.Sorted(slices.Values(window)) {
		x.reached[id] = true
		x.queue = append(x.queue, id)
	}
	inside := slices.Clone(x.queue)
	for len(x.queue) > 0 {
		id := x.queue[0]
		x.queue = x.queue[1:]
		if t := g.threads[id]; t != nil {
			x.addNeeded(t)
		}
	}
	for _, id := range inside {
		if t := g.threads[id]; t != nil {
			x.addContending(t)
		}
	}
	return x.found
}

// extension computes the fixed point of Figure 11.
type extension struct {
	g       *Graph
	reached map[event.ThreadID]bool // threads of the window, and those found
	queue   []event.ThreadID        // threads for which addNeeded has not been called
	objects map[supplyKey]bool      // objects whose suppliers have been added
	found   []finding.Dependency
}

// supplyKey is an object and the role of the threads that supply it: writes or signals.
type supplyKey struct {
	object event.ObjectID
	role   role
}

// addNeeded adds the threads without which t would not have reached its events.
func (x *extension) addNeeded(t *thread) {
	if t.created.op != event.None {
		x.add(finding.Creates, &t.created, t.id)
	}
	for _, u := range t.sorted() {
		if u.roles&reads != 0 {
			x.addSuppliers(finding.Writes, u, writes)
		}
		if u.roles&waits != 0 {
			x.addSuppliers(finding.Signals, u, signals)
		}
	}
}

// addSuppliers adds the threads with the role by for the object of u, on which the thread of u
// depends.
func (x *extension) addSuppliers(how finding.Influence, u *use, by role) {
	key := supplyKey{u.object, by}
	if x.objects[key] {
		return
	}
	x.objects[key] = true
	for _, v := range x.g.usersOf(u.object) {
		if v.roles&by != 0 {
			x.add(how, &v.supply, u.thread)
		}
	}
}

// addContending adds the threads that acquire a lock that t acquires too.
func (x *extension) addContending(t *thread) {
	for _, u := range t.sorted() {
		if u.roles&locks == 0 {
			continue
		}
		for _, v := range x.g.usersOf(u.object) {
			if v.roles&locks != 0 && !x.reached[v.thread] {
				x.reached[v.thread] = true
				x.found = append(x.found, finding.Dependency{How: finding.Contends, Thread: v.thread, On: t.id, Step: v.supply.full()})
			}
		}
	}
}

// add adds the thread of the step by, on which the thread on depends.
func (x *extension) add(how finding.Influence, by *step, on event.ThreadID) {
	if x.reached[by.thread] {
		return
	}
	x.reached[by.thread] = true
	x.queue = append(x.queue, by.thread)
	x.found = append(x.found, finding.Dependency{How: how, Thread: by.thread, On: on, Step: by.full()})
}

// sorted returns the uses of a thread in the order of objects.
func (t *thread) sorted() []*use {
	out := make([]*use, 0, len(t.uses))
	for _, u := range t.uses {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b *use) int { return cmp.Compare(a.object, b.object) })
	return out
}

// usersOf returns the uses of an object, in the order of threads.
func (g *Graph) usersOf(object event.ObjectID) []*use {
	if g.users == nil {
		g.users = map[event.ObjectID][]*use{}
		for _, t := range g.threads {
			for _, u := range t.uses {
				g.users[u.object] = append(g.users[u.object], u)
			}
		}
		for _, us := range g.users {
			slices.SortFunc(us, func(a, b *use) int { return cmp.Compare(a.thread, b.thread) })
		}
	}
	return g.users[object]
}
