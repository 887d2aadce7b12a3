package learn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/learn"
	"github.com/tracepredict/tracepredict/analysis/mine"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

const calls = `typestate sock (s : struct sock *) {
  make    = return sock_new -> s
  connect = call sock_connect(s)
  send    = call sock_send(s, _)
  close   = call sock_close(s)
}
`

// names has, for function n of calls, the pattern that it matches.
type names struct {
	run.Namer
	patterns []string
}

func (n names) Func(id event.FuncID) event.Func {
	on := n.patterns[id-1]
	return event.Func{Name: on, Params: []event.Param{{Name: "s", Index: 0}}, Patterns: []event.Pattern{{Pattern: on, Return: strings.HasPrefix(on, "return")}}}
}

func (names) Object(id event.ObjectID) run.Object     { return run.Object{Addr: uint64(id) << 8} }
func (names) Thread(event.ThreadID) (t run.Thread)    { return t }
func (names) Frames(event.StackID) (fs []event.Frame) { return nil }

// pass passes calls to a run: a letter a call, of the object whose address follows.
func pass(r *learn.Run, text string) {
	for _, word := range strings.Fields(text) {
		at := uint64(word[1]-'0') << 8
		switch op := strings.IndexByte("mcsx", word[0]); op {
		case -1: // the memory is freed
			r.Event(&event.Event{Op: event.Destroy, Kind: event.KindInstance, Object: event.ObjectID(at >> 8), Thread: 1})
		case 0:
			r.Event(&event.Event{Op: event.Return, Func: 1, Thread: 1, Value: at, Flags: event.HasValue})
		default:
			r.Event(&event.Event{Op: event.Call, Func: event.FuncID(op + 1), Thread: 1, Args: []uint64{at}})
		}
	}
	r.Finish()
}

