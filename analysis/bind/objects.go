package bind

import (
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// ofEach returns a property of each object.
func ofEach(p *spec.Property, bound property.Property) property.ParametricProperty {
	out := property.ParametricProperty{Property: bound, Fields: p.Of.Fields}
	for _, e := range p.Of.Events {
		out.OwnEvents |= 1 << e.Event
	}
	return out
}

// checkObjects begins to check the properties of objects.
func (r *Run) checkObjects(o *Options, all []property.ParametricProperty, variables []string) {
	index := make(map[int]int, len(all)) // in all, by the index in Spec.Properties
	for i, of := range r.parametric {
		index[of] = i
	}
	r.ofObjects = property.NewParametric(property.ParametricOptions{
		Properties: all, Variables: variables, Variable: r.field, Process: r.threads.Process, Ended: fieldsEnd(r.names),
		Own: func(e *event.Event, yield func(property, event int, object uint64)) {
			r.match.Own(e, func(property, event int, object uint64) { yield(index[property], event, object) })
		},
		Window: o.Window, Queue: o.Queue, Order: o.Order, History: r.history, Found: o.Found,
		Judged: func(j *property.Judged) { r.tallies[j.Property].add(j) },
	})
}

// matched returns the declared events that an event is and that properties of the whole program mention.
func (r *Run) matched(e *event.Event) uint64 {
	r.events = r.match.Events(e)
	return r.events & r.plain
}

// field returns the index in Spec.Vars of an object, and of a field the address of the object that it is a field of.
func (r *Run) field(id event.ObjectID) (variable int, of uint64) {
	o := r.names.Object(id)
	if o.Kind != event.KindField {
		return r.match.Variable(id), 0
	}
	i := r.spec.Name(o.Name)
	if i < 0 || !r.spec.Vars[i].Field || o.Addr == 0 {
		return -1, 0
	}
	if !r.fieldSeen[i] {
		r.fieldSeen[i], r.forms[i] = true, o.Form
		r.seen++
	}
	return i, o.Addr
}

// fieldsEnd returns a function that returns the address of an object whose memory ends with an event.
func fieldsEnd(names run.Namer) func(*event.Event) (object uint64, ok bool) {
	return func(e *event.Event) (uint64, bool) {
		if e.Op != event.Destroy || e.Kind != event.KindInstance && e.Kind != event.KindField {
			return 0, false
		}
		at := names.Object(e.Object).Addr
		return at, at != 0
	}
}
