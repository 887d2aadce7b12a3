package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file handles accesses to variables, and the order of two racing ones. A probe fires
// just before or after its instruction, so the records of two accesses that no lock orders
// may stand in the wrong order. The values show it: a read that did not see the last
// recorded write saw another one. Such a read has no reads-from edge, and Stats.Contradicted
// counts it. If the next write has the value that was read, and follows so soon that the two
// can have overlapped, Stats.Swapped counts the pair. The events keep the order of
// the records.

// swapWindow is the largest distance, in ns, between a read and the next write whose records
// are considered to stand in the wrong order. A probe takes one to ten microseconds. A
// preemption between the instruction and its record can take longer; the read is then
// counted as contradicted only.
const swapWindow = 50_000

// variables makes the events of accesses, of watched variables as of memory behind pointers.
type variables struct {
	*core
	threads *threadTable
	backlog *backlog
	once    *onceCalls
	inlined *inlinedLocks
	sharing *sharing
	stacks  *stacks

	pastSink func(*event.Event)              // Options.Past
	classify func(Trap) Touch                // Options.Touch
	declares func() []Declared               // Options.Declare; nil once it was called
	checkIn  func(tgid, index uint32) uint64 // Options.CheckIn

	accessedNames map[string]bool // those SiteInfo.Variable that were accessed
	touchedParts  []wordPart      // scratch: result of wordParts
	partRecord    bpf.Record      // scratch record of an access to one part of an array; see parts

	livesUntil   uint64 // number of the last event before the ends of memory were not recorded any more
	livesStopped bool   // livesUntil is valid
}

// processVariables is what variables knows of a process.
type processVariables struct {
	vars       map[uint64]*variable
	words      map[uint64]*word // of accesses through pointers
	namedWords map[uint64]bool  // words with variables that have names, which pointers may reach too
	elements   map[touchedElement][]element
	checks     map[uint32]uint64 // Options.CheckIn, by site
	touches    map[touchKey]Touch
}

// write describes a write, or the read of a value that no recorded write left.
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
	// stale is the last read since the last write that did not see that write: it may have
	// seen the next one.
	stale write
	// touching is the thread with a pending access of the variable; nil: none.
	touching *thread

	// allocator is the thread that allocated the memory of a field's object; 0 if none is known.
	allocator event.ThreadID
	sync      *history     // the recent stores, if the variable synchronises; else nil
	past      []pastAccess // of an access through a pointer; see remember
	use       wordUse      // what its word is used as; see inlined.go
	unsourced bool         // it was the word of a lock, and nothing was written since
	bytes     uint8        // as SiteInfo.Bytes
	divided   bool         // its bytes were part of another variable before, and nothing was written since
	// rewritten reports that the thread of the last write wrote again at once, which was redundant: the value of
	// that write is not the one recorded.
	rewritten bool
	// accessed reports that an access was recorded; otherwise its initial value alone is known.
	accessed bool
}

// accessOps translates bpf.OpRead and those after it.
var accessOps = [...]event.Op{event.Read, event.Write, event.Update}

// accessed handles the record of an access by a probed instruction.
func (vs *variables) accessed(t *thread, r *bpf.Record) {
	info := vs.site(r)
	if info.Check != 0 && vs.expectedAddr(t, r, info.Check) != r.Object {
		return
	}
	if info.Elements != nil && !info.Elements.has(r.Object-vs.expectedAddr(t, r, info.Elements.Addr)) {
		return
	}
	if info.Pointer {
		vs.pointed(t, r, info)
		return
	}
	if info.Parts != nil {
		vs.parts(t, r, info)
		return
	}
	v := vs.variable(t, r, info)
	if v.touching != nil {
		vs.flushTouches(v.touching)
	}
	if info.Sync != nil {
		if vs.once.passedGuard(t, r) {
			return
		}
		vs.synchronised(t, v, info, r)
		return
	}
	vs.named(t, r, v, info, namedAccess{info.Flags, info.Bytes, info.Loads})
}

// parts handles an access of an array element that is selected at run time: it makes an event
// for each part of the array that the access touches. Only the event of a part that is
// accessed as a whole has a value.
func (vs *variables) parts(t *thread, r *bpf.Record, info *SiteInfo) {
	key := touchedElement{site: r.Site, object: r.Object}
	parts, ok := t.process.elements[key]
	if !ok {
		parts = vs.newElements(t, r, info)
		if t.process.elements == nil {
			t.process.elements = map[touchedElement][]element{}
		}
		t.process.elements[key] = parts
	}
	vs.partRecord = *r
	part := &vs.partRecord
	for i := range parts {
		e := &parts[i]
		part.Object = e.addr
		if !e.whole {
			part.Flags &^= bpf.RecValue
		}
		v := t.process.vars[e.addr]
		if v == nil {
			named := SiteInfo{Variable: e.name, Form: e.form, array: info.Variable}
			v = vs.newVariable(t, part, &named)
		}
		vs.markAccessed(v, info)
		vs.named(t, part, v, info, namedAccess{info.Flags | e.flags, e.bytes, e.loads})
	}
}

// touchedElement identifies an access of an address by a site, in one process.
type touchedElement struct {
	object uint64
	site   uint32
}

// element is a part of an array that is touched by an access of one element.
type element struct {
	addr  uint64
	name  string
	form  *event.Form
	whole bool
	bytes uint8
	loads uint8
	flags event.Flags // of accesses of this part
}

