package predict

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// A read that sees another write than in the run, but the same value, does the same: maximal causality
// (Şerbănuţă, Chen, Roşu, "Maximal Causal Models for Sequentially Consistent Systems", RV 2012; Huang,
// Meredith, Roşu, "Maximal Sound Predictive Race Detection with Control Flow Abstraction", PLDI 2014).
// So the edge from a write to a read of its value orders nothing where another write leaves that value:
// ByValue returns a history without such edges. In its schedules each read sees the value that it read
// in the run, of whichever write (slotLog.left). The search is that for reversals.
//
// A read of what may be an address keeps its write: the memory there may have been used again since, and who wrote the
// address again has the object from another thread.
//
// This holds only for variables whose values are all known: see valuedWrites.
//
// Some threads compare a value with a constant and do nothing else with it (event.OnlyZero): a thread that drops its
// reference to an object tests whether the reference count is now 0. It does the same after any value for which the
// test has the same result.
// Updates that add a number (event.Increments) leave another value then, which is computed (scheduler.now).
//
// A read whose value its thread at most prints (idle) may see any write. That is shown by the code of its
// function alone, so what rests on it is likely at most (finding.Finding.OtherValues).

// Stamper stamps events with the clocks of the must-order, as clock.Must does.
type Stamper interface {
	Stamp(*event.Event)
	Done(*event.Event)
}

// ByValue returns a history of the same events, in which reads may see other writes of the values that
// they read in the run. Must, the clocks of a run that has not begun, stamps the events, without the
// edges to those reads, and each is passed to each before the next one. ByValue returns nil if there are
// no such reads, if some events were evicted or discarded, or if no steps or no time is left for the search.
func (h *History) ByValue(must Stamper, each func(*event.Event)) *History {
	return h.relaxed(h.repeated, nil, must, each)
}

// AnyValue is ByValue where reads and updates of data may see any write, too, but for those whose value, at their
// call stack, is decisive. What their threads do after they have seen another value is not known, so that what
// rests on it is likely at most (finding.Finding.OtherValues). Loads of atomic variables, and those by loops that
// wait, see the values of the run: they are there to order threads.
func (h *History) AnyValue(decisive func(stack event.StackID, value uint64) bool, must Stamper, each func(*event.Event)) *History {
	any := map[uint64]bool{}
	return h.relaxed(func() map[uint64]bool {
		free := h.repeated()
		for i := range h.log {
			x := &h.log[i]
			if readsData(x) && !mayReadAny(x) && !mayFollowAny(x) && !decisive(x.Stack, x.Value) {
				any[x.Seq], free[x.Seq] = true, true
			}
		}
		if len(any) == 0 {
			return nil
		}
		return free
	}, any, must, each)
}

// readsData reports whether the event reads a variable that is not there to order threads.
func readsData(x *kept.Event) bool {
	return (x.Op == event.Read || x.Op == event.Update) && x.Flags&(event.Atomic|event.Polled|event.NoSource|event.Late) == 0
}

// relaxed returns the history in which the reads that choose returns may see another write, and those of any
// whichever.
func (h *History) relaxed(choose func() map[uint64]bool, any map[uint64]bool, must Stamper, each func(*event.Event)) *History {
	h.update()
	if h.evicted+h.thinned > 0 || h.blind || h.reversals >= h.opt.Reversals || h.done() {
		return nil
	}
	free := choose()
	if len(free) == 0 {
		return nil
	}
	o := h.opt
	o.BeforeEviction, o.Reversals, o.Events = nil, o.Reversals-h.reversals, max(o.Events, len(h.log)+1)
	v := New(o)
	v.byValue, v.any = true, any
	for i := range h.log {
		if i%checkEvery == 0 && h.done() {
			return nil
		}
		e := h.log[i].Event()
		flags := e.Flags
		if free[e.Seq] {
			// No edge is drawn, neither to the event nor, from before an update, to what reads its value.
			e.Flags = e.Flags&^event.ResultUnused | event.NoSource
		}
		must.Stamp(&e)
		stamped := e.Flags
		if e.Flags = flags; any[e.Seq] {
			e.Flags |= event.ResultUnused
		}
		v.Event(&e)
		each(&e)
		e.Flags = stamped
		must.Done(&e)
	}
	return v
}

