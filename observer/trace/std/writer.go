package std

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// WriterOptions configures a Writer.
type WriterOptions struct {
	// Dialect is the dialect to write. Default "": Rapid.
	Dialect Dialect
	// Names returns the names of the run. Default nil: threads, locks and variables are called
	// by a letter and their number.
	Names run.Namer
	// Location returns the text that identifies the location of a call stack: call stacks with
	// the same text have the same number. Default nil: the text of the innermost frame.
	Location func([]event.Frame) string
}

// Writer writes the events of a run as STD lines. Threads are called T and their number, except
// in a run that was imported from an STD trace, where they keep their names.
type Writer struct {
	out  *bufio.Writer
	opts WriterOptions

	threads     map[event.ThreadID]string
	objects     map[event.ObjectID]string
	threadNames map[string]bool          // the names of threads
	nameCounts  map[string]int           // by name: how many names unique made of it; 0: it is free
	stacks      map[event.StackID]string // the numbers of locations, by stack
	locations   map[string]string        // the numbers of locations, by WriterOptions.Location
	usedNumbers map[string]bool          // the numbers of locations
	lastNumber  int                      // the last number that unusedNumber returned
	readLocks   map[readLock]bool        // the read locks that threads hold
	omitted     map[string]uint64        // number of omissions, by what is omitted
}

// readLock is a read lock that a thread holds. STD has no operation for it.
type readLock struct {
	thread event.ThreadID
	lock   event.ObjectID
}

// NewWriter returns a Writer to out. The caller closes it.
func NewWriter(out io.Writer, opts WriterOptions) *Writer {
	if opts.Dialect == "" {
		opts.Dialect = Rapid
	}
	if opts.Names == nil {
		opts.Names = &run.Names{}
	}
	if opts.Location == nil {
		opts.Location = innermost
	}
	return &Writer{
		out: bufio.NewWriterSize(out, 1<<16), opts: opts, threads: map[event.ThreadID]string{}, objects: map[event.ObjectID]string{}, threadNames: map[string]bool{}, nameCounts: map[string]int{},
		stacks: map[event.StackID]string{}, locations: map[string]string{}, usedNumbers: map[string]bool{}, readLocks: map[readLock]bool{}, omitted: map[string]uint64{},
	}
}

// innermost returns the text of the innermost frame: its line or, if that is unknown, its offset.
func innermost(frames []event.Frame) string {
	if len(frames) == 0 {
		return ""
	}
	f := frames[0]
	offset := f.Offset
	if f.Line != 0 {
		offset = 0
	}
	return fmt.Sprint(f.Module, "|", f.File, "|", f.Function, "|", f.Line, "|", offset)
}

// Event writes the next event of the run. Close returns the first error.
func (w *Writer) Event(e *event.Event) {
	switch e.Op {
	case event.Acquire:
		if w.opts.Dialect != Rapid {
			w.line(e, "req", w.object(e.Object, "L"))
		}
		w.line(e, "acq", w.object(e.Object, "L"))
	case event.AcquireRead:
		w.readLocks[readLock{e.Thread, e.Object}] = true
		w.omit("read locks")
	case event.Release:
		w.release(e)
	case event.Read, event.Write, event.Update:
		w.access(e)
	case event.Fork:
		w.line(e, "fork", w.thread(e.Peer))
	case event.Join:
		w.line(e, "join", w.thread(e.Peer))
	case event.Wait, event.Signal, event.Broadcast:
		w.condition(e)
	case event.Begin, event.End, event.Detach, event.Init:
	case event.Destroy:
		delete(w.objects, e.Object) // No later event has this ObjectID.
	case event.Wake: // STD has no line for it: the thread wakes at its next line
	default:
		w.omit(e.Op.String() + " events")
	}
}

// omit counts something that the format cannot express.
func (w *Writer) omit(what string) { w.omitted[what]++ }

// release writes a release, unless it is of a read lock.
func (w *Writer) release(e *event.Event) {
	k := readLock{e.Thread, e.Object}
	if w.readLocks[k] {
		delete(w.readLocks, k)
		return
	}
	w.line(e, "rel", w.object(e.Object, "L"))
}

