package spec

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// Names resolves the identifiers of a run.
type Names struct {
	Func func(event.FuncID) event.Func
	// Object returns an object's name as in the source.
	Object func(event.ObjectID) string
	// Thread returns a thread's start routine, its name, and whether it is the process's
	// first.
	Thread func(event.ThreadID) (start, name string, first bool)
	// Variable returns which of Spec.Vars an object is, -1 for none. With nil the object's
	// name decides.
	Variable func(event.ObjectID) int
	// Form returns the form of a variable's values in the program, by its index in
	// Spec.Vars. With nil, or a nil form, it is as declared, in 64 bits.
	Form func(int) *event.Form
}

// Matcher matches the events of a run with the declared events. It must see all events of
// the run, in order. Its memory is bounded by the number of live threads that have locals,
// of functions and of live objects.
type Matcher struct {
	s        *Spec
	names    Names
	by       [event.NumOps][]int // events of Spec.Events by what they may match
	funcs    map[event.FuncID][]call
	objects  map[event.ObjectID]object
	locals   map[event.ThreadID][]uint64
	last     event.ThreadID         // threads are counted up to this one
	counts   []uint64               // by Spec.Threads: of NthOf, how many there were
	nth      map[int]event.ThreadID // by Spec.Threads: the one
	matched  []int                  // of the present event
	inputs   []uint64               // of a condition
	reads    []reading              // by Spec.Vars
	hadEvent []bool                 // by Spec.Syncs
	unknown  uint64
}

// call is a declared event that the calls or returns of a function may match.
type call struct {
	event  int
	args   []int // for each bound name its index in Event.Args; -1: not recorded
	result int   // which of the bound names is the result; -1
}

// object holds the indices of an object in Spec.Vars and Spec.Syncs, -1 for none.
type object struct{ variable, sync int }

// NewMatcher returns a matcher for a run that has not begun.
func (s *Spec) NewMatcher(names Names) *Matcher {
	m := &Matcher{s: s, names: names, funcs: map[event.FuncID][]call{}, objects: map[event.ObjectID]object{},
		locals: map[event.ThreadID][]uint64{}, counts: make([]uint64, len(s.Threads)), nth: map[int]event.ThreadID{}, reads: make([]reading, len(s.Vars)), hadEvent: make([]bool, len(s.Syncs))}
	for i := range s.Events {
		if s.Events[i].Used {
			for _, op := range matches[s.Events[i].Op] {
				m.by[op] = append(m.by[op], i)
			}
		}
	}
	return m
}

// matches lists the operations that patterns match.
var matches = map[syntax.Op][]event.Op{
	syntax.OpCall: {event.Call}, syntax.OpReturn: {event.Return},
	syntax.OpAcquire: {event.Acquire, event.AcquireRead}, syntax.OpRelease: {event.Release},
	syntax.OpWait: {event.Wait}, syntax.OpSignal: {event.Signal}, syntax.OpBroadcast: {event.Broadcast},
	syntax.OpPost: {event.SemPost}, syntax.OpArrive: {event.BarrierArrive},
	syntax.OpRead: {event.Read, event.Update}, syntax.OpWrite: {event.Write, event.Update},
	syntax.OpStart: {event.Begin}, syntax.OpEnd: {event.End}, syntax.OpFork: {event.Fork}, syntax.OpJoin: {event.Join},
}

// Events returns which declared events an event of the run is: bit i, s.Events[i], of those
// that properties mention. It allocates nothing for functions, objects and threads that
// it has seen.
func (m *Matcher) Events(e *event.Event) uint64 {
	m.count(max(e.Thread, e.Peer))
	var mask uint64
	if len(m.by[e.Op]) > 0 {
		m.matched = m.matched[:0]
		if e.Op.IsCall() {
			m.calls(e)
		} else {
			m.operations(e)
		}
		for _, i := range m.matched {
			if i < MaxEvents {
				mask |= 1 << i
			}
		}
		m.assign(e)
	}
	switch e.Op {
	case event.End:
		delete(m.locals, e.Thread)
	case event.Destroy:
		delete(m.objects, e.Object)
	}
	return mask
}

