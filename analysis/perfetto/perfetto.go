// Package perfetto shows a run on a timeline: it writes events as a Perfetto trace, which
// ui.perfetto.dev opens. Each thread is a track, with its critical sections and waits as
// slices and its other events as instants. Arrows lead from a fork to the child and from an
// end to the join.
//
// The input is events, in order; the output is protobuf, written as they arrive. Memory is
// bounded by the threads, by the objects in use and by the number of names that are interned.
// encode.go lists the messages and fields that are written.
package perfetto

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Options configure a Writer.
type Options struct {
	Names   run.Namer // default nil: only identifiers are shown
	Program string    // its path; "" if unknown
	PID     int       // 0 if unknown
	// Funcs returns the functions of calls and returns. Default nil: only their numbers are
	// shown.
	Funcs func(event.FuncID) event.Func
}

// Writer writes a timeline. New makes it, and Close completes the timeline.
type Writer struct {
	encoder
	opts      Options
	locations map[event.StackID]arguments // results of at
	now       int64
	timed     bool  // an event so far had a time
	base      int64 // time of the run at position 0 of the timeline, ns
	threads   map[event.ThreadID]*track
	locks     map[event.ObjectID]holding
	flows     uint64
}

// track is the timeline of a thread.
type track struct {
	id     event.ThreadID
	last   int64   // time of its last event, ns on the timeline
	open   []slice // the slices that have not ended, outermost first
	seen   bool    // it has an event
	fork   uint64  // the flow that leads to its begin; 0: none
	end    uint64  // the flow that leads from its end; 0: none, or it has led to a join
	closed bool    // the thread has ended
}

// slice is a slice that has not ended.
type slice struct {
	name   string
	object event.ObjectID // 0: the thread's life
	fn     event.FuncID   // of a call; object is 0
	args   arguments
}

// holding is the last critical section of a lock.
type holding struct {
	thread event.ThreadID
	since  int64 // ns on the timeline
	until  int64 // ns on the timeline; -1: it has not ended
}

// New begins a timeline on out.
func New(out io.Writer, opts Options) *Writer {
	w := &Writer{
		encoder: newEncoder(bufio.NewWriterSize(out, 1<<16)), opts: opts,
		threads: map[event.ThreadID]*track{}, locks: map[event.ObjectID]holding{}, locations: map[event.StackID]arguments{},
	}
	name := path.Base(opts.Program)
	if opts.Program == "" {
		name = "run"
	}
	w.process(max(opts.PID, 1), name)
	return w
}

// stamp returns the time of an event on the timeline in ns. Until an event has a time, events are a
// microsecond apart; from then on the timeline follows the times of events.
func (w *Writer) stamp(e *event.Event) int64 {
	switch {
	case e.Time != 0 && !w.timed:
		w.timed, w.base = true, int64(e.Time)-w.now-1
		fallthrough
	case e.Time != 0:
		w.now = max(int64(e.Time)-w.base, 0)
	case !w.timed:
		w.now += 1000
	}
	return w.now
}

// Event adds the next event of the run to the timeline.
func (w *Writer) Event(e *event.Event) {
	ts := w.stamp(e)
	t := w.track(e, ts)
	if t.closed {
		return
	}
	before := t.last
	t.last = max(ts, t.last) // clocks of two processors may differ
	w.draw(t, e, before)
}

// track returns the track of the event's thread, which its first event begins.
func (w *Writer) track(e *event.Event, ts int64) *track {
	t := w.threads[e.Thread]
	if t != nil && t.seen {
		return t
	}
	if t == nil {
		t = &track{id: e.Thread}
		w.threads[e.Thread] = t
	}
	t.seen, t.last = true, ts
	name := w.threadName(e.Thread)
	w.thread(max(w.opts.PID, 1), t.id, name)
	w.beginWith(t, slice{name: name}, t.fork)
	return t
}

// draw adds an event to its track; before is the time of the event before it on the track.
func (w *Writer) draw(t *track, e *event.Event, before int64) {
	switch e.Op {
	case event.Begin:
	case event.End:
		w.end(t)
	case event.Acquire, event.AcquireRead:
		w.acquired(t, e, before)
	case event.Release:
		w.released(t, e)
	case event.Wait, event.BarrierArrive:
		w.begin(t, slice{name: "waits for " + w.objectName(e), object: e.Object, args: w.at(e)})
	case event.Wake, event.BarrierDepart:
		w.finish(t, e.Object)
	case event.Fork:
		w.forked(t, e)
	case event.Join:
		w.joined(t, e, before)
	case event.Call:
		w.called(t, e)
	case event.Return:
		w.returned(t, e)
	default:
		w.mark(t, e)
	}
}

