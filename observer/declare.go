package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Declared is a watched variable of the first process, with its value when the observation
// began.
type Declared struct {
	Addr     uint64
	Variable string
	Form     *event.Form
	Value    uint64 // the variable's own bits
}

// declare sends an Init event with the initial value of each declared variable. It is called
// at the first record of an operation of a thread, when the program's libraries are mapped.
func (vs *variables) declare(t *thread, r *bpf.Record) {
	ask := vs.declares
	vs.declares = nil
	for _, d := range ask() {
		obj := run.Object{Addr: d.Addr, TGID: t.process.id, Kind: event.KindVariable, Name: d.Variable, Form: d.Form, FirstThread: t.id}
		v := &variable{id: vs.names.addObject(obj), kind: obj.Kind}
		t.process.vars[d.Addr] = v
		e := vs.begin(t, r, event.Init)
		e.Object, e.Kind, e.Flags, e.Value, e.Stack = v.id, v.kind, event.Inferred|event.HasValue, d.Value, 0
		vs.send()
	}
}
