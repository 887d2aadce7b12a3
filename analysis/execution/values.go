package execution

import "github.com/tracepredict/tracepredict/observer/event"

// knownValues is what is known of the values of a variable. A read may see another write of the same
// value than in the run only where all values are known: each access has its value, each read the
// value of the write before it, and no event of any thread was lost. Otherwise something may have
// written the variable that was not recorded.
type knownValues struct {
	unknown bool // some value is not known, or contradicts another
	written bool // by an event so far
	read    bool // the initial value is known, since a read saw it
	initial uint64
	value   uint64 // so far
}

// findValues finds the variables whose values are all known.
func (r *Run) findValues() {
	r.values = make([]knownValues, r.objects)
	for i := range r.events {
		e := &r.events[i]
		if e.Op == event.Hole || e.Flags&event.AfterHole != 0 {
			r.values = make([]knownValues, 0)
			return
		}
		if e.Op.IsAccess() {
			r.values[r.object[i]].add(e)
		}
	}
}

// add takes the next access of the variable.
func (v *knownValues) add(e *event.Event) {
	switch {
	case e.Flags&event.HasValue == 0 || e.Flags&(event.NoSource|event.Late) != 0:
		v.unknown = true
	case e.Op.IsWrite():
		v.written, v.value = true, e.Value
	case v.written || v.read:
		v.unknown = v.unknown || v.value != e.Value
	default:
		v.read, v.initial, v.value = true, e.Value, e.Value
	}
}

// sameValue reports whether two writes left the same value in a variable; noSource stands for none.
func (r *Run) sameValue(object, a, b int32) bool {
	x, ok := r.valueOf(object, a)
	y, too := r.valueOf(object, b)
	return ok && too && x == y
}

// valueOf returns the value that a write left in a variable, if it is known.
func (r *Run) valueOf(object, write int32) (value uint64, ok bool) {
	if int(object) >= len(r.values) || r.values[object].unknown {
		return 0, false
	}
	if write >= 0 {
		return r.events[write].Value, true
	}
	return r.values[object].initial, write == noSource && r.values[object].read
}
