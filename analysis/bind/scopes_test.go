package bind

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// board names the objects, functions and threads of readers and a writer.
type board struct{}

func (board) Object(id event.ObjectID) run.Object {
	return run.Object{Name: map[event.ObjectID]string{1: "board_lock", 2: "other_lock", 3: "day_lock"}[id], Kind: event.KindMutex}
}

func (board) Thread(id event.ThreadID) run.Thread {
	return run.Thread{Start: map[event.ThreadID]string{1: "main", 2: "writer", 3: "first_reader", 4: "second_reader"}[id], Main: id == 1}
}

func (board) Frames(id event.StackID) []event.Frame {
	if id == 0 {
		return nil
	}
	return []event.Frame{{Function: "f", File: "board.c", Line: int(id)}}
}

func (board) Func(id event.FuncID) event.Func {
	name := map[event.FuncID]string{1: "board_read", 2: "board_write"}[id]
	return event.Func{Name: name, Patterns: []event.Pattern{{Pattern: "call " + name}}}
}

const boardDeclarations = `lock board_lock = board_lock
event turn = acquire board_lock
event any_turn = acquire any
thread reader = start *_reader
thread writer = start writer
event read  = call board_read by reader
event write = call board_write by writer
`

// boardScope is the scope of the example board.
const boardScope = boardDeclarations + `
scope board (turn) {
  property reads  on reader(read)  is F(read)
  property writes on writer(write) is F(write)
  atom reading  = any(reads)
  atom writing  = any(writes)
  atom all_read = all(reads)
  check "both at once" always !(reading && writing)
  check "a notice was missed" always (reading -> all_read)
}
`

// listing is Listing 1.1 of the paper with names of this program, without region 0, in which neither reads nor writes.
const listing = `selectors {
  event AR on "acquire" when "%lockname == board_lock"
}
types{
  reader { spawn on "*_reader" event read on "board_read" }
  writer { spawn on "writer" event write on "board_write" }
}
scope s0 (AR) {
  property s0r on reader(read) is "LTL=F(read)"
  property s0w on writer(write) is "LTL=F(write)"

  atom activereader : count(s0r, T) > 0,
  atom activewriter  : count(s0w, T) > 0,
  atom onewriter    : count(s0w, T) == 1,
  atom allreaders   : count(s0r, T) == size(reader)

  check "LTL=X G(
    (activereader XOR activewriter) && (activewriter => onewriter )
    && (activereader => allreaders)
  )"
}
`

// A boardRun makes the events of a run. Each turn is ordered after the turn before by the lock; the second reader is let in
// and waited for by a barrier in the program, here by fork and join of a thread for each of its reads.
type boardRun struct {
	events []event.Event
}

func (r *boardRun) add(e event.Event) {
	e.Seq = uint64(len(r.events) + 1)
	e.Stack = event.StackID(e.Seq)
	r.events = append(r.events, e)
}

func (r *boardRun) begin(threads ...event.ThreadID) {
	for _, id := range threads {
		r.add(event.Event{Thread: 1, Op: event.Fork, Peer: id})
		r.add(event.Event{Thread: id, Op: event.Begin, Peer: 1})
	}
}

func (r *boardRun) acquire(id event.ThreadID, lock event.ObjectID) {
	r.add(event.Event{Thread: id, Op: event.Acquire, Object: lock, Kind: event.KindMutex})
}

func (r *boardRun) release(id event.ThreadID, lock event.ObjectID) {
	r.add(event.Event{Thread: id, Op: event.Release, Object: lock, Kind: event.KindMutex})
}

func (r *boardRun) call(id event.ThreadID, f event.FuncID) {
	r.add(event.Event{Thread: id, Op: event.Call, Func: f})
}

// writes lets the writer have a turn.
func (r *boardRun) writes() {
	r.acquire(2, 1)
	r.call(2, 2)
	r.release(2, 1)
}

// reads lets the first reader have a turn, in which the second one reads too if both is set.
func (r *boardRun) reads(both bool) {
	r.acquire(3, 1)
	r.call(3, 1)
	r.acquire(3, 2)
	r.release(3, 2)
	r.acquire(4, 2)
	if both {
		r.call(4, 1)
	}
	r.release(4, 2)
	r.acquire(3, 2)
	r.release(3, 2)
	r.release(3, 1)
}

