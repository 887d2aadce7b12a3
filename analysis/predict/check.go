package predict

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Check judges a witness by running it: it simulates threads, locks, conditions,
// barriers, semaphores and variables step by step, and trusts neither clocks nor
// the closure. events is the observed run, or the part of it that was recorded,
// by Seq; it uses no clock of theirs.
//
// The witness must execute a prefix of each thread's events, by Seq, obey column X
// of the order table (one holder, readers or one writer; rounds as observed; values
// of semaphores not negative, and 0 where an attempt failed; a failed attempt at a
// lock finds it held), let each wake have the notification and each read the
// writer that the run saw, and end in the error: for finding.Deadlock with two or
// more Blocked steps, each the next acquire of its thread, whose locks the threads
// of the others hold in a ring; for finding.Race with two conflicting accesses of
// two threads, each the next event of its thread; for finding.Property nothing but the
// steps is asked.
//
// The error says which step breaks which rule. Time and memory are O(n).
func Check(events []event.Event, steps []finding.Step, kind finding.Kind) error {
	return check(observe(events), steps, kind)
}

func check(run *observed, steps []finding.Step, kind finding.Kind) error {
	s := newSimulation(run)
	end := endOf(steps, kind)
	for i := range steps[:end] {
		if err := s.execute(&steps[i]); err != nil {
			return fmt.Errorf("step %d, %s by thread %d: %w", i+1, steps[i].Op, steps[i].Thread, err)
		}
	}
	switch kind {
	case finding.Deadlock:
		return s.deadlock(steps[end:])
	case finding.Race:
		return s.race(steps[end:])
	case finding.Property:
		return nil
	}
	return fmt.Errorf("check a witness for %q: it has no checker", kind)
}

// endOf is where the steps end that are executed.
func endOf(steps []finding.Step, kind finding.Kind) int {
	end := len(steps)
	switch kind {
	case finding.Property:
		return end
	case finding.Race:
		return max(0, end-2)
	}
	for end > 0 && steps[end-1].Blocked {
		end--
	}
	return end
}

// simulation is the state after the steps executed so far.
type simulation struct {
	run      *observed
	done     []bool // by index of the event
	when     []int  // likewise, the step that executed it
	steps    int
	position map[event.ThreadID]int
	open     map[event.ObjectID][]int   // acquires whose sections are open
	writer   map[event.ObjectID]int     // last write, plus 1
	value    map[event.ObjectID]int64   // of semaphores
	gone     map[event.ObjectID]bool    // destroyed
	streams  map[event.ObjectID]*behind // how many, from the first on, have happened
	sent     map[event.ObjectID][]int   // sends, in the order in which the steps have them
}

func newSimulation(run *observed) *simulation {
	s := &simulation{
		run: run, done: make([]bool, len(run.events)), when: make([]int, len(run.events)),
		position: map[event.ThreadID]int{}, open: map[event.ObjectID][]int{}, writer: map[event.ObjectID]int{},
		value: map[event.ObjectID]int64{}, gone: map[event.ObjectID]bool{}, streams: map[event.ObjectID]*behind{},
		sent: map[event.ObjectID][]int{},
	}
	for id, v := range s.run.initial {
		s.value[id] = v
	}
	for id, t := range s.run.heldBefore {
		s.open[id] = []int{-1 - int(t)}
	}
	return s
}

// next is the index of a thread's next event.
func (s *simulation) next(t event.ThreadID) (int, error) {
	list := s.run.threads[t]
	at := s.position[t]
	if at >= len(list) {
		return 0, fmt.Errorf("thread %d has no further event", t)
	}
	i := list[at]
	if f, forked := s.run.fork[t]; forked && at == 0 && f < i && !s.done[f] {
		return 0, fmt.Errorf("thread %d has not been created", t)
	}
	return i, s.alive(i)
}

// alive keeps uses of an object within its lifetime.
func (s *simulation) alive(i int) error {
	e := &s.run.events[i]
	if e.Object == 0 {
		return nil
	}
	if s.gone[e.Object] {
		return fmt.Errorf("object %d has been destroyed", e.Object)
	}
	if made, ok := s.run.made[e.Object]; ok && made < i && !s.done[made] {
		return fmt.Errorf("object %d has not been initialised", e.Object)
	}
	return nil
}

