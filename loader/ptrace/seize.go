package ptrace

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// HoldUntraced makes processes wait that the tool does not trace, from now until the hold is to end. It
// returns false if the operating system thread that it runs on still traces threads, which the kernel detaches when that
// thread ends. It uses the thread of its caller, since a new one would have to wait for a processor first.
func (t *Throttle) HoldUntraced() (detached bool) {
	ends := t.holdBegins()
	h := seizure{throttle: t, seized: map[int]bool{}, stopped: map[int]unix.Signal{}, refused: map[int]bool{}}
	for !t.drained() {
		before := time.Now()
		t.looked(h.stopRunning())
		h.reap()
		pauseBriefly(time.Since(before))
	}
	h.detachAll()
	ends(h.anySeized)
	return len(h.seized) == 0
}

// seizure is one hold of processes that the tool does not trace otherwise.
type seizure struct {
	throttle  *Throttle
	seized    map[int]bool        // threads that are seized and have not ended
	stopped   map[int]unix.Signal // of these, those in a stop; the signal to deliver, 0: none
	refused   map[int]bool        // threads that could not be seized
	anySeized bool                // some thread has been seized
}

// stopRunning interrupts all threads that run, and returns how many of these can be stopped.
func (h *seizure) stopRunning() (running int) {
	for _, pid := range h.throttle.pids() {
		procfs.EachRunning(pid, func(tid int) {
			if h.stop(pid, tid); !h.refused[tid] {
				running++
			}
		})
	}
	return running
}

// stop interrupts a running thread, which stops as soon as it leaves the kernel.
func (h *seizure) stop(pid, tid int) {
	if h.refused[tid] {
		return
	}
	if !h.seized[tid] {
		// New threads need not be traced: a thread that is held creates none.
		if err := ptrace(unix.PTRACE_SEIZE, tid, 0, 0); err != nil {
			// An exiting thread is no obstacle. One that a hold has left to the kernel to detach can be seized soon.
			if !errors.Is(err, unix.ESRCH) && !procfs.HasEnded(pid, tid) && !isOwn(procfs.TracerID(pid, tid)) {
				h.refused[tid] = true
				h.throttle.recordObstacle(pid, whyNotSeized(pid, tid, err))
			}
			return
		}
		h.seized[tid], h.anySeized = true, true
	}
	_ = ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) // the thread may have ended
}

// reap records the stops and ends of threads.
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
		h.seized[tid] = true // an execve gives its thread the first thread's ID
		if interruption(ws) {
			resumeCall(tid)
		}
		h.stopped[tid] = 0
		if int(uint32(ws)>>16) == 0 {
			h.stopped[tid] = ws.StopSignal()
		}
	}
}

// maxDetachLooks is how often detachAll looks, at intervals of busyPause, for stops of threads
// that have not left the kernel. Threads that have not stopped by then are detached by the kernel
// when the tracer's thread ends.
const maxDetachLooks = 20

// detachAll detaches all threads. Pending signals are delivered then, and a thread that was in a
// group stop stays in it.
func (h *seizure) detachAll() {
	for i := 0; ; i++ {
		before := time.Now()
		h.reap()
		for tid, sig := range h.stopped {
			_ = ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig)) // the thread may have been killed
			delete(h.seized, tid)
			delete(h.stopped, tid)
		}
		if len(h.seized) == 0 || i == maxDetachLooks {
			return
		}
		pauseBriefly(time.Since(before))
	}
}

// isOwn reports whether a thread is one of the tool's own.
func isOwn(tid int) bool { return tid != 0 && unix.Tgkill(unix.Getpid(), tid, 0) == nil }

func whyNotSeized(pid, tid int, err error) string {
	if who := procfs.TracerOf(fmt.Sprintf("%d/task/%d", pid, tid)); who != "" {
		return fmt.Sprintf("process %d is traced by %s, so it could not be made to wait", pid, who)
	}
	return fmt.Sprintf("process %d could not be made to wait: %v", pid, err)
}