// called handles a Call: it begins a slice if the return is an event too, else it writes an
// instant.
func (w *Writer) called(t *track, e *event.Event) {
	f := w.function(e)
	args := w.callArgs(e, &f)
	if !f.Wants(true) {
		w.instant(t, trackEvent{name: "call " + f.Name, category: "call", args: args})
		return
	}
	w.begin(t, slice{name: f.Name, fn: e.Func, args: args})
}

// returned handles a Return: it ends the slice of the call. Slices of calls inside it end
// too, since an exception has left them. Other slices inside it continue.
func (w *Writer) returned(t *track, e *event.Event) {
	at := len(t.open) - 1
	for at >= 0 && (e.Func == 0 || t.open[at].fn != e.Func) {
		at--
	}
	if at < 0 {
		f := w.function(e)
		w.instant(t, trackEvent{name: "return " + f.Name, category: "call", args: w.callArgs(e, &f)})
		return
	}
	inner := append([]slice(nil), t.open[at+1:]...)
	w.closeFrom(t, at)
	for _, s := range inner {
		if s.fn == 0 {
			w.begin(t, s)
		}
	}
}

// function returns the function of a call; an unknown one has its number as the name.
func (w *Writer) function(e *event.Event) event.Func {
	var f event.Func
	if w.opts.Funcs != nil {
		f = w.opts.Funcs(e.Func)
	}
	if f.Name == "" {
		f.Name = fmt.Sprintf("function #%d", e.Func)
	}
	return f
}

// callArgs returns the source location, the instance, the arguments and the result of a call
// or return.
func (w *Writer) callArgs(e *event.Event, f *event.Func) arguments {
	args := slices.Clip(w.at(e))
	if e.Object != 0 {
		args = append(args, argument{key: "object", text: w.objectName(e)})
	}
	for i, v := range e.Args {
		key := cmp.Or(f.Key(i), fmt.Sprintf("argument %d", i+1))
		args = append(args, argument{key: key, text: strconv.FormatInt(int64(v), 10)})
	}
	if e.Flags&event.HasValue != 0 {
		args = append(args, argument{key: "result", text: strconv.FormatInt(int64(e.Value), 10)})
	}
	return args
}

func (w *Writer) begin(t *track, s slice) { w.beginWith(t, s, 0) }

// beginWith begins a slice to which a flow leads; 0: none.
func (w *Writer) beginWith(t *track, s slice, flow uint64) {
	category := "lock"
	switch {
	case s.fn != 0:
		category = "call"
	case s.object == 0:
		category = "thread"
	}
	w.event(trackEvent{typ: sliceBegin, track: t.id, time: t.last, name: s.name, category: category, ends: flow, args: s.args})
	t.open = append(t.open, s)
}

// instant writes an event without duration.
func (w *Writer) instant(t *track, e trackEvent) {
	e.typ, e.track, e.time = instant, t.id, t.last
	w.event(e)
}

// span writes a slice that began earlier and ends now.
func (w *Writer) span(t *track, since int64, name string, args arguments) {
	w.event(trackEvent{typ: sliceBegin, track: t.id, time: since, name: name, category: "wait", args: args})
	w.event(trackEvent{typ: sliceEnd, track: t.id, time: t.last})
}

// finish ends the slice of an object. Since the slices of a track nest, those inside it end
// too, and begin again.
func (w *Writer) finish(t *track, object event.ObjectID) {
	at := len(t.open) - 1
	for at >= 0 && t.open[at].object != object {
		at--
	}
	if at < 0 {
		return
	}
	inner := append([]slice(nil), t.open[at+1:]...)
	w.closeFrom(t, at)
	for _, s := range inner {
		w.begin(t, s)
	}
}

// closeFrom ends the slices from index at on.
func (w *Writer) closeFrom(t *track, at int) {
	for range t.open[at:] {
		w.event(trackEvent{typ: sliceEnd, track: t.id, time: t.last})
	}
	t.open = t.open[:at]
}

// acquired begins the slice of a critical section. The time of the request is not recorded:
// the thread may have waited since its last event and since the previous holder acquired the
// lock. acquired shows such a wait, unless the clock of another processor puts that
// acquisition after now.
func (w *Writer) acquired(t *track, e *event.Event, before int64) {
	name := w.objectName(e)
	if h, ok := w.locks[e.Object]; ok && h.thread != t.id && h.until > before && h.since <= t.last {
		w.span(t, max(before, h.since), "may wait for "+name, arguments{{key: "held by", text: fmt.Sprintf("T%d", h.thread)}})
	}
	if e.Op == event.Acquire {
		w.locks[e.Object] = holding{thread: t.id, since: t.last, until: -1}
	} else {
		name += " (read)"
	}
	w.begin(t, slice{name: name, object: e.Object, args: w.at(e)})
}

