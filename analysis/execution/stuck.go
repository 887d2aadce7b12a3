package execution

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// blockedSet holds the threads that a witness leaves blocked, each with its next event.
type blockedSet map[event.ThreadID]int32

func (b blockedSet) has(t event.ThreadID) bool {
	_, ok := b[t]
	return ok
}

// stuck checks that none of the blocked threads can ever go on: each waits for something that only
// blocked threads, after the operation at which they are blocked, do in the run.
func (s *state) stuck(last []finding.Step) *Refusal {
	all := blockedSet{}
	for k := range last {
		i, refusal := s.waitsAt(&last[k])
		if refusal != nil {
			return refusal
		}
		if all.has(last[k].Thread) {
			return refuse(Goal, "thread %d is blocked twice", last[k].Thread)
		}
		all[last[k].Thread] = i
	}
	for k := range last {
		if refusal := s.neverGoesOn(all[last[k].Thread], all); refusal != nil {
			return refusal
		}
	}
	return s.nobodyHelps(all)
}

// waitsAt returns the event at which a thread should wait: its next one, which must match x. A
// blocked wait on a condition or at a barrier is one whose end is next.
func (s *state) waitsAt(x *finding.Step) (int32, *Refusal) {
	i, refusal := s.next(x.Thread)
	if refusal != nil {
		return 0, refusal
	}
	e := &s.events[i]
	op := e.Op
	switch op {
	case event.Wake:
		op = event.Wait
	case event.BarrierDepart:
		op = event.BarrierArrive
	case event.OnceLeave:
		op = event.OnceEnter
	}
	if op != x.Op || e.Object != x.Object || e.Peer != x.Peer {
		return 0, refuse(Goal, "thread %d goes on with %s of object %d, not with what is to block", e.Thread, e.Op, e.Object)
	}
	if s.objects[s.object[i]].destroyed {
		return 0, refuse(Lifetime, "object %d has been destroyed", e.Object)
	}
	return i, nil
}

// neverGoesOn checks what the state of the event's object, or of the thread to join, must be for
// its thread to wait for ever. What other threads may still do is checked by nobodyHelps.
func (s *state) neverGoesOn(i int32, all blockedSet) *Refusal {
	e := &s.events[i]
	o := &s.objects[s.object[i]]
	switch {
	case e.Op.IsAcquire() && e.Flags&event.Try == 0:
		if !slices.ContainsFunc(o.holders, func(h int32) bool { return s.excludes(h, e.Op) && s.neverReleased(h, all) }) {
			return refuse(Goal, "no blocked or ended thread holds lock %d", e.Object)
		}
	case e.Op == event.Join:
		if !all.has(e.Peer) {
			return refuse(Goal, "thread %d, which is to be joined, is not blocked", e.Peer)
		}
	case e.Op == event.SemWait && e.Flags&event.Try == 0:
		if o.value > 0 || !s.counted[s.object[i]] {
			return refuse(Goal, "semaphore %d may be above 0", e.Object)
		}
	case e.Op == event.Wake:
		if _, known := s.waitOf[i]; !known || s.source[i] == noSource {
			return refuse(Goal, "the run does not show what ended the wait on condition %d", e.Object)
		}
	case e.Op == event.AcquireAgain && e.Flags&event.Try == 0:
		if !s.writers[s.object[i]] || !s.writerWaits(i, all) {
			return refuse(Goal, "no blocked thread requests lock %d as a writer, or readers may not wait for it", e.Object)
		}
	case e.Op == event.OnceLeave:
		if t := s.initialiser(i); t == e.Thread || !all.has(t) {
			return refuse(Goal, "no blocked thread is within the initialisation %d", e.Object)
		}
	case e.Op == event.BarrierDepart:
		if !s.lacks(i, Generations) {
			return refuse(Goal, "all threads of the generation of barrier %d have arrived", e.Object)
		}
	default:
		return refuse(Goal, "%s does not block", e.Op)
	}
	return nil
}

// writerWaits reports whether a blocked thread other than that of event i requests its lock as a writer.
func (s *state) writerWaits(i int32, all blockedSet) bool {
	for t, j := range all {
		if t != s.events[i].Thread && s.events[j].Op == event.Acquire && s.object[j] == s.object[i] {
			return true
		}
	}
	return false
}

// initialiser returns the thread that is within the initialisation which event i, a return without it,
// is about: the first that entered it in the schedule, if it is the only one that completes it in the
// run, and has not done so. It returns 0 if there is none.
func (s *state) initialiser(i int32) event.ThreadID {
	first := int32(-1)
	done := int32(-1)
	for j := range s.events {
		if s.object[j] != s.object[i] {
			continue
		}
		switch s.events[j].Op {
		case event.OnceEnter:
			if s.when[j] > 0 && (first < 0 || s.when[j] < s.when[first]) {
				first = int32(j)
			}
		case event.OnceDone:
			if done >= 0 || s.when[j] > 0 {
				return 0
			}
			done = int32(j)
		}
	}
	if first < 0 || done < 0 || s.events[first].Thread != s.events[done].Thread {
		return 0
	}
	return s.events[first].Thread
}

