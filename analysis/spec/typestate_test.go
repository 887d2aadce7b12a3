package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

const queue = `typestate queue (q : struct queue *) {
  create = return queue_new -> q
  init   = call queue_init(q)
  put    = call queue_put(_, q)
  free   = call queue_free(q)
  state fresh { create -> open; init -> open }
  state open  { put -> open; free -> gone }
  state gone  { }
}
`

// TestTypestate: calls have the index of the object among what they bind, and those that create objects are known.
func TestTypestate(t *testing.T) {
	s := parse(t, queue)
	if len(s.Typestates) != 1 || len(s.notEvaluated()) != 0 {
		t.Fatalf("%d typestates, %v", len(s.Typestates), s.notEvaluated())
	}
	ts := s.Typestates[0]
	var calls []string
	for _, c := range ts.Calls {
		calls = append(calls, c.Name+" "+s.Events[c.Event].Name+map[bool]string{true: " creates"}[c.Creates])
	}
	if d := cmp.Diff([]string{"create queue.create creates", "init queue.init creates", "put queue.put", "free queue.free"}, calls); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	want := []ProtocolState{{"fresh", [][]int{{1}, {1}, nil, nil}}, {"open", [][]int{nil, nil, {1}, {2}}}, {"gone", [][]int{nil, nil, nil, nil}}}
	if d := cmp.Diff(want, ts.States); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := s.Plan().On; len(got) != 4 {
		t.Errorf("observed are %q", got)
	}
}

// TestNoCreation: a call out of the first state creates nothing if objects come back to that state.
func TestNoCreation(t *testing.T) {
	s := parse(t, "typestate t (o : int) mined born at first use {\n take = call take(o)\n give = call give(o)\n state free { take -> taken }\n state taken { give -> free }\n}\n")
	ts := s.Typestates[0]
	if ts.Calls[0].Creates || ts.Calls[1].Creates || !ts.Mined || !ts.BornAtFirstUse {
		t.Errorf("%+v", ts)
	}
}

// TestTypestateErrors: what is wrong in a block is said where it is.
func TestTypestateErrors(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(queue, "queue_put(_, q)", "queue_put(_, _)", 1):                        `4:3: the pattern of "put" does not bind "q", which tells objects apart`,
		strings.Replace(queue, "put -> open", "putt -> open", 1):                               `7:17: there is no event "putt" here; did you mean "put"?`,
		strings.Replace(queue, "free -> gone", "free -> gon", 1):                               `7:38: there is no state "gon"; did you mean "gone"?`,
		strings.Replace(queue, "free -> gone", "put -> gone", 1):                               `7:30: warning: there is a transition by "put" from "open" already`,
		strings.Replace(queue, "put -> open; free -> gone", "put -> open", 1):                  `8:9: warning: no sequence of events leads to state "gone"`,
		strings.Replace(queue, "call queue_free(q)", "acquire any", 1):                         `5:3: "free" is no call: a typestate is about calls of functions and their returns`,
		strings.Replace(queue, "struct queue *) {", "struct queue *) born at second use {", 1): `expected "first"`,
		strings.Replace(queue, "struct queue *) {", "struct queue *) reborn at use {", 1):      `expected "next"`,
	} {
		_, problems := Parse("t.tps", text)
		if all := problems.Error(); !strings.Contains(all, want) {
			t.Errorf("want %s, got %s", want, all)
		}
	}
}

// byExpression returns a block with an expression in place of the states of queue.
func byExpression(text string) string {
	return queue[:strings.Index(queue, "  state fresh")] + "  " + text + "\n}\n"
}