// Unknown returns the number of events whose condition could not be computed, since a
// parameter, a result or a value was not recorded. They were treated as not matching.
func (m *Matcher) Unknown() uint64 { return m.unknown }

// WithoutEvents returns the locks, conditions, semaphores and barriers that declared events mention
// and of which the run had no event.
func (m *Matcher) WithoutEvents() []Sync {
	var out []Sync
	for i, l := range m.s.Syncs {
		if l.Used && l.Class == "" && !m.hadEvent[i] {
			out = append(out, l)
		}
	}
	return out
}

// Variable returns which of Spec.Vars an object is; -1 for none.
func (m *Matcher) Variable(id event.ObjectID) int { return m.object(id).variable }

func (m *Matcher) object(id event.ObjectID) object {
	if o, ok := m.objects[id]; ok {
		return o
	}
	o := object{-1, -1}
	if id != 0 {
		name := m.names.Object(id)
		o.sync = slices.IndexFunc(m.s.Syncs, func(s Sync) bool { return s.Class == "" && SameName(s.Path, name) })
		if o.sync >= 0 {
			m.hadEvent[o.sync] = true
		}
		if m.names.Variable != nil {
			o.variable = m.names.Variable(id)
		} else {
			o.variable = m.s.Name(name)
		}
	}
	m.objects[id] = o
	return o
}

func (m *Matcher) calls(e *event.Event) {
	cs, ok := m.funcs[e.Func]
	if !ok {
		cs = m.callsOf(e.Func)
		m.funcs[e.Func] = cs
	}
	for i := range cs {
		d := &m.s.Events[cs[i].event]
		if (d.Op == syntax.OpReturn) == (e.Op == event.Return) && m.holds(d, e, &cs[i]) {
			m.matched = append(m.matched, cs[i].event)
		}
	}
}

// callsOf returns the declared events that match a function, with the indices of their
// bound names among its recorded arguments.
func (m *Matcher) callsOf(id event.FuncID) []call {
	f := m.names.Func(id)
	var out []call
	for i := range m.s.Events {
		d := &m.s.Events[i]
		asked := slices.ContainsFunc(f.Patterns, func(on event.Pattern) bool {
			return on.Pattern == d.On && on.Return == (d.Op == syntax.OpReturn)
		})
		if !asked || !d.Used {
			continue
		}
		c := call{event: i, result: d.Result}
		for _, index := range d.params {
			c.args = append(c.args, slices.IndexFunc(f.Params, func(p event.Param) bool { return p.Index == index }))
		}
		out = append(out, c)
	}
	return out
}

// operations finds the declared events that are not of functions.
func (m *Matcher) operations(e *event.Event) {
	for _, i := range m.by[e.Op] {
		d := &m.s.Events[i]
		if m.concerns(d, e) && m.holds(d, e, nil) {
			m.matched = append(m.matched, i)
		}
	}
}

// concerns reports whether an event is on the object that a declared event mentions.
func (m *Matcher) concerns(d *Event, e *event.Event) bool {
	switch d.Op {
	case syntax.OpRead, syntax.OpWrite:
		return m.object(e.Object).variable == d.Var
	case syntax.OpStart, syntax.OpEnd:
		return m.is(e.Thread, d.Thread)
	case syntax.OpFork, syntax.OpJoin:
		return m.is(e.Peer, d.Thread)
	}
	return d.Sync < 0 || m.object(e.Object).sync == d.Sync
}

// holds reports whether the thread and the condition of a declared event match.
func (m *Matcher) holds(d *Event, e *event.Event, c *call) bool {
	if d.By >= 0 && !m.is(e.Thread, d.By) {
		return false
	}
	if d.When == nil {
		return true
	}
	known := m.bind(d, e, c)
	if !known {
		m.unknown++
	}
	return known && d.When.Holds(m.inputs)
}

