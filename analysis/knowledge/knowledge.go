// Package knowledge evaluates formulas of MtTL, on what the threads of a run know of one another,
// with the KnowledgeVector algorithm of Sen, Vardhan, Agha, Roşu, "Decentralized Runtime Analysis
// of Multithreaded Applications" (DAME), Section 2.3.
//
// The input is each event of a run, in trace order, well formed as package event requires, with
// what it means for the formula (State); the output is findings. A Monitor evaluates one formula.
// It knows neither specifications nor names.
//
// # What a thread knows
//
// A thread's knowledge after an event is the state that all events lead to which come before that
// one in the causal order of the run: accesses of variables in which one of two writes, locks that
// both ends write, the begin and join of threads, and the other edges of order.Must and
// order.Observed, as package observer/causality draws them (the tests compare the two). All orders
// of the run that keep the causal order have the same verdicts.
//
// # States
//
// A thread has a state after each event that the formula mentions (State.Mentioned), and after each
// that lets it know something new that the formula speaks of. Before these it has the initial
// state, with the initial values of variables and locals, which all threads know. In a formula with
// bound threads, and for a thread whose creation was seen, the past that operators look at begins
// with the first state in which all of them live.
//
// # Bound threads
//
// A quantifier is over the threads of its type that have begun, in the order of the run, and whose
// end the thread at which the formula is evaluated did not know before. At most maxLingering
// threads that have ended are kept since some thread does not know it; the oldest are left out
// first.
// A thread that a name makes one of the type begins, for the formula, with the event that gives it the name.
// What @ says of two bound threads at once is known from the first state of its thread in which
// both have begun; until then it is what it was initially.
//
// # Vectors
//
// Each thread has a vector, and each object two (access, write), with an entry for each shared
// variable of the formula, and for each remote expression of the formula with each assignment of
// living threads. Threads and objects that know the same share one vector, so that an object costs
// little. An entry's sequence number rises only when the value changes: this is the paper's number
// of events, without those that change nothing. The chain of hops by which an entry came is kept
// beside it.
//
// # Cost
//
// An event of synchronisation costs O(entries) if the thread and the object know different things,
// else O(1). A state costs the size of the formula, for each assignment of living threads in which
// the thread is the one where it is evaluated. Steady state allocates only where knowledge changes:
// a hop. Memory is O((live threads + live objects) × entries) at worst.
package knowledge

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// maxLingering bounds the threads that have ended and are still in formulas.
const maxLingering = 64

// maxGone bounds the ended threads that are known not to be joined.
const maxGone = 1024

// maxEntries bounds the entries of a vector. Threads that begin when there are as many are bound by no quantifier.
const maxEntries = 1 << 14

// Options configure a Monitor.
type Options struct {
	Formula *Formula
	Codes   []Code   // by Body.ID
	Locals  []uint64 // their initial values
	// Is reports whether a thread is the declared one of a number, and Of whether it is of a type.
	// Either is called before the thread's first event is evaluated, and before each Named of it: a name may make the
	// thread one, and none makes it one no more. Nil: no thread is.
	Is, Of func(id event.ThreadID, number int) bool
	// Verdict, if not nil, is called for each state of a thread and each formula of it, with the
	// index in Formula.Tops.
	Verdict func(top int, thread event.ThreadID, holds bool)
	// Found, if not nil, is called for each finding as soon as it is made.
	Found func(*finding.Finding)
	// Outside means that the formula is evaluated elsewhere: each Violated of the run is a verdict.
	Outside bool
}

// State is what an event means for the formula.
type State struct {
	Variable  int      // index of the variable that it accesses; -1: none
	Locals    []uint64 // of its thread, after it; read at once
	Happened  []int    // the declared events that it is
	Mentioned bool     // the formula mentions it: its thread has a new state
}

// Monitor evaluates one formula on a run. Make it with New. It is not safe for concurrent use.
type Monitor struct {
	o       Options
	threads map[event.ThreadID]*thread
	objects map[event.ObjectID]*object
	matcher *order.Matcher
	sets    []pool // by order.Ref
	vectors vectors

	declared  []*thread              // by number
	members   [][]*thread            // by type: the living threads
	lingering []*thread              // ended members that are still in formulas, oldest first
	gone      map[event.ThreadID]set // the types of ended members that nobody has joined, at most maxGone
	remotes   map[remoteKey]*remote
	overTypes [][]*ground // by type: the grounds that quantify over it
	free      []set       // by Body.ID
	bodies    []*Body     // of remote expressions that name at most one bound thread
	newest    []uint64    // by entry: the sequence number given last
	spare     []int       // entries that are not in use
	serial    uint32      // of the thread made last

	initial      []uint64 // by variable: its value before the first write
	initialKnown []bool
	learned      bool     // the present event let its thread know something
	now          uint64   // number of the present state
	initially    bool     // evaluating the initial state
	locals       []uint64 // of the thread of the present state
	happened     []int
	present      moment
	stack        []uint64 // inputs of the bodies being evaluated

	lost, valueless bool
	forgot          bool // Shrink has forgotten objects
	states, faults  uint64
	leftOut         uint64
	unbound         uint64
	unmet           uint64
	found           found
	causes          map[event.ThreadID]finding.Step // with Outside: the last event of each living thread
}

