// Package execution judges witnesses by executing them. It knows the rules of an
// execution and nothing else: neither clocks, nor closures, nor who found the witness.
//
// In goes a run, and then schedules of its events, each a plain list of steps with the
// error that it is to end in. Out comes nil, or the step that breaks a rule, and which.
// docs/witnesses.md has the rules in words, by the names of type Rule.
//
// What an event needs is read off the run once (Observe, in run.go): whose store a load
// saw, which notification ended a wait, which generation of a barrier was whose. The rules are
// in rules.go, by operation, and what makes an error in end.go.
//
// # Cost
//
// Observe and Check take time and memory of O(n) for n events or steps, and O(1) in what
// else there is; a lock with k readers costs O(k) at each of its operations.
package execution

import (
	"errors"
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Rule is what a step can break.
type Rule uint8

// The rules.
const (
	ProgramOrder Rule = iota // each thread does the next of what it did in the run
	Creation                 // a thread begins after its creation
	Ending                   // a thread is joined after its last event
	Lifetime                 // an object is made, then used, then destroyed
	Exclusion                // a lock has one holder, or readers
	Attempt                  // an attempt fails at a lock that is held as in the run, at a semaphore that is 0
	Writer                   // a read sees the write that it saw in the run
	Waking                   // who was notified sleeps before it and wakes after it
	Generations              // barriers gather as in the run
	Count                    // a semaphore does not fall below 0
	Once                     // who finds it done comes after its doing
	Messages                 // what is received was sent, in that order
	Goal                     // the error is next
)

// String returns the rule's name as docs/witnesses.md has it.
func (r Rule) String() string {
	names := [...]string{
		"program order", "creation", "ending", "lifetime", "mutual exclusion", "failed attempt", "writer", "waking",
		"rounds", "semaphore", "once", "messages", "error",
	}
	return names[int(r)%len(names)]
}

// Refusal says why a witness is no witness.
type Refusal struct {
	Step   int // from 1
	Rule   Rule
	Why    string // names events, threads and objects by number
	Unseen bool   // the run itself breaks the rule there: something of it was not seen
	step   finding.Step
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("step %d, %s by thread %d, breaks the rule of %s: %s", r.Step, r.step.Op, r.step.Thread, r.Rule, r.Why)
}

// Unseen reports whether an error of Check is a Refusal for what was not seen of the run.
func Unseen(err error) bool {
	var no *Refusal
	return errors.As(err, &no) && no.Unseen
}

func refuse(r Rule, format string, args ...any) *Refusal {
	return &Refusal{Rule: r, Why: fmt.Sprintf(format, args...)}
}

// Judge judges witnesses of one run. A Run is one.
type Judge interface {
	Check(steps []finding.Step, kind finding.Kind) error
}

// Bench makes the Judge of a run: what finds witnesses has one, Observed unless a test
// wants another.
type Bench func(run []event.Event) Judge

// Observed is the Bench that makes a Run.
func Observed(run []event.Event) Judge { return Observe(run) }

// Tally counts what judges answered.
type Tally struct {
	Checked uint64 // witnesses
	Refused uint64 // of these; each is an error of who made it
	Unseen  uint64 // refused for something of the run that was not seen, and not among Refused
}

// Count takes an answer.
func (t *Tally) Count(err error) {
	t.Checked++
	switch {
	case Unseen(err):
		t.Unseen++
	case err != nil:
		t.Refused++
	}
}

// Add takes the answers of another.
func (t *Tally) Add(o Tally) {
	t.Checked += o.Checked
	t.Refused += o.Refused
	t.Unseen += o.Unseen
}

// Check executes a witness, from the beginning of the run, and then looks for the error:
// for finding.Race the last two steps are conflicting accesses, for finding.Deadlock two
// or more Blocked ones are acquires that wait for each other in a cycle, of each the next
// event of its thread. For finding.Property nothing but the steps is asked. An error is a
// *Refusal.
func (r *Run) Check(steps []finding.Step, kind finding.Kind) error {
	s := r.start()
	end := endOf(steps, kind)
	for k := range steps[:end] {
		if no := s.step(&steps[k]); no != nil {
			no.Step, no.step = k+1, steps[k]
			return no
		}
	}
	if no := s.ends(steps[end:], kind); no != nil {
		no.Step = len(steps)
		if no.Step > 0 {
			no.step = steps[no.Step-1]
		}
		return no
	}
	return nil
}

// state is what the steps so far have led to.
type state struct {
	*Run
	when    []int32 // by event: the step that executed it, from 1; 0: none has
	heads   []int32 // by queue: how many of its first events are known to be executed
	objects []object
	steps   int32
}

// object is the state of an object of whatever kind.
type object struct {
	holders []int32 // of a lock: the acquires whose sections are open
	writer  int32   // of a variable: its last write, or nobody
	gone    bool    // destroyed
	sent    int32   // of a channel: how many messages were sent,
	ordered int32   // and how many of the first are the first of the run
	value   int64   // of a semaphore
}

func (r *Run) start() *state {
	s := &state{Run: r, when: make([]int32, len(r.events)), heads: make([]int32, len(r.queues)), objects: make([]object, r.objects)}
	for o := range s.objects {
		s.objects[o].writer = nobody
	}
	for o, v := range r.initial {
		s.objects[o].value = v
	}
	for o, release := range r.heldBefore {
		s.objects[o].holders = []int32{^release}
	}
	return s
}

func (s *state) step(x *finding.Step) *Refusal {
	i, no := s.next(x.Thread)
	if no != nil {
		return no
	}
	e := &s.events[i]
	if e.Seq != x.Seq || e.Op != x.Op || e.Object != x.Object || e.Peer != x.Peer {
		return refuse(ProgramOrder, "event %d is next (%s of object %d, peer %d), not event %d (object %d, peer %d)", e.Seq, e.Op, e.Object, e.Peer, x.Seq, x.Object, x.Peer)
	}
	if no := s.may(i); no != nil {
		no.Unseen = s.unexplained(i)
		return no
	}
	s.do(i)
	return nil
}

// next is the thread's next event.
func (s *state) next(t event.ThreadID) (int32, *Refusal) {
	queue, known := s.threads[t]
	if !known || int(s.head(queue)) == len(s.queues[queue]) {
		return 0, refuse(ProgramOrder, "thread %d has no further event", t)
	}
	return s.queues[queue][s.head(queue)], nil
}

// ready reports what the event must come after, or that its object is no more.
func (s *state) ready(i int32) *Refusal {
	if s.objects[s.object[i]].gone {
		return refuse(Lifetime, "object %d has been destroyed", s.events[i].Object)
	}
	for _, n := range s.needs[s.needFrom(i):s.needTo[i]] {
		if at := s.head(n.queue); int(at) < min(int(n.first), len(s.queues[n.queue])) {
			return refuse(n.rule, "it needs %s first", s.name(s.queues[n.queue][at]))
		}
	}
	return nil
}

// head is how many of the first events of a queue have been executed.
func (s *state) head(q int32) int32 {
	list := s.queues[q]
	for int(s.heads[q]) < len(list) && s.when[list[s.heads[q]]] > 0 {
		s.heads[q]++
	}
	return s.heads[q]
}

// may reports what forbids the event now.
func (s *state) may(i int32) *Refusal {
	if no := s.ready(i); no != nil {
		return no
	}
	if may := ruleOf(s.events[i].Op).may; may != nil {
		return may(s, i, &s.objects[s.object[i]])
	}
	return nil
}

func (s *state) do(i int32) {
	s.steps++
	s.when[i] = s.steps
	if do := ruleOf(s.events[i].Op).do; do != nil {
		do(s, i, &s.objects[s.object[i]])
	}
}
