// Package perfetto draws a run on a timeline: it writes events in the JSON form
// of Chrome's trace events, which ui.perfetto.dev opens. Each thread is a track;
// on it lie the locks that it held and its waits as slices, what else it did as
// marks, and arrows lead from a fork to the child and from an end to the join.
//
// Events in, in order; JSON out as they come. Memory is bounded by threads and
// by the objects in use.
package perfetto

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Options configure a Writer.
type Options struct {
	Names   run.Namer // default nil: identifiers alone
	Program string    // its path; "" if unknown
	PID     int       // 0 if unknown
	// Funcs names the functions of calls and returns. Default nil: numbers alone.
	Funcs func(event.FuncID) event.Func
}

// Writer writes a timeline. Make it with New; Close it.
type Writer struct {
	out     *bufio.Writer
	opts    Options
	any     bool // an element has been written
	buf     []byte
	places  map[event.StackID]arguments
	now     int64
	timed   bool  // the events so far had times
	base    int64 // ns, of the run's clock
	threads map[event.ThreadID]*track
	locks   map[event.ObjectID]holding
	flows   int
}

// track is the timeline of a thread.
type track struct {
	id   event.ThreadID
	last int64 // ns, of its last event
	open []slice
	seen bool // it has an event
	born int  // the flow that leads to its begin; 0: none
	died int  // the flow that leads from its end
	over bool
}

// slice is one that has begun.
type slice struct {
	name   string
	object event.ObjectID // 0: the thread's life
	fn     event.FuncID   // of a call; object is 0
	args   arguments
}

// holding is the last section under a lock.
type holding struct {
	thread event.ThreadID
	since  int64
	until  int64 // -1: it goes on
}

// arguments are what the viewer shows beside a slice.
type arguments []argument

type argument struct {
	key, text string
	number    uint64 // where text is ""
}

// New begins a timeline on out.
func New(out io.Writer, opts Options) *Writer {
	w := &Writer{out: bufio.NewWriterSize(out, 1<<16), opts: opts, threads: map[event.ThreadID]*track{}, locks: map[event.ObjectID]holding{},
		places: map[event.StackID]arguments{}}
	w.raw(`{"displayTimeUnit":"ns","traceEvents":[`)
	name := path.Base(opts.Program)
	if opts.Program == "" {
		name = "run"
	}
	w.element(element{Ph: "M", Name: "process_name", PID: w.pid(), Args: arguments{{key: "name", text: name}}})
	return w
}

func (w *Writer) pid() int { return max(w.opts.PID, 1) }

// element is one trace event.
type element struct {
	Ph, Name, Cat string
	TS, Dur       int64 // ns
	PID           int
	TID           event.ThreadID
	ID            int    // of an arrow
	Bind          string // of an arrow's head: to the slice around it
	Scope         string // of a mark
	Args          arguments
}

func (w *Writer) raw(s string) {
	_, _ = w.out.WriteString(s) // bufio keeps the first error for Flush
}

func (w *Writer) element(e element) {
	if w.any {
		w.raw(",")
	}
	w.any = true
	w.buf = e.append(append(w.buf[:0], '\n'))
	_, _ = w.out.Write(w.buf)
}

// append writes the element as JSON: a run has millions, so by hand.
func (e *element) append(b []byte) []byte {
	b = append(b, `{"ph":"`...)
	b = append(b, e.Ph...)
	b = append(b, '"')
	for _, f := range [...]struct{ key, value string }{{"name", e.Name}, {"cat", e.Cat}, {"bp", e.Bind}, {"s", e.Scope}} {
		if f.value != "" {
			b = append(append(append(b, `,"`...), f.key...), `":`...)
			b = appendString(b, f.value)
		}
	}
	if e.Ph != "M" {
		b = appendMicros(append(b, `,"ts":`...), e.TS)
	}
	if e.Ph == "X" {
		b = appendMicros(append(b, `,"dur":`...), e.Dur)
	}
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(e.PID), 10)
	b = strconv.AppendUint(append(b, `,"tid":`...), uint64(e.TID), 10)
	if e.ID != 0 {
		b = strconv.AppendInt(append(b, `,"id":`...), int64(e.ID), 10)
	}
	if len(e.Args) > 0 {
		b = append(b, `,"args":{`...)
		for i, a := range e.Args {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, a.key), ':')
			if a.text != "" {
				b = appendString(b, a.text)
			} else {
				b = strconv.AppendUint(b, a.number, 10)
			}
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendString quotes; what is not plain ASCII goes the long way.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			text, _ := json.Marshal(s) // a string can always be had
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendMicros writes ns, which are not negative, as µs.
func appendMicros(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1000, 10)
	return append(b, '.', byte('0'+ns/100%10), byte('0'+ns/10%10), byte('0'+ns%10))
}

