package std

import (
	"fmt"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// emit numbers an event of thread t, and queues it for Next.
func (r *Reader) emit(t *thread, e event.Event) {
	r.seq++
	e.Seq, e.Thread = r.seq, t.id
	r.queue = append(r.queue, e)
}

// apply queues the events of a line. It returns an error if no run can have the line there.
func (r *Reader) apply(t *thread, op, operand string, stack event.StackID) error {
	if r.opts.Strict {
		switch op {
		case "acq", "rel", "r", "w", "fork", "join":
		default:
			return fmt.Errorf("operation %q is not RAPID's", op)
		}
	}
	released := t.lastReleased
	t.lastReleased = nil
	if t.waiting && op != "wait" {
		r.wake(t, stack)
	}
	switch op {
	case "acq":
		return r.acquire(t, operand, stack)
	case "rel":
		return r.release(t, operand, stack)
	case "r", "rd", "w", "wr":
		e := event.Event{Op: event.Read, Kind: event.KindVariable, Object: r.object(r.vars, operand, event.KindVariable, t, stack), Stack: stack}
		if op[0] == 'w' {
			e.Op = event.Write
		}
		r.emit(t, e)
	case "fork":
		return r.fork(t, operand, stack)
	case "join":
		return r.join(t, operand, stack)
	case "req":
		r.lock(t, operand, stack) // the acquire that follows implies the request
	case "wait":
		return r.wait(t, operand, released, stack)
	case "notify", "notifyAll":
		e := event.Event{Op: event.Signal, Kind: event.KindCond, Object: r.object(r.conds, operand, event.KindCond, t, stack), Stack: stack}
		if op == "notifyAll" {
			e.Op = event.Broadcast
		}
		r.emit(t, e)
	default:
		return fmt.Errorf("unknown operation %q", op)
	}
	return nil
}

// object returns the object with a name, and adds it if it is new.
func (r *Reader) object(ids map[string]event.ObjectID, name string, kind event.Kind, t *thread, stack event.StackID) event.ObjectID {
	id, ok := ids[name]
	if !ok {
		r.charge(name)
		id = r.names.AddObject(run.Object{Name: name, Kind: kind, First: stack, FirstThread: t.id})
		ids[name] = id
	}
	return id
}

// lock returns the lock with a name, and adds it if it is new.
func (r *Reader) lock(t *thread, name string, stack event.StackID) *lock {
	l := r.locks[name]
	if l == nil {
		r.charge(name)
		l = &lock{id: r.names.AddObject(run.Object{Name: name, Kind: event.KindMutex, First: stack, FirstThread: t.id})}
		r.locks[name] = l
	}
	return l
}

// acquire applies an acquire. Inner acquires of a recursive lock are not events.
func (r *Reader) acquire(t *thread, name string, stack event.StackID) error {
	l := r.lock(t, name, stack)
	switch {
	case l.holder == t && r.opts.Strict:
		return fmt.Errorf("%s takes %s, which it has since line %d", t.name, name, l.line)
	case l.holder == t:
		l.depth++
		r.reacquired++
		return nil
	case l.holder != nil && r.mends(heldByOther):
		r.takeFrom(l, t)
	case l.holder != nil:
		return fmt.Errorf("%s takes %s, which %s has since line %d", t.name, name, l.holder.name, l.line)
	}
	l.holder, l.depth, l.line = t, 1, r.at
	e := event.Event{Op: event.Acquire, Kind: event.KindMutex, Object: l.id, Stack: stack}
	if t.mutex == l {
		e.Flags, t.mutex = event.InCondWait, nil
	}
	r.emit(t, e)
	return nil
}

// release applies a release. Inner releases of a recursive lock are not events.
func (r *Reader) release(t *thread, name string, stack event.StackID) error {
	l := r.lock(t, name, stack)
	switch {
	case l.holder != t && r.mends(notHeld):
		return nil
	case l.holder == nil:
		return fmt.Errorf("%s releases %s, which nobody has", t.name, name)
	case l.holder != t:
		return fmt.Errorf("%s releases %s, which %s has since line %d", t.name, name, l.holder.name, l.line)
	}
	if l.depth--; l.depth > 0 {
		return nil
	}
	l.holder, t.lastReleased = nil, l
	r.emit(t, event.Event{Op: event.Release, Kind: event.KindMutex, Object: l.id, Stack: stack})
	return nil
}

// fork applies a fork, which must come before all lines of the new thread.
func (r *Reader) fork(t *thread, name string, stack event.StackID) error {
	u := r.operandThread(name)
	switch {
	case u == t && r.mends(byItself):
		return nil
	case u == t:
		return fmt.Errorf("%s forks itself", t.name)
	case (u.forked != 0 || u.joined != 0) && r.mends(forkedAgain):
		u = r.nextOfName(u)
	case u.first != 0 && r.mends(forkedLate):
		return nil
	case u.forked != 0:
		return fmt.Errorf("%s was forked already in line %d", u.name, u.forked)
	case u.joined != 0:
		return fmt.Errorf("%s was joined already in line %d", u.name, u.joined)
	case u.first != 0:
		return fmt.Errorf("%s acts in line %d, before its fork", u.name, u.first)
	}
	u.forked = r.at
	info := r.names.Thread(u.id)
	info.Parent, info.Created = t.id, stack
	r.names.SetThread(u.id, info)
	r.emit(t, event.Event{Op: event.Fork, Peer: u.id, Stack: stack})
	return nil
}

// join applies a join. Several threads may join one Java thread, but package event has no such
// operation: the later joins are left out.
func (r *Reader) join(t *thread, name string, stack event.StackID) error {
	u := r.operandThread(name)
	switch {
	case u == t && r.mends(byItself):
		return nil
	case u == t:
		return fmt.Errorf("%s joins itself", t.name)
	case r.opts.Repairs != nil && r.opts.Repairs.early[r.at] && r.mends(joinedEarly):
		return nil
	}
	if u.joined != 0 {
		if r.rejoined == "" {
			r.rejoined = fmt.Sprintf("%s was joined in line %d and again in line %d: the order that later joins make is not known here", u.name, u.joined, r.at)
		}
		return nil
	}
	u.joined = r.at
	r.emit(t, event.Event{Op: event.Join, Peer: u.id, Stack: stack})
	return nil
}

// wait begins a condition wait. Its mutex is the lock that the thread's previous line released;
// nil if there is none. The thread wakes at its next line.
func (r *Reader) wait(t *thread, name string, mutex *lock, stack event.StackID) error {
	switch {
	case t.waiting && r.mends(waitsAlready):
		r.wake(t, stack)
	case t.waiting:
		return fmt.Errorf("%s waits, and waits already", t.name)
	}
	t.waiting, t.mutex = true, mutex
	t.cond = r.object(r.conds, name, event.KindCond, t, stack)
	r.emit(t, event.Event{Op: event.Wait, Kind: event.KindCond, Object: t.cond, Object2: t.mutexID(), Stack: stack})
	return nil
}

// wake ends a wait.
func (r *Reader) wake(t *thread, stack event.StackID) {
	t.waiting = false
	r.emit(t, event.Event{Op: event.Wake, Kind: event.KindCond, Object: t.cond, Object2: t.mutexID(), Stack: stack})
}

// mutexID returns the mutex of the wait; 0 if it is unknown.
func (t *thread) mutexID() event.ObjectID {
	if t.mutex == nil {
		return 0
	}
	return t.mutex.id
}
