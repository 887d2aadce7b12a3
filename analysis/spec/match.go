package spec

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// Names resolves the identifiers of a run.
type Names struct {
	// Func returns a function, with the patterns of --on that it matches.
	Func func(event.FuncID) event.Func
	// Object returns an object's name, as in the source.
	Object func(event.ObjectID) string
	// Thread returns a thread's start routine, its name, and whether it is the process's
	// first.
	Thread func(event.ThreadID) (start, name string, first bool)
	// Variable returns the index in Spec.Vars of an object, -1 for none. With nil the object's
	// name decides.
	Variable func(event.ObjectID) int
	// Form returns the form of a variable's values in the program, by the variable's index in
	// Spec.Vars. With nil, or a nil form, the values are as declared, in 64 bits.
	Form func(int) *event.Form
}

// Matcher matches the events of a run with the declared events. All events of the run must be
// passed to Events, in order. Its memory is bounded by the number of functions, of live objects
// and, if there are locals, of live threads.
type Matcher struct {
	s           *Spec
	names       Names
	byOp        [event.NumOps][]int // by operation: the indices in Spec.Events that it may match
	funcs       map[event.FuncID][]call
	objects     map[event.ObjectID]object
	locals      map[event.ThreadID][]uint64 // by thread: the values of Spec.Locals
	numbered    event.ThreadID              // threads up to this one are counted
	counts      []uint64                    // by Spec.Threads: for NthOf, the threads of the type so far
	nthThread   map[int]event.ThreadID      // by Spec.Threads: for NthOf, the thread
	counted     map[numberedThread]bool     // the living threads that counts has, of types by name
	matched     []int                       // the indices in Spec.Events that the present event matches
	inputs      []uint64                    // for Condition.value, reused
	conversions []conversion                // by Spec.Vars
	hadEvent    []bool                      // by Spec.Syncs
	uses        [][]useOf                   // by Spec.Events: the calls of typestates that the event is
	used        []used                      // the objects of the present event
	owners      [][]owner                   // by Spec.Events: the properties of whose objects the event is
	first       []uint64                    // the initial values of Spec.Locals
	ended       event.ThreadID              // the thread that the present event ends; 0: none
	last        []uint64                    // its locals
	unknown     uint64                      // conditions and assignments that could not be computed
}

// numberedThread is a thread that was counted for a thread that is declared as the Nth of a type, by its index in Spec.Threads.
type numberedThread struct {
	thread   event.ThreadID
	declared int
}

// call is a declared event that the calls or returns of a function may match.
type call struct {
	event int   // index in Spec.Events
	args  []int // by bound parameter: its index in event.Event.Args; -1: not recorded
}

// object has the indices of an object in Spec.Vars and Spec.Syncs, -1 for none.
type object struct{ variable, sync int }

// NewMatcher returns a matcher for a run that has not begun.
func (s *Spec) NewMatcher(names Names) *Matcher {
	m := &Matcher{s: s, names: names, funcs: map[event.FuncID][]call{}, objects: map[event.ObjectID]object{},
		locals: map[event.ThreadID][]uint64{}, counts: make([]uint64, len(s.Threads)), nthThread: map[int]event.ThreadID{}, counted: map[numberedThread]bool{}, conversions: make([]conversion, len(s.Vars)), hadEvent: make([]bool, len(s.Syncs))}
	for i := range s.Locals {
		m.first = append(m.first, s.Locals[i].Value)
	}
	m.uses = make([][]useOf, len(s.Events))
	for t := range s.Typestates {
		for c, u := range s.Typestates[t].Calls {
			m.uses[u.Event] = append(m.uses[u.Event], useOf{t, c})
		}
	}
	m.owners = make([][]owner, len(s.Events))
	for i, p := range s.Properties {
		for _, x := range p.own() {
			m.owners[x.Event] = append(m.owners[x.Event], owner{i, x.Object})
		}
	}
	for i := range s.Events {
		if s.Events[i].Used {
			for _, op := range operationsOf[s.Events[i].Op] {
				m.byOp[op] = append(m.byOp[op], i)
			}
		}
	}
	return m
}