// stamp gives the time of an event on the timeline in ns: since the first event
// that has a time. Where none has, an event is a microsecond.
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

// Event draws the next event of the run.
func (w *Writer) Event(e *event.Event) {
	ts := w.stamp(e)
	t := w.track(e, ts)
	if t.over {
		return
	}
	before := t.last
	t.last = max(ts, t.last) // clocks of two processors may differ
	w.draw(t, e, before)
}

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
	w.element(element{Ph: "M", Name: "thread_name", PID: w.pid(), TID: t.id, Args: arguments{{key: "name", text: name}}})
	w.element(element{Ph: "M", Name: "thread_sort_index", PID: w.pid(), TID: t.id, Args: arguments{{key: "sort_index", number: uint64(t.id)}}})
	w.begin(t, slice{name: name})
	if t.born != 0 {
		w.element(element{Ph: "f", Name: "start", Cat: "thread", ID: t.born, Bind: "e", TS: ts, PID: w.pid(), TID: t.id})
	}
	return t
}

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

// called begins a slice where the return is an event too.
func (w *Writer) called(t *track, e *event.Event) {
	f := w.function(e)
	args := w.callArgs(e, &f)
	if !f.Wants(true) {
		w.element(element{Ph: "i", Name: "call " + f.Name, Cat: "call", Scope: "t", TS: t.last, PID: w.pid(), TID: t.id, Args: args})
		return
	}
	w.begin(t, slice{name: f.Name, fn: e.Func, args: args})
}

// returned ends the slice of the call. Those of calls above it were left by an
// exception, and end with it; what else is above goes on.
func (w *Writer) returned(t *track, e *event.Event) {
	at := len(t.open) - 1
	for at >= 0 && (e.Func == 0 || t.open[at].fn != e.Func) {
		at--
	}
	if at < 0 {
		f := w.function(e)
		w.element(element{Ph: "i", Name: "return " + f.Name, Cat: "call", Scope: "t", TS: t.last, PID: w.pid(), TID: t.id, Args: w.callArgs(e, &f)})
		return
	}
	again := append([]slice(nil), t.open[at+1:]...)
	w.closeFrom(t, at)
	for _, s := range again {
		if s.fn == 0 {
			w.begin(t, s)
		}
	}
}

// function names the function of a call; one that is not known by its number.
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

// callArgs are what a call was passed, and on which instance.
func (w *Writer) callArgs(e *event.Event, f *event.Func) arguments {
	args := slices.Clip(w.at(e))
	if e.Object != 0 {
		args = append(args, argument{key: "object", text: w.objectName(e)})
	}
	for i, v := range e.Args {
		key := fmt.Sprintf("argument %d", i+1)
		if i < len(f.Params) && f.Params[i].Name != "" {
			key = f.Params[i].Name
		}
		args = append(args, argument{key: key, text: strconv.FormatInt(int64(v), 10)})
	}
	if e.Flags&event.HasValue != 0 {
		args = append(args, argument{key: "result", text: strconv.FormatInt(int64(e.Value), 10)})
	}
	return args
}

func (w *Writer) begin(t *track, s slice) {
	cat := "lock"
	switch {
	case s.fn != 0:
		cat = "call"
	case s.object == 0:
		cat = "thread"
	}
	w.element(element{Ph: "B", Name: s.name, Cat: cat, TS: t.last, PID: w.pid(), TID: t.id, Args: s.args})
	t.open = append(t.open, s)
}