// bind fills in what conditions read: bound values, tid, locals.
func (m *Matcher) bind(d *Event, e *event.Event, c *call) (known bool) {
	m.inputs = m.inputs[:0]
	if c != nil {
		for _, at := range c.args {
			if at < 0 || at >= len(e.Args) {
				return false
			}
			m.inputs = append(m.inputs, e.Args[at])
		}
	}
	if d.Result >= 0 {
		if e.Flags&event.HasValue == 0 {
			return false
		}
		m.inputs = append(m.inputs, e.Value)
		m.read(d)
	}
	m.inputs = append(m.inputs, uint64(e.Thread))
	m.inputs = append(m.inputs, m.localsOf(e.Thread)...)
	return true
}

// read converts the value of a write, the last input, to one that conditions compute with.
func (m *Matcher) read(d *Event) {
	if d.Var < 0 || m.names.Form == nil {
		return
	}
	r := &m.reads[d.Var]
	at := len(m.inputs) - 1
	if f := m.names.Form(d.Var); r.load == nil || r.form != f || r.at != at {
		*r = reading{f, at, valueOf(m.s.Vars[d.Var].Type, f).load(at)}
	}
	m.inputs[at], _ = r.load(m.inputs)
}

// reading describes how a written value is converted, once that is known.
type reading struct {
	form *event.Form
	at   int
	load eval
}

func (m *Matcher) localsOf(id event.ThreadID) []uint64 {
	if len(m.s.Locals) == 0 {
		return nil
	}
	l, ok := m.locals[id]
	if !ok {
		for i := range m.s.Locals {
			l = append(l, m.s.Locals[i].Value)
		}
		m.locals[id] = l
	}
	return l
}

// assign sets the locals that the matched events set, in the order written. Each assignment
// sees the results of those before it.
func (m *Matcher) assign(e *event.Event) {
	for i := range m.s.Locals {
		for j := range m.s.Locals[i].On {
			c := &m.s.Locals[i].On[j]
			if len(c.Sets) == 0 || !slices.Contains(m.matched, c.Event) {
				continue
			}
			d := &m.s.Events[c.Event]
			for _, set := range c.Sets {
				if !m.bind(d, e, m.callOf(e, c.Event)) {
					m.unknown++
					continue
				}
				if v, ok := set.Value.Value(m.inputs); ok {
					m.localsOf(e.Thread)[set.Local] = v
				}
			}
		}
	}
}

func (m *Matcher) callOf(e *event.Event, i int) *call {
	if !e.Op.IsCall() {
		return nil
	}
	cs := m.funcs[e.Func]
	for j := range cs {
		if cs[j].event == i {
			return &cs[j]
		}
	}
	return nil
}

// count numbers, in order of creation, the threads of those types of which the specification
// mentions a single thread.
func (m *Matcher) count(upTo event.ThreadID) {
	for m.last < upTo {
		m.last++
		for i := range m.s.Threads {
			t := &m.s.Threads[i]
			if t.Kind != syntax.NthOf || m.counts[i] >= t.Nth || !m.is(m.last, t.Of) {
				continue
			}
			if m.counts[i]++; m.counts[i] == t.Nth {
				m.nth[i] = m.last
			}
		}
	}
}

// is reports whether a thread is of a type.
func (m *Matcher) is(id event.ThreadID, of int) bool {
	if of < 0 || id == 0 {
		return false
	}
	t := &m.s.Threads[of]
	if t.Kind == syntax.NthOf {
		return m.nth[of] == id
	}
	start, name, first := m.names.Thread(id)
	switch t.Kind {
	case syntax.ByStart:
		return spelling.Glob(t.Text, start)
	case syntax.ByName:
		return spelling.Glob(t.Text, name)
	}
	return first
}