// TestExpression: an expression makes the automaton that states would, and the same calls create objects.
func TestExpression(t *testing.T) {
	want := parse(t, queue).Typestates[0]
	for _, text := range []string{
		"ere good ((create | init) put* free)",
		"ere good (({!put, !free} & !free) { put }* free?)",
		"ere bad ((put | free) { }* | { } put* (create | init) | { } put* free { })",
	} {
		s := parse(t, byExpression(text))
		ts := s.Typestates[0]
		for i := range ts.States {
			ts.States[i].Name = want.States[i].Name
		}
		if d := cmp.Diff(want.States, ts.States); d != "" || !ts.ByExpression || ts.Text != text {
			t.Errorf("%s (%s): -want +got:\n%s", text, ts.Text, d)
		}
		for i := range ts.Calls {
			if ts.Calls[i].Creates != want.Calls[i].Creates {
				t.Errorf("%s: %s creates: %v", text, ts.Calls[i].Name, ts.Calls[i].Creates)
			}
		}
		if n := s.notEvaluated(); len(n) > 0 {
			t.Errorf("%s: %v", text, n)
		}
	}
}

// TestExpressionErrors: what is wrong with an expression in place of states is said where it is.
func TestExpressionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"ere good (create putt*)":                `6:20: there is no event "putt" here; did you mean "put"?`,
		"ere good (create":                       `expected ")" or more of the expression`,
		"ere god (create)":                       `6:3: expected NAME = PATTERN, "state", "ere good" or "ere bad"`,
		"ere good create\n  ere bad put":         `7:3: the typestate has an expression already`,
		"ere good create\n  state a { }":         `7:9: state "a" beside an expression`,
		"ere good empty":                         `6:3: the expression allows nothing`,
		"ere good epsilon":                       `6:3: warning: typestate "queue" is broken by the first call of every object`,
		"ere good { }*":                          `6:3: warning: typestate "queue" can never be broken`,
		"ere good { create, put } | init":        `6:12: warning: no call is in this letter: a call has one name of the block`,
		"ere good { create, !create } | init":    `6:12: warning: no call is in this letter`,
		"ere good { }* create { }{900} { }{900}": `would have more than 4096 states`,
	} {
		_, problems := Parse("t.tps", byExpression(text))
		if all := problems.Error(); !strings.Contains(all, want) {
			t.Errorf("%s: want %s, got %s", text, want, all)
		}
	}
}

// TestUses: the object of a call is the parameter, or the result, that the pattern binds.
func TestUses(t *testing.T) {
	s := parse(t, "typestate t (o : int) {\n put = call put(_, o)\n get = return Queue::get(this, n) -> o\n state a { put -> a; get -> a }\n}\n")
	m := s.NewMatcher(Names{
		Func: func(id event.FuncID) event.Func {
			if id == 1 {
				return event.Func{Name: "put", Params: []event.Param{{Name: "q", Index: 0}, {Name: "n", Index: 1}}, Patterns: []event.Pattern{{Pattern: s.Plan().On[0]}}}
			}
			return event.Func{Name: "Queue::get", Params: []event.Param{{Name: "this", Index: -1}}, Patterns: []event.Pattern{{Pattern: s.Plan().On[1], Return: true}}}
		},
		Object: func(event.ObjectID) string { return "" },
		Thread: func(event.ThreadID) (string, string, bool) { return "", "", false },
	})
	type use struct {
		Call   int
		Object uint64
	}
	var got []use
	for _, e := range []event.Event{
		{Op: event.Call, Func: 1, Thread: 1, Args: []uint64{0x1000, 5}},
		{Op: event.Return, Func: 2, Thread: 1, Args: []uint64{0x2000}, Value: 9, Flags: event.HasValue},
		{Op: event.Call, Func: 2, Thread: 1, Args: []uint64{0x2000}},
		{Op: event.Return, Func: 2, Thread: 1, Args: []uint64{0x2000}}, // its result was not recorded
	} {
		m.Events(&e)
		m.Uses(&e, func(_, call int, object uint64) { got = append(got, use{call, object}) })
	}
	if d := cmp.Diff([]use{{0, 5}, {1, 9}}, got); d != "" || m.Unknown() != 1 {
		t.Errorf("-want +got, %d unknown:\n%s", m.Unknown(), d)
	}
}

