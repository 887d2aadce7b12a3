// Package depend says which threads matter to a finding: those that it names, and
// those without which they would not be where they are. It is the dependency graph
// and the extended race window of Havelund (Using Runtime Analysis to Guide Model
// Checking of Java Programs, SPIN 2000, Figure 11), with the edges that the figure
// lacks: a thread that waits for a signal depends on who gives it.
//
// A thread needs who created it, who writes what it reads, and who signals what it
// waits for; and these in turn what they need. Threads that only take the same locks
// are told apart: they can be in the way, but nothing needs them.
//
// In go the events of a run, out come dependencies. It knows no findings, names or
// schedules, and no times: whoever ever wrote a variable may be whom a reader reads.
//
// Memory is bounded by MaxUses, whatever threads and objects there are; what did not
// fit is said.
package depend

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

const defaultMaxUses = 1 << 16

// Options bounds the graph. The zero value is useful.
type Options struct {
	// MaxUses is how many threads, and pairs of a thread and an object that it uses, are
	// kept, of about 200 bytes each. Default 65536.
	MaxUses int
	// Plain leaves out signals and locks, as Figure 11 does: for tests.
	Plain bool
}

// role is what a thread does with an object, as a set.
type role uint8

const (
	reads role = 1 << iota
	writes
	waits
	signals
	takes // a lock
)

// roles of the operations.
var roles = [event.NumOps]role{
	event.Read: reads, event.Write: writes, event.Update: reads | writes,
	event.Acquire: takes, event.AcquireRead: takes, event.AcquireFailed: takes,
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
	lately  [lately]*thread
	uses    int
	partial bool
	// users are the uses by object; made when first needed.
	users map[event.ObjectID][]*use
}

const (
	lately     = 64      // threads that are found without a map
	nearby     = 16      // objects of a thread that are, at first
	mostNearby = 1 << 12 // and at most
)

type thread struct {
	id     event.ThreadID
	born   finding.Step // by its parent; Op is None if that was not seen
	uses   map[event.ObjectID]*use
	lately []known // by object, modulo a power of two; until it ends
}

// known is what is known of a use, the object above its roles, in as few bytes as it can
// be: most events tell nothing new, and there may be as many as threads times objects.
type known uint32

const roleBits = 5

// knownOf is 0, which tells nothing, of an object whose number is too large.
func knownOf(object event.ObjectID, r role) known {
	if object >= 1<<(32-roleBits) {
		return 0
	}
	return known(object)<<roleBits | known(r)
}

// tells reports whether it is known already that an object is used so.
func (k known) tells(object event.ObjectID, r role) bool {
	return event.ObjectID(k>>roleBits) == object && r&^role(k&(1<<roleBits-1)) == 0
}

// use is what a thread does with an object.
type use struct {
	thread event.ThreadID
	object event.ObjectID
	roles  role
	supply finding.Step // the first write, signal or acquire; Op is None if there was none
}

// New makes a graph.
func New(opts Options) *Graph {
	if opts.MaxUses <= 0 {
		opts.MaxUses = defaultMaxUses
	}
	return &Graph{opts: opts, threads: map[event.ThreadID]*thread{}}
}

// Event takes the next event of the run.
func (g *Graph) Event(e *event.Event) {
	switch {
	case e.Op == event.Fork:
		g.fork(e)
	case e.Op == event.End:
		if t := g.threads[e.Thread]; t != nil {
			t.lately = nil
		}
	case e.Op < event.NumOps && roles[e.Op] != 0 && e.Object != 0:
		if t := g.thread(e.Thread); t != nil {
			g.used(t, e)
		}
	}
}

func (g *Graph) fork(e *event.Event) {
	g.thread(e.Thread)
	if c := g.thread(e.Peer); c != nil && c.born.Op == event.None {
		c.born = finding.Step{Seq: e.Seq, Time: e.Time, Thread: e.Thread, Op: e.Op, Peer: e.Peer, Place: e.Stack}
	}
}

func (g *Graph) used(t *thread, e *event.Event) {
	if len(t.lately) < mostNearby && len(t.lately) <= len(t.uses) {
		t.lately = make([]known, max(nearby, 2*len(t.lately)))
	}
	near := &t.lately[int(e.Object)&(len(t.lately)-1)]
	if near.tells(e.Object, roles[e.Op]) {
		return
	}
	u := g.use(t, e.Object)
	if u == nil {
		return
	}
	if fresh := roles[e.Op] &^ u.roles; fresh != 0 {
		u.take(fresh, e)
	}
	*near = knownOf(e.Object, u.roles)
}

