package lockword

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Accesses of one variable, by thread.
func access(t event.ThreadID, op event.Op, value uint64, flags event.Flags) event.Event {
	return event.Event{Thread: t, Object: 1, Kind: event.KindVariable, Op: op, Value: value, Flags: flags | event.Atomic | event.HasValue, Stack: event.StackID(t)}
}

func acquire(t event.ThreadID) event.Event {
	return access(t, event.Update, 1, event.Takes|event.Repeated)
}
func try(t event.ThreadID) event.Event     { return access(t, event.Update, 1, event.Takes) }
func release(t event.ThreadID) event.Event { return access(t, event.Write, 0, 0) }
func spin(t event.ThreadID, v uint64) event.Event {
	return access(t, event.Read, v, event.Repeated)
}
func read(t event.ThreadID, v uint64) event.Event   { return access(t, event.Read, v, 0) }
func write(t event.ThreadID, v uint64) event.Event  { return access(t, event.Write, v, 0) }
func update(t event.ThreadID, v uint64) event.Event { return access(t, event.Update, v, 0) }
func unknown(t event.ThreadID) event.Event {
	e := write(t, 0)
	e.Flags &^= event.HasValue
	return e
}
func with(e event.Event, flags event.Flags) event.Event {
	e.Flags |= flags
	return e
}
func plain(e event.Event) event.Event {
	e.Flags &^= event.Atomic
	return e
}

// rewritten returns the events that stand for some, in words; "" if their variable or channel is no lock.
func rewritten(events []event.Event) string {
	var f Finder
	for i := range events {
		events[i].Seq, events[i].Time = uint64(i+1), uint64(i+1)
		f.Event(&events[i])
	}
	any := f.Any()
	locks := f.Locks()
	if any != locks[1] {
		return "any and locks differ"
	}
	if !locks[1] {
		return ""
	}
	r := NewRewriter(locks, nil)
	var out []event.Event
	for i := range events {
		if r.Rewrites(&events[i]) {
			out = r.Rewrite(out, &events[i])
		}
	}
	return spell(out)
}

