package observer

import (
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file handles calls of the functions that the user chose (--on), and the instances that
// methods are called on. An instance is an address during one lifetime, which a
// constructor begins and a destructor ends. The constructor and destructor of a base class
// run within those of the derived class, at the same address; their stack pointers
// distinguish them.

// calls makes the events of calls of chosen functions.
type calls struct {
	*core
	funcs funcs
	args  [event.MaxArgs]uint64 // of the shared event
}

func newCalls(c *core) calls {
	return calls{core: c, funcs: funcs{bySite: map[uint32]event.FuncID{}, byText: map[string]event.FuncID{}}}
}

// funcs are the functions whose calls were recorded.
type funcs struct {
	all    []event.Func // all[id-1] is the function with FuncID id
	bySite map[uint32]event.FuncID
	byText map[string]event.FuncID // by the Func formatted with %+v
}

// instance is an object that methods are called on.
type instance struct {
	id          event.ObjectID
	constructor event.FuncID // the constructor that began the lifetime; 0: none was recorded
	destructor  event.FuncID // the destructor that was entered; 0: none
	caller      *thread      // the thread that called destructor, or constructor if destructor is 0
	sp          uint64       // the stack pointer of that call
	site        uint32       // the site of that call
}

// FuncInfo returns the function with an id; ok is false for an unknown id.
func (o *Observer) FuncInfo(id event.FuncID) (f event.Func, ok bool) {
	return o.calls.funcs.info(id)
}

func (fs *funcs) info(id event.FuncID) (f event.Func, ok bool) {
	if id == 0 || int(id) > len(fs.all) {
		return f, false
	}
	return fs.all[id-1], true
}

// function returns the function of a record's site; 0 if the site has none.
func (cl *calls) function(r *bpf.Record) event.FuncID {
	if id, ok := cl.funcs.bySite[r.Site]; ok {
		return id
	}
	f := cl.site(r).Func
	if f == nil {
		return 0
	}
	text := fmt.Sprintf("%+v", *f)
	id, ok := cl.funcs.byText[text]
	if !ok {
		cl.funcs.all = append(cl.funcs.all, *f)
		id = event.FuncID(len(cl.funcs.all))
		cl.funcs.byText[text] = id
	}
	cl.funcs.bySite[r.Site] = id
	return id
}

// called handles the entry of a function and its return.
func (cl *calls) called(t *thread, r *bpf.Record, args *[event.MaxArgs]uint64) {
	id := cl.function(r)
	if id == 0 {
		return
	}
	f := &cl.funcs.all[id-1]
	returns := bpf.Op(r.Op) == bpf.OpReturn
	x := t.process.instances[r.Object]
	switch {
	case !isAddress(r.Object):
		x = nil
	case x != nil && cl.insideCopy(x, t, r, f):
		return
	case returns:
		if x == nil {
			x = cl.newInstance(t, r, r.Object)
		}
	default:
		x = cl.entered(x, t, r, id, f)
	}
	if !f.Wants(returns) {
		return
	}
	var made *instance
	if returns && f.ReturnsAddress && isAddress(r.Value) {
		if made = t.process.instances[r.Value]; made == nil {
			made = cl.newInstance(t, r, r.Value)
		}
	}
	cl.call(t, r, f, x, made, args)
	if returns && x != nil && x.destructor == id && x.caller == t && x.sp == r.Sp && x.site == r.Site {
		cl.endInstance(t, r.Object, x)
	}
}

// call sends the event of a call or return, with the arguments as they were at the entry.
func (cl *calls) call(t *thread, r *bpf.Record, f *event.Func, x, made *instance, args *[event.MaxArgs]uint64) {
	op := event.Call
	if bpf.Op(r.Op) == bpf.OpReturn {
		op = event.Return
	}
	e := cl.begin(t, r, op)
	e.Func, e.Kind = cl.funcs.bySite[r.Site], event.KindInstance
	if x != nil {
		e.Object = x.id
	}
	if made != nil {
		e.Object2 = made.id
	}
	if r.Flags&bpf.RecValue != 0 {
		e.Value, e.Flags = r.Value, event.HasValue
	}
	if op == event.Return && r.Flags&bpf.RecFailed != 0 {
		e.Flags |= event.Unwound
	}
	if args != nil {
		cl.args = *args
		known := f.Entered()
		if op == event.Return {
			known = max(known, len(f.Params)-int(r.Result))
		}
		e.Args = cl.args[:min(known, len(cl.args))]
	}
	cl.send()
}

// isAddress reports whether v may be an address in a user process on x86-64 and arm64.
func isAddress(v uint64) bool { return v >= 1<<16 && v < 1<<56 }

// insideCopy reports whether a constructor or destructor is another copy of one that is
// running: the compiler emits several copies of each, and they call each other.
func (cl *calls) insideCopy(x *instance, t *thread, r *bpf.Record, f *event.Func) bool {
	outer := x.constructor
	if f.Life == event.LifeEnd {
		outer = x.destructor
	}
	return f.Life != event.LifeNone && outer != 0 && x.caller == t && r.Sp < x.sp && r.Site != x.site && cl.funcs.all[outer-1].Name == f.Name
}

// entered returns the instance on which a function was entered. X is the instance known at
// the address, nil if there is none. If x must have ended unseen, entered ends it
// and makes a new one.
func (cl *calls) entered(x *instance, t *thread, r *bpf.Record, id event.FuncID, f *event.Func) *instance {
	within := x != nil && x.caller == t && r.Sp <= x.sp
	switch {
	case x == nil:
	case f.Life == event.LifeBegin && (x.destructor != 0 || !within || x.site == r.Site),
		f.Life != event.LifeBegin && x.destructor != 0 && !within:
		cl.endInstance(t, r.Object, x)
		x = nil
	}
	if x == nil {
		x = cl.newInstance(t, r, r.Object)
		if f.Life == event.LifeBegin {
			x.constructor, x.caller, x.sp, x.site = id, t, r.Sp, r.Site
		}
	}
	if f.Life == event.LifeEnd && x.destructor == 0 {
		x.destructor, x.caller, x.sp, x.site = id, t, r.Sp, r.Site
	}
	return x
}

func (cl *calls) newInstance(t *thread, r *bpf.Record, addr uint64) *instance {
	x := &instance{id: cl.names.addObject(run.Object{Addr: addr, TGID: t.process.id, Kind: event.KindInstance,
		First: event.StackID(r.Stack), FirstThread: t.id})}
	t.process.instances[addr] = x
	t.process.addLive(addr)
	return x
}

// endInstance ends an instance's lifetime: the next use of the address is another instance.
func (cl *calls) endInstance(t *thread, addr uint64, x *instance) {
	e := cl.begin(t, nil, event.Destroy)
	e.Object, e.Kind, e.Flags = x.id, event.KindInstance, event.Inferred
	cl.send()
	delete(t.process.instances, addr)
	t.process.removeLive(addr)
}

// discard discards what is known of the memory of a process.
func (cl *calls) discard(p *process) { clear(p.instances) }
