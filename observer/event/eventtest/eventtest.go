// Package eventtest turns hand-written traces into events, for the tests of analyses: STD
// lines, as package std reads them, and the JSON of worked examples. The events are as the
// observer would make them: stamped by the clocks of must-happen-before, outermost lock
// levels only, condition waits split. Random runs are made by choices that a test can
// shrink (Choices, World), or by a seed (RandomRun). The package is only for tests: it
// rejects what it cannot read, and does not check whether the examples are feasible.
package eventtest

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

// Names are the names that a trace gave to its threads and objects, by identifier;
// element 0 is empty.
type Names struct {
	Threads []string // by event.ThreadID
	Objects []string // by event.ObjectID
	Stacks  []string // by event.StackID
}

// Thread returns the thread with a name; 0 if the trace has none.
func (n *Names) Thread(name string) event.ThreadID { return event.ThreadID(index(n.Threads, name)) }

// object returns the object with a name; 0 if the trace has none.
func (n *Names) object(name string) event.ObjectID { return event.ObjectID(index(n.Objects, name)) }

func index(s []string, name string) int { return max(0, slices.Index(s, name)) }

// Stamp sets the clocks of the events. Each event has a clock of its own, so that it may be
// kept. Must of a read does not include the edge from the write that it reads.
func Stamp(events []event.Event) {
	m := clock.New()
	for i := range events {
		e := &events[i]
		m.Stamp(e)
		e.Must = e.Must.Clone()
		m.Done(e)
	}
}

// ReadSTD reads a trace in STD format; see package std. Seq is the line's number,
// Stack its location.
func ReadSTD(path string) ([]event.Event, *Names, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read trace: %w", err)
	}
	defer f.Close()
	return readSTD(f, path)
}

// ParseSTD reads STD lines; see ReadSTD.
func ParseSTD(r io.Reader) ([]event.Event, *Names, error) { return readSTD(r, "trace") }

func readSTD(in io.Reader, name string) ([]event.Event, *Names, error) {
	r := std.NewReader(in, name, std.ReaderOptions{})
	var events []event.Event
	for {
		var e event.Event
		if err := r.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			return nil, nil, err
		}
		e.Seq = uint64(r.Line())
		events = append(events, e)
	}
	Stamp(events)
	return events, namesOf(r, events), nil
}

func namesOf(r *std.Reader, events []event.Event) *Names {
	n := &Names{Threads: []string{""}, Objects: []string{""}, Stacks: []string{""}}
	for id := 1; id <= r.Names().Threads(); id++ {
		n.Threads = append(n.Threads, r.Names().Thread(event.ThreadID(id)).Name)
	}
	for id := 1; id <= r.Names().Objects(); id++ {
		n.Objects = append(n.Objects, r.Names().Object(event.ObjectID(id)).Name)
	}
	for i := range events {
		for id := event.StackID(len(n.Stacks)); id <= events[i].Stack; id++ {
			n.Stacks = append(n.Stacks, std.Location(r.Names().Frames(id)))
		}
	}
	return n
}

// builder assigns identifiers, and makes several events where one of the file stands for
// them.
type builder struct {
	events  []event.Event
	names   *Names
	threads map[string]event.ThreadID
	objects map[string]event.ObjectID
	depth   map[held]int // how often the thread has acquired the lock
	saved   map[held]int // depth before the wait in which the thread is
}

// held is a lock that a thread holds.
type held struct {
	thread event.ThreadID
	lock   event.ObjectID
}

func newBuilder() *builder {
	return &builder{
		names:   &Names{Threads: []string{""}, Objects: []string{""}, Stacks: []string{""}},
		threads: map[string]event.ThreadID{}, objects: map[string]event.ObjectID{},
		depth: map[held]int{}, saved: map[held]int{},
	}
}

func (b *builder) thread(name string) event.ThreadID {
	return event.ThreadID(intern(b.threads, &b.names.Threads, name))
}

func (b *builder) object(name string) event.ObjectID {
	return event.ObjectID(intern(b.objects, &b.names.Objects, name))
}

// intern returns the identifier of a name, and adds the name if it is new.
func intern[T ~uint32](ids map[string]T, names *[]string, name string) T {
	if id, ok := ids[name]; ok {
		return id
	}
	id := T(len(*names))
	ids[name] = id
	*names = append(*names, name)
	return id
}

// emit numbers and appends an event.
func (b *builder) emit(e event.Event) {
	e.Seq = uint64(len(b.events) + 1)
	b.events = append(b.events, e)
}

// add appends the events of an operation, as the JSON cases spell it.
func (b *builder) add(thread, op, object string, value *uint64) error {
	e := event.Event{Thread: b.thread(thread)}
	if value != nil {
		e.Value, e.Flags = *value, event.HasValue
	}
	switch op {
	case "internal":
	case "read", "write":
		e.Op, e.Kind, e.Object = event.Read, event.KindVariable, b.object(object)
		if op == "write" {
			e.Op = event.Write
		}
		b.emit(e)
	case "acquire", "release":
		b.lock(e, op == "acquire", b.object(object))
	case "fork", "join":
		e.Op, e.Peer = event.Fork, b.thread(object)
		if op == "join" {
			e.Op = event.Join
		}
		b.emit(e)
	case "begin", "end":
		e.Op = event.Begin
		if op == "end" {
			e.Op = event.End
		}
		b.emit(e)
	case "return":
		e.Op, e.Kind, e.Object = event.Wake, event.KindCond, b.object("cond:"+object)
		b.emit(e)
	case "wait", "wake", "notify":
		b.condition(e, op, object)
	default:
		return fmt.Errorf("unknown operation %q", op)
	}
	return nil
}

// lock adds an acquire or a release, if it is that of the outermost level.
func (b *builder) lock(e event.Event, acquire bool, lock event.ObjectID) {
	e.Object, e.Kind, e.Op = lock, event.KindMutex, event.Release
	k := held{e.Thread, lock}
	if acquire {
		e.Op = event.Acquire
		if b.depth[k]++; b.depth[k] == 1 {
			b.emit(e)
		}
		return
	}
	if b.depth[k]--; b.depth[k] <= 0 {
		delete(b.depth, k)
		b.emit(e)
	}
}

// holds reports whether a thread holds a lock.
func (b *builder) holds(thread, lock string) bool {
	id, known := b.objects[lock]
	return known && b.depth[held{b.thread(thread), id}] > 0
}

// wait adds a wait without a mutex.
func (b *builder) wait(thread, cond string) {
	b.emit(event.Event{Thread: b.thread(thread), Op: event.Wait, Kind: event.KindCond, Object: b.object("cond:" + cond)})
}

// condition adds the events of a wait, a wake or a notification of a Java monitor, whose lock and
// condition have the same name.
func (b *builder) condition(e event.Event, op, object string) {
	lock, cond := b.object(object), b.object("cond:"+object)
	k := held{e.Thread, lock}
	c := e
	c.Object, c.Object2, c.Kind = cond, lock, event.KindCond
	l := e
	l.Object, l.Kind, l.Flags = lock, event.KindMutex, event.InCondWait
	switch op {
	case "wait":
		b.saved[k] = b.depth[k]
		delete(b.depth, k)
		l.Op, c.Op = event.Release, event.Wait
		b.emit(l)
		b.emit(c)
	case "wake":
		b.depth[k] = b.saved[k]
		l.Op, c.Op = event.Acquire, event.Wake
		b.emit(c)
		b.emit(l)
	case "notify":
		c.Op, c.Object2 = event.Broadcast, 0
		b.emit(c)
	}
}
