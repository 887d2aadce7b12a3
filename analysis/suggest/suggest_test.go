package suggest_test

import (
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/suggest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// names are those of readers and a writer of a board.
type names struct {
	objects []string
	starts  []string
}

func (n names) Object(id event.ObjectID) run.Object {
	if int(id) > len(n.objects) {
		return run.Object{}
	}
	return run.Object{Name: n.objects[id-1]}
}

func (n names) Thread(id event.ThreadID) run.Thread {
	return run.Thread{Start: n.starts[id-1], Main: id == 1}
}

func (names) Frames(id event.StackID) []event.Frame {
	if id == 0 {
		return nil
	}
	return []event.Frame{{Function: "f", File: "board.c", Line: int(id)}}
}

func (names) Func(id event.FuncID) event.Func {
	name := []string{"board_read", "board_write"}[id-1]
	return event.Func{Name: name, Patterns: []event.Pattern{{Pattern: "call " + name}}}
}

func board() names {
	return names{objects: []string{"board_lock", "log_lock", "once_lock"}, starts: []string{"main", "writer", "first_reader", "second_reader"}}
}

const (
	boardLock event.ObjectID = 1 + iota
	logLock
	onceLock
	unnamedLock
)

const declarations = `thread reader = start *_reader
event read  = call board_read by reader
event write = call board_write
`

// boardRun is a run of three turns of the writer and three of the readers. The readers log what they read.
func boardRun() (out []event.Event) {
	add := func(e event.Event) {
		e.Seq, e.Stack = uint64(len(out)+1), event.StackID(len(out)+1)
		out = append(out, e)
	}
	locked := func(id event.ThreadID, lock event.ObjectID, inside func()) {
		add(event.Event{Thread: id, Op: event.Acquire, Object: lock, Kind: event.KindMutex})
		inside()
		add(event.Event{Thread: id, Op: event.Release, Object: lock, Kind: event.KindMutex})
	}
	nothing := func() {}
	locked(1, onceLock, nothing)
	for id := event.ThreadID(2); id <= 4; id++ {
		add(event.Event{Thread: 1, Op: event.Fork, Peer: id})
		add(event.Event{Thread: id, Op: event.Begin, Peer: 1})
	}
	for range 3 {
		locked(2, boardLock, func() { add(event.Event{Thread: 2, Op: event.Call, Func: 2}) })
		locked(3, boardLock, func() {
			add(event.Event{Thread: 3, Op: event.Fork, Peer: 4})
			add(event.Event{Thread: 4, Op: event.Call, Func: 1})
			locked(4, logLock, nothing)
			add(event.Event{Thread: 3, Op: event.Join, Peer: 4})
			add(event.Event{Thread: 3, Op: event.Call, Func: 1})
			locked(3, logLock, nothing)
			locked(3, unnamedLock, nothing)
		})
	}
	return out
}

func load(t *testing.T, text, more string) *spec.Spec {
	t.Helper()
	s, problems := spec.Load("p.tps", spec.Options{AllEvents: true, More: more, MoreName: "block", Open: func(n string) (io.ReadCloser, error) {
		if n != "p.tps" {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}})
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems, more)
	}
	return s
}

func search(t *testing.T, s *spec.Spec, n run.Namer, events []event.Event) *suggest.Result {
	t.Helper()
	var of *spec.Scope
	if len(s.Scopes) > 0 {
		of = s.Scopes[0]
	}
	r, err := suggest.New(s, of, n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		r.Event(&events[i])
	}
	return r.Finish()
}

// block returns the text of the scope for a suggestion, tried on the run.
func block(t *testing.T, text string, r *suggest.Result, i int, n run.Namer, events []event.Event) string {
	t.Helper()
	b, err := r.Block(i)
	if err != nil {
		t.Fatal(err)
	}
	trial, err := b.Try(load(t, text, b.Text()), n)
	if err != nil {
		t.Fatal(err)
	}
	for j := range events {
		trial.Event(&events[j])
	}
	if err := trial.Finish(); err != nil {
		t.Fatal(err)
	}
	load(t, text, b.Text()) // What is left is a specification too.
	return b.Text()
}

// TestSuggest: the lock by which readers and writer take turns is suggested, among others; what separates nothing is not,
// nor what is not ordered.
func TestSuggest(t *testing.T) {
	events := boardRun()
	r := search(t, load(t, declarations, ""), board(), events)
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	const want = `RANK  ACTION              TIMES  REGIONS WITH EVENTS  EVENNESS  CONCURRENT
1     acquire board_lock  6      6 of 7               90%       0 of 9
2     acquire log_lock    6      6 of 7               90%       0 of 9
3     release board_lock  6      6 of 7               90%       0 of 9
4     release log_lock    6      6 of 7               90%       0 of 9
5     join reader         3      4 of 4               88%       0 of 9
6     write               3      3 of 4               100%      0 of 6
7     read                6      3 of 7               100%      0 of 3
`
	if got, _, _ := strings.Cut(table.String(), "Events:"); got != want {
		t.Errorf("%s", cmp.Diff(want, got))
	}
	for _, line := range []string{
		"Events: read, write", "Not acquire once_lock: all events are in one region",
		"2 operations on objects without the name of a variable were not considered",
		"Not fork reader: that of T1 in f at board.c:7 and that of T3 in f at board.c:13 are concurrent",
	} {
		if !strings.Contains(table.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, table.String())
		}
	}
}

