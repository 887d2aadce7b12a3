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

// WriterOptions configure a Writer.
type WriterOptions struct {
	// Dialect is what may be written. Default "": Rapid.
	Dialect Dialect
	// Names are those of the run. Default nil: threads, locks and variables
	// have numbers alone.
	Names run.Namer
	// Location returns the text that identifies the location of a call stack: call stacks
	// of equal text have one number. Default nil: the innermost frame.
	Location func([]event.Frame) string
}

// Writer writes the events of a run as STD lines. Threads are called T and their
// number, unless the trace was an imported one, which has names for them.
type Writer struct {
	out  *bufio.Writer
	opts WriterOptions

	threads   map[event.ThreadID]string
	objects   map[event.ObjectID]string
	called    map[string]bool // names of threads
	taken     map[string]int  // names; how many have been made of each
	stacks    map[event.StackID]string
	locations map[string]string // by their text
	numbers   map[string]bool   // taken
	next      int               // number of a location
	readers   map[reading]bool
	left      map[string]uint64
}

// reading is a read lock that a thread holds. STD has no operation for it.
type reading struct {
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
		out: bufio.NewWriterSize(out, 1<<16), opts: opts, threads: map[event.ThreadID]string{}, objects: map[event.ObjectID]string{}, called: map[string]bool{}, taken: map[string]int{},
		stacks: map[event.StackID]string{}, locations: map[string]string{}, numbers: map[string]bool{}, readers: map[reading]bool{}, left: map[string]uint64{},
	}
}

func innermost(frames []event.Frame) string {
	if len(frames) == 0 {
		return ""
	}
	f := frames[0]
	return fmt.Sprint(f.Module, "|", f.File, "|", f.Function, "|", f.Line, "|", f.Offset*bit(f.Line == 0))
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
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
		w.readers[reading{e.Thread, e.Object}] = true
		w.leave("read locks")
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
	case event.Wake: // the acquisition that follows stands for it
	default:
		w.leave(e.Op.String() + " events")
	}
}

func (w *Writer) leave(what string) { w.left[what]++ }

func (w *Writer) release(e *event.Event) {
	k := reading{e.Thread, e.Object}
	if w.readers[k] {
		delete(w.readers, k)
		return
	}
	w.line(e, "rel", w.object(e.Object, "L"))
}

func (w *Writer) access(e *event.Event) {
	if e.Flags&event.Atomic != 0 {
		w.leave("marks of atomic accesses")
	}
	if e.Flags&event.NoSource != 0 {
		w.leave("marks of reads that saw another write than the last")
	}
	name := w.object(e.Object, "V")
	if e.Op != event.Write {
		w.line(e, "r", name)
	}
	if e.Op != event.Read {
		w.line(e, "w", name)
	}
}

func (w *Writer) condition(e *event.Event) {
	if w.opts.Dialect != SUnhang {
		w.leave(e.Op.String() + " events")
		return
	}
	op := map[event.Op]string{event.Wait: "wait", event.Signal: "notify", event.Broadcast: "notifyAll"}[e.Op]
	w.line(e, op, w.object(e.Object, "C"))
}

func (w *Writer) line(e *event.Event, op, operand string) {
	// bufio keeps the first error for Flush.
	for _, s := range [...]string{w.thread(e.Thread), "|", op, "(", operand, ")|", w.location(e.Stack), "\n"} {
		_, _ = w.out.WriteString(s)
	}
}

func (w *Writer) thread(id event.ThreadID) string {
	if name, ok := w.threads[id]; ok {
		return name
	}
	base := "T" + strconv.Itoa(int(id))
	if info := w.opts.Names.Thread(id); info.TID == 0 && plain(info.Name) && info.Name[0] != '#' {
		base = info.Name
	}
	if w.called[alias(base)] { // "T1" and "1" would be read as one
		w.taken[base] = max(w.taken[base], 1)
	}
	name := w.unique(base)
	w.threads[id], w.called[name] = name, true
	return name
}

// alias is the other name that a thread may go by where it is forked or joined;
// "" if there is none.
func alias(name string) string {
	if isNumber(name) {
		return "T" + name
	}
	if bare := trimT(name); isNumber(bare) {
		return bare
	}
	return ""
}

func (w *Writer) object(id event.ObjectID, letter string) string {
	if name, ok := w.objects[id]; ok {
		return name
	}
	base := letter + strconv.Itoa(int(id))
	if info := w.opts.Names.Object(id); plain(info.Name) {
		base = info.Name
	}
	w.objects[id] = w.unique(base)
	return w.objects[id]
}

// plain reports whether a name can stand in a line, and on a terminal.
func plain(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return c == ' ' || c == '|' || !unicode.IsPrint(c) })
}

// unique returns a name that no other object has: a lock that was destroyed and
// initialised again has the same base name as its predecessor.
func (w *Writer) unique(base string) string {
	name := base
	for w.taken[name] > 0 {
		w.taken[base]++
		name = fmt.Sprintf("%s~%d", base, w.taken[base])
	}
	w.taken[name] = 1
	return name
}

// location returns the number of the location of a call stack; "0" is unknown.
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
		if number = Location(frames); !isNumber(number) || len(number) > 9 || w.numbers[number] {
			for number = ""; number == "" || w.numbers[number]; number = strconv.Itoa(w.next) {
				w.next++
			}
		}
		w.locations[text], w.numbers[number] = number, true
	}
	w.stacks[id] = number
	return number
}

// Omissions returns a sentence on what the format could not express of the events so far; "" if
// there is nothing.
func (w *Writer) Omissions() string {
	var all []string
	for what, n := range w.left {
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
