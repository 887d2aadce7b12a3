package loader

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/ptrace"
)

// staying looks whether the threads of a plan, which have come to the calls of their last gates and have been let go, get
// out of these. Threads that wait in the kernel are not looked at: a hang of those is seen otherwise. But one that spins in
// the program's own code does what any other code does, but that it never returns.
type staying struct {
	stays  map[int]stay // by thread ID
	looked time.Time
	looks  int  // that have found all threads in their calls, in a row
	over   bool // one has left its call, or is in the kernel, or all have stayed for long enough
}

// stay is a call that a thread is in.
type stay struct {
	slot   uint64 // where on the stack its return address is
	behind uint64 // that address
}

// Threads stay in their calls if they were there at so many looks in a row.
const (
	stayLooks = 10
	stayEvery = 100 * time.Millisecond
)

// enters records the call to which a thread has come, which is in a stop at the entry of what is called.
func (d *steered) enters(tid int) {
	_, general, err := ptrace.Registers(tid)
	var b [8]byte
	if err != nil || !d.session.ReadMemory(d.pid, general[stackRegister], b[:]) {
		delete(d.staying.stays, tid)
		return
	}
	d.staying.stays[tid] = stay{general[stackRegister], binary.NativeEndian.Uint64(b[:])}
}

// The stack pointer of x86-64 by its hardware number, and by its index in struct pt_regs.
const (
	stackRegister     = 4
	savedStackPointer = 19
)

// waitsForStay reports whether the threads of the plan are looked at, since each has come to its last gate.
func (d *steered) waitsForStay() bool {
	return !d.staying.over && len(d.staying.stays) > 1 && d.state != nil && d.state.Done() && d.state.Held() == 0
}

// lookForStay looks whether they are in their calls still. If they have been for long enough, the program is ended.
func (d *steered) lookForStay(now time.Time) {
	s := &d.staying
	if !d.waitsForStay() || now.Sub(s.looked) < stayEvery {
		return
	}
	s.looked = now
	if !d.allStay() {
		s.over = true
		return
	}
	if s.looks++; s.looks >= stayLooks {
		s.over = true
		if d.told != nil && d.told.Stayed() {
			d.leave()
			return
		}
		_ = unix.Kill(d.pid, unix.SIGKILL) // it may have ended
	}
}

// allStay reports whether all threads that are looked at run, and are in their calls still.
func (d *steered) allStay() bool {
	lines, err := d.session.Sleepers()
	if err != nil {
		return false
	}
	stay := 0
	for i := range lines {
		l := &lines[i]
		at, looked := d.staying.stays[int(l.Tid)]
		if !looked {
			continue
		}
		var b [8]byte
		if l.State != 0 || l.Regs[savedStackPointer] > at.slot || !d.session.ReadMemory(d.pid, at.slot, b[:]) || binary.NativeEndian.Uint64(b[:]) != at.behind {
			return false
		}
		stay++
	}
	return stay == len(d.staying.stays)
}

// stayed reports whether the threads stayed in their calls for as long as they were looked at.
func (s *staying) stayed() bool { return s.looks >= stayLooks }