// neverReleased reports whether only a blocked thread can release the critical section h, or its
// thread has ended.
func (s *state) neverReleased(h int32, all blockedSet) bool {
	by := s.closedBy(h)
	switch {
	case int(by) >= len(s.events) || all.has(s.events[by].Thread):
	case s.events[by].Thread == s.holder(h) && s.leaves(by):
		return true
	default:
		return false
	}
	return all.has(s.holder(h)) || s.hasEnded(s.holder(h))
}

// leaves reports whether an event is one of the inferred releases before the end of a thread that
// has executed all events before these, and its lock stays held: in the run nobody acquires it after
// that, and it is no mutex that was initialised with attributes, which may make it a robust one.
func (s *state) leaves(release int32) bool {
	list := s.queues[s.threads[s.events[release].Thread]]
	at := len(list) - 1
	if e := &s.events[list[at]]; e.Op != event.End || e.Flags&event.WithProcess != 0 {
		return false
	}
	for at > 0 && s.events[list[at-1]].Op == event.Release && s.events[list[at-1]].Flags&event.Inferred != 0 {
		at--
	}
	if s.head(s.threads[s.events[release].Thread]) < int32(at) || release < list[at] {
		return false
	}
	for i := range s.events {
		e := &s.events[i]
		if s.object[i] == s.object[release] && (int32(i) > release && e.Op.IsAcquire() || e.Op == event.Init && e.Flags&event.HasValue != 0 && e.Value != 0) {
			return false
		}
	}
	return true
}

// hasEnded reports whether a thread's end was executed.
func (s *state) hasEnded(t event.ThreadID) bool {
	list := s.queues[s.threads[t]]
	i := list[len(list)-1]
	return s.when[i] > 0 && s.events[i].Op == event.End
}

// lacks reports whether a need of the event, of that rule, is not met.
func (s *state) lacks(i int32, rule Rule) bool {
	return slices.ContainsFunc(s.needs[s.needFrom(i):s.needTo[i]], func(n need) bool {
		return n.rule == rule && int(s.head(n.queue)) < min(int(n.first), len(s.queues[n.queue]))
	})
}

// nobodyHelps checks that each post, notification and arrival of the run that could end a wait of a
// blocked thread was executed without doing so, or comes after an operation at which its thread is
// blocked.
func (s *state) nobodyHelps(all blockedSet) *Refusal {
	waits := map[helped][]int32{} // the events that end the waits
	for _, i := range all {
		if how := endedBy(s.events[i].Op); how != noHelp {
			key := helped{how, s.object[i]}
			waits[key] = append(waits[key], i)
		}
	}
	if len(waits) == 0 {
		return nil
	}
	awoke := s.awoke()
	for j := range s.events {
		e := &s.events[j]
		how := helpOf(e.Op)
		if how == noHelp {
			continue
		}
		for _, i := range waits[helped{how, s.object[j]}] {
			switch {
			case s.when[j] == 0 && !all.has(e.Thread):
				return refuse(Goal, "%s could still help thread %d", s.name(int32(j)), s.events[i].Thread)
			case how == notification && s.when[j] > s.when[s.waitOf[i]] && !(e.Op == event.Signal && (awoke[int32(j)] || s.isTaken(int32(j)))):
				return refuse(Waking, "%s could have ended the wait of thread %d", s.name(int32(j)), s.events[i].Thread)
			}
		}
	}
	return nil
}

// isTaken reports whether another thread than in the run may have taken signal j (CheckTaken): it waited
// then, and the notification that ended its wait in the run had not come.
func (s *state) isTaken(j int32) bool {
	if s.taken == 0 || s.events[j].Seq != s.taken {
		return false
	}
	for wake, wait := range s.waitOf {
		by := s.source[wake]
		if by == noSource || by == j || s.object[wake] != s.object[j] {
			continue
		}
		if s.when[wait] > 0 && s.when[wait] < s.when[j] && (s.when[by] == 0 || s.when[by] > s.when[j]) {
			return true
		}
	}
	return false
}

// awoke returns the notifications that ended the waits that have ended.
func (s *state) awoke() map[int32]bool {
	out := map[int32]bool{}
	for wake := range s.waitOf {
		if s.when[wake] > 0 && s.source[wake] != noSource {
			out[s.source[wake]] = true
		}
	}
	return out
}

// help is a kind of operation by which one thread lets another go on.
type help uint8

const (
	noHelp help = iota
	post
	notification
	arrival
)

// helped identifies the operations of a kind on an object, given by its number.
type helped struct {
	how    help
	object int32
}

// endedBy returns the kind of operation of other threads that an event waits for.
func endedBy(op event.Op) help {
	switch op {
	case event.SemWait:
		return post
	case event.Wake:
		return notification
	case event.BarrierDepart:
		return arrival
	}
	return noHelp
}

// helpOf returns the kind of help that an operation is.
func helpOf(op event.Op) help {
	switch op {
	case event.SemPost:
		return post
	case event.Signal, event.Broadcast:
		return notification
	case event.BarrierArrive:
		return arrival
	}
	return noHelp
}
