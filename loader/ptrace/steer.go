package ptrace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Steerer holds threads in stops. The thread that runs Tracee.Run calls its methods, and what it holds stays in its stop
// until it calls Tracee.Continue.
type Steerer interface {
	// Created says that a thread has created another one, which may have had its first stop before.
	Created(parent, tid int)
	// Begins says that a thread is at its first stop, or at the end of a group stop. If it returns true, the thread stays
	// in the stop.
	Begins(tid int) (stays bool)
	// Came says that a thread is about to be delivered a signal. If it returns true, the signal was the Steerer's: it is
	// not delivered, and the thread stays in the stop, or has been continued.
	Came(tid int, sig unix.Signal) (taken bool)
	// Ended says that a thread has ended.
	Ended(tid int)
	// Tick is called after each stop, and whenever the thread of Run is woken.
	Tick()
}

// Continue lets a thread go that a Steerer has kept in a stop.
func (t *Tracee) Continue(tid int) error {
	if t.leaving {
		return nil
	}
	return t.resume(tid, 0)
}

// Step lets a thread that a Steerer has kept in a stop execute one instruction. It is in a stop for SIGTRAP then, unless
// something else comes first.
func (t *Tracee) Step(tid int) error {
	if t.leaving {
		return nil
	}
	t.stepping[tid] = true
	return ignoreEnded(ptrace(unix.PTRACE_SINGLESTEP, tid, 0, 0))
}

// created handles the stop of a thread that has created another.
func (t *Tracee) created(tid int) {
	var other uint64
	if ptrace(unix.PTRACE_GETEVENTMSG, tid, 0, uintptr(unsafe.Pointer(&other))) == nil { // else it has been killed
		t.Steer.Created(tid, int(other))
	}
}