func learner(t *testing.T, text string) (*learn.Learner, names) {
	t.Helper()
	s, problems := spec.Parse("t.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return learn.New(s), names{patterns: s.Plan().On}
}

var usual = learn.Options{Options: mine.Options{K: 1, S: 100, Rule: mine.Equal}}

// TestLearn: objects of two runs, one of an address that is used again, give one automaton, whose text is a typestate that
// allows what was seen.
func TestLearn(t *testing.T) {
	l, n := learner(t, calls)
	pass(l.Run(n), "m1 c1 s1 m2 c2 s1 x1 x2 m1 c1 f1 s3")
	pass(l.Run(n), "m1 c1 s1 s1 s1 x1")
	learned, err := l.Learn(usual)
	if err != nil || len(learned) != 1 {
		t.Fatalf("%d typestates, %v", len(learned), err)
	}
	var b strings.Builder
	if err := learned[0].WriteSpec(&b); err != nil {
		t.Fatal(err)
	}
	want := `// Learned from the calls of 4 objects.
typestate sock (s : struct sock *) mined {
  make    = return sock_new -> s
  connect = call sock_connect(s)
  send    = call sock_send(s, _)
  close   = call sock_close(s)

  state s0 { make -> s1 }   // make 4
  state s1 { connect -> s2 }   // connect 4
  final state s2 { send -> s3; close -> s4 }   // send 2, close 1, end 1
  state s3 { send -> s5 }   // send 2
  final state s4 { }   // end 3
  state s5 { send -> s6; close -> s4 }   // send 1, close 1
  state s6 { close -> s4 }   // close 1
}
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if learned[0].Objects != 4 || learned[0].Partial != 1 {
		t.Errorf("%d objects, %d of which the first calls are unknown", learned[0].Objects, learned[0].Partial)
	}
	s, problems := spec.Parse("mined.tps", b.String())
	if problems.HasErrors() || len(s.Typestates) != 1 || !s.Typestates[0].Mined {
		t.Errorf("what was learned is no typestate: %v", problems)
	}
}

// TestMemoryAtOnceUsedAgain: an object may be created by the next event of the thread that freed another one there.
func TestMemoryAtOnceUsedAgain(t *testing.T) {
	l, n := learner(t, calls)
	pass(l.Run(n), "m1 c1 f1 m1 c1 x1")
	learned, err := l.Learn(usual)
	if err != nil || learned[0].Objects != 2 || learned[0].Partial != 0 {
		t.Errorf("%+v, %v", learned, err)
	}
}

// TestNothingToLearn: why nothing was learned is said.
func TestNothingToLearn(t *testing.T) {
	for text, want := range map[string]string{"": "no call of the typestates was recorded", "c1 s1 s2": "no object was seen to be created, and 2 were used"} {
		l, n := learner(t, calls)
		pass(l.Run(n), text)
		if _, err := l.Learn(usual); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestNobodyCreates: without a call that creates objects, what is seen first is their beginning.
func TestNobodyCreates(t *testing.T) {
	l, n := learner(t, "typestate lock (s : int) {\n  take = call lock_take(s)\n  give = call lock_give(s)\n}\n")
	r := l.Run(n)
	for range 3 {
		for f := range 2 {
			r.Event(&event.Event{Op: event.Call, Func: event.FuncID(f + 1), Thread: 1, Args: []uint64{7}})
		}
	}
	r.Finish()
	learned, err := l.Learn(learn.Options{Tails: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := learned[0].WriteSpec(&b); err != nil || !strings.Contains(b.String(), "mined born at first use {") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestCheck: what cannot be learned so is known before a program runs.
func TestCheck(t *testing.T) {
	if err := usual.Check(); err != nil {
		t.Error(err)
	}
	for _, o := range []learn.Options{{Options: mine.Options{K: 0, S: 50, Rule: mine.Equal}}, {Options: mine.Options{K: 1, S: 101, Rule: mine.Equal}}, {Tails: 101}} {
		if o.Check() == nil {
			t.Errorf("%+v passes", o)
		}
	}
}

// TestRacingTypes: with the option, nothing is learned of a type none of whose objects two threads call without an order.
func TestRacingTypes(t *testing.T) {
	const two = calls + "typestate file (s : struct file *) {\n  get = return file_get -> s\n  put = call file_put(s)\n}\n"
	racing := usual
	racing.RacingTypes = true
	for _, c := range []struct {
		name          string
		second        event.ThreadID // puts the file
		message       bool
		want, without string
	}{
		{"neither", 1, false, "", "sock, file"},
		{"ordered", 2, true, "", "sock, file"},
		{"racing", 2, false, "file", "sock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, n := learner(t, two)
			r := l.Run(n)
			events := []event.Event{{Op: event.Return, Func: 5, Thread: 1, Value: 512, Flags: event.HasValue}}
			events = append(events, event.Event{Op: event.Fork, Thread: 1, Peer: 2}, event.Event{Op: event.Begin, Thread: 2})
			events = append(events, event.Event{Op: event.Call, Func: 6, Thread: 1, Args: []uint64{512}})
			if c.message {
				events = append(events, event.Event{Op: event.Send, Thread: 1, Object: 9, Kind: event.KindChannel}, event.Event{Op: event.Receive, Thread: 2, Object: 9, Kind: event.KindChannel})
			}
			events = append(events, event.Event{Op: event.Call, Func: 6, Thread: c.second, Args: []uint64{512}})
			for i := range events {
				r.Event(&events[i])
			}
			pass(r, "m1 c1 x1")
			learned, err := l.Learn(racing)
			var names []string
			for i := range learned {
				names = append(names, learned[i].Name)
			}
			if got := strings.Join(names, ", "); got != c.want || (err != nil) != (got == "") {
				t.Errorf("learned %q, %v; want %q", got, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), "race") {
				t.Error(err)
			}
			if got := strings.Join(l.WithoutRace(), ", "); got != c.without {
				t.Errorf("without a race: %q, want %q", got, c.without)
			}
			if all, err := l.Learn(usual); err != nil || len(all) != 2 {
				t.Errorf("without the option: %d typestates, %v", len(all), err)
			}
		})
	}
}
