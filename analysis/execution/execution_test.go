package execution_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

func step(e *event.Event) finding.Step {
	return finding.Step{Seq: e.Seq, Thread: e.Thread, Op: e.Op, Object: e.Object, Peer: e.Peer}
}

// steps returns the events of a run in the given order.
func steps(run []event.Event, order []int) []finding.Step {
	var out []finding.Step
	for _, i := range order {
		out = append(out, step(&run[i]))
	}
	return out
}

// shortRun returns a run of up to about n events. Some runs destroy an object, and some writes are
// read-modify-writes.
func shortRun(r *rand.Rand, n int) []event.Event {
	run := eventtest.RandomRun(r, 4+r.IntN(n-4))
	if r.IntN(4) == 0 {
		run = eventtest.RandomSections(r, 4+r.IntN(n-4))
	}
	for i := range run {
		if e := &run[i]; e.Op == event.Write && r.IntN(4) == 0 {
			e.Op = event.Update
			if r.IntN(2) == 0 {
				e.Flags |= event.ResultUnused
			}
		}
	}
	if r.IntN(3) == 0 {
		last := run[len(run)-1]
		run = append(run, event.Event{Seq: last.Seq + 1, Thread: last.Thread, Op: event.Destroy, Object: eventtest.ObjectX + event.ObjectID(r.IntN(9))})
	}
	return run
}

// walk visits the orders of a run's events that keep the program order of each thread, as far as
// they can happen, and checks each next step. It stops after left steps.
type walk struct {
	t        *testing.T
	run      plain
	judge    *execution.Run
	left     int
	accepted int
	refused  map[execution.Rule]int
}

func (w *walk) from(before []int) {
	for _, i := range w.heads(before) {
		if w.left--; w.left < 0 {
			return
		}
		order := append(slices.Clip(before), i)
		err := w.judge.Check(steps(w.run, order), finding.Property)
		if want := w.run.may(before, i); (err == nil) != want {
			w.t.Fatalf("%v: the checker says %v, by definition it can happen: %v\n%s", order, err, want, text(w.run))
		}
		if err == nil {
			w.accepted++
			w.from(order)
			continue
		}
		var refusal *execution.Refusal
		if !errors.As(err, &refusal) || refusal.Step != len(order) {
			w.t.Fatalf("%v: %v, want a refusal of the last step", order, err)
		}
		w.refused[refusal.Rule]++
	}
}

// heads returns each thread's next event.
func (w *walk) heads(before []int) []int {
	var out []int
	seen := map[event.ThreadID]bool{}
	for i := range w.run {
		if t := w.run[i].Thread; !seen[t] && !slices.Contains(before, i) {
			seen[t] = true
			out = append(out, i)
		}
	}
	return out
}

func text(run []event.Event) string {
	out := ""
	for i := range run {
		e := &run[i]
		out += fmt.Sprintf("%d: thread %d %s object %d peer %d flags %#x value %d\n", i, e.Thread, e.Op, e.Object, e.Peer, e.Flags, e.Value)
	}
	return out
}

// TestAllOrders checks, on short runs, that every order that keeps the program order is accepted
// up to the first step that cannot happen by the plain model, and refused there.
func TestAllOrders(t *testing.T) {
	runs, orders := testtool.Cases(500, 4000, 10_000), 120
	accepted, refused := 0, map[execution.Rule]int{}
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 5))
		run := shortRun(r, 28)
		w := walk{t: t, run: run, judge: execution.Observe(run), left: orders, refused: refused}
		from := r.IntN(len(run))
		w.from(w.prefix(r, from))
		accepted += w.accepted
	}
	t.Log(accepted, refused)
	for _, rule := range []execution.Rule{
		execution.Creation, execution.Ending, execution.Lifetime, execution.Exclusion, execution.Attempt, execution.Writer, execution.Waking,
		execution.Generations, execution.Count, execution.Once,
	} {
		if refused[rule] == 0 {
			t.Errorf("nothing was refused by the rule of %s: the test shows nothing of it", rule)
		}
	}
}

