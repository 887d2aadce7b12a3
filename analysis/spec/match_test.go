package spec

import (
	"math"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// aRun has threads T1 main, T2 and T3 workers; objects 1 the lock guard, 2 the variable
// hits; functions 1 put(q, n) and 2 Queue::get(this, n) -> r.
func aRun() Names {
	return Names{
		Func: func(id event.FuncID) event.Func {
			if id == 1 {
				return event.Func{Name: "put", Params: []event.Param{{Name: "q", Index: 0}, {Name: "n", Index: 1}},
					Patterns: []event.Pattern{{Pattern: "call put(q, n)"}, {Pattern: "call put(_, n)"}}}
			}
			return event.Func{Name: "Queue::get", Params: []event.Param{{Name: "this", Index: -1}, {Name: "n", Index: 0}},
				Patterns: []event.Pattern{{Pattern: "return Queue::get(this, n) -> r", Return: true}}}
		},
		Object: func(id event.ObjectID) string { return []string{"", "guard_lock", "hits"}[id] },
		Thread: func(id event.ThreadID) (start, name string, first bool) {
			if id == 1 {
				return "", "shop", true
			}
			return "worker_main", "io-" + string(rune('0'+id)), false
		},
	}
}

func TestMatcher(t *testing.T) {
	const declared = `
var hits : int = hits
lock guard = guard_lock
thread worker = start worker_*
thread io = name "io-3"
thread first = main
thread second = 2 of worker
`
	call := event.Event{Op: event.Call, Func: 1, Thread: 2, Args: []uint64{0x1000, 5}}
	back := event.Event{Op: event.Return, Func: 2, Thread: 3, Args: []uint64{0x2000, 7}, Value: 9, Flags: event.HasValue}
	for _, c := range []struct {
		pattern string
		e       event.Event
		want    bool
	}{
		{"call put(q, n)", call, true},
		{"call put(q, n) when q == 0x1000 && n == 5", call, true},
		{"call put(_, n) when n == 5", call, true},
		{"call put(_, n) when n == 6", call, false},
		{"call put(q, n) by worker", call, true},
		{"call put(q, n) by first", call, false},
		{"call put(q, n) when tid == 2", call, true},
		{"call other", call, false},
		{"return Queue::get(this, n) -> r when this == 0x2000 && n == 7 && r == 9", back, true},
		{"return Queue::get(this, n) -> r", call, false},
		{"acquire guard", event.Event{Op: event.Acquire, Thread: 1, Object: 1}, true},
		{"acquire guard", event.Event{Op: event.AcquireRead, Thread: 1, Object: 1}, true},
		{"acquire guard", event.Event{Op: event.Acquire, Thread: 1, Object: 2}, false},
		{"acquire any", event.Event{Op: event.Acquire, Thread: 1, Object: 2}, true},
		{"release guard", event.Event{Op: event.Acquire, Thread: 1, Object: 1}, false},
		{"write hits", event.Event{Op: event.Write, Thread: 1, Object: 2}, true},
		{"write hits", event.Event{Op: event.Update, Thread: 1, Object: 2}, true},
		{"read hits", event.Event{Op: event.Write, Thread: 1, Object: 2}, false},
		{"write hits -> v when v > 2", event.Event{Op: event.Write, Thread: 1, Object: 2, Value: 3, Flags: event.HasValue}, true},
		{"write hits -> v when v > 2", event.Event{Op: event.Write, Thread: 1, Object: 2, Value: 3}, false},
		{"start worker", event.Event{Op: event.Begin, Thread: 2}, true},
		{"start first", event.Event{Op: event.Begin, Thread: 2}, false},
		{"start second", event.Event{Op: event.Begin, Thread: 3}, true},
		{"start second", event.Event{Op: event.Begin, Thread: 2}, false},
		{"end io", event.Event{Op: event.End, Thread: 3}, true},
		{"end io", event.Event{Op: event.End, Thread: 2}, false},
		{"fork worker", event.Event{Op: event.Fork, Thread: 1, Peer: 3}, true},
		{"join second", event.Event{Op: event.Join, Thread: 1, Peer: 3}, true},
	} {
		s := parse(t, declared+"event e = "+c.pattern+"\nproperty p = always !e")
		m := s.NewMatcher(aRun())
		if got := m.Events(&c.e) == 1; got != c.want {
			t.Errorf("%s: %v", c.pattern, got)
		}
	}
}

// TestLocals: a condition reads the locals of the event's thread.
func TestLocals(t *testing.T) {
	s := parse(t, `
lock guard = guard_lock
event put = call put(q, n)
event taken = acquire guard when sum > 5 && twice == 2 * sum
local sum : int = 0 { on put : sum := sum + n }
local twice : int = 0 { on put : twice := sum * 2 }
property p = always !taken
`)
	m := s.NewMatcher(aRun())
	take := func(id event.ThreadID) bool {
		return m.Events(&event.Event{Op: event.Acquire, Thread: id, Object: 1}) != 0
	}
	put := func(id event.ThreadID) {
		if m.Events(&event.Event{Op: event.Call, Func: 1, Thread: id, Args: []uint64{1, 3}}) != 1<<1 {
			t.Error("put is the second of the declared events, after taken")
		}
	}
	put(1)
	if take(1) {
		t.Error("sum is 3")
	}
	put(1)
	if !take(1) || take(2) {
		t.Error("sum is 6 in T1, 0 in T2")
	}
	m.Events(&event.Event{Op: event.End, Thread: 1})
	if len(m.locals) != 1 {
		t.Errorf("%d threads have locals", len(m.locals))
	}
}

func TestMatcherAllocatesNothing(t *testing.T) {
	s := parse(t, "var hits : int = hits\nlock guard = guard_lock\nevent put = call put(q, n) when n > x\nlocal x : int = 0 { on put : x := x + 1 }\nevent a = acquire guard\nevent w = write hits\nproperty p = always (put -> a || w)")
	m := s.NewMatcher(aRun())
	events := []event.Event{
		{Op: event.Call, Func: 1, Thread: 2, Args: []uint64{1, 1 << 40}},
		{Op: event.Acquire, Thread: 1, Object: 1},
		{Op: event.Write, Thread: 1, Object: 2},
	}
	if n := testing.AllocsPerRun(100, func() {
		for i := range events {
			m.Events(&events[i])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMatchedValues: the value that a write binds is read by the variable's form in the program.
func TestMatchedValues(t *testing.T) {
	for _, c := range []struct {
		declared, when string
		form           event.Form
		value          uint64
		want           bool
	}{
		{"int", "v < 0", event.Form{Class: event.FormSigned, Bits: 32}, 0xffffffff, true},
		{"int", "v == -2", event.Form{Class: event.FormChar, Bits: 8}, 0xfe, true},
		{"int", "v < 0", event.Form{Class: event.FormUnsigned, Bits: 32}, 0xffffffff, false},
		{"float", "v == 0.5", event.Form{Class: event.FormFloat, Bits: 32}, uint64(math.Float32bits(0.5)), true},
		{"float", "v < 0.25", event.Form{Class: event.FormFloat, Bits: 64}, math.Float64bits(0.5), false},
		{"bool", "v", event.Form{Class: event.FormBool, Bits: 8}, 1, true},
	} {
		s := parse(t, "var hits : "+c.declared+" = hits\nevent e = write hits -> v when "+c.when+"\nproperty p = always !e")
		names := aRun()
		names.Form = func(int) *event.Form { return &c.form }
		m := s.NewMatcher(names)
		e := event.Event{Op: event.Write, Thread: 1, Object: 2, Value: c.value, Flags: event.HasValue}
		if got := m.Events(&e) == 1; got != c.want {
			t.Errorf("%s of %+v: %v", c.when, c.form, got)
		}
		if n := testing.AllocsPerRun(100, func() { m.Events(&e) }); n > 0 {
			t.Errorf("%v allocations an event", n)
		}
	}
}

// TestMatcherMemoryIsBounded: the matcher keeps nothing of objects and threads that have ended.
func TestMatcherMemoryIsBounded(t *testing.T) {
	s := parse(t, "lock guard = guard_lock\nlocal n : int = 0 { on e : n := n + 1 }\nevent e = acquire guard when n < 5\nproperty p = always !e")
	names := aRun()
	names.Object = func(id event.ObjectID) string { return []string{"guard_lock", "other"}[id%2] }
	m := s.NewMatcher(names)
	matched := 0
	for i := range 1000 {
		object, thread := event.ObjectID(i+1), event.ThreadID(i+2)
		for _, e := range []event.Event{{Op: event.Acquire, Thread: thread, Object: object}, {Op: event.Destroy, Thread: thread, Object: object}, {Op: event.End, Thread: thread}} {
			if m.Events(&e) != 0 {
				matched++
			}
		}
	}
	if matched != 500 || len(m.objects) > 0 || len(m.locals) > 0 {
		t.Errorf("%d matched, %d objects and %d threads are kept", matched, len(m.objects), len(m.locals))
	}
}