// finish ends the slice of an object. Slices of a track nest: those above it end
// too, and begin again.
func (w *Writer) finish(t *track, object event.ObjectID) {
	at := len(t.open) - 1
	for at >= 0 && t.open[at].object != object {
		at--
	}
	if at < 0 {
		return
	}
	again := append([]slice(nil), t.open[at+1:]...)
	w.closeFrom(t, at)
	for _, s := range again {
		w.begin(t, s)
	}
}

func (w *Writer) closeFrom(t *track, at int) {
	for range t.open[at:] {
		w.element(element{Ph: "E", TS: t.last, PID: w.pid(), TID: t.id})
	}
	t.open = t.open[:at]
}

// acquired: when the thread asked for the lock is not recorded. It may have
// waited since its last event and since the last holder took the lock, unless
// the clock of that one's processor puts this after now.
func (w *Writer) acquired(t *track, e *event.Event, before int64) {
	name := w.objectName(e)
	if h, ok := w.locks[e.Object]; ok && h.thread != t.id && h.until > before && h.since <= t.last {
		start := max(before, h.since)
		w.element(element{Ph: "X", Name: "may wait for " + name, Cat: "wait", TS: start, Dur: t.last - start, PID: w.pid(), TID: t.id,
			Args: arguments{{key: "held by", text: fmt.Sprintf("T%d", h.thread)}}})
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

func (w *Writer) forked(t *track, e *event.Event) {
	w.flows++
	child := w.threads[e.Peer]
	if child == nil {
		child = &track{id: e.Peer}
		w.threads[e.Peer] = child
	}
	child.born = w.flows
	w.element(element{Ph: "i", Name: "starts " + w.threadName(e.Peer), Cat: "thread", Scope: "t", TS: t.last, PID: w.pid(), TID: t.id, Args: w.at(e)})
	w.element(element{Ph: "s", Name: "start", Cat: "thread", ID: w.flows, TS: t.last, PID: w.pid(), TID: t.id})
}

func (w *Writer) end(t *track) {
	w.flows++
	t.died = w.flows
	w.element(element{Ph: "s", Name: "join", Cat: "thread", ID: t.died, TS: t.last, PID: w.pid(), TID: t.id})
	w.closeFrom(t, 0)
	t.over = true
}

// joined: the wait is at most from the thread's last event.
func (w *Writer) joined(t *track, e *event.Event, before int64) {
	name := "joins " + w.threadName(e.Peer)
	w.element(element{Ph: "X", Name: name, Cat: "wait", TS: before, Dur: t.last - before, PID: w.pid(), TID: t.id, Args: w.at(e)})
	u := w.threads[e.Peer]
	if u == nil || u == t || !u.seen {
		return // it did nothing that was seen
	}
	if !u.over { // a trace may say join without end
		u.last = max(u.last, t.last)
		w.end(u)
	}
	if u.died != 0 {
		w.element(element{Ph: "f", Name: "join", Cat: "thread", ID: u.died, Bind: "e", TS: t.last, PID: w.pid(), TID: t.id})
		u.died = 0
	}
}

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
	w.element(element{Ph: "i", Name: name, Cat: e.Kind.String(), Scope: "t", TS: t.last, PID: w.pid(), TID: t.id, Args: args})
	if e.Op == event.Destroy {
		delete(w.locks, e.Object)
	}
}

// valueText is a value as the source writes it, where that is not a number alone.
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

// at says where an event happened.
func (w *Writer) at(e *event.Event) arguments {
	if w.opts.Names == nil || e.Stack == 0 {
		return nil
	}
	if known, ok := w.places[e.Stack]; ok {
		return known
	}
	f := report.OwnFrame(w.opts.Names.Frames(e.Stack))
	where := f.Function
	if f.File != "" {
		where = fmt.Sprintf("%s %s:%d", f.Function, path.Base(f.File), f.Line)
	}
	var args arguments
	if where != "" {
		args = arguments{{key: "at", text: where}}
	}
	w.places[e.Stack] = args
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

// Close ends all slices and the file, and tells what went wrong since the
// beginning.
func (w *Writer) Close() error {
	for _, id := range slices.Sorted(maps.Keys(w.threads)) {
		if t := w.threads[id]; t.seen && !t.over {
			t.last = max(t.last, w.now)
			w.closeFrom(t, 0)
		}
	}
	w.raw("\n]}\n")
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	return nil
}
