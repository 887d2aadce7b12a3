package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// The order of two racing accesses. A probe fires just before or after its instruction, so
// the records of two accesses that no lock orders may stand in the wrong order. The values
// show it: a read that did not see the last recorded write saw another one. Such a read has
// no reads-from edge, and is counted. Those that the next write explains, so soon after
// them that the two can have overlapped, are counted apart. The events keep the order of
// the records.

// swapWindow is the largest distance of two accesses, in ns, whose records are taken to
// stand in the wrong order. A probe takes one to ten microseconds. A preemption between
// the instruction and its record can take longer, and then the read is counted as
// contradicted instead.
const swapWindow = 50_000

// write is what is kept of a write.
type write struct {
	time   uint64
	value  uint64
	thread event.ThreadID
	known  bool // value is known
}

// variable is a watched variable.
type variable struct {
	id   event.ObjectID
	kind event.Kind // KindVariable or KindField
	last write
	// stale is a read just before, of another thread, that saw no recorded
	// write: the next write may be the one that it saw.
	stale write
	// touching is the thread with an access that waits for what may belong to it.
	touching *thread

	sync *history // of a variable that synchronises
}

// accessOps translates bpf.OpRead and those after it.
var accessOps = [...]event.Op{event.Read, event.Write, event.Update}

func (o *Observer) accessed(t *thread, r *bpf.Record) {
	info := o.site(r)
	if info.Check != 0 && o.checked(t, r, info.Check) != r.Object {
		return
	}
	if info.Elements != nil && !info.Elements.has(r.Object-o.checked(t, r, info.Elements.Addr)) {
		return
	}
	if info.Parts != nil {
		o.parts(t, r, info)
		return
	}
	v := o.variable(t, r, info)
	if v.touching != nil {
		o.settle(v.touching)
	}
	if info.Sync != nil {
		if o.passedGuard(t, r) {
			return
		}
		o.synchronised(t, v, info, r)
		return
	}
	o.access(t, r, v, accessOps[bpf.Op(r.Op)-bpf.OpRead], info, info.Flags)
}

// parts handles an access of an element that code selects: it makes an event for each part
// that the access touches. The value is that of a part that is accessed as a whole.
func (o *Observer) parts(t *thread, r *bpf.Record, info *SiteInfo) {
	key := touchedElement{site: r.Site, object: r.Object}
	parts, ok := t.process.elements[key]
	if !ok {
		parts = o.newElements(t, r, info)
		if t.process.elements == nil {
			t.process.elements = map[touchedElement][]element{}
		}
		t.process.elements[key] = parts
	}
	o.part = *r
	part := &o.part
	for i := range parts {
		e := &parts[i]
		part.Object = e.addr
		if !e.whole {
			part.Flags &^= bpf.RecValue
		}
		v := t.process.vars[e.addr]
		if v == nil {
			named := SiteInfo{Variable: e.name, Form: e.form, array: info.Variable}
			v = o.newVariable(t, part, &named)
		}
		o.access(t, part, v, accessOps[bpf.Op(r.Op)-bpf.OpRead], info, info.Flags)
	}
}

// touchedElement is an instruction that touched an address, in a process.
type touchedElement struct {
	object uint64
	site   uint32
}

// element is what it touched there.
type element struct {
	addr  uint64
	name  string
	form  *event.Form
	whole bool
}

func (o *Observer) newElements(t *thread, r *bpf.Record, info *SiteInfo) []element {
	var out []element
	for _, p := range info.Parts(r.Extra) {
		out = append(out, element{addr: r.Object - r.Extra + p.Offset, name: p.Name, form: p.Form, whole: p.Whole})
	}
	return out
}

// variable returns the variable that a record is about.
func (o *Observer) variable(t *thread, r *bpf.Record, info *SiteInfo) *variable {
	v := t.process.vars[r.Object]
	if v == nil {
		v = o.newVariable(t, r, info)
	}
	return v
}

// access sends the event of an access.
func (o *Observer) access(t *thread, r *bpf.Record, v *variable, op event.Op, info *SiteInfo, flags event.Flags) {
	e := o.begin(t, r, op)
	e.Object, e.Kind, e.Flags = v.id, v.kind, flags
	value := info.value(r.Value)
	if r.Flags&bpf.RecValue != 0 {
		e.Value = value
		e.Flags |= event.HasValue
	}
	if r.Flags&bpf.RecSkipped != 0 {
		v.last.known = false
	}
	if e.Op != event.Read {
		o.wrote(v, t, r, value)
	} else if !o.consistent(v, t, r, value) {
		e.Flags |= event.NoSource
	}
	o.send()
}

func (o *Observer) newVariable(t *thread, r *bpf.Record, info *SiteInfo) *variable {
	obj := run.Object{Addr: r.Object, TGID: t.process.id, Kind: event.KindVariable, Name: info.Variable, Array: info.array, Form: info.Form,
		First: event.StackID(r.Stack), FirstThread: t.id}
	if e := info.Elements; e != nil {
		obj.Name = e.name(r.Object - o.checked(t, r, e.Addr))
	}
	if info.Field {
		obj.Addr, obj.Kind = r.Object-uint64(info.Inside), event.KindField
		if b := t.process.blockAt(obj.Addr); b != nil {
			obj.Init = b.place
		}
	}
	v := &variable{id: o.names.addObject(obj), kind: obj.Kind}
	t.process.vars[r.Object] = v
	if s := info.Sync; s != nil && s.HasInitial && !o.opts.Attached && !t.process.forked {
		v.last = write{value: s.Initial, known: true}
	}
	t.process.born(r.Object)
	return v
}

// value takes the variable's own bits out of what lies in its storage.
func (s *SiteInfo) value(v uint64) uint64 {
	if s.Mask == 0 {
		return v
	}
	return v >> s.Shift & s.Mask
}

// consistent reports whether the read can have seen the last recorded write.
func (o *Observer) consistent(v *variable, t *thread, r *bpf.Record, value uint64) bool {
	if r.Flags&bpf.RecValue == 0 || !v.last.known || v.last.value == value {
		return true
	}
	o.stats.Contradicted++
	v.stale = write{time: r.Time, value: value, thread: t.id, known: true}
	return false
}

func (o *Observer) wrote(v *variable, t *thread, r *bpf.Record, value uint64) {
	w := write{time: r.Time, value: value, thread: t.id, known: r.Flags&bpf.RecValue != 0}
	if s := v.stale; s.known && w.known && s.value == w.value && s.thread != w.thread && w.time-s.time < swapWindow {
		o.stats.Swapped++
	}
	v.stale = write{}
	v.last = w
}
