package ptrace

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// A program is left stopped for a debugger. Problem: a process has one tracer, so the tool must detach before a debugger
// can attach, and a thread that is detached runs on. Solution: SIGSTOP to the process first. It cannot be delivered to a
// thread that is in a stop of ptrace, so it waits, or has begun to stop all threads by then. Either way a thread that is
// detached enters the stop before it executes an instruction of the program.

// ErrLeft means that Run has returned because of Leave.
var ErrLeft = errors.New("the program was left stopped")

// Leave has Run stop the program by SIGSTOP, detach all its threads, and return ErrLeft. A thread that a Steerer keeps in
// a stop stays where it is: Continue and Step do nothing from now on. The thread that runs Run calls it.
func (t *Tracee) Leave() { t.leaving = true }

// The bounds of leave: until all threads have come to a stop, and until all have the state of SIGSTOP.
const (
	maxComing = time.Second
	maxGoing  = time.Second
)

// leave leaves the program stopped, or returns how it ended, if it was killed meanwhile. Threads that sleep in the kernel
// uninterruptibly are detached when the tracing thread ends.
func (t *Tracee) leave() (Exit, error) {
	t.endHold()
	d := departure{Tracee: t, stops: map[int]unix.Signal{}}
	for _, tid := range inStop(t.pid) {
		d.stops[tid] = 0
	}
	for tid, ws := range t.kept {
		d.stops[tid] = t.undelivered(tid, ws)
	}
	if err := unix.Kill(t.pid, unix.SIGSTOP); err != nil {
		return Exit{}, fmt.Errorf("stop process %d: %w", t.pid, err)
	}
	d.collect()
	d.detach()
	if d.ended {
		return d.exit, nil
	}
	until(maxGoing, func() bool { return allIn(t.pid, 'T') })
	return Exit{}, ErrLeft
}

// departure is the work of leave.
type departure struct {
	*Tracee
	// stops are the threads that are in a stop, with the signal that is to be delivered, 0: none.
	stops map[int]unix.Signal
	ended bool // the program has ended
	exit  Exit // how
}

// collect waits until all threads are in stops.
func (d *departure) collect() {
	until(maxComing, func() bool {
		d.reap()
		tids, err := procfs.Threads(d.pid)
		if err != nil || d.ended {
			return true
		}
		for _, tid := range tids {
			if _, stopped := d.stops[tid]; !stopped && !procfs.HasEnded(d.pid, tid) {
				return false
			}
		}
		return true
	})
}

// reap takes the stops and ends of threads that there are.
func (d *departure) reap() {
	for {
		tid, ws, err := nextStop(false)
		switch {
		case err != nil || tid == 0:
			return
		case ws.Exited() || ws.Signaled():
			if delete(d.stops, tid); tid == d.pid {
				d.ended, d.exit = true, exitOf(ws)
			}
		case int(uint32(ws)>>16) == 0 && ws.StopSignal() == unix.SIGSTOP:
			_ = ptrace(unix.PTRACE_CONT, tid, 0, uintptr(unix.SIGSTOP)) // stops all threads; it may have been killed
		default:
			if interruption(ws) {
				resumeCall(tid)
			}
			d.stops[tid] = d.undelivered(tid, ws)
		}
	}
}

// undelivered returns the signal of a stop that the program is to get; 0: none.
func (t *Tracee) undelivered(tid int, ws unix.WaitStatus) unix.Signal {
	sig := ws.StopSignal()
	switch {
	case !ws.Stopped() || int(uint32(ws)>>16) != 0 || sig == syscallStop:
		return 0
	case sig == unix.SIGTRAP && (t.stepping[tid] || TrapOf(tid) != OtherTrap):
		return 0 // of the tool's own step or breakpoint
	}
	return sig
}

// detach detaches all threads that are in stops. Those that wait for SIGCONT in a stop of the tool's have to be in another
// one for that.
func (d *departure) detach() {
	until(maxComing, func() bool {
		for tid, sig := range d.stops {
			if err := ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig)); err == nil || procfs.HasEnded(d.pid, tid) {
				delete(d.stops, tid)
				continue
			}
			_ = ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0)
		}
		d.reap()
		return d.ended || len(d.stops) == 0
	})
}

// until calls f every millisecond until it returns true, or for some time.
func until(bound time.Duration, f func() bool) {
	for end := time.Now().Add(bound); !f() && time.Now().Before(end); {
		pauseBriefly(0)
	}
}

// inStop returns the threads of a process that are in stops of ptrace.
func inStop(pid int) (found []int) {
	tids, _ := procfs.Threads(pid) // none of a process that has ended
	for _, tid := range tids {
		if procfs.ThreadState(pid, tid) == 't' {
			found = append(found, tid)
		}
	}
	return found
}

// allIn reports whether all threads of a process that have not ended are in a state of proc(5).
func allIn(pid int, state byte) bool {
	tids, _ := procfs.Threads(pid)
	for _, tid := range tids {
		if now := procfs.ThreadState(pid, tid); now != state && now != 0 && now != 'Z' && now != 'X' {
			return false
		}
	}
	return true
}