// operationsOf has the operations of a run that each operation of a pattern matches.
var operationsOf = map[syntax.Op][]event.Op{
	syntax.OpCall: {event.Call}, syntax.OpReturn: {event.Return}, syntax.OpEnter: {event.Call}, syntax.OpLeave: {event.Return},
	syntax.OpAcquire: {event.Acquire, event.AcquireRead}, syntax.OpRelease: {event.Release},
	syntax.OpWait: {event.Wait}, syntax.OpSignal: {event.Signal}, syntax.OpBroadcast: {event.Broadcast},
	syntax.OpPost: {event.SemPost}, syntax.OpArrive: {event.BarrierArrive},
	syntax.OpRead: {event.Read, event.Update}, syntax.OpWrite: {event.Write, event.Update},
	syntax.OpStart: {event.Begin}, syntax.OpEnd: {event.End}, syntax.OpFork: {event.Fork}, syntax.OpJoin: {event.Join},
}

// Events processes the next event of the run, and returns the declared events that it matches:
// bit i is set for s.Events[i] if a property or a scope mentions that. It allocates nothing for functions,
// objects and threads that it has seen before.
func (m *Matcher) Events(e *event.Event) uint64 {
	m.numberThreads(max(e.Thread, e.Peer))
	if e.Op == event.Named {
		m.number(e.Thread)
	}
	m.ended, m.last = 0, nil
	var mask uint64
	m.matched = m.matched[:0]
	if len(m.byOp[e.Op]) > 0 {
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
		m.ended, m.last = e.Thread, m.locals[e.Thread]
		delete(m.locals, e.Thread)
		for i := range m.s.Threads {
			delete(m.counted, numberedThread{e.Thread, i})
		}
	case event.Destroy:
		delete(m.objects, e.Object)
	}
	return mask
}

// Matched returns the indices in Spec.Events of all declared events that the last event passed to Events matches. It is valid
// until the next one.
func (m *Matcher) Matched() []int { return m.matched }

// Locals returns the values of Spec.Locals of a thread, after the last event passed to Events. The caller must not change them.
func (m *Matcher) Locals(id event.ThreadID) []uint64 {
	if l := m.locals[id]; l != nil {
		return l
	}
	if id == m.ended && m.last != nil {
		return m.last
	}
	return m.first
}

// FirstLocals returns the initial values of Spec.Locals.
func (m *Matcher) FirstLocals() []uint64 { return m.first }

// IsOfType reports whether a thread is of a declared type, by its index in Spec.Threads. Events must have seen the thread.
func (m *Matcher) IsOfType(id event.ThreadID, of int) bool { return m.isOfType(id, of) }

// useOf is a call of a typestate, by index.
type useOf struct{ typestate, call int }

// used is an object of a call.
type used struct {
	typestate int
	object    uint64
}

// Uses calls yield for each call of a typestate that an event is, which must be the last that was passed to Events, with
// the value that stands for its object: a parameter, or the result. If an event is several calls of one
// object, as a function that has two names, the first one that is declared counts.
func (m *Matcher) Uses(e *event.Event, yield func(typestate, call int, object uint64)) {
	if !e.Op.IsCall() {
		return
	}
	m.used = m.used[:0]
	for _, i := range m.matched {
		for _, u := range m.uses[i] {
			v, ok := m.boundValue(e, i, m.s.Typestates[u.typestate].Calls[u.call].Object)
			if !ok {
				m.unknown++
				continue
			}
			if x := (used{u.typestate, v}); !slices.Contains(m.used, x) {
				m.used = append(m.used, x)
				yield(u.typestate, u.call, v)
			}
		}
	}
}

// owner is a property of whose objects a declared event is, and the index in Event.Bound of the object.
type owner struct{ property, object int }