// thread is a thread of the run, or a declared one that has not begun.
type thread struct {
	id       event.ThreadID // 0: it has not begun
	serial   uint32
	vector   *vector
	version  uint64 // rises with each change of vector
	last     moment // its last event
	forked   bool   // its creation was seen
	enrolled bool
	detached bool
	ended    bool
	dropped  bool // it is in no formula any more

	types    set
	tops     []*ground // evaluated in its states
	remotes  []*remote // evaluated in its states
	involved []*remote // that name it
	grounds  []*ground // of formulas and quantifiers that name it
	active   int       // number of those in grounds that are not retired
	life     int       // entry that says whether it has ended; -1: none
	lifeFrom uint64    // the entry's number before
}

// New returns a monitor of a run that has not begun.
func New(o Options) *Monitor {
	f := o.Formula
	m := &Monitor{
		o: o, threads: map[event.ThreadID]*thread{}, objects: map[event.ObjectID]*object{}, matcher: order.New(order.Must | order.Observed),
		remotes: map[remoteKey]*remote{}, members: make([][]*thread, f.Types), overTypes: make([][]*ground, f.Types),
		initial: make([]uint64, len(f.Variables)), initialKnown: make([]bool, len(f.Variables)),
		newest: make([]uint64, len(f.Variables)), free: make([]set, f.Bodies), found: newFound(), causes: map[event.ThreadID]finding.Step{}, gone: map[event.ThreadID]set{},
	}
	for range f.Declared {
		m.declared = append(m.declared, m.newThread())
	}
	for i := range f.Tops {
		if len(f.Tops[i].Bound) == 0 {
			m.addTop(i, m.environment(nil))
		}
	}
	for i := range f.Tops {
		m.collectBodies(f.Tops[i].Body)
	}
	m.addRemotes(nil)
	m.restart()
	return m
}

// Recode replaces the codes of the formula, as when the types of the program become known.
func (m *Monitor) Recode(codes []Code) {
	m.o.Codes = codes
	m.restart()
}

// Initial records the value of a variable before the first event that accesses it.
func (m *Monitor) Initial(variable int, value uint64) {
	m.initial[variable], m.initialKnown[variable] = value, true
	m.restart()
}

// Event handles the next event of the run.
func (m *Monitor) Event(e *event.Event, s State) {
	if m.o.Outside {
		m.outside(e)
		return
	}
	t := m.thread(e.Thread)
	o := m.object(e)
	m.learned, m.present = false, momentOf(e)
	first := m.enrol(t)
	if e.Op == event.Named {
		first = m.named(t) || first
	}
	x := m.receive(t, o, e)
	if s.Variable >= 0 {
		m.access(t, e, s.Variable)
	}
	if s.Mentioned || m.learned || first {
		m.locals, m.happened = s.Locals, s.Happened
		m.state(t)
	}
	if e.Op == event.Hole {
		m.lost = true
	}
	m.leave(t, o, e, x)
}

// Lost records that events of the run were lost.
func (m *Monitor) Lost() { m.lost = true }

// access records what an access of a variable of the formula writes.
func (m *Monitor) access(t *thread, e *event.Event, variable int) {
	known := e.Flags&event.HasValue != 0
	switch {
	case e.Op == event.Init && e.Flags&event.Inferred != 0 && known:
		m.Initial(variable, e.Value)
	case e.Op.IsWrite() || e.Op == event.Init:
		m.valueless = m.valueless || !known
		m.vectors.put(&t.vector, variable, entry{t.vector.at(variable).seq + 1, e.Value, newHop(moment{}, m.present, nil)})
		t.version++
	}
}

// state evaluates all that the formula says of the present state of a thread.
func (m *Monitor) state(t *thread) {
	m.now++
	m.states++
	for _, r := range t.remotes {
		if !r.dead {
			m.current(t, r)
		}
	}
	for _, g := range t.tops {
		if !g.dead {
			m.verdict(t, g)
		}
	}
}

// verdict evaluates a formula in the present state of its thread.
func (m *Monitor) verdict(t *thread, g *ground) {
	holds := m.eval(g, false) != 0
	if m.o.Verdict != nil {
		m.o.Verdict(g.top, t.id, holds)
	}
	if !holds && !g.violated {
		m.violation(t, g)
	}
	g.violated = !holds
	if m.knowsAnEnd(t, g) {
		m.retire(g)
	}
}

