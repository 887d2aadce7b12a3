package std

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

const (
	maxLine  = 1 << 16 // largest length of a line, in bytes
	maxNames = 1 << 30 // largest memory of the names of a trace, in bytes
)

// ReaderOptions configures a Reader.
type ReaderOptions struct {
	// Strict rejects lines that RAPID itself does not read.
	Strict bool
	// Repairs, if not nil, mends lines that no run can have; it is what Scan returned for the
	// same text. It must be nil with Strict.
	Repairs *Repairs
}

// Reader reads an STD trace; a trace.Source. Its memory depends on the number of threads, objects
// and locations that the trace names, not on its length.
type Reader struct {
	in    *bufio.Reader
	name  string
	opts  ReaderOptions
	lines int   // number of lines read so far, those of stacks included
	err   error // the error that ended the reading, io.EOF included; nil: none yet

	queue     []event.Event // the events of the current line
	delivered int           // number of these that Next has returned
	at        int           // number of the current line, from 1
	seq       uint64        // number of events so far

	names    run.Names
	size     int // approximate memory of the names, in bytes
	threads  map[string]*thread
	locks    map[string]*lock
	vars     map[string]event.ObjectID
	conds    map[string]event.ObjectID
	stacks   map[string]event.StackID // by location and stack, a line each
	current  []byte                   // the text of the current line
	location []byte                   // scratch of stack

	// How many lines were skipped, by the reason, and acquires of a lock by its holder.
	blank, comments, transactions, reacquired int
	rejoined                                  string // why an order is missing; "" if none is
	mended                                    mended
}

// thread is a thread of the trace. It may have several names in Reader.threads; see operandThread.
type thread struct {
	id       event.ThreadID
	name     string
	base     string // the name in the text: that of name without a number (Reader.nextOfName)
	number   int    // of the threads of this base before
	inferred bool   // only forks and joins have named it so far, by a bare number
	first    int    // number of its first line; 0: none
	forked   int    // number of the line of its fork; 0: none
	joined   int    // number of the line of its join; 0: none

	lastReleased *lock // the lock that its previous line released; nil: none
	waiting      bool  // its previous line was a wait
	cond         event.ObjectID
	mutex        *lock // the mutex of its last wait, until acquired again; nil if unknown
}

// lock is a lock of the trace.
type lock struct {
	id     event.ObjectID
	holder *thread // nil: none
	depth  int     // number of acquires by holder that it has not released
	line   int     // number of the line of the first of these
}

// NewReader returns a Reader of in. Errors use the given name of the trace.
func NewReader(in io.Reader, name string, opts ReaderOptions) *Reader {
	return &Reader{
		in: bufio.NewReaderSize(in, maxLine), name: name, opts: opts, threads: map[string]*thread{}, locks: map[string]*lock{},
		vars: map[string]event.ObjectID{}, conds: map[string]event.ObjectID{}, stacks: map[string]event.StackID{},
	}
}

// Names returns the names read so far; trace.Source.
func (r *Reader) Names() *run.Names { return &r.names }

// Line returns the number, from 1, of the line of the event that Next last returned.
func (r *Reader) Line() int { return r.at }

// Summary returns a summary of the lines read so far, which is always whole; trace.Source.
func (r *Reader) Summary() (s run.Summary, whole bool) {
	s = run.Summary{Program: r.name, Events: r.seq, Threads: r.names.Threads(), Doubt: r.rejoined}
	for _, c := range []struct {
		n    int
		what string
	}{
		{r.blank, "blank lines were passed over"},
		{r.comments, "comment lines were passed over"},
		{r.transactions, "begin and end lines, of transactions, were passed over"},
		{r.reacquired, "acquisitions of a lock by the thread that had it were taken for a recursive lock's"},
	} {
		if c.n > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if r.rejoined != "" {
		s.Notes = append(s.Notes, r.rejoined)
	}
	notes, doubt := r.mendedNotes()
	s.Notes = append(s.Notes, notes...)
	if s.Doubt == "" {
		s.Doubt = doubt
	}
	return s, true
}

// Next reads the next event into e, all fields except its clock. At the end the error is io.EOF.
// An error in a line is an *Error.
func (r *Reader) Next(e *event.Event) error {
	for r.delivered == len(r.queue) {
		if r.err != nil {
			return r.err
		}
		r.queue, r.delivered = r.queue[:0], 0
		if err := r.line(); err != nil {
			r.queue, r.err = r.queue[:0], err
			return err
		}
	}
	*e = r.queue[r.delivered]
	r.delivered++
	return nil
}

// line reads one line, with the lines of its stack, and queues its events.
func (r *Reader) line() error {
	text, err := r.nextLine()
	if err != nil {
		return err
	}
	if r.size > maxNames {
		return r.wrap(fmt.Errorf("the names of the trace take more than %d bytes", maxNames))
	}
	if r.opts.Strict {
		return r.wrap(r.event(text))
	}
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
		r.blank++
		return nil
	case trimmed[0] == '#' && !isIndented(text):
		r.comments++
		return nil
	case isIndented(text):
		return r.wrapLine(errors.New("a line of a stack, and no event before it"))
	}
	r.current = append(r.current[:0], trimmed...) // reading the lines of its stack overwrites text
	return r.wrapLine(r.event(r.current))
}