// repeated returns the Seq of the reads and updates that may see another write of the same value.
func (h *History) repeated() map[uint64]bool {
	writes := valuedWrites(h.log)
	number := map[variableValue]int{} // of the writes that leave the value, the initial one included
	for object, v := range writes.of {
		for _, first := range v.first {
			if !v.unknown && first == initially {
				number[variableValue{object, initially}] = 1
			}
		}
	}
	for i := range h.log {
		if x := &h.log[i]; x.Op.IsWrite() {
			number[variableValue{x.Object, writes.left(int32(i), x)}]++
		}
	}
	free, last := map[uint64]bool{}, map[event.ObjectID]int32{}
	for i := range h.log {
		x := &h.log[i]
		if !x.Op.IsAccess() {
			continue
		}
		from, written := last[x.Object]
		if !written {
			from = initially
		}
		again := x.Op != event.Write && number[variableValue{x.Object, from}] > 1 && !(x.Op == event.Read && mayBeAddress(x.Value))
		if mayReadAny(x) && x.Flags&event.NoSource == 0 || again || writes.tested(x) {
			free[x.Seq] = true
		}
		if x.Op.IsWrite() {
			last[x.Object] = writes.left(int32(i), x)
		}
	}
	return free
}

// variableValue is a variable and what a write leaves in it; see valued.left.
type variableValue struct {
	object event.ObjectID
	left   int32
}

// values are what is known of the values of a variable, and the first write of each of them.
type values struct {
	unknown bool // some value is not known, or contradicts another
	known   bool // value is that of the variable so far
	value   uint64
	first   map[uint64]int32 // by value: the first write that leaves it, as an index in the log, or initially
	tests   bool             // threads use of some of its values only whether they are certain ones
	begins  counter          // the initial value
}

// counter is the value of a variable.
type counter struct {
	value uint64
	known bool
}

// mostValue is the greatest value of a variable that updates count. With a greater one it may have overflowed.
const mostValue = 1<<31 - 1

// plus returns the value after an update.
func (c counter) plus(x *kept.Event) counter {
	n, adds := event.Added(x.Op, x.Flags)
	c.value += n
	c.known = c.known && adds && c.value <= mostValue
	return c
}

// answers reports whether the thread of a read or update does the same as in the run if it sees the value.
func (c counter) answers(x *kept.Event) bool {
	if x.Op == event.Update {
		c = c.plus(x)
	}
	inRun, ok := x.Flags.Answer(x.Value)
	now, _ := x.Flags.Answer(c.value)
	return ok && c.known && inRun == now
}

// tested reports whether the event reads a value of which its thread uses only whether it is a certain one, and whether
// it is can be computed in other schedules.
func (v valued) tested(x *kept.Event) bool {
	of := v.of[x.Object]
	return of != nil && !of.unknown && of.tested(x)
}

// tested is valued.tested for a variable whose values are all known.
func (v *values) tested(x *kept.Event) bool {
	_, ok := x.Flags.Answer(x.Value)
	_, adds := event.Added(x.Op, x.Flags)
	return ok && (adds || x.Op == event.Read)
}

// valued are the values of the variables of a log.
type valued struct{ of map[event.ObjectID]*values }

// valuedWrites finds the values of the variables of a log. All values of a variable are known if each
// access has its value and each read saw the value of the write before it, and if no event of any
// thread was lost: else something may have written the variable that was not recorded.
func valuedWrites(log kept.Log) valued {
	all := valued{map[event.ObjectID]*values{}}
	lost := false
	for i := range log {
		x := &log[i]
		lost = lost || x.Op == event.Hole || x.Flags&event.AfterHole != 0
		if !x.Op.IsAccess() {
			continue
		}
		v := all.of[x.Object]
		if v == nil {
			v = &values{first: map[uint64]int32{}}
			all.of[x.Object] = v
		}
		v.add(int32(i), x)
	}
	for _, v := range all.of {
		v.unknown = v.unknown || lost
	}
	return all
}

// add takes the next access of the variable, event i of the log.
func (v *values) add(i int32, x *kept.Event) {
	switch {
	case x.Flags&event.HasValue == 0 || x.Flags&(event.NoSource|event.Late) != 0:
		v.unknown = true
		return
	case x.Op == event.Read && v.known:
		v.unknown = v.unknown || v.value != x.Value
	case x.Op == event.Read:
		i = initially
		v.begins = counter{x.Value, true}
	}
	if n, adds := event.Added(x.Op, x.Flags); adds {
		v.adds(x.Value - n)
	}
	_, tested := x.Flags.Answer(x.Value)
	v.known, v.value, v.tests = true, x.Value, v.tests || tested
	if _, seen := v.first[x.Value]; !seen {
		v.first[x.Value] = i
	}
}

