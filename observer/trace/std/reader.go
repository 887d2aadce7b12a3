package std

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

const (
	maxLine  = 1 << 16 // bytes of a line
	maxNames = 1 << 30 // bytes that the names of a trace may take
)

// ReaderOptions configure a Reader.
type ReaderOptions struct {
	// Strict accepts only what RAPID itself reads.
	Strict bool
}

// Reader reads an STD trace. It implements trace.Source. Memory is bounded by the number of
// threads, objects and locations that the trace names.
type Reader struct {
	in    *bufio.Reader
	name  string
	opts  ReaderOptions
	lines int   // read so far
	err   error // that ended the reading, io.EOF included

	queue []event.Event // of the line at hand; given from the front
	given int
	at    int // line of queue
	seq   uint64

	names   run.Names
	size    int // of the names, roughly, in bytes
	threads map[string]*thread
	locks   map[string]*lock
	vars    map[string]event.ObjectID
	conds   map[string]event.ObjectID
	stacks  map[string]event.StackID
	copy    []byte // the line at hand
	text    []byte // the location and stack of the line at hand

	blank, comments, transactions, requests, nested int
	rejoined                                        string // why an order is missing; "" if none is
}

// thread is a thread of the trace, by the name or names that it may go by.
type thread struct {
	id      event.ThreadID
	name    string
	guessed bool // by a bare number: the trace has not used it as a thread yet
	first   int  // line of its first event; 0: none
	forked  int  // line of its fork
	joined  int  // line of its join

	released *lock // by its line before
	waiting  bool  // its line before was a wait
	cond     event.ObjectID
	mutex    *lock // of the wait; nil if unknown
}

type lock struct {
	id     event.ObjectID
	holder *thread
	depth  int
	line   int // where it was taken
}

// NewReader reads from in. Errors name the trace as given.
func NewReader(in io.Reader, name string, opts ReaderOptions) *Reader {
	return &Reader{
		in: bufio.NewReaderSize(in, maxLine), name: name, opts: opts, threads: map[string]*thread{}, locks: map[string]*lock{},
		vars: map[string]event.ObjectID{}, conds: map[string]event.ObjectID{}, stacks: map[string]event.StackID{},
	}
}

// Names implements trace.Source: it returns the names read so far.
func (r *Reader) Names() *run.Names { return &r.names }

// Line returns the number, from 1, of the line of the event that Next last returned.
func (r *Reader) Line() int { return r.at }

// Summary implements trace.Source: it summarises the lines so far.
func (r *Reader) Summary() (s run.Summary, whole bool) {
	s = run.Summary{Program: r.name, Events: r.seq, Threads: r.names.Threads(), Unseen: r.rejoined}
	for _, c := range []struct {
		n    int
		what string
	}{
		{r.blank, "blank lines were passed over"},
		{r.comments, "comment lines were passed over"},
		{r.transactions, "begin and end lines, of transactions, were passed over"},
		{r.nested, "acquisitions of a lock by the thread that had it were taken for a recursive lock's"},
	} {
		if c.n > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if r.rejoined != "" {
		s.Notes = append(s.Notes, r.rejoined)
	}
	return s, true
}

// Next reads the next event into e, all but its clock; at the end the error is
// io.EOF. What is wrong with a line is an *Error.
func (r *Reader) Next(e *event.Event) error {
	for r.given == len(r.queue) {
		if r.err != nil {
			return r.err
		}
		r.queue, r.given = r.queue[:0], 0
		if err := r.line(); err != nil {
			r.queue, r.err = r.queue[:0], err
			return err
		}
	}
	*e = r.queue[r.given]
	r.given++
	return nil
}

// line reads one line, and those of its stack.
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
		return r.wrap(errors.New("a line of a stack, and no event before it"))
	}
	r.copy = append(r.copy[:0], trimmed...) // to look for a stack moves what was read
	return r.wrap(r.event(r.copy))
}

func isIndented(text []byte) bool { return len(text) > 0 && (text[0] == ' ' || text[0] == '\t') }

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

// event parses a line.
func (r *Reader) event(text []byte) error {
	if n := bytes.Count(text, []byte("|")) + 1; n != 3 {
		return fmt.Errorf("%q has %d fields, want thread|operation(operand)|location", clip(text), n)
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

func clip(text []byte) string {
	if len(text) > 100 {
		return string(text[:100]) + "…"
	}
	return string(text)
}

// operation splits kind(operand).
func operation(text []byte) (op, operand string, err error) {
	open := bytes.IndexByte(text, '(')
	if open < 0 || text[len(text)-1] != ')' || open+2 > len(text)-1 || bytes.ContainsAny(text[open+1:len(text)-1], " \t\v\f\r") {
		return "", "", fmt.Errorf("%q: want operation(operand)", clip(text))
	}
	return string(text[:open]), string(text[open+1 : len(text)-1]), nil
}

// actor finds the thread of a line.
func (r *Reader) actor(name string) (*thread, error) {
	t := r.threads[name]
	if t == nil {
		t = r.newThread(name)
		r.threads[name] = t
	}
	if t.guessed { // now the trace says what it is called
		t.guessed, t.name = false, name
		for _, alias := range []string{name, "T" + name, trimT(name)} {
			if alias != name && r.threads[alias] == t {
				delete(r.threads, alias)
			}
		}
		r.names.SetThread(t.id, run.Thread{Name: name})
	}
	if t.joined != 0 {
		return nil, fmt.Errorf("%s acts after it was joined in line %d", name, t.joined)
	}
	if t.first == 0 {
		t.first = r.at
	}
	return t, nil
}

// charge counts the memory that a new name takes, with what is kept of the thread,
// object or location that it names.
func (r *Reader) charge(name string) { r.size += 2*len(name) + 256 }

func trimT(name string) string {
	if len(name) > 1 && name[0] == 'T' {
		return name[1:]
	}
	return name
}

func (r *Reader) newThread(name string) *thread {
	r.charge(name)
	return &thread{id: r.names.AddThread(run.Thread{Name: name}), name: name}
}

// operandThread finds the thread that fork and join name. Some writers leave out
// the T: a bare number is the thread of that name, or of that name with a T.
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
	t.guessed = true
	r.threads[name], r.threads["T"+name] = t, t
	return t
}

// stack numbers a location with the stack that follows it.
func (r *Reader) stack(location []byte) (event.StackID, error) {
	r.text = append(r.text[:0], location...)
	if err := r.eachStackLine(func(text []byte) {
		r.text = append(append(r.text, '\n'), text...)
	}); err != nil {
		return 0, err
	}
	if len(r.text) == 0 {
		return 0, nil
	}
	if id, ok := r.stacks[string(r.text)]; ok {
		return id, nil
	}
	id := event.StackID(len(r.stacks) + 1)
	r.stacks[string(r.text)] = id
	r.charge(string(r.text))
	var frames []event.Frame
	for i, text := range bytes.Split(r.text, []byte("\n")) {
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

// eachStackLine reads the indented lines that follow.
func (r *Reader) eachStackLine(take func([]byte)) error {
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
			take(text)
		}
	}
}

func (r *Reader) skipStack() error { return r.eachStackLine(func([]byte) {}) }
