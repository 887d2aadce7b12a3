package execution

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// rule is the rule of an operation. What must have happened before the operation in any case is not
// checked here: it is a need (run.go). The argument i is the event, o the state of its object.
type rule struct {
	// check returns nil if the operation can happen in the state. A nil check: always.
	check func(s *state, i int32, o *object) *Refusal
	// apply updates the state; nil: it does not change.
	apply func(s *state, i int32, o *object)
}

var rules = [event.NumOps]rule{
	event.Acquire:       {(*state).free, (*state).acquire},
	event.AcquireRead:   {(*state).free, (*state).acquire},
	event.AcquireFailed: {(*state).held, nil},
	event.Release:       {(*state).open, (*state).release},
	event.Read:          {(*state).sees, (*state).read},
	event.Update:        {(*state).updates, (*state).update},
	event.Write:         {nil, (*state).write},
	event.SemPost:       {nil, (*state).post},
	event.SemWait:       {(*state).positive, (*state).wait},
	event.SemFailed:     {(*state).zero, nil},
	event.Wake:          {(*state).notified, nil},
	event.Send:          {nil, (*state).send},
	event.Receive:       {(*state).arrived, nil},
	event.Destroy:       {nil, (*state).destroy},
}

func ruleOf(op event.Op) rule {
	if op < event.NumOps {
		return rules[op]
	}
	return rule{}
}

// free checks an acquire. A mutex or spin lock has one holder; a read-write lock has readers or
// one writer.
func (s *state) free(i int32, o *object) *Refusal {
	for _, h := range o.holders {
		if s.excludes(h, s.events[i].Op) {
			return refuse(Exclusion, "lock %d is held by thread %d", s.events[i].Object, s.holder(h))
		}
	}
	return nil
}

// excludes reports whether the open critical section h makes an acquire wait.
func (s *state) excludes(h int32, op event.Op) bool {
	return op == event.Acquire || h < 0 || s.events[h].Op == event.Acquire
}

func (s *state) acquire(i int32, o *object) { o.holders = append(o.holders, i) }

// held checks a failed trylock, or an acquire that timed out: the lock must be held, by a critical
// section during which the attempt failed in the run (its acquire → failure → its release).
func (s *state) held(i int32, o *object) *Refusal {
	for _, h := range o.holders {
		if h < i && i < s.closedBy(h) {
			return nil
		}
	}
	return refuse(Attempt, "nobody holds lock %d of those who did in the run", s.events[i].Object)
}

// open checks a release: the critical section that it ends must be open. A release without an
// acquire in the run is always possible.
func (s *state) open(i int32, o *object) *Refusal {
	if h := s.source[i]; h != noSource && !slices.Contains(o.holders, h) {
		return refuse(Exclusion, "lock %d is not held", s.events[i].Object)
	}
	return nil
}

func (s *state) release(i int32, o *object) {
	if at := slices.Index(o.holders, s.source[i]); at >= 0 {
		o.holders = slices.Delete(o.holders, at, at+1)
	}
}

// sees checks a read or read-modify-write of a variable: it must see the same write as in the run, or
// another one that left the same value, unless its thread does nothing with what it reads, or no more than to compare
// it with a constant, with the same answer.
func (s *state) sees(i int32, o *object) *Refusal {
	switch want := s.source[i]; {
	case want == anySource || want == o.writer && !o.changed:
		return nil
	case s.events[i].Op == event.Read && s.events[i].Flags&event.ResultUnused != 0:
		return nil
	case !o.changed && s.sameValue(s.object[i], want, o.writer):
		return nil
	case o.counter.answers(&s.events[i]) || o.counter.equals(&s.events[i]):
		return nil
	case want == o.writer:
		return refuse(Writer, "%s left another value in variable %d than in the run", s.name(want), s.events[i].Object)
	case want == unknownSource && s.lenient:
		return nil
	case want == unknownSource || want == unseenStore:
		return refuse(Writer, "the value read from variable %d is not that of the write before it", s.events[i].Object)
	default:
		return refuse(Writer, "variable %d was written last by %s, in the run by %s", s.events[i].Object, s.name(o.writer), s.name(want))
	}
}

