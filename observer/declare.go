package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Declared is a watched variable of the first process, with what it held when
// observation began.
type Declared struct {
	Addr     uint64
	Variable string
	Form     *event.Form
	Value    uint64 // the variable's own bits
}

// declare sends the values that variables have before threads act. It asks for them then
// because the program's libraries are mapped by then.
func (o *Observer) declare(t *thread, r *bpf.Record) {
	ask := o.opts.Declare
	o.opts.Declare = nil
	for _, d := range ask() {
		obj := run.Object{Addr: d.Addr, TGID: t.process.id, Kind: event.KindVariable, Name: d.Variable, Form: d.Form, FirstThread: t.id}
		v := &variable{id: o.names.addObject(obj), kind: obj.Kind}
		t.process.vars[d.Addr] = v
		e := o.begin(t, r, event.Init)
		e.Object, e.Kind, e.Flags, e.Value, e.Stack = v.id, v.kind, event.Inferred|event.HasValue, d.Value, 0
		o.send()
	}
}
