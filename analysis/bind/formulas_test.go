package bind

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// bank names the objects, threads and functions of a test: the first thread is the main thread, the second executes manager,
// the others clerk; function 1 is approve, 2 is pay; object 1 is the variable rate, of 8 bits with a sign, others are locks.
type bank struct{}

func (bank) Object(id event.ObjectID) run.Object {
	if id == 1 {
		return run.Object{Name: "rate", Kind: event.KindVariable, Form: &event.Form{Class: event.FormSigned, Bits: 8}}
	}
	return run.Object{Name: "ledger", Kind: event.KindMutex}
}

func (bank) Thread(id event.ThreadID) run.Thread {
	return run.Thread{Main: id == 1, Start: []string{"", "", "manager", "clerk"}[min(int(id), 3)]}
}
func (bank) Frames(event.StackID) []event.Frame { return nil }
func (bank) Func(id event.FuncID) event.Func {
	on := []string{"", "call approve", "call pay", "return approve"}[id]
	return event.Func{Patterns: []event.Pattern{{Pattern: on, Return: id == 3}}}
}

const loans = `
thread managers = start manager
thread boss = 1 of managers
thread teller = start clerk
event approved = call approve
event pays = call pay
local approvals : int = 0 { on approved : approvals := approvals + 1 }
`

// ofBank runs a specification over events of the bank, and returns the outcome.
func ofBank(t *testing.T, text string, events ...event.Event) *part.Outcome {
	t.Helper()
	return ofShared(t, nil, text, events...)
}