// access writes an access; an update is a read and a write.
func (w *Writer) access(e *event.Event) {
	if e.Flags&event.Atomic != 0 {
		w.omit("marks of atomic accesses")
	}
	if e.Flags&event.NoSource != 0 {
		w.omit("marks of reads that saw another write than the last")
	}
	name := w.object(e.Object, "V")
	if e.Op != event.Write {
		w.line(e, "r", name)
	}
	if e.Op != event.Read {
		w.line(e, "w", name)
	}
}

// condition writes a wait or a notification.
func (w *Writer) condition(e *event.Event) {
	if w.opts.Dialect != SUnhang {
		w.omit(e.Op.String() + " events")
		return
	}
	op := map[event.Op]string{event.Wait: "wait", event.Signal: "notify", event.Broadcast: "notifyAll"}[e.Op]
	w.line(e, op, w.object(e.Object, "C"))
}

// line writes one line.
func (w *Writer) line(e *event.Event, op, operand string) {
	// bufio keeps the first error for Flush.
	for _, s := range [...]string{w.thread(e.Thread), "|", op, "(", operand, ")|", w.location(e.Stack), "\n"} {
		_, _ = w.out.WriteString(s)
	}
}

// thread returns the name of a thread.
func (w *Writer) thread(id event.ThreadID) string {
	if name, ok := w.threads[id]; ok {
		return name
	}
	base := "T" + strconv.Itoa(int(id))
	if info := w.opts.Names.Thread(id); info.TID == 0 && printable(info.Name) && info.Name[0] != '#' {
		base = info.Name
	}
	if w.threadNames[alias(base)] { // "T1" and "1" would be read as the same thread
		w.nameCounts[base] = max(w.nameCounts[base], 1)
	}
	name := w.unique(base)
	w.threads[id], w.threadNames[name] = name, true
	return name
}

// alias returns the other name that a fork or join may use for a thread; "" if there is none.
func alias(name string) string {
	if isNumber(name) {
		return "T" + name
	}
	if bare := trimT(name); isNumber(bare) {
		return bare
	}
	return ""
}

// object returns the name of an object, which has the letter if the run has no name for it.
func (w *Writer) object(id event.ObjectID, letter string) string {
	if name, ok := w.objects[id]; ok {
		return name
	}
	base := letter + strconv.Itoa(int(id))
	if info := w.opts.Names.Object(id); printable(info.Name) {
		base = info.Name
	}
	w.objects[id] = w.unique(base)
	return w.objects[id]
}

// printable reports whether a name may be written in a line, and shown on a terminal.
func printable(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return c == ' ' || c == '|' || !unicode.IsPrint(c) })
}

// unique returns base, or if a thread or object already has that name, base with a number. A lock
// that was destroyed and initialised again has the same base as its predecessor.
func (w *Writer) unique(base string) string {
	name := base
	for w.nameCounts[name] > 0 {
		w.nameCounts[base]++
		name = fmt.Sprintf("%s~%d", base, w.nameCounts[base])
	}
	w.nameCounts[name] = 1
	return name
}

// location returns the number of the location of a call stack; "0": unknown. A location that was
// a number of at most 9 digits in an imported trace keeps that, if it is free.
func (w *Writer) location(id event.StackID) string {
	if id == 0 {
		return "0"
	}
	if number, ok := w.stacks[id]; ok {
		return number
	}
	frames := w.opts.Names.Frames(id)
	text := w.opts.Location(frames)
	number, ok := w.locations[text]
	if !ok {
		if number = Location(frames); !isNumber(number) || len(number) > 9 || w.usedNumbers[number] {
			number = w.unusedNumber()
		}
		w.locations[text], w.usedNumbers[number] = number, true
	}
	w.stacks[id] = number
	return number
}

// unusedNumber returns a number that no location has.
func (w *Writer) unusedNumber() string {
	for {
		w.lastNumber++
		if number := strconv.Itoa(w.lastNumber); !w.usedNumbers[number] {
			return number
		}
	}
}

// Omissions returns a sentence on what the format could not express of the events so far; "" if
// there is nothing.
func (w *Writer) Omissions() string {
	var all []string
	for what, n := range w.omitted {
		all = append(all, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(all)
	if len(all) == 0 {
		return ""
	}
	return "STD has no word for " + strings.Join(all, ", ") + ": they were left out, and with them the order that they make"
}

// Close writes the rest and returns the first error of all writes.
func (w *Writer) Close() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write the STD trace: %w", err)
	}
	return nil
}