func (s *state) read(i int32, _ *object) {
	if s.source[i] == unknownSource {
		s.unexplained = append(s.unexplained, s.events[i].Seq)
	}
}

func (s *state) write(i int32, o *object) { o.writer, o.changed, o.counter = i, false, s.left(i) }

// updates checks a read-modify-write. One whose result is not used does the same whatever it sees, but
// may leave another value; see update.
func (s *state) updates(i int32, o *object) *Refusal {
	if s.events[i].Flags&event.ResultUnused != 0 {
		return nil
	}
	return s.sees(i, o)
}

func (s *state) update(i int32, o *object) {
	unknown := s.source[i] == unknownSource
	if unknown && s.events[i].Flags&event.ResultUnused == 0 {
		s.read(i, o)
	}
	same := !o.changed && (s.source[i] == o.writer || s.sameValue(s.object[i], s.source[i], o.writer)) || o.counter.equals(&s.events[i])
	if o.counter = o.counter.plus(&s.events[i]); same {
		o.counter = s.left(i)
	}
	o.changed = !same && !(unknown && s.lenient)
	o.writer = i
}

// positive checks a semaphore wait: the value must be above 0. If it was 0 in the run too, a post was
// not recorded, and the wait may succeed at any time.
func (s *state) positive(i int32, o *object) *Refusal {
	if s.source[i] == unknownSource && s.lenient {
		return nil
	}
	if o.value <= 0 || s.source[i] == unknownSource {
		return refuse(Count, "semaphore %d is %d", s.events[i].Object, o.value)
	}
	return nil
}

// zero checks a failed sem_trywait: the value must be 0.
func (s *state) zero(i int32, o *object) *Refusal {
	if o.value != 0 {
		return refuse(Attempt, "semaphore %d is %d, not 0", s.events[i].Object, o.value)
	}
	return nil
}

func (s *state) post(_ int32, o *object) { o.value++ }

func (s *state) wait(i int32, o *object) {
	if s.source[i] == unknownSource {
		s.unexplained = append(s.unexplained, s.events[i].Seq)
		return
	}
	o.value--
}

// notified checks a wake: wait → notification → wake. A notification without a waiting thread
// wakes none, which is no error. So the rule checks at the wake whether the notification came
// during the wait. A wake that timed out, or was spurious, needs no notification.
func (s *state) notified(i int32, _ *object) *Refusal {
	sent := s.source[i]
	switch wait, known := s.waitOf[i]; {
	case sent == noSource:
		return nil
	case s.when[sent] == 0:
		return refuse(Waking, "it needs %s first", s.name(sent))
	case known && s.when[sent] < s.when[wait]:
		return refuse(Waking, "%s was sent before the wait", s.name(sent))
	}
	return nil
}

// send counts a message of a futex, pipe or eventfd.
func (s *state) send(i int32, o *object) {
	all := s.queues[s.sends[s.object[i]]]
	if o.sent == o.ordered && int(o.sent) < len(all) && all[o.sent] == i {
		o.ordered++
	}
	o.sent++
}

// arrived checks a receive. Messages are received in the order in which they were sent, so the
// received message, and those sent before it, must be the same as in the run.
func (s *state) arrived(i int32, o *object) *Refusal {
	if o.ordered < s.source[i] {
		return refuse(Messages, "it needs %s first, and no other message before that", s.name(s.queues[s.sends[s.object[i]]][o.ordered]))
	}
	return nil
}

// destroy marks the object as destroyed. That all uses come before the destroy is a need; ready
// refuses uses after it.
func (s *state) destroy(i int32, o *object) { o.destroyed = isEnd(&s.events[i]) }