// Own calls yield for each property of an object, by index in Spec.Properties, and each declared event of one object that
// an event is, which must be the last that was passed to Events, with the value that stands for the object.
func (m *Matcher) Own(e *event.Event, yield func(property, event int, object uint64)) {
	if !e.Op.IsCall() {
		return
	}
	for _, i := range m.matched {
		for _, x := range m.owners[i] {
			if v, ok := m.boundValue(e, i, x.object); ok {
				yield(x.property, i, v)
			} else {
				m.unknown++
			}
		}
	}
}

// boundValue returns the value of an index in Event.Bound of the i-th declared event, a call or a return; ok is false if
// it was not recorded.
func (m *Matcher) boundValue(e *event.Event, i, bound int) (v uint64, ok bool) {
	if bound == m.s.Events[i].Result {
		return e.Value, e.Flags&event.HasValue != 0
	}
	c := m.callOf(e, i)
	if c == nil || bound >= len(c.args) || c.args[bound] < 0 || c.args[bound] >= len(e.Args) {
		return 0, false
	}
	return e.Args[c.args[bound]], true
}

// Unknown returns how often a condition or an assignment could not be computed, since a
// parameter, a result or a value was not recorded. Such a condition is false, and such an
// assignment is not made.
func (m *Matcher) Unknown() uint64 { return m.unknown }

// WithoutEvents returns the locks, conditions, semaphores and barriers that declared events
// mention and of which the run had no event.
func (m *Matcher) WithoutEvents() []Sync {
	var out []Sync
	for i, l := range m.s.Syncs {
		if l.Used && l.Class == "" && !m.hadEvent[i] {
			out = append(out, l)
		}
	}
	return out
}

// Variable returns the index in Spec.Vars of an object; -1 for none.
func (m *Matcher) Variable(id event.ObjectID) int { return m.object(id).variable }

// object returns the indices of an object.
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

// calls adds to matched the declared events that a call or return matches.
func (m *Matcher) calls(e *event.Event) {
	cs, ok := m.funcs[e.Func]
	if !ok {
		cs = m.callsOf(e.Func)
		m.funcs[e.Func] = cs
	}
	for i := range cs {
		d := &m.s.Events[cs[i].event]
		if e.Flags&event.Unwound != 0 && d.Op != syntax.OpLeave {
			continue
		}
		if d.Op.Ends() == (e.Op == event.Return) && m.holds(d, e, &cs[i]) {
			m.matched = append(m.matched, cs[i].event)
		}
	}
}

// callsOf returns the declared events that calls or returns of a function may match, with the
// indices of the bound parameters among the function's recorded arguments.
func (m *Matcher) callsOf(id event.FuncID) []call {
	f := m.names.Func(id)
	var out []call
	for i := range m.s.Events {
		d := &m.s.Events[i]
		if !d.Used || !requested(&f, d) {
			continue
		}
		c := call{event: i}
		for _, want := range d.params {
			c.args = append(c.args, slices.IndexFunc(f.Params, func(p event.Param) bool { return want == parameter{p.Index, p.Stored, p.Element} }))
		}
		out = append(out, c)
	}
	return out
}

// requested reports whether a function is one of an event's pattern. Where a trace has only the returns of a function, the
// other ends of its calls are not known.
func requested(f *event.Func, d *Event) bool {
	has := func(pattern string) bool {
		return slices.Contains(f.Patterns, event.Pattern{Pattern: pattern, Return: d.Op.Ends()})
	}
	name, leaves := strings.CutPrefix(d.On, "leave ")
	return has(d.On) || leaves && has("return "+name)
}

// operations adds to matched the declared events that an event other than a call or return
// matches.
func (m *Matcher) operations(e *event.Event) {
	for _, i := range m.byOp[e.Op] {
		d := &m.s.Events[i]
		if m.concerns(d, e) && m.holds(d, e, nil) {
			m.matched = append(m.matched, i)
		}
	}
}