// current evaluates a remote expression in the present state of its thread, once for each state. A
// value that has changed becomes an entry of the thread's vector.
func (m *Monitor) current(t *thread, r *remote) uint64 {
	if r.state == m.now {
		return r.value
	}
	r.state = m.now
	v := m.eval(r.ground, false)
	if v != r.value {
		r.value = v
		m.newest[r.entry]++
		r.last = entry{m.newest[r.entry], v, newHop(moment{}, m.present, m.newestHop(t, r.ground))}
		m.vectors.put(&t.vector, r.entry, r.last)
		t.version++
	}
	return v
}

// known returns the entry of a remote expression in what a thread knows; ok is false if that is the
// initial state.
func (m *Monitor) known(t *thread, r *remote) (e entry, ok bool) {
	e = t.vector.at(r.entry)
	return e, e.seq > r.from
}

// eval evaluates a body in the present state of its thread. In a fresh one no state came before.
func (m *Monitor) eval(g *ground, fresh bool) uint64 {
	fresh = fresh || g.fresh || m.initially
	if !m.initially {
		g.fresh, g.evaluated = false, true
	}
	base := len(m.stack)
	for range g.body.Inputs {
		m.stack = append(m.stack, 0)
	}
	for k := range g.body.Inputs {
		v := m.input(g, k, fresh)
		m.stack[base+k] = v
	}
	v, ok := m.o.Codes[g.body.ID].Eval(m.stack[base:])
	m.stack = m.stack[:base]
	if !ok {
		m.faults++
		return 0
	}
	return v
}

// input returns the value of the k-th input of a body.
func (m *Monitor) input(g *ground, k int, fresh bool) uint64 {
	in, t := &g.body.Inputs[k], g.subject
	switch in.Kind {
	case Variable:
		if e := t.vector.at(in.Index); e.seq > 0 && !m.initially {
			return e.value
		}
		return m.initial[in.Index]
	case Local:
		if m.initially {
			return m.o.Locals[in.Index]
		}
		return m.locals[in.Index]
	case Thread:
		return uint64(t.id)
	case Happened:
		return truth(!m.initially && slices.Contains(m.happened, in.Index))
	case Remote:
		return m.remoteValue(g, k)
	case ForAll, Exists:
		return m.quantified(g, k, fresh)
	}
	return m.past(g, k, fresh)
}

func (m *Monitor) remoteValue(g *ground, k int) uint64 {
	r := m.link(g, k)
	if m.initially {
		return m.initialOf(r)
	}
	if r.ground.subject == g.subject {
		return m.current(g.subject, r)
	}
	if e, ok := m.known(g.subject, r); ok {
		return e.value
	}
	return r.initial
}

// quantified evaluates a formula for all living threads of a type.
func (m *Monitor) quantified(g *ground, k int, fresh bool) uint64 {
	all, some := true, false
	for _, x := range g.parts[k] {
		if x.dead {
			continue
		}
		holds := m.eval(x, fresh) != 0
		all, some = all && holds, some || holds
		if !m.initially && m.knowsEnd(g.subject, x.member) {
			m.retire(x)
		}
	}
	if g.body.Inputs[k].Kind == ForAll {
		return truth(all)
	}
	return truth(some)
}

// past evaluates an operator that looks at earlier states, of which it remembers one bit.
func (m *Monitor) past(g *ground, k int, fresh bool) uint64 {
	parts, before := g.parts[k], g.bits[k]
	x, y := m.eval(parts[0], fresh) != 0, false
	if len(parts) > 1 {
		y = m.eval(parts[1], fresh) != 0
	}
	now, keep := g.body.Inputs[k].Kind.Past(x, y, before, fresh)
	g.bits[k] = keep
	return truth(now)
}

func truth(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// Faults returns how often an expression had no value, as at a division by zero.
func (m *Monitor) Faults() uint64 { return m.faults }

// States returns the number of states in which the formula was evaluated.
func (m *Monitor) States() uint64 { return m.states }

// LeftOut returns the number of ended threads that were left out since too many lingered.
func (m *Monitor) LeftOut() uint64 { return m.leftOut }

// Unmet returns the number of threads that were bound together with no thread that had ended before they began, although
// nobody had joined one of these.
func (m *Monitor) Unmet() uint64 { return m.unmet }

// Unbound returns the number of threads that no quantifier bound, since there were too many at a time.
func (m *Monitor) Unbound() uint64 { return m.unbound }

// Begun reports whether the declared thread of a number has begun.
func (m *Monitor) Begun(number int) bool { return m.declared[number].id != 0 }