// TestBlock: the block for events without a scope is a specification with a property for each type of threads, and with the
// checks that the run satisfies.
func TestBlock(t *testing.T) {
	events := boardRun()
	r := search(t, load(t, declarations, ""), board(), events)
	at := slices.IndexFunc(r.Suggestions, func(s suggest.Suggestion) bool { return s.Action == "acquire board_lock" })
	const want = `// Suggested by tracepredict suggest-scope: the run has 6 actions acquire board_lock, each after the one before, with
// 9 events in 6 of the regions between them.
lock board_lock = board_lock
event acquire_board_lock = acquire board_lock
thread writer = start writer

scope by_acquire_board_lock (acquire_board_lock) {
  property did_read on reader(read) is F(read)
  property did_write on writer(write) is F(write)
  atom some_read = any(did_read)
  atom all_read = all(did_read)
  atom some_write = any(did_write)
  // The run satisfies these checks: keep those that are meant, with a message.
  check always (some_read -> all_read)
  check always (some_read -> next !some_read)
  check always !(some_read && some_write)
  check always (some_write -> next !some_write)
}
`
	if diff := cmp.Diff(want, block(t, declarations, r, at, board(), events)); diff != "" {
		t.Error(diff)
	}
	for i := range r.Suggestions {
		block(t, declarations, r, i, board(), events)
	}
}

// TestBlockOfAScope: the block has the properties and checks of the scope, at another action, and marks what the run violates.
func TestBlockOfAScope(t *testing.T) {
	const text = declarations + `lock log = log_lock
event logs = acquire log
scope board (logs) {
  property reads on reader(read) is F(read)
  atom reading = any(reads)
  atom all_read = all(reads)
  check "missed a \"notice\"" always (reading -> all_read)
  check always !reading
}
`
	events := boardRun()
	r := search(t, load(t, text, ""), board(), events)
	at := slices.IndexFunc(r.Suggestions, func(s suggest.Suggestion) bool { return s.Action == "acquire board_lock" })
	got := block(t, text, r, at, board(), events)
	_, got, _ = strings.Cut(got, "\n\n")
	const want = `scope board_by_acquire_board_lock (acquire_board_lock) {
  property reads on reader(read) is F(read)
  atom reading = any(reads)
  atom all_read = all(reads)
  check "missed a \"notice\"" always (reading -> all_read)
  check always !reading   // violated in this run
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Suggestions[at].Events != 6 {
		t.Errorf("%d events, want those of the scope alone", r.Suggestions[at].Events)
	}
}

// TestUnordered: the two places of actions that are concurrent are named.
func TestUnordered(t *testing.T) {
	const text = "thread reader = start *_reader\nevent read = call board_read by reader\n"
	var events []event.Event
	for id := event.ThreadID(3); id <= 4; id++ {
		events = append(events, event.Event{Seq: uint64(id), Thread: id, Op: event.Call, Func: 1, Stack: event.StackID(id)})
	}
	r := search(t, load(t, text, ""), board(), events)
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if len(r.Suggestions) != 0 || !strings.Contains(table.String(), "No action is ordered in this run and separates these events.\n") ||
		!strings.Contains(table.String(), "Not read: that of T3 in f at board.c:3 and that of T4 in f at board.c:4 are concurrent\n") {
		t.Error(table.String())
	}
	r = search(t, load(t, text, ""), board(), nil)
	if len(r.Missing) != 1 || !strings.Contains(r.Missing[0], "--on 'call board_read'") {
		t.Errorf("missing: %q", r.Missing)
	}
}

// TestPropertyOfVariables: where properties mention no event, all declared events are separated.
func TestPropertyOfVariables(t *testing.T) {
	text := declarations + "var x : int = x\nproperty p = always (x > 0)\n"
	r := search(t, load(t, text, ""), board(), boardRun())
	if len(r.Suggestions) == 0 {
		t.Fatal("nothing is suggested")
	}
	b, err := r.Block(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"F(read)", "F(write)"} {
		if !strings.Contains(b.Text(), event) {
			t.Errorf("the block lacks %s:\n%s", event, b.Text())
		}
	}
}

// TestNothingToSeparate: a specification without events is refused.
func TestNothingToSeparate(t *testing.T) {
	if _, err := suggest.New(load(t, "thread reader = start r\n", ""), nil, board()); err == nil {
		t.Error("no error")
	}
}

// FuzzNames: whatever objects and threads are called, each suggestion has a block that is a specification.
func FuzzNames(f *testing.F) {
	f.Add("board_lock", "writer")
	f.Add("ns::server.locks[3]+0x8", "std::thread::_Invoker<std::tuple<void (*)(int)> >")
	f.Add("lock", "event")
	f.Add("reader", "read")
	f.Fuzz(func(t *testing.T, lock, start string) {
		if strings.ContainsAny(lock+start, "`\n\r\x00") {
			t.Skip("no name of a program")
		}
		n, events := board(), boardRun()
		n.objects[0], n.starts[1] = lock, start
		r := search(t, load(t, declarations, ""), n, events)
		for i := range r.Suggestions {
			b, err := r.Block(i)
			if err != nil {
				t.Fatal(err)
			}
			_, problems := spec.Load("p.tps", spec.Options{More: b.Text(), MoreName: "block", Open: func(string) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(declarations)), nil
			}})
			if problems.HasErrors() {
				t.Fatalf("%v\n%s", problems, b.Text())
			}
		}
	})
}