// TestStoredObject: the object of a call is what the function has stored at the address that the parameter is, which makes
// it; a call of the same function has no such parameter.
func TestStoredObject(t *testing.T) {
	s := parse(t, "typestate t (o : int) {\n a = return pipe(*o)\n b = return pipe(o[1] : int) -> rc when rc == 0\n c = call pipe(o)\n d = return pipe(o)\n state z { a -> z; b -> z; c -> z; d -> z }\n}\n")
	if d := cmp.Diff([]string{"return pipe(*o)", "return pipe(o[1] : int) -> rc", "call pipe(o)", "return pipe(o)"}, s.Plan().On); d != "" {
		t.Error(d)
	}
	for i, want := range []bool{true, true, false, false} {
		if s.Typestates[0].Calls[i].Creates != want {
			t.Errorf("call %d creates its object: %v", i, !want)
		}
	}
	m := s.NewMatcher(Names{
		Func: func(event.FuncID) event.Func {
			f := event.Func{Name: "pipe", Params: []event.Param{{Name: "fd"}, {Name: "fd", Stored: true}, {Name: "fd", Stored: true, Element: 1}}}
			for i, on := range s.Plan().On {
				f.Patterns = append(f.Patterns, event.Pattern{Pattern: on, Return: i != 2})
			}
			return f
		},
		Object: func(event.ObjectID) string { return "" },
		Thread: func(event.ThreadID) (string, string, bool) { return "", "", false },
	})
	var got [][2]uint64
	for _, e := range []event.Event{
		{Op: event.Call, Func: 1, Thread: 1, Args: []uint64{0x1000}},
		{Op: event.Return, Func: 1, Thread: 1, Args: []uint64{0x1000, 3, 4}, Flags: event.HasValue},
		{Op: event.Return, Func: 1, Thread: 1, Args: []uint64{0x1000, 5}, Flags: event.HasValue}, // the second element could not be read
	} {
		m.Events(&e)
		m.Uses(&e, func(_, call int, object uint64) { got = append(got, [2]uint64{uint64(call), object}) })
	}
	if d := cmp.Diff([][2]uint64{{2, 0x1000}, {0, 3}, {1, 4}, {3, 0x1000}, {0, 5}, {3, 0x1000}}, got); d != "" || m.Unknown() != 1 {
		t.Errorf("-want +got, %d unknown:\n%s", m.Unknown(), d)
	}
}

// TestFirstOfTwoCalls: of two calls of an object that an event is, the first one that is declared counts; calls of two
// objects both do.
func TestFirstOfTwoCalls(t *testing.T) {
	s := parse(t, "typestate t (o : int) {\n from = call dup(o, _)\n to = call dup(_, o)\n any = call dup(o)\n state a { from -> a; to -> a; any -> a }\n}\n")
	m := s.NewMatcher(Names{
		Func: func(event.FuncID) event.Func {
			f := event.Func{Name: "dup", Params: []event.Param{{Name: "a", Index: 0}, {Name: "b", Index: 1}}}
			for _, on := range s.Plan().On {
				f.Patterns = append(f.Patterns, event.Pattern{Pattern: on})
			}
			return f
		},
		Object: func(event.ObjectID) string { return "" },
		Thread: func(event.ThreadID) (string, string, bool) { return "", "", false },
	})
	var got [][2]uint64
	for _, args := range [][]uint64{{3, 4}, {5, 5}} {
		e := event.Event{Op: event.Call, Func: 1, Thread: 1, Args: args}
		m.Events(&e)
		m.Uses(&e, func(_, call int, object uint64) { got = append(got, [2]uint64{uint64(call), object}) })
	}
	if d := cmp.Diff([][2]uint64{{0, 3}, {1, 4}, {0, 5}}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