// monitored returns the outcome of a run.
func monitored(t *testing.T, text string, events []event.Event) (part.Outcome, *Run) {
	t.Helper()
	s, problems := spec.Parse("board.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	r, err := New(Options{Spec: s, Names: board{}, Window: 8, Queue: 8})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPart(r, nil)
	for i := range events {
		p.Event(&events[i])
	}
	p.Remember(event.NewNames())
	var out part.Outcome
	p.Finish(&out)
	return out, r
}

// TestScopeViolated: the region in which the second reader does not read is found, with its two actions and its state, and
// its twin is innocent. So they are by the listing of the paper.
func TestScopeViolated(t *testing.T) {
	for name, text := range map[string]string{"board": boardScope, "s0": listing} {
		for _, guilty := range []bool{true, false} {
			var r boardRun
			r.begin(2, 3, 4)
			r.writes()
			r.reads(true)
			r.writes()
			r.reads(!guilty)
			r.writes()
			r.reads(!guilty)
			out, _ := monitored(t, text, r.events)
			if out.Err != nil || len(out.First) != 1 || !strings.Contains(out.First[0], "were judged") || len(out.Notes) != 0 {
				t.Errorf("%s: notes %q, %q, %v", name, out.First, out.Notes, out.Err)
			}
			if !guilty {
				if len(out.Findings) != 0 {
					t.Errorf("%s: findings %+v", name, out.Findings)
				}
				continue
			}
			if len(out.Findings) != 1 {
				t.Fatalf("%s: findings %+v", name, out.Findings)
			}
			checkMissed(t, name, &out.Findings[0])
		}
	}
}

func checkMissed(t *testing.T, name string, f *finding.Finding) {
	t.Helper()
	if f.Kind != finding.Scoped || f.Property != name || f.Confidence != finding.Observed || f.Scope == nil || f.Scope.Region != 4 || f.Scope.Last || f.Scope.Concurrent != 0 {
		t.Fatalf("%+v, scope %+v", f, f.Scope)
	}
	if len(f.Evidence) != 2 || f.Evidence[0].Thread != 3 || f.Evidence[1].Thread != 2 {
		t.Errorf("evidence %+v", f.Evidence)
	}
	reads := f.Scope.Locals[0]
	want := []finding.ThreadVerdict{{Thread: 3, Verdict: "T"}, {Thread: 4, Verdict: "?"}}
	if len(reads.Threads) != 2 || reads.Threads[0] != want[0] || reads.Threads[1] != want[1] || reads.Type != "reader" {
		t.Errorf("verdicts %+v", reads)
	}
	for _, a := range f.Scope.Atoms {
		if reading := strings.HasPrefix(a.Name, "reading") || a.Name == "activereader"; a.Holds != reading {
			t.Errorf("atom %+v", a)
		}
	}
}

// TestScopeWithoutVerdict: without synchronising actions, and with actions that are concurrent, there is no verdict but a
// note; its twin, in which the same actions are ordered, has one.
func TestScopeWithoutVerdict(t *testing.T) {
	anyTurn := strings.Replace(boardScope, "(turn)", "(any_turn)", 1)
	for name, c := range map[string]struct {
		text  string
		run   func(*boardRun)
		first string
	}{
		"no action":  {boardScope, func(r *boardRun) { r.call(3, 1) }, "board.tps:9:14: scope board has no verdict: there was no event turn, and its regions are between two of these"},
		"concurrent": {anyTurn, func(r *boardRun) { r.acquire(3, 1); r.call(3, 1); r.acquire(2, 2) }, "board.tps:9:14: scope board has no verdict: any_turn of T3 in f at board.c:"},
		"ordered":    {anyTurn, func(r *boardRun) { r.acquire(3, 1); r.call(3, 1); r.acquire(3, 2) }, ""},
	} {
		var r boardRun
		r.begin(2, 3, 4)
		c.run(&r)
		out, _ := monitored(t, c.text, r.events)
		switch {
		case c.first == "" && (len(out.First) != 1 || !strings.Contains(out.First[0], "were judged") || len(out.Findings) != 1):
			t.Errorf("%s: %q, findings %+v", name, out.First, out.Findings)
		case c.first != "" && (len(out.First) != 1 || !strings.HasPrefix(out.First[0], c.first) || len(out.Findings) != 0):
			t.Errorf("%s: %q, findings %+v", name, out.First, out.Findings)
		}
	}
}

// TestScopeConcurrent: an event that is concurrent with an action counts where it is observed, and there is a note.
func TestScopeConcurrent(t *testing.T) {
	var r boardRun
	r.begin(2, 3, 4)
	r.writes()
	r.call(4, 1) // without the lock
	out, _ := monitored(t, boardScope, r.events)
	if len(out.Findings) != 2 || out.Findings[0].Scope.Concurrent != 1 || !out.Findings[0].Scope.Last {
		t.Errorf("findings %+v", out.Findings)
	}
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "1 event is concurrent with turn: another run may have it in another region (of 2 in all)") {
		t.Errorf("notes %q", out.Notes)
	}
}