func spell(events []event.Event) string {
	var words []string
	for _, e := range events {
		word := fmt.Sprintf("%d %s", e.Thread, e.Op)
		if e.Flags&event.Try != 0 {
			word += " try"
		}
		if e.Op.IsAccess() {
			word += fmt.Sprintf(" %d", e.Value)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// TestRewrite checks which variables are locks, and what their accesses become.
func TestRewrite(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []event.Event
		want   string
	}{
		{"acquired and released", []event.Event{acquire(1), release(1), acquire(2), release(2)}, "1 acquire, 1 release, 2 acquire, 2 release"},
		{"waited for", []event.Event{acquire(1), spin(2, 1), spin(2, 1), release(1), spin(2, 0), acquire(2), release(2)}, "1 acquire, 1 release, 2 acquire, 2 release"},
		{"waited for, recorded late", []event.Event{acquire(1), release(1), with(spin(2, 1), event.Late), acquire(2)}, "1 acquire, 1 release, 2 acquire"},
		{"tried", []event.Event{acquire(1), read(2, 1), release(1), try(2), release(2), acquire(2)}, "1 acquire, 2 acquire-failed try, 1 release, 2 acquire try, 2 release, 2 acquire"},
		{"released by an update", []event.Event{acquire(1), update(1, 0), acquire(2)}, "1 acquire, 1 release, 2 acquire"},
		{"released by a store whose value is not known", []event.Event{acquire(1), unknown(1), acquire(2), unknown(2)}, "1 acquire, 1 release, 2 acquire, 2 release"},
		{"seen to be free", []event.Event{read(2, 0), acquire(1), release(1), read(2, 0), acquire(2)}, "2 acquire try, 2 release, 1 acquire, 1 release, 2 acquire try, 2 release, 2 acquire"},
		{"read by who holds it", []event.Event{acquire(1), read(1, 1), release(1), acquire(2)}, "1 acquire, 1 release, 2 acquire"},
		{"initialised", []event.Event{write(3, 0), acquire(1), release(1), acquire(1), release(1), acquire(2)}, "3 write 0, 1 read 0, 1 acquire, 1 release, 1 acquire, 1 release, 2 read 0, 2 acquire"},
		{"initialised by a plain store", []event.Event{plain(write(3, 0)), acquire(1), release(1), acquire(2)}, "3 write 0, 1 read 0, 1 acquire, 1 release, 2 read 0, 2 acquire"},
		{"initialised by a store recorded late", []event.Event{acquire(1), func() event.Event {
			e := with(plain(write(3, 0)), event.Past)
			return e
		}(), release(1), acquire(2)}, ""},

		{"used by one thread", []event.Event{acquire(1), release(1), acquire(1), release(1)}, ""},
		{"only tried", []event.Event{try(1), release(1), try(2), release(2)}, ""},
		{"released by another thread", []event.Event{acquire(1), release(2), acquire(2), release(2)}, ""},
		{"released by an update of another thread", []event.Event{acquire(1), update(2, 0), acquire(2)}, ""},
		{"released when free", []event.Event{acquire(1), release(1), acquire(2), release(2), release(1)}, ""},
		{"set by a store", []event.Event{acquire(1), release(1), acquire(2), release(2), write(1, 1)}, ""},
		{"initialised as held", []event.Event{write(3, 1), acquire(1), release(1), acquire(2)}, ""},
		{"changed by who holds it", []event.Event{acquire(1), write(1, 2), release(1), acquire(2)}, ""},
		{"marked as waited for", []event.Event{acquire(1), update(2, 2), release(1), acquire(2)}, ""},
		{"acquired twice", []event.Event{acquire(1), acquire(2)}, ""},
		{"a sequence", []event.Event{acquire(1), write(1, 2), acquire(2)}, ""},
		{"a counter", []event.Event{update(1, 1), update(1, 0), acquire(1), release(1), acquire(2)}, ""},
		{"looked at with another value", []event.Event{acquire(1), release(1), acquire(2), release(2), read(3, 1)}, ""},
		{"looked at as free when held", []event.Event{acquire(1), read(2, 0), release(1), acquire(2)}, ""},
		{"looked at late", []event.Event{acquire(1), release(1), with(read(2, 1), event.Late), acquire(2)}, ""},
		{"read from a store that was not recorded", []event.Event{acquire(1), with(spin(2, 1), event.NoSource), release(1), acquire(2)}, ""},
		{"accessed as data", []event.Event{acquire(1), release(1), acquire(2), release(2), plain(read(1, 0))}, ""},
		{"held when its thread ends", []event.Event{acquire(1), release(1), acquire(2), {Thread: 2, Op: event.End}}, ""},
		{"held when the process ends", []event.Event{acquire(1), release(1), acquire(2), {Thread: 2, Op: event.End, Flags: event.WithProcess}}, "1 acquire, 1 release, 2 acquire"},
		{"held when events are lost", []event.Event{acquire(1), release(1), acquire(2), {Thread: 2, Op: event.Hole}}, ""},
		{"held when its memory ends", []event.Event{acquire(1), release(1), acquire(2), {Thread: 2, Object: 1, Op: event.Destroy}}, ""},
		{"freed when its memory ends", []event.Event{acquire(1), release(1), acquire(2), release(2), {Thread: 2, Object: 1, Op: event.Destroy}}, "1 acquire, 1 release, 2 acquire, 2 release"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rewritten(c.events); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestStacks checks that the call stacks are those at which all atomic accesses become events of locks.
func TestStacks(t *testing.T) {
	at := func(e event.Event, stack event.StackID) event.Event {
		e.Stack = stack
		return e
	}
	other := at(read(1, 0), 7)
	other.Object = 2
	events := []event.Event{at(acquire(1), 5), at(spin(2, 1), 6), at(release(1), 7), at(acquire(2), 5), at(spin(1, 1), 5), other, at(read(2, 1), 8), at(release(2), 9)}
	var f Finder
	for i := range events {
		f.Event(&events[i])
	}
	r := NewRewriter(f.Locks(), nil)
	for i := range events {
		if r.Rewrites(&events[i]) {
			r.Rewrite(nil, &events[i])
		}
	}
	if got := r.Stacks(); !slices.Equal(got, []event.StackID{5, 9}) {
		t.Errorf("stacks %v", got)
	}
}

// TestRewrittenReadTheSame checks the argument of the package comment: in each order of the rewritten events that keeps
// those of each thread, in which sections exclude each other and what found another value than 0 stays in its section, each access
// reads what it read in the run. The accesses are those of a random program of one variable.
func TestRewrittenReadTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []event.Event
		holder, value := event.ThreadID(0), uint64(0)
		for range rapid.IntRange(4, 14).Draw(t, "n") {
			id := event.ThreadID(rapid.IntRange(1, 3).Draw(t, "thread"))
			switch {
			case rapid.Bool().Draw(t, "looks"):
				events = append(events, read(id, value))
			case holder == 0:
				holder, value = id, 1
				events = append(events, acquire(id))
			case holder == id:
				holder, value = 0, 0
				events = append(events, release(id))
			}
		}
		checkOrders(t, events)
	})
}

// step is what stands for one access: its events, and what the access read and wrote.
type step struct {
	thread      event.ThreadID
	events      []event.Event
	read, wrote optional
	section     int // of what found another value
}

type optional struct {
	known bool
	value uint64
}

// checkOrders executes random orders of what stands for accesses.
func checkOrders(t *rapid.T, events []event.Event) {
	var f Finder
	for i := range events {
		f.Event(&events[i])
	}
	if !f.Any() {
		return
	}
	r := NewRewriter(f.Locks(), nil)
	var steps []step
	section, value := 0, uint64(0)
	for i := range events {
		e := &events[i]
		s := step{thread: e.Thread, events: r.Rewrite(nil, e), section: section}
		switch e.Op {
		case event.Read:
			s.read = optional{true, e.Value}
		case event.Write:
			s.wrote = optional{true, e.Value}
		default:
			s.read, s.wrote = optional{true, value}, optional{true, e.Value}
		}
		if s.wrote.known {
			value = s.wrote.value
		}
		if e.Flags&event.Takes != 0 {
			section++
			s.section = section
		}
		steps = append(steps, s)
	}
	failures := map[int]int{} // by section
	for _, s := range steps {
		if len(s.events) == 1 && s.events[0].Op == event.AcquireFailed {
			failures[s.section]++
		}
	}
	holder, now, value := event.ThreadID(0), 0, uint64(0)
	left := steps
	for len(left) > 0 {
		var may []int
		seen := map[event.ThreadID]bool{}
		for i, s := range left {
			if seen[s.thread] {
				continue
			}
			seen[s.thread] = true
			if s.allowed(holder, now, failures) {
				may = append(may, i)
			}
		}
		if len(may) == 0 {
			return // as in a deadlock
		}
		i := rapid.SampledFrom(may).Draw(t, "next")
		s := left[i]
		if s.read.known && s.read.value != value {
			t.Fatalf("thread %d reads %d, and in the run %d", s.thread, value, s.read.value)
		}
		for _, e := range s.events {
			switch e.Op {
			case event.Acquire:
				holder, now = s.thread, s.section
			case event.Release:
				holder = 0
			case event.AcquireFailed:
				failures[s.section]--
			}
		}
		if s.wrote.known {
			value = s.wrote.value
		}
		left = slices.Delete(slices.Clone(left), i, i+1)
	}
}

// allowed reports whether the rules of locks allow the events of a step now.
func (s *step) allowed(holder event.ThreadID, now int, failures map[int]int) bool {
	for _, e := range s.events {
		switch {
		case e.Op == event.Acquire && holder != 0, e.Op == event.AcquireFailed && (holder == 0 || now != s.section):
			return false
		case e.Op == event.Release && holder != 0 && failures[now] > 0:
			return false
		}
	}
	return true
}
