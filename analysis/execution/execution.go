// Package execution checks witnesses by executing them. It knows the rules of an execution and
// nothing else: no clocks, no closures, and not how a witness was found.
//
// The input is a run, and then schedules of its events, each a plain list of steps with the error
// in which it should end. The result for a schedule is nil if it is a witness, otherwise the step
// that breaks a rule, and the rule.
// docs/witnesses.md has the rules in words, under the names of type Rule.
//
// What an event needs is computed from the run once (Observe, in run.go): which store a load saw,
// which notification ended a wait, which generation a barrier operation belongs to. The rules are
// in rules.go, by operation, and the conditions of an error in end.go.
//
// # Cost
//
// Observe and Check take O(n) time and memory for n events or steps, independent of the number of
// threads and objects. A lock with k readers costs O(k) at each of its operations.
package execution

import (
	"errors"
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Rule is a rule that a step can break.
type Rule uint8

// The rules.
const (
	ProgramOrder Rule = iota // each thread executes its events in their order in the run
	Creation                 // a thread begins after its creation
	Ending                   // a thread is joined after its last event
	Lifetime                 // an object is initialised, then used, then destroyed
	Exclusion                // a lock has one holder, or only readers
	Attempt                  // an attempt fails during the same critical section as in the run, or on a semaphore at 0
	Writer                   // a read sees the write that it saw in the run, or one of the same value
	Waking                   // a notified thread waits before the notification and wakes after it
	Generations              // the generations of a barrier are those of the run
	Count                    // a semaphore does not fall below 0
	Once                     // a thread finds an initialisation done only after it is done
	Messages                 // a received message was sent, after the same messages as in the run
	Goal                     // the error can occur next
)

// String returns the rule's name as in docs/witnesses.md.
func (r Rule) String() string {
	names := [...]string{
		"program order", "creation", "ending", "lifetime", "mutual exclusion", "failed attempt", "writer", "waking",
		"barrier generations", "semaphore", "once", "messages", "error",
	}
	return names[int(r)%len(names)]
}

// Refusal reports why a schedule is not a witness.
type Refusal struct {
	Step   int // number of the step that breaks the rule, from 1
	Rule   Rule
	Why    string       // how it breaks the rule; identifies events, threads and objects by number
	Unseen bool         // the run itself breaks the rule there, so something was not recorded
	step   finding.Step // the step with that number
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("step %d, %s by thread %d, breaks the rule of %s: %s", r.Step, r.step.Op, r.step.Thread, r.Rule, r.Why)
}

// Unseen reports whether an error of Check is a Refusal caused by something in the run that was
// not recorded.
func Unseen(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Unseen
}

func refuse(r Rule, format string, args ...any) *Refusal {
	return &Refusal{Rule: r, Why: fmt.Sprintf(format, args...)}
}

// Claim is what a witness is to show, and what it may rest on that the run did not do.
type Claim struct {
	// Kind of the error. For finding.Race the last two steps must be conflicting accesses. For finding.Deadlock there must
	// be two or more last steps marked Blocked: acquires that wait for each other in a cycle, each the next event of its
	// thread. For a kind that is Specified only the steps are checked, unless there is an Interruption.
	Kind finding.Kind
	// Unexplained allows reads whose values no recorded write left, and semaphore waits for which there was no recorded
	// post: something that was not recorded wrote or posted, and may do so at another time in the witness.
	Unexplained bool
	// Taken, if not 0, is the Seq of a signal that may have woken another thread than in the run: one that waited on the
	// same condition when the signal was executed, and waits again until the notification that woke it in the run.
	Taken uint64
	// Interruption, if not nil, is what the witness of a block of a thread shows. The steps end with its Last.
	Interruption *Interruption
}

// Interruption has events of two threads, by Seq. First and Last are events of a block of one thread, in their order; From
// and To are events of another thread, in their order, or one event. From comes after First and conflicts with it, To
// comes before Last and conflicts with it. So no order of the same conflicts has the block's events next to each other.
type Interruption struct {
	First, From, To, Last uint64
	// Open: To is the last event of its thread. It is an access, and may see another value than in the run. The last two
	// steps are To and Last. Otherwise To is executed, and only Last may see another value.
	Open bool
}

// Checker checks witnesses of one run. A *Run is one.
type Checker interface {
	// CheckClaim returns the Seq of the events that Claim.Unexplained allowed, and an error if the witness does not show
	// the claim.
	CheckClaim(steps []finding.Step, claim Claim) (unexplained []uint64, err error)
}

// NewChecker returns the Checker of a run. The packages that find witnesses use DefaultChecker,
// unless a test sets another.
type NewChecker func(run []event.Event) Checker

// DefaultChecker is the NewChecker that returns a *Run.
func DefaultChecker(run []event.Event) Checker { return Observe(run) }

// Tally counts the results of checkers.
type Tally struct {
	Checked uint64 // witnesses checked
	Refused uint64 // witnesses refused; each is an error in the package that found it
	Unseen  uint64 // witnesses refused because something was not recorded; not in Refused
}

// Count counts a result of Check.
func (t *Tally) Count(err error) {
	t.Checked++
	switch {
	case Unseen(err):
		t.Unseen++
	case err != nil:
		t.Refused++
	}
}

// Add adds the counts of another Tally.
func (t *Tally) Add(o Tally) {
	t.Checked += o.Checked
	t.Refused += o.Refused
	t.Unseen += o.Unseen
}

// Check is CheckClaim for a claim that rests on nothing else than the run.
func (r *Run) Check(steps []finding.Step, kind finding.Kind) error {
	_, err := r.CheckClaim(steps, Claim{Kind: kind})
	return err
}

// CheckClaim implements Checker: it executes a witness from the beginning of the run, and then checks that the error can
// occur. A non-nil error is a *Refusal.
func (r *Run) CheckClaim(steps []finding.Step, claim Claim) (unexplained []uint64, err error) {
	end := executedSteps(steps, &claim)
	s, done := r.beginClaim(steps[:end], claim)
	if refusal := s.checkFrom(done, steps, end, &claim); refusal != nil {
		return nil, refusal
	}
	return s.unexplained, nil
}

// beginClaim returns a state for a witness with these steps to be executed, and how many of them it has executed.
func (r *Run) beginClaim(steps []finding.Step, claim Claim) (s *state, done int) {
	if claim.Taken == 0 {
		return r.begin(steps, claim.Unexplained)
	}
	s = r.start() // the states of other witnesses do not help
	s.taken = claim.Taken
	return s, 0
}

// checkFrom executes the steps of a witness from one on, up to end, and checks that the error can occur.
func (s *state) checkFrom(from int, steps []finding.Step, end int, claim *Claim) *Refusal {
	for k := from; k < end; k++ {
		if refusal := s.step(&steps[k]); refusal != nil {
			refusal.Step, refusal.step = k+1, steps[k]
			return refusal
		}
	}
	if refusal := s.checkEnd(steps[end:], claim); refusal != nil {
		refusal.Step = len(steps)
		if refusal.Step > 0 {
			refusal.step = steps[refusal.Step-1]
		}
		return refusal
	}
	return nil
}

// state is the state of the execution after the steps so far.
type state struct {
	*Run
	when    []int32        // by event: the step that executed it, from 1; 0: not executed
	heads   []int32        // by queue: how many of its first events are known to be executed; see head
	objects []object       // by object number; see Run.ids
	steps   int32          // number of steps so far
	thread  event.ThreadID // of the last step
	queue   int32          // of that thread
	// lenient executes events of unknownSource; unexplained has their Seq.
	lenient     bool
	unexplained []uint64
	taken       uint64 // the Seq of the signal of CheckTaken; 0: none
}

// object is the state of an object of any kind.
type object struct {
	holders   []int32 // of a lock: the acquires of its open critical sections; see Run.holder
	writer    int32   // of a variable: its last write, or noSource
	changed   bool    // the variable has another value than after that write in the run
	counter   counter // of a variable: its value, as far as it is known
	destroyed bool    // by a destroy that is not inferred
	sent      int32   // of a channel: the number of messages sent
	ordered   int32   // of a channel: how many of the first messages are the same as in the run
	value     int64   // of a semaphore
}

// start returns the state before the first step.
func (r *Run) start() *state {
	s := &state{Run: r, when: make([]int32, len(r.events)), heads: make([]int32, len(r.queues)), objects: make([]object, r.objects)}
	for o := range s.objects {
		s.objects[o].writer, s.objects[o].counter = noSource, r.initialCounter(o)
	}
	for o, v := range r.initial {
		s.objects[o].value = v
	}
	for o, release := range r.heldBefore {
		s.objects[o].holders = []int32{^release}
	}
	return s
}

// step executes the thread's next event, which must be x.
func (s *state) step(x *finding.Step) *Refusal {
	i, refusal := s.next(x.Thread)
	if refusal != nil {
		return refusal
	}
	e := &s.events[i]
	if !isEvent(x, e) {
		return refuse(ProgramOrder, "event %d is next (%s of object %d, peer %d), not event %d (object %d, peer %d)", e.Seq, e.Op, e.Object, e.Peer, x.Seq, x.Object, x.Peer)
	}
	if refusal := s.check(i); refusal != nil {
		refusal.Unseen = s.breaksRule(i)
		return refusal
	}
	s.execute(i)
	return nil
}

// isEvent reports whether a step executes an event of the run.
func isEvent(x *finding.Step, e *event.Event) bool {
	return e.Seq == x.Seq && e.Thread == x.Thread && e.Op == x.Op && e.Object == x.Object && e.Peer == x.Peer
}

// next returns the thread's next event.
func (s *state) next(t event.ThreadID) (int32, *Refusal) {
	queue, known := s.queue, true
	if t != s.thread || s.steps == 0 {
		if queue, known = s.threads[t]; known {
			s.thread, s.queue = t, queue
		}
	}
	if !known || int(s.head(queue)) == len(s.queues[queue]) {
		return 0, refuse(ProgramOrder, "thread %d has no further event", t)
	}
	return s.queues[queue][s.head(queue)], nil
}

// ready returns nil if the needs of the event are met and its object is not destroyed.
func (s *state) ready(i int32) *Refusal {
	if s.objects[s.object[i]].destroyed {
		return refuse(Lifetime, "object %d has been destroyed", s.events[i].Object)
	}
	for _, n := range s.needs[s.needFrom(i):s.needTo[i]] {
		if at := s.head(n.queue); int(at) < min(int(n.first), len(s.queues[n.queue])) {
			return refuse(n.rule, "it needs %s first", s.name(s.queues[n.queue][at]))
		}
	}
	return nil
}

// head returns how many events of a queue have been executed without a gap, from the first on.
func (s *state) head(q int32) int32 {
	list := s.queues[q]
	for int(s.heads[q]) < len(list) && s.when[list[s.heads[q]]] > 0 {
		s.heads[q]++
	}
	return s.heads[q]
}

// check returns nil if the event, the next one of its thread, can be executed now.
func (s *state) check(i int32) *Refusal {
	if refusal := s.ready(i); refusal != nil {
		return refusal
	}
	if check := ruleOf(s.events[i].Op).check; check != nil {
		return check(s, i, &s.objects[s.object[i]])
	}
	return nil
}

// execute updates the state for an event.
func (s *state) execute(i int32) {
	s.steps++
	s.when[i] = s.steps
	if apply := ruleOf(s.events[i].Op).apply; apply != nil {
		apply(s, i, &s.objects[s.object[i]])
	}
}