// TestScopePredicted: the second reader reads before the writer's next turn, but nothing makes it: another schedule, which
// the checker accepts, lets the writer come first. The twin, in which the writer waits, has no other schedule.
func TestScopePredicted(t *testing.T) {
	for _, waits := range []bool{false, true} {
		var r boardRun
		r.begin(2, 3, 4)
		r.writes()
		r.acquire(3, 1)
		r.call(3, 1)
		r.acquire(3, 2)
		r.release(3, 2)
		r.release(3, 1)
		r.acquire(4, 2) // after the first reader has its turn
		r.release(4, 2)
		r.call(4, 1)
		if waits {
			r.acquire(4, 2)
			r.release(4, 2)
			r.acquire(2, 2)
			r.release(2, 2)
		}
		r.writes()
		r.reads(true)
		out, b := monitored(t, boardScope, r.events)
		if waits {
			if len(out.Findings) != 0 {
				t.Errorf("findings %+v", out.Findings)
			}
			continue
		}
		if len(out.Findings) != 1 {
			t.Fatalf("findings %+v, notes %q", out.Findings, out.Notes)
		}
		f := &out.Findings[0]
		if f.Confidence != finding.Predicted || f.Order != finding.OrderSync || f.Scope.Region != 2 || f.Scope.Moved != 1 || f.Message != "a notice was missed" {
			t.Errorf("%+v, %+v", f, f.Scope)
		}
		last := f.Witness[len(f.Witness)-1]
		if last.Thread != 2 || last.Op != event.Acquire || len(f.Evidence) != 1 || f.Evidence[0].Seq != last.Seq {
			t.Errorf("witness %+v", f.Witness)
		}
		if out.Witnesses.Checked == 0 || b.schedules.Witnesses.Refused != 0 {
			t.Errorf("witnesses %+v", out.Witnesses)
		}
	}
}

// TestScopeBesideProperty: the events of a scope make no letters of a property, and both see theirs.
func TestScopeBesideProperty(t *testing.T) {
	text := boardScope + "lock other = other_lock\nevent taken = acquire other\nproperty p = always !taken\n"
	var r boardRun
	r.begin(2, 3, 4)
	r.writes()
	r.reads(true)
	r.writes()
	s, problems := spec.Parse("board.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m, _ := s.Monitor(s.Properties[0], spec.MonitorOptions{})
	b, err := New(Options{Spec: s, Monitors: []*spec.Monitor{m}, Names: board{}, Window: 8, Queue: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.events {
		b.Event(&r.events[i])
	}
	var out part.Outcome
	NewPart(b, nil).Finish(&out)
	if len(out.Findings) == 0 || out.Findings[0].Kind != finding.Property {
		t.Errorf("findings %+v", out.Findings)
	}
	if got := b.Stats().Levels; got > 5 {
		t.Errorf("%d levels for three events of the property", got)
	}
	if b.ClockMemory() == 0 || b.scopes[0].Stats().Actions != 3 {
		t.Errorf("%+v", b.scopes[0].Stats())
	}
}

// innerBoard is the board within days, each of which begins when the first reader takes the day's lock.
const innerBoard = boardDeclarations + `lock day_lock = day_lock
event dusk = acquire day_lock
scope day (dusk) {
  scope board (turn) {
    property reads on reader(read) is F(read)
    atom reading = any(reads)
    atom all_read = all(reads)
    check "a notice was missed" always (reading -> all_read)
  }
  property writes on writer(write) is F(write)
  atom written = any(writes)
  atom missed = COUNTED
  check "a bad day" always !missed
}
`

// TestInnerScope: the first reader's turn in the second day misses the second reader. That is a finding of the inner scope, or,
// if the outer one counts its verdicts, of the outer one.
func TestInnerScope(t *testing.T) {
	var r boardRun
	r.begin(2, 3, 4)
	r.writes()
	r.reads(true)
	r.acquire(3, 1)
	r.acquire(3, 3)
	r.release(3, 3)
	r.release(3, 1)
	r.writes()
	r.reads(false)
	r.writes()
	for counted, want := range map[string]string{"any(board, F)": "a bad day in region 1", "size(reader) == 9": "a notice was missed in region 2 of region 1 of day"} {
		out, _ := monitored(t, strings.Replace(innerBoard, "COUNTED", counted, 1), r.events)
		if len(out.Findings) != 1 || len(out.First) != 2 {
			t.Fatalf("%s: %d findings, %q", counted, len(out.Findings), out.First)
		}
		f := &out.Findings[0]
		got := fmt.Sprintf("%s in region %d", f.Message, f.Scope.Region)
		if f.Scope.Outer != "" {
			got += fmt.Sprintf(" of region %d of %s", f.Scope.OuterRegion, f.Scope.Outer)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", counted, got, want)
		}
		const note = `scope board: 8 regions were judged; of the regions of day around them, "always (reading -> all_read)" holds in 0, is violated in 1, and not so far in 1`
		if !slices.Contains(out.First, note) {
			t.Errorf("notes %q", out.First)
		}
	}
}

// TestInnerWithoutVerdict: an outer scope that counts the verdicts of an inner one has none if that has none.
func TestInnerWithoutVerdict(t *testing.T) {
	var r boardRun
	r.begin(2, 3, 4)
	r.acquire(3, 3)
	r.release(3, 3)
	r.call(3, 1)
	out, _ := monitored(t, strings.Replace(innerBoard, "COUNTED", "any(board, F)", 1), r.events)
	if len(out.Findings) != 0 || len(out.First) != 2 || !strings.Contains(out.First[0], "scope board has no verdict: there was no event turn") ||
		!strings.Contains(out.First[1], "scope day has no verdict: it counts the verdicts of scope board, which has none") {
		t.Errorf("%q, findings %+v", out.First, out.Findings)
	}
}