// concerns reports whether an event is on the object or the thread that a declared event
// mentions.
func (m *Matcher) concerns(d *Event, e *event.Event) bool {
	switch d.Op {
	case syntax.OpRead, syntax.OpWrite:
		return m.object(e.Object).variable == d.Var
	case syntax.OpStart, syntax.OpEnd:
		return m.isOfType(e.Thread, d.Thread)
	case syntax.OpFork, syntax.OpJoin:
		return m.isOfType(e.Peer, d.Thread)
	}
	return d.Sync < 0 || m.object(e.Object).sync == d.Sync
}

// holds reports whether an event has the type of thread of a declared event, and meets its
// condition. c is nil except for calls and returns.
func (m *Matcher) holds(d *Event, e *event.Event, c *call) bool {
	if d.By >= 0 && !m.isOfType(e.Thread, d.By) {
		return false
	}
	if d.When == nil {
		return true
	}
	known := m.bind(d, e, c)
	if !known {
		m.unknown++
	}
	return known && d.When.holds(m.inputs)
}

// bind sets inputs to the bound values, tid and locals. It returns false if one of the bound
// values was not recorded.
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
		m.convert(d)
	}
	m.inputs = append(m.inputs, uint64(e.Thread))
	m.inputs = append(m.inputs, m.localsOf(e.Thread)...)
	return true
}

// convert converts the last input, the value of a write, from the form in the program to the
// value that conditions compute with.
func (m *Matcher) convert(d *Event) {
	if d.Var < 0 || m.names.Form == nil {
		return
	}
	c := &m.conversions[d.Var]
	if f := m.names.Form(d.Var); !c.known || c.form != f {
		*c = conversion{f, valueOf(m.s.Vars[d.Var].Type, f).form(), true}
	}
	at := len(m.inputs) - 1
	m.inputs[at] = c.read.Read(m.inputs[at])
}

// conversion is how the value of a write is read.
type conversion struct {
	form  *event.Form // of the value
	read  ir.Form
	known bool
}

// localsOf returns the locals of a thread.
func (m *Matcher) localsOf(id event.ThreadID) []uint64 {
	if len(m.s.Locals) == 0 {
		return nil
	}
	l, ok := m.locals[id]
	if !ok {
		l = slices.Clone(m.first)
		m.locals[id] = l
	}
	return l
}

// assign makes the assignments of the matched events to locals, in the order written. Each
// assignment reads the results of those before it.
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
				if v, ok := set.Value.value(m.inputs); ok {
					m.localsOf(e.Thread)[set.Local] = v
				}
			}
		}
	}
}

// callOf returns the call of the i-th declared event and the function of e; nil if e is neither
// call nor return.
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

// numberThreads counts the threads up to upTo, in order of creation, for the declared threads
// that are the Nth of a type.
func (m *Matcher) numberThreads(upTo event.ThreadID) {
	for m.numbered < upTo {
		m.numbered++
		m.number(m.numbered)
	}
}

// number counts a thread for the declared threads that are the Nth of a type that it is of. It does so when the thread is
// created and, where a name makes the type, whenever the thread gets another one.
func (m *Matcher) number(id event.ThreadID) {
	for i := range m.s.Threads {
		t := &m.s.Threads[i]
		if t.Kind != syntax.NthOf || m.counts[i] >= t.Nth || !m.isOfType(id, t.Of) {
			continue
		}
		if m.s.Threads[t.Of].Kind == syntax.ByName {
			n := numberedThread{id, i}
			if m.counted[n] {
				continue
			}
			m.counted[n] = true
		}
		if m.counts[i]++; m.counts[i] == t.Nth {
			m.nthThread[i] = id
		}
	}
}

// isOfType reports whether a thread is of a declared type; -1 is none.
func (m *Matcher) isOfType(id event.ThreadID, of int) bool {
	if of < 0 || id == 0 {
		return false
	}
	t := &m.s.Threads[of]
	if t.Kind == syntax.NthOf {
		return m.nthThread[of] == id
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
