package ptrace

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// HoldFound makes processes wait that are not traced by us, from now until the
// ring has emptied. It must run on an operating system thread of its own which
// ends with it: that lets go of whatever is seized still.
func (b *Brake) HoldFound() {
	Hurry()
	began := time.Now()
	h := seizure{brake: b, seized: map[int]bool{}, stopped: map[int]unix.Signal{}, refused: map[int]bool{}}
	for !b.enough() {
		for _, pid := range b.pids() {
			procfs.EachRunning(pid, func(tid int) { h.stop(pid, tid) })
		}
		h.reap()
		nap()
	}
	h.letGo()
	if h.ever {
		b.count(time.Since(began))
	}
}

// seizure is one hold of a program that was found.
type seizure struct {
	brake   *Brake
	seized  map[int]bool        // threads that have not ended
	stopped map[int]unix.Signal // of these; with the signal that is due
	refused map[int]bool
	ever    bool // anybody was stopped
}

// stop interrupts a running thread; it stops as soon as it leaves the kernel.
func (h *seizure) stop(pid, tid int) {
	if h.refused[tid] {
		return
	}
	if !h.seized[tid] {
		// New threads of threads that we hold do not come: those stand.
		if err := ptrace(unix.PTRACE_SEIZE, tid, 0, 0); err != nil {
			if !errors.Is(err, unix.ESRCH) && !procfs.HasEnded(pid, tid) { // a thread that exits is refused too
				h.refused[tid] = true
				h.brake.obstacle(pid, whyNotSeized(pid, tid, err))
			}
			return
		}
		h.seized[tid], h.ever = true, true
	}
	_ = ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) // it may have ended
}

// reap takes note of stops and ends.
func (h *seizure) reap() {
	for {
		tid, ws, err := nextStop(false)
		switch {
		case err != nil || tid == 0:
			return
		case ws.Exited() || ws.Signaled():
			delete(h.seized, tid)
			delete(h.stopped, tid)
			continue
		}
		h.seized[tid] = true // after an execve by another thread it is the first thread's
		if interruption(ws) {
			resumeCall(tid)
		}
		h.stopped[tid] = 0
		if int(uint32(ws)>>16) == 0 {
			h.stopped[tid] = ws.StopSignal()
		}
	}
}

// patience bounds how long a thread is waited for that does not leave the
// kernel; the end of the tracer lets go of it.
const patience = 20

// letGo detaches all: signals that have come are delivered then, and who was
// in a group stop stays in it.
func (h *seizure) letGo() {
	for i := 0; ; i++ {
		h.reap()
		for tid, sig := range h.stopped {
			_ = ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig)) // it may have been killed
			delete(h.seized, tid)
			delete(h.stopped, tid)
		}
		if len(h.seized) == 0 || i == patience {
			return
		}
		nap()
	}
}

func whyNotSeized(pid, tid int, err error) string {
	if who := procfs.TracerOf(fmt.Sprintf("%d/task/%d", pid, tid)); who != "" {
		return fmt.Sprintf("process %d is traced by %s, so it could not be made to wait", pid, who)
	}
	return fmt.Sprintf("process %d could not be made to wait: %v", pid, err)
}
