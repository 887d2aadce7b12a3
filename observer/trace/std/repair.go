package std

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Published traces contain lines that no run can have. Their tools record a thread by a name that
// is used again later, miss what happened before the recording began, or record a join that a time
// limit ended. With ReaderOptions.Repairs a Reader mends such lines instead of rejecting them, and
// says in the notes of the summary what it mended. Where the mended trace may lack an order or a
// lock that the run had, it also has a doubt.

// Repairs is what a Reader must know of later lines to mend earlier ones. Scan finds it.
type Repairs struct {
	early map[int]bool        // lines of joins of threads that act later
	held  map[string][]string // by thread: the locks that it releases, and nobody has acquired before
}

// scan is the state of Scan.
type scan struct {
	*Repairs
	threads map[string]*scannedThread
	locks   map[string]bool // acquired or released so far
}

// scannedThread is what is known of a thread from its lines so far.
type scannedThread struct {
	joins    []int // the lines of its joins since it was last forked
	forked   bool
	inferred bool // only forks and joins have named it so far, by a bare number
}

// Scan reads an STD trace and returns what a Reader of the same text must know to mend it.
// Errors use the given name of the trace.
func Scan(in io.Reader, name string) (*Repairs, error) {
	s := scan{&Repairs{map[int]bool{}, map[string][]string{}}, map[string]*scannedThread{}, map[string]bool{}}
	r := NewReader(in, name, ReaderOptions{})
	for {
		text, err := r.nextLine()
		if err == io.EOF {
			return s.Repairs, nil
		} else if err != nil {
			return nil, err
		}
		if isIndented(text) {
			continue
		}
		fields := bytes.Split(bytes.TrimSpace(text), []byte("|"))
		if len(fields) != 3 || len(fields[0]) == 0 {
			continue
		}
		if op, operand, err := operation(fields[1]); err == nil {
			s.line(r.at, string(fields[0]), op, operand)
		}
		if r.size > maxNames {
			return nil, r.wrap(fmt.Errorf("the names of the trace take more than %d bytes", maxNames))
		}
		r.size = 256 * (len(s.threads) + len(s.locks) + len(s.early))
	}
}

// line takes a line.
func (s *scan) line(at int, actor, op, operand string) {
	t := s.actor(actor)
	for _, j := range t.joins {
		s.early[j] = true
	}
	t.joins = nil
	switch op {
	case "fork":
		u := s.operand(operand)
		u.forked, u.joins = true, nil
	case "join":
		if u := s.operand(operand); u != t {
			u.joins = append(u.joins, at)
		}
	case "acq":
		s.locks[operand] = true
	case "rel":
		if !s.locks[operand] && !t.forked {
			s.held[actor] = append(s.held[actor], operand)
		}
		s.locks[operand] = true
	}
}

// actor returns the thread that a line begins with, as Reader.actor does.
func (s *scan) actor(name string) *scannedThread {
	t := s.threads[name]
	if t == nil {
		t = s.newThread(name)
	}
	if t.inferred {
		t.inferred = false
		for _, alias := range aliases(name) {
			if s.threads[alias] == t {
				delete(s.threads, alias)
			}
		}
	}
	return t
}

// operand returns the thread that a fork or join names, as Reader.operandThread does.
func (s *scan) operand(name string) *scannedThread {
	if t := s.threads[name]; t != nil {
		return t
	}
	if !isNumber(name) {
		return s.newThread(name)
	}
	if t := s.threads["T"+name]; t != nil {
		return t
	}
	t := s.newThread(name)
	t.inferred = true
	s.threads["T"+name] = t
	return t
}

func (s *scan) newThread(name string) *scannedThread {
	t := &scannedThread{}
	s.threads[name] = t
	return t
}

// mending is a way in which a line is mended.
type mending uint8

// The mendings.
const (
	forkedAgain mending = iota
	forkedLate
	joinedEarly
	actsJoined
	byItself
	heldBefore
	notHeld
	heldByOther
	waitsAlready
	notEvent
	mendings
)