func (w *Writer) released(t *track, e *event.Event) {
	if h, ok := w.locks[e.Object]; ok && h.thread == t.id {
		h.until = t.last
		w.locks[e.Object] = h
	}
	w.finish(t, e.Object)
}

// forked writes an instant, from which an arrow leads to the child.
func (w *Writer) forked(t *track, e *event.Event) {
	w.flows++
	child := w.threads[e.Peer]
	if child == nil {
		child = &track{id: e.Peer}
		w.threads[e.Peer] = child
	}
	child.fork = w.flows
	w.instant(t, trackEvent{name: "starts " + w.threadName(e.Peer), category: "thread", starts: w.flows, args: w.at(e)})
}

// end ends the slices of a thread that has ended, after an instant from which an arrow can lead to
// the join.
func (w *Writer) end(t *track) {
	w.flows++
	t.end = w.flows
	w.instant(t, trackEvent{name: "ends", category: "thread", starts: t.end})
	w.closeFrom(t, 0)
	t.closed = true
}

// joined shows the wait of a join, which began at the earliest at the thread's last event.
func (w *Writer) joined(t *track, e *event.Event, before int64) {
	u, flow := w.threads[e.Peer], uint64(0)
	w.span(t, before, "joins "+w.threadName(e.Peer), w.at(e))
	if u != nil && u != t && u.seen {
		if !u.closed { // a trace may have a join without an end
			u.last = max(u.last, t.last)
			w.end(u)
		}
		flow, u.end = u.end, 0
	}
	if flow != 0 {
		w.instant(t, trackEvent{name: "joined " + w.threadName(e.Peer), category: "thread", ends: flow})
	}
}

// mark writes an event that begins or ends no slice.
func (w *Writer) mark(t *track, e *event.Event) {
	name := e.Op.String()
	if e.Object != 0 {
		name += " " + w.objectName(e)
	}
	args := w.at(e)
	if e.Flags&event.HasValue != 0 {
		args = append(slices.Clip(args), argument{key: "value", number: e.Value})
		if text := w.valueText(e); text != "" {
			args = append(args, argument{key: "value_text", text: text})
		}
	}
	w.instant(t, trackEvent{name: name, category: e.Kind.String(), args: args})
	if e.Op == event.Destroy {
		delete(w.locks, e.Object)
	}
}

// valueText returns a value as the source writes it, if that is more than a number; else "".
func (w *Writer) valueText(e *event.Event) string {
	if w.opts.Names == nil || e.Kind != event.KindVariable {
		return ""
	}
	text := w.opts.Names.Object(e.Object).Form.Text(e.Value)
	if text == strconv.FormatUint(e.Value, 10) {
		return ""
	}
	return text
}

// at returns the source location of an event as an argument.
func (w *Writer) at(e *event.Event) arguments {
	if w.opts.Names == nil || e.Stack == 0 {
		return nil
	}
	if known, ok := w.locations[e.Stack]; ok {
		return known
	}
	f := run.OwnFrame(w.opts.Names.Frames(e.Stack))
	where := f.Function
	if f.File != "" {
		where = fmt.Sprintf("%s %s:%d", f.Function, path.Base(f.File), f.Line)
	}
	var args arguments
	if where != "" {
		args = arguments{{key: "at", text: where}}
	}
	w.locations[e.Stack] = args
	return args
}

func (w *Writer) threadName(id event.ThreadID) string {
	name := fmt.Sprintf("T%d", id)
	if w.opts.Names == nil {
		return name
	}
	info := w.opts.Names.Thread(id)
	switch {
	case info.Start != "":
		name += " " + info.Start
	case info.Main:
		name += " main thread"
	case info.Name != "":
		name += " " + info.Name
	}
	return name
}

func (w *Writer) objectName(e *event.Event) string {
	if w.opts.Names != nil {
		info := w.opts.Names.Object(e.Object)
		if info.Name != "" {
			return info.Name
		}
		if info.Addr != 0 {
			return fmt.Sprintf("%s %#x", e.Kind, info.Addr)
		}
	}
	return fmt.Sprintf("%s #%d", e.Kind, e.Object)
}

// Close ends all slices and the file, and returns the first error since the beginning.
func (w *Writer) Close() error {
	for _, id := range slices.Sorted(maps.Keys(w.threads)) {
		if t := w.threads[id]; t.seen && !t.closed {
			t.last = max(t.last, w.now)
			w.closeFrom(t, 0)
		}
	}
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	return nil
}