// adds takes the value that an update has read which adds a number to it.
func (v *values) adds(read uint64) {
	switch {
	case v.known:
		v.unknown = v.unknown || v.value != read
	case read <= mostValue:
		v.begins, v.first[read] = counter{read, true}, initially
	}
}

// left returns what stands for the value that write i of the log leaves: the first write of the same
// value, initially if the variable had that value before all writes, or i itself if not all values
// of the variable are known.
func (v valued) left(i int32, x *kept.Event) int32 {
	if of := v.of[x.Object]; of != nil && !of.unknown {
		return of.first[x.Value]
	}
	return i
}

// otherWrites returns, by thread, the epoch of its first atomic read that sees another write in a
// witness than in the run. What the thread read later of data that were not recorded may differ, as
// after an acquire (spans).
func (h *History) otherWrites(steps []finding.Step) map[event.ThreadID]event.Epoch {
	first := map[event.ThreadID]event.Epoch{}
	h.changedReads(steps, func(x *kept.Event, _ *finding.Step, _ uint64) {
		if _, known := first[x.Thread]; !known && x.Flags&event.Atomic != 0 {
			first[x.Thread] = x.Epoch
		}
	})
	return first
}

// otherValues returns the steps of a witness that read another value than in the run, or may: those of
// reads whose value the thread at most prints, or that may see any write (AnyValue).
func (h *History) otherValues(steps []finding.Step) (out []finding.Step) {
	h.changedReads(steps, func(x *kept.Event, s *finding.Step, by uint64) {
		w := h.entry(by)
		if (mayReadAny(x) || h.any[x.Seq]) && (w == nil || w.Flags&x.Flags&event.HasValue == 0 || w.Value != x.Value) {
			out = append(out, *s)
		}
	})
	return out
}

// OtherRead is a read that sees another value in a schedule than in the run.
type OtherRead struct {
	Stack event.StackID
	Value uint64 // in the run
	Other uint64 // in the schedule, unless Initially
	// Initially means that it sees the value which the variable has when the program begins, and that no read
	// of the run tells what that is.
	Initially bool
}

// OtherReads returns the reads of Finding.OtherValues whose values are known.
func (h *History) OtherReads(f *finding.Finding) (out []OtherRead) {
	begins := h.initialValues()
	h.changedReads(f.Witness, func(x *kept.Event, _ *finding.Step, by uint64) {
		if !h.any[x.Seq] || x.Flags&event.HasValue == 0 {
			return
		}
		r := OtherRead{Stack: x.Stack, Value: x.Value}
		if w := h.entry(by); w != nil {
			if r.Other = w.Value; w.Flags&event.HasValue == 0 {
				return
			}
		} else if v, known := begins[x.Object]; known {
			r.Other = v
		} else {
			r.Initially = true
		}
		if r.Initially || r.Other != r.Value {
			out = append(out, r)
		}
	})
	return out
}

// initialValues returns the values of the variables that were read before they were written.
func (h *History) initialValues() map[event.ObjectID]uint64 {
	values, seen := map[event.ObjectID]uint64{}, map[event.ObjectID]bool{}
	for i := range h.log {
		x := &h.log[i]
		if !x.Op.IsAccess() || seen[x.Object] {
			continue
		}
		seen[x.Object] = true
		if x.Op == event.Read && x.Flags&event.HasValue != 0 && x.Flags&(event.NoSource|event.Late) == 0 {
			values[x.Object] = x.Value
		}
	}
	return values
}

// changedReads calls each for the reads and updates that see another write in a witness than in the run,
// with the Seq of that write, 0 if there is none.
func (h *History) changedReads(steps []finding.Step, each func(x *kept.Event, s *finding.Step, by uint64)) {
	saw, last := map[uint64]uint64{}, map[event.ObjectID]uint64{}
	for i := range h.log {
		x := &h.log[i]
		if x.Op.IsAccess() {
			saw[x.Seq] = last[x.Object]
		}
		if x.Op.IsWrite() {
			last[x.Object] = x.Seq
		}
	}
	clear(last)
	for i := range steps {
		x := h.entry(steps[i].Seq)
		if x == nil || !x.Op.IsAccess() {
			continue
		}
		if x.Op != event.Write && (!mayFollowAny(x) || h.any[x.Seq]) && saw[x.Seq] != last[x.Object] {
			each(x, &steps[i], last[x.Object])
		}
		if x.Op.IsWrite() {
			last[x.Object] = x.Seq
		}
	}
}