// mendingText returns a sentence on how many lines were mended in that way, with the number of the
// first.
var mendingText = [mendings]string{
	forkedAgain:  "%d {fork|forks} of a thread that was forked or joined before {begins|begin} another thread of that name (first in line %d)",
	forkedLate:   "%d {fork|forks} of a thread that had acted already {was|were} left out (first in line %d)",
	joinedEarly:  "%d {join|joins} of a thread that acts later {was|were} left out (first in line %d)",
	actsJoined:   "%d {line|lines} of a thread that was joined before {was|were} left out (first line %d)",
	byItself:     "%d {fork or join|forks or joins} of a thread by itself {was|were} left out (first in line %d)",
	heldBefore:   "%d {lock is|locks are} taken for held since before the trace begins, as a thread releases what nobody has acquired (first line of such a thread: %d)",
	notHeld:      "%d {release|releases} of a lock that the thread did not hold {was|were} left out (first in line %d)",
	heldByOther:  "%d {lock was|locks were} acquired while another thread held {it|them}, and {is|are} taken for released just before (first in line %d)",
	waitsAlready: "%d {wait|waits} of a thread that waited already {is|are} taken for the end of the wait before (first in line %d)",
	notEvent:     "%d {line that is|lines that are} no event {was|were} left out (first line %d)",
}

// doubtful reports whether the mended trace may lack an order or a lock that the run had.
func (m mending) doubtful() bool {
	return m == forkedLate || m == actsJoined || m == notHeld || m == heldByOther || m == notEvent
}

// mended counts the lines mended in each way.
type mended [mendings]struct{ n, first int }

// mends reports whether the reader mends lines, and if so counts one.
func (r *Reader) mends(m mending) bool {
	if r.opts.Repairs == nil {
		return false
	}
	c := &r.mended[m]
	if c.n++; c.n == 1 {
		c.first = r.at
	}
	return true
}

// mendedNotes returns what was mended, and a reason for doubt, "" if there is none.
func (r *Reader) mendedNotes() (notes []string, doubt string) {
	for m := range mendings {
		c := r.mended[m]
		if c.n == 0 {
			continue
		}
		text := plural.Sprintf(mendingText[m], c.n, c.first)
		notes = append(notes, "repaired: "+text)
		if doubt == "" && m.doubtful() {
			doubt = "the trace was repaired, so an order or a lock may be missing: " + text
		}
	}
	return notes, doubt
}

// mendLine counts a line that is no event, if err says so.
func (r *Reader) mendLine(err error) error {
	var wrong *Error
	if err == nil || errors.As(err, &wrong) || errors.Is(err, errRead) || !r.mends(notEvent) {
		return err
	}
	return nil
}

// holdBefore acquires the locks that a thread holds when the trace begins, at its first line.
func (r *Reader) holdBefore(t *thread) {
	if r.opts.Repairs == nil || t.forked != 0 {
		return
	}
	for _, name := range r.opts.Repairs.held[t.name] {
		l := r.lock(t, name, 0)
		if l.holder != nil {
			continue
		}
		r.mends(heldBefore)
		l.holder, l.depth, l.line = t, 1, r.at
		r.emit(t, event.Event{Op: event.Acquire, Kind: event.KindMutex, Object: l.id, Flags: event.Inferred})
	}
}

// takeFrom releases a lock that t acquires and another thread holds: by its holder or, if that was
// joined, by t.
func (r *Reader) takeFrom(l *lock, t *thread) {
	by := l.holder
	if by.joined != 0 {
		by = t
	}
	l.holder = nil
	r.emit(by, event.Event{Op: event.Release, Kind: event.KindMutex, Object: l.id, Flags: event.Inferred})
}

// nextOfName returns a new thread with the names of one that was forked or joined before. The locks
// that the earlier one holds are released.
func (r *Reader) nextOfName(u *thread) *thread {
	var held []*lock
	for _, l := range r.locks {
		if l.holder == u && u.joined == 0 {
			held = append(held, l)
		}
	}
	slices.SortFunc(held, func(a, b *lock) int { return int(a.id) - int(b.id) })
	for _, l := range held {
		r.takeFrom(l, u)
	}
	next := r.newThread(fmt.Sprintf("%s~%d", u.base, u.number+2))
	next.base, next.number = u.base, u.number+1
	for _, name := range []string{u.base, "T" + u.base, trimT(u.base)} {
		if r.threads[name] == u {
			r.threads[name] = next
		}
	}
	return next
}