// wrapLine is wrap for an error that a line causes, which is mended if the Reader mends lines.
func (r *Reader) wrapLine(err error) error {
	err = r.mendLine(err)
	var before, wrong *Error
	of := errors.As(err, &before)
	err = r.wrap(err)
	if !of && errors.As(err, &wrong) {
		wrong.Mendable = true
	}
	return err
}

// isIndented reports whether a line begins with a blank: it is part of a stack.
func isIndented(text []byte) bool { return len(text) > 0 && (text[0] == ' ' || text[0] == '\t') }

// wrap adds the position of the current line to an error, unless it has one.
func (r *Reader) wrap(err error) error {
	if err == nil {
		return nil
	}
	var wrong *Error
	if errors.As(err, &wrong) || errors.Is(err, errRead) {
		return err
	}
	return &Error{Name: r.name, Line: r.at, Err: err}
}

// errRead marks errors of the input, which belong to no line.
var errRead = errors.New("read")

// nextLine returns the next line without its end; valid until the next call.
func (r *Reader) nextLine() ([]byte, error) {
	text, err := r.in.ReadSlice('\n')
	if err == io.EOF && len(text) == 0 {
		return nil, io.EOF
	}
	r.lines++
	r.at = r.lines
	switch {
	case err == bufio.ErrBufferFull:
		return nil, r.wrap(fmt.Errorf("the line is longer than %d bytes", maxLine))
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("%w %s: %w", errRead, r.name, err)
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// event parses a line, reads the lines of its stack, and queues its events.
func (r *Reader) event(text []byte) error {
	if n := bytes.Count(text, []byte("|")) + 1; n != 3 {
		return errors.New(plural.Sprintf("%q has %d {field|fields}, want thread|operation(operand)|location", clip(text), n))
	}
	var fields [3][]byte
	var rest []byte
	fields[0], rest, _ = bytes.Cut(text, []byte("|"))
	fields[1], fields[2], _ = bytes.Cut(rest, []byte("|"))
	if len(fields[0]) == 0 {
		return fmt.Errorf("%q names no thread", clip(text))
	}
	if r.opts.Strict {
		if _, err := strconv.ParseInt(string(fields[2]), 10, 32); err != nil {
			return fmt.Errorf("location %q is not a number of 32 bits", clip(fields[2]))
		}
	}
	t, err := r.actor(string(fields[0]))
	if err != nil {
		return err
	}
	if t.joined != 0 { // which is mended
		return r.skipStack()
	}
	if bytes.HasPrefix(fields[1], []byte("begin")) || bytes.HasPrefix(fields[1], []byte("end")) {
		r.transactions++
		return r.skipStack()
	}
	op, operand, err := operation(fields[1])
	if err != nil {
		return err
	}
	stack, err := r.stack(fields[2])
	if err != nil {
		return err
	}
	return r.apply(t, op, operand, stack)
}

// clip shortens text for an error message.
func clip(text []byte) string {
	if len(text) > 100 {
		return string(text[:100]) + "…"
	}
	return string(text)
}

// operation splits operation(operand).
func operation(text []byte) (op, operand string, err error) {
	open := bytes.IndexByte(text, '(')
	if open < 0 || text[len(text)-1] != ')' || open+2 > len(text)-1 || bytes.ContainsAny(text[open+1:len(text)-1], " \t\v\f\r") {
		return "", "", fmt.Errorf("%q: want operation(operand)", clip(text))
	}
	return string(text[:open]), string(text[open+1 : len(text)-1]), nil
}

// actor returns the thread that a line begins with, which must not have been joined.
func (r *Reader) actor(name string) (*thread, error) {
	t := r.threads[name]
	if t == nil {
		t = r.newThread(name)
		r.threads[name] = t
	}
	if t.inferred { // this line shows which name it has
		t.inferred, t.name, t.base = false, name, name
		for _, alias := range aliases(name) {
			if r.threads[alias] == t {
				delete(r.threads, alias)
			}
		}
		r.names.SetThread(t.id, run.Thread{Name: name})
	}
	if t.joined != 0 && r.mends(actsJoined) {
		return t, nil
	}
	if t.joined != 0 {
		return nil, fmt.Errorf("%s acts after it was joined in line %d", name, t.joined)
	}
	if t.first == 0 {
		t.first = r.at
		r.holdBefore(t)
	}
	return t, nil
}

// charge counts the memory of a new name, and of the thread, object or location that it names.
func (r *Reader) charge(name string) { r.size += 2*len(name) + 256 }

// trimT returns a name without a leading T, unless it is only that.
func trimT(name string) string {
	if len(name) > 1 && name[0] == 'T' {
		return name[1:]
	}
	return name
}

// aliases returns the other names that a thread has whose name was inferred, once a line shows
// which one it uses.
func aliases(name string) []string {
	if bare := trimT(name); bare != name {
		return []string{bare, "T" + name}
	}
	return []string{"T" + name}
}

// newThread adds a thread to the names.
func (r *Reader) newThread(name string) *thread {
	r.charge(name)
	return &thread{id: r.names.AddThread(run.Thread{Name: name}), name: name, base: name}
}

// operandThread returns the thread that a fork or join names. Some writers leave out the T: a bare
// number is the thread of that name, or of that name with a T. If there is neither yet, both are
// names of a new thread until its first line shows which one it uses.
func (r *Reader) operandThread(name string) *thread {
	if t := r.threads[name]; t != nil {
		return t
	}
	if r.opts.Strict || !isNumber(name) {
		t := r.newThread(name)
		r.threads[name] = t
		return t
	}
	if t := r.threads["T"+name]; t != nil {
		return t
	}
	t := r.newThread("T" + name)
	t.inferred = true
	r.threads[name], r.threads["T"+name] = t, t
	return t
}

// stack returns the identifier of a location, with the lines of the stack that follow it.
func (r *Reader) stack(location []byte) (event.StackID, error) {
	r.location = append(r.location[:0], location...)
	if err := r.eachStackLine(func(text []byte) {
		r.location = append(append(r.location, '\n'), text...)
	}); err != nil {
		return 0, err
	}
	if len(r.location) == 0 {
		return 0, nil
	}
	if id, ok := r.stacks[string(r.location)]; ok {
		return id, nil
	}
	id := event.StackID(len(r.stacks) + 1)
	r.stacks[string(r.location)] = id
	r.charge(string(r.location))
	var frames []event.Frame
	for i, text := range bytes.Split(r.location, []byte("\n")) {
		switch {
		case len(text) == 0:
		case i == 0:
			frames = append(frames, frameOf(string(text)))
		default:
			frames = append(frames, stackFrame(string(text)))
		}
	}
	r.names.SetFrames(id, frames)
	return id, nil
}

// maxStack bounds the lines of a stack that are kept.
const maxStack = trace.MaxFrames

// eachStackLine reads the indented lines that follow, and calls visit with the first maxStack of
// them, without the indentation.
func (r *Reader) eachStackLine(visit func([]byte)) error {
	if r.opts.Strict {
		return nil
	}
	at := r.at
	defer func() { r.at = at }()
	for n := 0; ; n++ {
		next, err := r.in.Peek(1)
		if err != nil || !isIndented(next) {
			return nil // an error comes again with the next line
		}
		text, err := r.nextLine()
		if err != nil {
			return err
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			r.blank++
		} else if n < maxStack {
			visit(text)
		}
	}
}

// skipStack skips the lines of a stack.
func (r *Reader) skipStack() error { return r.eachStackLine(func([]byte) {}) }
