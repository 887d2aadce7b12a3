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
	n, adds := e.Added()
	switch {
	case e.Flags&event.HasValue == 0 || e.Flags&(event.NoSource|event.Late) != 0:
		v.unknown = true
	case adds && (v.written || v.read):
		v.unknown = v.unknown || v.value+n != e.Value
		v.written, v.value = true, e.Value
	case adds && e.Value-n <= mostCounted:
		v.written, v.read, v.initial, v.value = true, true, e.Value-n, e.Value
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

// mostCounted is the greatest value that variables are assumed to have which are counted. With a greater one they may
// have overflowed.
const mostCounted = 1<<31 - 1

// counter is the value of a variable in a schedule.
type counter struct {
	value uint64
	known bool
}

// initialCounter returns the value of a variable before the first event.
func (r *Run) initialCounter(object int) counter {
	if object >= len(r.values) {
		return counter{}
	}
	v := &r.values[object]
	return counter{v.initial, v.read && !v.unknown}
}

// plus returns the value after an update.
func (c counter) plus(e *event.Event) counter {
	n, adds := e.Added()
	c.value += n
	c.known = c.known && adds && c.value <= mostCounted
	return c
}

// left returns the value that the event leaves if it sees the same as in the run.
func (r *Run) left(i int32) counter {
	o := r.object[i]
	return counter{r.events[i].Value, int(o) < len(r.values) && !r.values[o].unknown}
}

// answers reports whether the thread of a read or update goes on as in the run, if it sees the value: it uses no
// more of it than whether it is a certain one.
func (c counter) answers(e *event.Event) bool {
	if e.Op == event.Update {
		c = c.plus(e)
	}
	inRun, ok := e.Flags.Answer(e.Value)
	now, _ := e.Flags.Answer(c.value)
	return ok && c.known && inRun == now
}

// equals reports whether a read or update sees a value and leaves the same as in the run.
func (c counter) equals(e *event.Event) bool {
	if e.Op == event.Update {
		c = c.plus(e)
	}
	return c.known && c.value == e.Value
}