// take adds roles that the thread did not have.
func (u *use) take(fresh role, e *event.Event) {
	const supplies = writes | signals
	if fresh&supplies != 0 || fresh&takes != 0 && u.supply.Op == event.None {
		u.supply = finding.Step{Seq: e.Seq, Time: e.Time, Thread: e.Thread, Op: e.Op, Flags: e.Flags & (event.Atomic | event.Kernel), Object: e.Object, Place: e.Stack}
	}
	u.roles |= fresh
}

func (g *Graph) thread(id event.ThreadID) *thread {
	near := &g.lately[id%lately]
	if t := *near; t != nil && t.id == id {
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
	*near = t
	return t
}

// room reports whether there is room for one more thread or use.
func (g *Graph) room() bool {
	full := len(g.threads)+g.uses >= g.opts.MaxUses
	g.partial = g.partial || full
	return !full
}

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

// Partial says that there was no room for all threads and objects: further threads may
// matter.
func (g *Graph) Partial() bool { return g.partial }

// Threads is how many threads the graph knows.
func (g *Graph) Threads() int { return len(g.threads) }

// Remember adds the threads and objects that a dependency may name.
func (g *Graph) Remember(n *event.Names) {
	for _, t := range g.threads {
		n.Thread(t.id)
		for object := range t.uses {
			n.Object(object)
		}
	}
}

// Extend gives the threads outside a window that matter to those inside, nearest
// first, each with one reason.
func (g *Graph) Extend(window []event.ThreadID) []finding.Dependency {
	x := extension{g: g, passed: map[event.ThreadID]bool{}, objects: map[want]bool{}, found: []finding.Dependency{}}
	for _, id := range slices.Sorted(slices.Values(window)) {
		x.passed[id] = true
		x.waiting = append(x.waiting, id)
	}
	inside := slices.Clone(x.waiting)
	for len(x.waiting) > 0 {
		id := x.waiting[0]
		x.waiting = x.waiting[1:]
		if t := g.threads[id]; t != nil {
			x.needs(t)
		}
	}
	if !g.opts.Plain {
		for _, id := range inside {
			if t := g.threads[id]; t != nil {
				x.contends(t)
			}
		}
	}
	return x.found
}

// extension is the fixed point of Figure 11 in the making.
type extension struct {
	g       *Graph
	passed  map[event.ThreadID]bool
	waiting []event.ThreadID
	objects map[want]bool // those whose suppliers are in
	found   []finding.Dependency
}

type want struct {
	object event.ObjectID
	roles  role // that supply it
}

// needs adds what a thread would not be where it is without.
func (x *extension) needs(t *thread) {
	if t.born.Op != event.None {
		x.add(finding.Creates, t.born, t.id)
	}
	for _, u := range t.sorted() {
		if u.roles&reads != 0 {
			x.supplied(finding.Writes, u, writes)
		}
		if u.roles&waits != 0 && !x.g.opts.Plain {
			x.supplied(finding.Signals, u, signals)
		}
	}
}

func (x *extension) supplied(how finding.Influence, u *use, by role) {
	if k := (want{u.object, by}); x.objects[k] {
		return
	} else {
		x.objects[k] = true
	}
	for _, v := range x.g.usersOf(u.object) {
		if v.roles&by != 0 {
			x.add(how, v.supply, u.thread)
		}
	}
}

// contends adds who takes the locks that a thread takes.
func (x *extension) contends(t *thread) {
	for _, u := range t.sorted() {
		if u.roles&takes == 0 {
			continue
		}
		for _, v := range x.g.usersOf(u.object) {
			if v.roles&takes != 0 && !x.passed[v.thread] {
				x.passed[v.thread] = true
				x.found = append(x.found, finding.Dependency{How: finding.Contends, Thread: v.thread, On: t.id, Step: v.supply})
			}
		}
	}
}

func (x *extension) add(how finding.Influence, by finding.Step, on event.ThreadID) {
	if x.passed[by.Thread] {
		return
	}
	x.passed[by.Thread] = true
	x.waiting = append(x.waiting, by.Thread)
	x.found = append(x.found, finding.Dependency{How: how, Thread: by.Thread, On: on, Step: by})
}

func (t *thread) sorted() []*use {
	out := make([]*use, 0, len(t.uses))
	for _, u := range t.uses {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b *use) int { return cmp.Compare(a.object, b.object) })
	return out
}

// usersOf gives the uses of an object, by thread.
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