func (s *simulation) execute(step *finding.Step) error {
	i, err := s.next(step.Thread)
	if err != nil {
		return err
	}
	e := &s.run.events[i]
	if e.Seq != step.Seq || e.Op != step.Op || e.Object != step.Object {
		return fmt.Errorf("event %d is next (%s of object %d), not %d", e.Seq, e.Op, e.Object, step.Seq)
	}
	if err := s.can(i, e); err != nil {
		return err
	}
	s.do(i, e)
	return nil
}

// can tells what forbids the event, if anything does.
func (s *simulation) can(i int, e *event.Event) error {
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		if len(s.holders(e)) > 0 {
			return fmt.Errorf("lock %d is held", e.Object)
		}
	case event.AcquireFailed:
		if len(s.open[e.Object]) == 0 {
			return fmt.Errorf("lock %d is free, the attempt would succeed", e.Object)
		}
	case event.Release:
		return s.canRelease(i, e)
	case event.Join:
		return s.canJoin(e)
	case event.Read, event.Update:
		return s.canRead(i, e)
	case event.Wake:
		return s.canWake(i)
	case event.Send, event.Sent, event.Receive, event.ReceiveFailed:
		return s.canMessage(i, e)
	case event.SemWait:
		if s.value[e.Object] <= 0 {
			return fmt.Errorf("semaphore %d is 0", e.Object)
		}
	case event.SemFailed:
		if s.value[e.Object] != 0 {
			return fmt.Errorf("semaphore %d is %d, the attempt would succeed", e.Object, s.value[e.Object])
		}
	}
	return s.prerequisites(i)
}

// holders is the open sections that keep an acquire waiting.
func (s *simulation) holders(e *event.Event) []int {
	var out []int
	for _, j := range s.open[e.Object] {
		if e.Op == event.Acquire || j < 0 || s.run.events[j].Op == event.Acquire {
			out = append(out, j)
		}
	}
	return out
}

func (s *simulation) canRelease(i int, e *event.Event) error {
	if j := s.run.closes[i]; j != nothing && !slices.Contains(s.open[e.Object], j) {
		return fmt.Errorf("lock %d is not held", e.Object)
	}
	return nil
}

func (s *simulation) canJoin(e *event.Event) error {
	if n := len(s.run.threads[e.Peer]); s.position[e.Peer] < n {
		return fmt.Errorf("thread %d has not ended", e.Peer)
	}
	return nil
}

func (s *simulation) canRead(i int, e *event.Event) error {
	want := s.run.reads[i]
	if want == anyWriter {
		return nil
	}
	if want == unknownWriter {
		return fmt.Errorf("the value read from variable %d is not that of the write before it", e.Object)
	}
	if got := s.writer[e.Object] - 1; got != want {
		return fmt.Errorf("variable %d was written last by %s, in the run by %s", e.Object, s.run.name(got), s.run.name(want))
	}
	return nil
}

// canWake wants the notification that ended the wait to be sent during the wait. A
// notification that nobody waits for is no error: it wakes nobody.
func (s *simulation) canWake(i int) error {
	w, ok := s.run.woken[i]
	switch {
	case !ok:
		return nil // timed out, or spurious
	case !s.done[w.sent]:
		return fmt.Errorf("it needs %s first", s.run.name(w.sent))
	case w.wait >= 0 && s.when[w.sent] < s.when[w.wait]:
		return fmt.Errorf("%s was sent before the wait", s.run.name(w.sent))
	}
	return nil
}

// canMessage wants what went through the channel before to have gone through it, and
// the bytes of a receive to have been sent in the order of the run.
func (s *simulation) canMessage(i int, e *event.Event) error {
	now := s.streams[e.Object]
	if now == nil {
		now = &behind{}
		s.streams[e.Object] = now
	}
	all, want := s.run.streams[e.Object], s.run.behind[i]
	sent := s.sent[e.Object]
	for now.sends < len(sent) && now.sends < len(all.sends) && sent[now.sends] == all.sends[now.sends] {
		now.sends++
	}
	if now.sends < want.sends {
		return fmt.Errorf("it needs %s first, and no other message before that", s.run.name(all.sends[now.sends]))
	}
	for _, x := range []struct {
		list []int
		now  *int
		want int
	}{{all.receives, &now.receives, want.receives}, {all.failures, &now.failures, want.failures}} {
		for *x.now < x.want && s.done[x.list[*x.now]] {
			*x.now++
		}
		if *x.now < x.want {
			return fmt.Errorf("it needs %s first", s.run.name(x.list[*x.now]))
		}
	}
	return s.prerequisites(i)
}

