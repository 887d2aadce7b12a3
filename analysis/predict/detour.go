package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxCalls bounds the calls that the question of a detour is about.
const maxCalls = 4

// Detours returns the questions whether the threads of a finding still do what its witness says, after the reads that
// see other values there: for each stretch of a thread between two calls in which there are such reads. The values of
// all of these reads are known.
func (h *History) Detours(f *finding.Finding) (out []event.Detour) {
	others, last := h.otherValuesOf(f), lastSteps(f)
	var threads []event.ThreadID
	for i := range h.log {
		if x := &h.log[i]; len(others) > 0 && !slices.Contains(threads, x.Thread) {
			if _, some := others[x.Seq]; some {
				threads = append(threads, x.Thread)
			}
		}
	}
	for _, t := range threads {
		d := detourer{h: h, thread: t, others: others, until: last[t]}
		out = append(out, d.detours()...)
	}
	return out
}

// otherValue is what a read sees in a witness.
type otherValue struct {
	OtherRead
	known bool // its value is, and that in the run
}

// otherValuesOf returns, by Seq, the reads that may see another value in a witness.
func (h *History) otherValuesOf(f *finding.Finding) map[uint64]otherValue {
	begins, out := h.initialValues(), map[uint64]otherValue{}
	h.changedReads(f.Witness, func(x *kept.Event, _ *finding.Step, by uint64) {
		o := h.readOf(x, by, begins)
		if h.any[x.Seq] && (!o.known || o.Initially || o.Other != o.Value) {
			out[x.Seq] = o
		}
	})
	return out
}

// readOf returns what a read sees of a write, of 0 initially.
func (h *History) readOf(x *kept.Event, by uint64, begins map[event.ObjectID]uint64) otherValue {
	o := otherValue{OtherRead: OtherRead{Stack: x.Stack, Value: x.Value}, known: x.Flags&event.HasValue != 0}
	if w := h.entry(by); w != nil {
		o.Other, o.known = w.Value, o.known && w.Flags&event.HasValue != 0
	} else if v, known := begins[x.Object]; known {
		o.Other = v
	} else {
		o.Initially = true
	}
	return o
}

// lastSteps returns the Seq of the last event of each thread that a witness executes or that waits behind it.
func lastSteps(f *finding.Finding) map[event.ThreadID]uint64 {
	last := map[event.ThreadID]uint64{}
	for _, steps := range [][]finding.Step{f.Witness, f.Evidence} {
		for i := range steps {
			last[steps[i].Thread] = max(last[steps[i].Thread], steps[i].Seq)
		}
	}
	return last
}

// detourer finds the detours of one thread.
type detourer struct {
	h       *History
	thread  event.ThreadID
	others  map[uint64]otherValue
	until   uint64
	out     []event.Detour
	open    []int                  // the detours to which calls are added
	current event.Detour           // since the last call
	seen    map[event.ObjectID]int // the index of its read in current; -1: it has none
	// contradicted are variables that were read with several values since the last call.
	contradicted []event.ObjectID
	other        bool // there were reads of other values since the last call
	changed      bool // there were reads of other values
}

func (d *detourer) detours() []event.Detour {
	for i := range d.h.log {
		x := &d.h.log[i]
		if x.Thread != d.thread || x.Seq > d.until {
			continue
		}
		switch {
		case x.Op.IsAccess():
			d.access(x)
		case x.Op == event.Release || x.Op == event.Wake || x.Op == event.BarrierDepart || x.Op == event.AcquireAgain || x.Flags&event.InCondWait != 0 && x.Op != event.Wait:
		default:
			d.call(x)
		}
	}
	return slices.DeleteFunc(d.out, func(r event.Detour) bool { return len(r.To) == 0 })
}

// access adds a read to the stretch, if it is the first access of its variable there, and later reads saw the same.
func (d *detourer) access(x *kept.Event) {
	o, other := d.others[x.Seq]
	d.other = d.other || other
	r := event.ReadValue{Stack: x.Stack, Object: x.Object, Value: x.Value, Other: x.Value}
	if other {
		r.Other, r.Initially = o.Other, o.Initially
	}
	known := x.Op == event.Read && x.Flags&event.HasValue != 0 && x.Flags&(event.NoSource|event.Late) == 0 && (!other || o.known)
	at, before := d.seen[x.Object]
	switch {
	case !before && known:
		d.mark(x.Object, len(d.current.Reads))
		d.current.Reads = append(d.current.Reads, r)
	case !before || at >= 0 && x.Op != event.Read:
		d.mark(x.Object, -1)
	case at >= 0:
		first := d.current.Reads[at]
		if !known || first.Value != r.Value || first.Other != r.Other || first.Initially != r.Initially {
			d.contradicted = append(d.contradicted, x.Object)
		}
	}
}

func (d *detourer) mark(id event.ObjectID, at int) {
	if d.seen == nil {
		d.seen = map[event.ObjectID]int{}
	}
	d.seen[id] = at
}

// call ends the stretch.
func (d *detourer) call(x *kept.Event) {
	d.current.Reads = slices.DeleteFunc(d.current.Reads, func(r event.ReadValue) bool { return slices.Contains(d.contradicted, r.Object) })
	if d.current.From != 0 && slices.ContainsFunc(d.current.Reads, event.ReadValue.Differs) {
		d.current.Changed = d.changed
		d.out = append(d.out, d.current)
		d.open = append(d.open, len(d.out)-1)
	}
	d.changed = d.changed || d.other
	if x.Stack == 0 || !isCall(x.Op) {
		d.open = nil
	}
	var still []int
	for _, i := range d.open {
		if d.out[i].To = append(d.out[i].To, x.Stack); len(d.out[i].To) < maxCalls {
			still = append(still, i)
		}
	}
	d.open = still
	d.current, d.seen, d.contradicted, d.other = event.Detour{From: x.Stack}, nil, nil, false
}

// isCall reports whether an event is made by each call of a function that synchronises.
func isCall(op event.Op) bool {
	switch op {
	case event.Acquire, event.AcquireRead, event.AcquireFailed, event.Wait, event.Signal, event.Broadcast, event.BarrierArrive,
		event.SemPost, event.SemWait, event.SemFailed, event.Fork, event.Join, event.Detach:
		return true
	}
	return false
}