// ofShared is ofBank with what parts share; nil: nothing.
func ofShared(t *testing.T, shared *part.Shared, text string, events ...event.Event) *part.Outcome {
	t.Helper()
	s, problems := spec.Parse("bank.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	r, err := New(Options{Spec: s, Names: bank{}, Window: 8, Queue: 8})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPart(r, shared)
	if shared != nil {
		eventtest.Stamp(events)
	}
	for i := range events {
		events[i].Seq = uint64(i + 1)
		p.Event(&events[i])
		if shared != nil && !events[i].Op.IsCall() {
			shared.History.Event(&events[i])
		}
	}
	out := &part.Outcome{}
	p.Settle(out)
	p.Finish(out)
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	return out
}

func fork(id event.ThreadID) []event.Event {
	return []event.Event{{Thread: 1, Op: event.Fork, Peer: id}, {Thread: id, Op: event.Begin}}
}

func calls(id event.ThreadID, f event.FuncID) event.Event {
	return event.Event{Thread: id, Op: event.Call, Func: f}
}

func locks(id event.ThreadID) []event.Event {
	return []event.Event{{Thread: id, Op: event.Acquire, Object: 2, Kind: event.KindMutex}, {Thread: id, Op: event.Release, Object: 2, Kind: event.KindMutex}}
}

// TestFormula: a clerk who pays must know that the manager has approved; the acquire of a lock that the manager has
// released lets the clerk know.
func TestFormula(t *testing.T) {
	const text = loans + "mttl told \"unknown\" = forall c : teller . @c (pays -> @boss (approvals > 0))\n"
	begin := slices.Concat(fork(2), fork(3), []event.Event{calls(2, 1)}, locks(2))
	out := ofBank(t, text, append(slices.Clone(begin), calls(3, 2))...)
	if len(out.Findings) != 1 || out.Findings[0].Kind != finding.Knowledge || out.Findings[0].Property != "told" ||
		out.Findings[0].Message != "this run violates told: unknown (not by causality alone: it depends on which thread boss is, by the order in which threads begin)" {
		t.Errorf("%+v", out.Findings)
	}
	if d := out.Properties.Definitions; len(d) != 1 || d[0].Name != "told" || len(d[0].Where) != 2 {
		t.Errorf("%+v", d)
	}
	if out := ofBank(t, text, append(append(slices.Clone(begin), locks(3)...), calls(3, 2))...); len(out.Findings) != 0 || len(out.Notes) != 0 {
		t.Errorf("%+v %q", out.Findings, out.Notes)
	}
}

// TestFormulaOfVariables: the value of a variable is that of the last write that the thread knows of, in the form that the variable
// has in the program.
func TestFormulaOfVariables(t *testing.T) {
	const text = loans + "var rate : int = rate\nmttl positive = forall c : teller . @c (pays -> rate >= 0)\n"
	initial := event.Event{Thread: 1, Op: event.Init, Object: 1, Kind: event.KindVariable, Flags: event.HasValue | event.Inferred, Value: 1}
	minus := event.Event{Thread: 2, Op: event.Write, Object: 1, Kind: event.KindVariable, Flags: event.HasValue, Value: 0xff}
	reads := event.Event{Thread: 3, Op: event.Read, Object: 1, Kind: event.KindVariable, Flags: event.HasValue, Value: 0xff}
	begin := slices.Concat([]event.Event{initial}, fork(2), fork(3), []event.Event{minus})
	if out := ofBank(t, text, append(slices.Clone(begin), calls(3, 2))...); len(out.Findings) != 0 {
		t.Errorf("the write is not known: %+v", out.Findings)
	}
	out := ofBank(t, text, append(slices.Clone(begin), reads, calls(3, 2))...)
	if len(out.Findings) != 1 || out.Findings[0].Confidence != finding.Observed || len(out.Findings[0].Witness) != 3 {
		t.Errorf("the write is known: %+v", out.Findings)
	}
}

// TestThreadsThatNeverAre: there is a note on threads that a formula names and that the run did not have.
func TestThreadsThatNeverAre(t *testing.T) {
	const text = loans + "mttl told = forall c : teller . @c (pays -> @boss (approvals > 0))\n"
	out := ofBank(t, text, event.Event{Thread: 1, Op: event.Begin})
	notes := strings.Join(out.Notes, "\n")
	if !strings.Contains(notes, "mttl told: no thread of this run was the boss") || !strings.Contains(notes, "no thread of this run was a teller (start clerk)") {
		t.Errorf("%q", notes)
	}
}

// TestThreadsThatNeverMeet: there is a note on threads that no formula binds together only since one had ended before the other
// began, unless it was joined.
func TestThreadsThatNeverMeet(t *testing.T) {
	const two = loans + "mttl told = forall c : teller, m : managers . @c (pays -> @m (approvals > 0))\n"
	ended := slices.Concat(fork(2), []event.Event{calls(2, 1), {Thread: 2, Op: event.End}})
	join := []event.Event{{Thread: 1, Op: event.Join, Peer: 2}}
	for _, c := range []struct {
		what, text string
		events     []event.Event
		note       bool
	}{
		{"ended", two, slices.Concat(ended, fork(3), []event.Event{calls(3, 2)}), true},
		{"joined", two, slices.Concat(ended, join, fork(3), []event.Event{calls(3, 2)}), false},
		{"one thread is bound", loans + "mttl told = forall c : teller . @c (pays -> approvals > 0)\n", slices.Concat(ended, fork(3), []event.Event{calls(3, 2)}), false},
	} {
		notes := strings.Join(ofBank(t, c.text, c.events...).Notes, "\n")
		if strings.Contains(notes, "mttl told: 1 thread began after others had ended that nobody had joined") != c.note {
			t.Errorf("%s: %q", c.what, notes)
		}
	}
}

// TestQuantifierInside: a quantifier in parentheses is over the threads that live, up to the state in which their end is known.
func TestQuantifierInside(t *testing.T) {
	const text = loans + "thread first = main\nmttl none = @first (forall c : teller . @c (approvals == 0))\n"
	begin := slices.Concat(fork(3), []event.Event{calls(3, 1), {Thread: 3, Op: event.End}})
	if out := ofBank(t, text, slices.Clone(begin)...); len(out.Findings) != 0 {
		t.Errorf("the first thread does not know it: %+v", out.Findings)
	}
	join := event.Event{Thread: 1, Op: event.Join, Peer: 3}
	if out := ofBank(t, text, append(slices.Clone(begin), join)...); len(out.Findings) != 1 || out.Findings[0].Evidence[0].Op != event.Join {
		t.Errorf("the first thread knows it by the join: %+v", out.Findings)
	}
}

// TestAtomicity: another thread that saw the inside of a call of approve, and showed it, violates check atomicity(approve).
func TestAtomicity(t *testing.T) {
	enter := func(id event.ThreadID) event.Event { return calls(id, 1) }
	leave := func(id event.ThreadID) event.Event { return event.Event{Thread: id, Op: event.Return, Func: 3} }
	begin := slices.Concat(fork(2), fork(3), []event.Event{enter(2)}, locks(2))
	inside := slices.Concat(begin, locks(3), []event.Event{enter(2), leave(2)}, locks(2), []event.Event{leave(2)})
	out := ofBank(t, "check atomicity(approve)\n", inside...)
	if len(out.Findings) != 1 || out.Findings[0].Property != "atomicity(approve)" || out.Properties.Definitions[0].Text != "check atomicity(approve)" {
		t.Errorf("%+v %+v", out.Findings, out.Properties.Definitions)
	}
	outside := slices.Concat(begin, []event.Event{leave(2)}, locks(3), []event.Event{enter(2)}, locks(2), []event.Event{leave(2)})
	if out := ofBank(t, "check atomicity(approve)\n", outside...); len(out.Findings) != 0 {
		t.Errorf("%+v", out.Findings)
	}
}

// TestAtomicityOfAnotherSchedule: the critical section of a thread that came after a call of approve comes between its two
// critical sections in another schedule, which is predicted; with one critical section in the call nothing is.
func TestAtomicityOfAnotherSchedule(t *testing.T) {
	leave := event.Event{Thread: 2, Op: event.Return, Func: 3}
	begin := slices.Concat(fork(2), fork(3), []event.Event{calls(2, 1)}, locks(2))
	twice := slices.Concat(begin, locks(2), []event.Event{leave}, locks(3))
	shared := &part.Shared{History: predict.New(predict.Options{})}
	out := ofShared(t, shared, "check atomicity(approve)\n", twice...)
	if len(out.Findings) != 1 || len(out.Notes) != 0 {
		t.Fatalf("%+v %q", out.Findings, out.Notes)
	}
	f := out.Findings[0]
	if f.Kind != finding.Knowledge || f.Confidence != finding.Predicted || f.Property != "atomicity(approve)" || !slices.Equal(f.Threads, []event.ThreadID{2, 3, 2}) {
		t.Errorf("%+v", f)
	}
	if last := f.Witness[len(f.Witness)-1]; last.Thread != 2 || last.Op != event.Acquire {
		t.Errorf("the schedule ends with %+v", last)
	}
	once := slices.Concat(begin, []event.Event{leave}, locks(3), locks(2))
	shared = &part.Shared{History: predict.New(predict.Options{})}
	if out := ofShared(t, shared, "check atomicity(approve)\n", once...); len(out.Findings) != 0 || len(out.Notes) != 0 {
		t.Errorf("%+v %q", out.Findings, out.Notes)
	}
}

// TestAtomicityWithoutSearch: a note says that other schedules were not searched.
func TestAtomicityWithoutSearch(t *testing.T) {
	leave := event.Event{Thread: 2, Op: event.Return, Func: 3}
	events := slices.Concat(fork(2), fork(3), []event.Event{calls(2, 1)}, locks(2), locks(2), []event.Event{leave}, locks(3))
	shared := &part.Shared{History: predict.New(predict.Options{Reversals: -1})}
	out := ofShared(t, shared, "check atomicity(approve)\n", events...)
	if len(out.Findings) != 0 || len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "atomicity(approve): not all other schedules were searched") {
		t.Errorf("%+v %q", out.Findings, out.Notes)
	}
}

// TestBeyondCausality: which thread is the first of its type depends on the order in which threads begin: two runs of one
// causal order have different verdicts, and the finding says so.
func TestBeyondCausality(t *testing.T) {
	const text = `
thread clerks = start clerk
thread first = 1 of clerks
event pays = call pay
mttl none = @first (!pays)
`
	// The main thread creates one that pays, and the manager one that does not; nothing orders the two.
	run := func(pays, other event.ThreadID) []event.Event {
		by := map[event.ThreadID]event.ThreadID{pays: 1, other: 2}
		create := []event.Event{{Thread: by[3], Op: event.Fork, Peer: 3}, {Thread: by[4], Op: event.Fork, Peer: 4}}
		return slices.Concat(fork(2), create, []event.Event{{Thread: pays, Op: event.Begin}, calls(pays, 2), {Thread: other, Op: event.Begin}})
	}
	out := ofBank(t, text, run(3, 4)...)
	if len(out.Findings) != 1 || !strings.Contains(out.Findings[0].Message, "not by causality alone: it depends on which thread first is") {
		t.Errorf("%+v", out.Findings)
	}
	if out := ofBank(t, text, run(4, 3)...); len(out.Findings) != 0 {
		t.Errorf("%+v", out.Findings)
	}
}