// prerequisites are the events that the run had before this one by the rules of
// barriers, once and lifetimes.
func (s *simulation) prerequisites(i int) error {
	for _, j := range s.run.after[i] {
		if !s.done[j] {
			return fmt.Errorf("it needs %s first", s.run.name(j))
		}
	}
	return nil
}

// do changes the state as the event does.
func (s *simulation) do(i int, e *event.Event) {
	s.steps++
	s.done[i], s.when[i] = true, s.steps
	s.position[e.Thread]++
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		s.open[e.Object] = append(s.open[e.Object], i)
	case event.Release:
		if j := s.run.closes[i]; j != nothing {
			at := slices.Index(s.open[e.Object], j)
			s.open[e.Object] = slices.Delete(s.open[e.Object], at, at+1)
		}
	case event.Write, event.Update:
		s.writer[e.Object] = i + 1
	case event.SemPost:
		s.value[e.Object]++
	case event.SemWait:
		s.value[e.Object]--
	case event.Send:
		s.sent[e.Object] = append(s.sent[e.Object], i)
	case event.Destroy:
		s.gone[e.Object] = ends(e)
	}
}

// deadlock tells why the blocked steps are no ring.
func (s *simulation) deadlock(last []finding.Step) error {
	if len(last) < 2 {
		return fmt.Errorf("a deadlock's witness ends with %d blocked acquires, want two or more", len(last))
	}
	wants := make([]*event.Event, len(last))
	for k := range last {
		e, err := s.blocked(&last[k])
		if err != nil {
			return err
		}
		wants[k] = e
		if slices.ContainsFunc(wants[:k], func(o *event.Event) bool { return o.Thread == e.Thread }) {
			return fmt.Errorf("thread %d is in the ring twice", e.Thread)
		}
	}
	if s.ring(wants, 1) || s.ring(wants, len(wants)-1) {
		return nil
	}
	return fmt.Errorf("the %d blocked threads do not wait for each other in a ring", len(last))
}

func (s *simulation) blocked(step *finding.Step) (*event.Event, error) {
	i, err := s.next(step.Thread)
	if err != nil {
		return nil, err
	}
	e := &s.run.events[i]
	switch {
	case e.Op != step.Op || e.Object != step.Object || !e.Op.IsAcquire():
		return nil, fmt.Errorf("thread %d goes on with %s of object %d, not with the acquire that is to block", e.Thread, e.Op, e.Object)
	case e.Flags&event.Try != 0:
		return nil, fmt.Errorf("thread %d only tries the lock %d, which does not block", e.Thread, e.Object)
	}
	return e, nil
}

// ring tells whether each wants what the one that many places on holds.
func (s *simulation) ring(wants []*event.Event, places int) bool {
	for k, e := range wants {
		by := wants[(k+places)%len(wants)].Thread
		if !slices.ContainsFunc(s.holders(e), func(j int) bool { return s.run.holder(j) == by }) {
			return false
		}
	}
	return true
}

// race tells why the two steps are no race.
func (s *simulation) race(last []finding.Step) error {
	if len(last) != 2 {
		return fmt.Errorf("a race's witness ends with two accesses, this one has %d steps", len(last))
	}
	var pair [2]*event.Event
	for k := range last {
		i, err := s.next(last[k].Thread)
		if err != nil {
			return err
		}
		pair[k] = &s.run.events[i]
		if pair[k].Seq != last[k].Seq {
			return fmt.Errorf("thread %d goes on with event %d, not with %d", last[k].Thread, pair[k].Seq, last[k].Seq)
		}
	}
	return conflict(pair[0], pair[1])
}

func conflict(a, b *event.Event) error {
	switch {
	case !a.Op.IsAccess() || !b.Op.IsAccess() || a.Object != b.Object:
		return fmt.Errorf("events %d and %d are not accesses of one variable", a.Seq, b.Seq)
	case a.Thread == b.Thread:
		return fmt.Errorf("events %d and %d are of one thread", a.Seq, b.Seq)
	case !a.Op.IsWrite() && !b.Op.IsWrite():
		return fmt.Errorf("events %d and %d only read", a.Seq, b.Seq)
	case a.Flags&b.Flags&event.Atomic != 0:
		return fmt.Errorf("events %d and %d are both atomic", a.Seq, b.Seq)
	}
	return nil
}