// prefix returns a random beginning of an order that can happen.
func (w *walk) prefix(r *rand.Rand, n int) []int {
	var out []int
	for range 4 * n {
		heads := w.heads(out)
		if len(heads) == 0 || len(out) == n {
			break
		}
		if i := heads[r.IntN(len(heads))]; w.run.may(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// TestMutations checks that a witness with one step left out, doubled, or exchanged with another
// is accepted only if it can happen nevertheless.
func TestMutations(t *testing.T) {
	n := testtool.Cases(500, 4000, 10_000)
	kept := 0
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 6))
		run := shortRun(r, 28)
		w := walk{run: run}
		order := w.prefix(r, len(run))
		if len(order) < 2 {
			continue
		}
		at, other := r.IntN(len(order)), r.IntN(len(order))
		switch r.IntN(3) {
		case 0:
			order = slices.Delete(order, at, at+1)
		case 1:
			order = slices.Insert(order, other, order[at])
		case 2:
			order[at], order[other] = order[other], order[at]
		}
		want := true
		for k, i := range order {
			want = want && w.run.may(order[:k], i)
		}
		if err := execution.Observe(run).Check(steps(run, order), finding.Property); (err == nil) != want {
			t.Fatalf("%v: the checker says %v, by definition it can happen: %v\n%s", order, err, want, text(run))
		}
		if want {
			kept++
		}
	}
	if kept == 0 || kept == n {
		t.Errorf("%d of %d can happen: the test shows nothing", kept, n)
	}
}

// FuzzCheck checks that no run and no witness makes the checker panic, and that every accepted
// witness keeps the program order.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("\x01\x08\x02\x00\x00\x01\x04\x01\x00\x00\x01\x04\x02\x00\x00\x02\x07\x01\x00\x00\x02\x04\x02\x00\x00"), []byte{0, 1, 2, 3, 4})
	f.Add([]byte("\x01\x11\x03\x02\x10\x01\x12\x03\x00\x00\x02\x12\x03\x00\x00\x01\x13\x03\x00\x00\x02\x13\x03\x00\x00\x01\x14\x04\x00\x00"), []byte{1, 0, 2, 2})
	f.Add([]byte("\x01\x1e\x05\x01\x10\x02\x20\x05\x01\x10\x02\x22\x05\x00\x00\x01\x1a\x05\x00\x00\x02\x0a\x01\x00\x00"), []byte{0, 2, 1, 4, 3})
	f.Fuzz(func(t *testing.T, raw, order []byte) {
		if len(raw) > 600 || len(order) > 200 {
			t.Skip()
		}
		var run []event.Event
		for ; len(raw) >= 5; raw = raw[5:] {
			run = append(run, event.Event{
				Seq: uint64(len(run) + 1), Thread: event.ThreadID(raw[0] % 5), Op: event.Op(raw[1] % byte(event.NumOps+1)), Object: event.ObjectID(raw[2] % 6),
				Peer: event.ThreadID(raw[2] % 5), Kind: event.Kind(raw[3] % 9), Flags: event.Flags(raw[4]), Value: uint64(raw[3] % 4),
			})
		}
		var witness []finding.Step
		for _, i := range order {
			if len(run) > 0 {
				x := step(&run[int(i)%len(run)])
				x.Blocked = i >= 200
				witness = append(witness, x)
			}
		}
		judge := execution.Observe(run)
		for _, kind := range []finding.Kind{finding.Race, finding.Deadlock, finding.Property, finding.Misuse} {
			err := judge.Check(witness, kind)
			var refusal *execution.Refusal
			if err != nil && !errors.As(err, &refusal) {
				t.Fatalf("%v is no refusal", err)
			}
			if err == nil && kind == finding.Property && !keepsThreads(witness) {
				t.Fatalf("accepted: %v", witness)
			}
		}
	})
}

func keepsThreads(witness []finding.Step) bool {
	last := map[event.ThreadID]uint64{}
	for _, s := range witness {
		if s.Seq <= last[s.Thread] {
			return false
		}
		last[s.Thread] = s.Seq
	}
	return true
}
