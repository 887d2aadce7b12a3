package eventtest

import "github.com/tracepredict/tracepredict/observer/event"

// busyLocks is the number of locks of a Busy run. Each guards a variable.
const busyLocks = 16

// Busy is an unbounded run of threads that mostly lock: each acquires one of 16 locks, one
// time in eight the next one inside it, and sometimes reads or writes the variable that the
// lock guards. Locks are acquired in one order and exclude each other, so there is nothing
// to find. Two runs with the same arguments of NewBusy are equal.
type Busy struct {
	accesses uint64
	random   uint64
	e        event.Event
	threads  []busyThread
	held     [busyLocks + 2]bool
	value    [busyLocks + 2]uint64
	forked   int
}

// busyThread is the state of a thread: its next step in a critical section.
type busyThread struct {
	step   int
	lock   event.ObjectID
	nested bool
}

// NewBusy returns a run with a number of threads. On average one in accesses critical sections
// has an access; 0: none has.
func NewBusy(threads, accesses int) *Busy {
	return &Busy{accesses: uint64(accesses), random: 88172645463325252, threads: make([]busyThread, threads)}
}

// draw returns a pseudo-random number below n.
func (b *Busy) draw(n uint64) uint64 {
	b.random ^= b.random << 13
	b.random ^= b.random >> 7
	b.random ^= b.random << 17
	return b.random % n
}

// Next sets e to the next event of the run, without a clock.
func (b *Busy) Next(e *event.Event) {
	b.e = event.Event{Seq: b.e.Seq + 1, Time: b.e.Time + 300 + b.draw(2000)}
	switch {
	case b.e.Seq == 1:
		b.e.Thread, b.e.Op = 1, event.Begin
	case b.forked < 2*(len(b.threads)-1):
		b.fork()
	default:
		for b.e.Op == event.None {
			at := b.draw(uint64(len(b.threads)))
			b.e.Thread = event.ThreadID(at + 1)
			b.advance(&b.threads[at])
		}
	}
	*e = b.e
}

// fork makes the first thread create the others.
func (b *Busy) fork() {
	child := event.ThreadID(2 + b.forked/2)
	if b.forked++; b.forked%2 == 1 {
		b.e.Thread, b.e.Op, b.e.Peer = 1, event.Fork, child
	} else {
		b.e.Thread, b.e.Op = child, event.Begin
	}
}

// The steps of a thread, each named by what it has done last.
const (
	outside  = iota // released its lock; it holds none
	inside          // acquired its lock
	deeper          // acquired the nested lock, if any
	accessed        // accessed the variable, if it does
	leaving         // released the nested lock, if any
)

// advance executes the next step of a thread, if the lock that it requests is free.
func (b *Busy) advance(t *busyThread) {
	switch t.step {
	case outside:
		lock := event.ObjectID(1 + b.draw(busyLocks))
		if !b.held[lock] {
			*t = busyThread{step: inside, lock: lock, nested: b.draw(8) == 0}
			b.setHeld(lock, event.Acquire)
		}
	case inside:
		if t.nested && b.held[t.lock+1] {
			return
		}
		t.step = deeper
		if t.nested {
			b.setHeld(t.lock+1, event.Acquire)
		}
	case deeper:
		t.step = accessed
		if b.accesses > 0 && b.draw(b.accesses) == 0 {
			b.access(t.lock)
		}
	case accessed:
		t.step = leaving
		if t.nested {
			b.setHeld(t.lock+1, event.Release)
		}
	case leaving:
		t.step = outside
		b.setHeld(t.lock, event.Release)
	}
}

// setHeld makes the event an acquire or a release of a lock.
func (b *Busy) setHeld(lock event.ObjectID, op event.Op) {
	b.held[lock] = op == event.Acquire
	b.e.Op, b.e.Object, b.e.Kind = op, lock, event.KindMutex
	b.e.Stack = event.StackID(uint32(lock)*4 + uint32(op)%4)
}

// access makes the event an access of the variable that a lock guards.
func (b *Busy) access(lock event.ObjectID) {
	b.e.Op, b.e.Object, b.e.Kind, b.e.Flags = event.Read, busyLocks+1+lock, event.KindVariable, event.HasValue
	if b.draw(2) == 0 {
		b.e.Op = event.Write
		b.value[lock]++
	}
	b.e.Value, b.e.Stack = b.value[lock], event.StackID(uint32(lock)*4+3)
}