func (vs *variables) newElements(t *thread, r *bpf.Record, info *SiteInfo) []element {
	var out []element
	for _, p := range info.Parts(r.Offset()) {
		e := element{addr: r.Object - r.Offset() + p.Offset, name: p.Name, form: p.Form, whole: p.Whole, bytes: p.Bytes, loads: p.Loads}
		if p.Wider {
			e.flags = event.Wider
		}
		out = append(out, e)
	}
	return out
}

// variable returns the variable at the address of a record, and makes it if there is none.
func (vs *variables) variable(t *thread, r *bpf.Record, info *SiteInfo) *variable {
	v := t.process.vars[r.Object]
	if v == nil {
		v = vs.newVariable(t, r, info)
	}
	vs.markAccessed(v, info)
	return v
}

// markAccessed records the first access of a variable, by the name that its site has.
func (vs *variables) markAccessed(v *variable, info *SiteInfo) {
	if !v.accessed {
		v.accessed, vs.accessedNames[info.Variable] = true, true
	}
}

// access sends the event of an access.
func (vs *variables) access(t *thread, r *bpf.Record, v *variable, op event.Op, info *SiteInfo, flags event.Flags) {
	e := vs.begin(t, r, op)
	e.Object, e.Kind, e.Flags = v.id, v.kind, flags
	value := info.value(r.Value)
	if r.Flags&bpf.RecValue != 0 {
		e.Value = value
		e.Flags |= event.HasValue
	}
	if v.allocator != 0 && v.allocator != t.id {
		e.Flags |= event.Given
	}
	if r.Flags&bpf.RecSkipped != 0 {
		v.last.known, v.rewritten = false, true
	}
	switch {
	case e.Op != event.Read:
		vs.wrote(v, t, r, value)
	case v.rewritten:
		e.Value, e.Flags = 0, e.Flags&^event.HasValue // it would contradict that of the last write recorded, from which it reads all the same
	case !vs.consistent(v, t, r, value):
		e.Flags |= event.NoSource
	}
	vs.send()
}

func (vs *variables) newVariable(t *thread, r *bpf.Record, info *SiteInfo) *variable {
	obj := run.Object{Addr: r.Object, TGID: t.process.id, Kind: event.KindVariable, Name: info.Variable, Array: info.array, Form: info.Form,
		First: event.StackID(r.Stack), FirstThread: t.id}
	if e := info.Elements; e != nil {
		obj.Name = e.name(r.Object - vs.expectedAddr(t, r, e.Addr))
	}
	var allocator event.ThreadID
	if info.Field {
		obj.Addr, obj.Kind = r.Object-uint64(info.Inside), event.KindField
		if _, b := t.process.blockAt(obj.Addr); b != nil {
			obj.Init, allocator = b.stack, b.thread
		}
	}
	v := &variable{id: vs.names.addObject(obj), kind: obj.Kind, allocator: allocator}
	t.process.vars[r.Object] = v
	if s := info.Sync; s != nil && s.HasInitial && !vs.attached && !t.process.forked {
		v.last = write{value: s.Initial, known: true}
	}
	t.process.addLive(r.Object)
	return v
}

// Accessed reports whether an access of a variable with this name, which is that of its sites,
// was recorded. An element or a field counts as its array or type.
func (o *Observer) Accessed(name string) bool { return o.variables.accessedNames[name] }

// value extracts the bits of the variable from the value of its storage unit.
func (s *SiteInfo) value(v uint64) uint64 {
	if s.Mask == 0 {
		return v
	}
	return v >> s.Shift & s.Mask
}

// consistent reports whether a read can have seen the last recorded write. If not, it counts
// the read and keeps it as v.stale.
func (vs *variables) consistent(v *variable, t *thread, r *bpf.Record, value uint64) bool {
	if r.Flags&bpf.RecValue == 0 || !v.last.known || v.last.value == value {
		return true
	}
	vs.stats.Contradicted++
	v.stale = write{time: r.Time, value: value, thread: t.id, known: true}
	return false
}

// wrote records the last write of a variable. If the stale read before it saw the written value,
// and swapWindow allows, it counts the two as swapped.
func (vs *variables) wrote(v *variable, t *thread, r *bpf.Record, value uint64) {
	w := write{time: r.Time, value: value, thread: t.id, known: r.Flags&bpf.RecValue != 0}
	if s := v.stale; s.known && w.known && s.value == w.value && s.thread != w.thread && w.time-s.time < swapWindow {
		vs.stats.Swapped++
	}
	v.stale, v.rewritten = write{}, false
	v.last = w
}

// endVariable ends the lifetime of a variable.
func (vs *variables) endVariable(t *thread, addr uint64, v *variable) {
	if v.touching != nil {
		vs.flushTouches(v.touching)
	}
	e := vs.begin(t, nil, event.Destroy)
	e.Object, e.Kind, e.Flags = v.id, v.kind, event.Inferred
	vs.send()
	delete(t.process.vars, addr)
}

// expectedAddr returns the address that an access at the site of the record must have in
// the process of t. First is that address in the first process.
func (vs *variables) expectedAddr(t *thread, r *bpf.Record, first uint64) uint64 {
	if vs.checkIn == nil || !t.process.forked {
		return first
	}
	addr, ok := t.process.checks[r.Site]
	if !ok {
		addr = vs.checkIn(t.process.id, r.Site)
		if t.process.checks == nil {
			t.process.checks = map[uint32]uint64{}
		}
		t.process.checks[r.Site] = addr
	}
	return addr
}

// discard discards what is known of the memory of a process.
func (vs *variables) discard(p *process) {
	for _, v := range p.vars {
		vs.clock.Drop(v.id)
	}
	clear(p.vars)
	clear(p.words)
	clear(p.namedWords)
	clear(p.elements)
	clear(p.checks)
	clear(p.touches)
}
