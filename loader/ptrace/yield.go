package ptrace

import (
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// How the tracer makes way for a program that traces. Problem: a thread has one tracer at most, so what a program
// traces itself, as debuggers, sandboxes and supervisors do, would refuse it while the tool traces it; a child that
// stops to be traced would then stop for ever. Solution: at the system call ptrace, a BPF program sends a thread that
// asks for a tracee, or a tracer, a signal that does nothing. So the thread stops when the call has failed. The tracer
// then detaches from the thread that is to be traced, and has the kernel execute the call again. What the program
// traces from then on is observed, but neither held nor seen in time when it executes another program.
//
// The first process has no other tracer: the tool is its parent.

// Ask is what a thread asked of ptrace.
type Ask struct {
	PID     int // the process of the thread that asked
	Tracee  int // the process of the thread that is to be traced
	TraceMe bool
	Yielded bool // Tracee is not traced by the tool any more; else the call has failed
}

// asker is a thread that waits in a stop until another is not traced any more.
type asker struct {
	tid int
	ask Ask
}

// request is a call of ptrace by a thread that waits in a stop.
type request struct {
	traceMe bool
	target  int // thread to be traced
}

// asks handles the stop of a thread by the signal that is sent to it at the system call ptrace. It reports whether the
// stop was one, and the thread has been resumed, or will be.
func (t *Tracee) asks(tid int) (bool, error) {
	call, failed, ok := traceRequest(tid)
	if !ok {
		return false, nil
	}
	if !failed {
		return true, t.resume(tid, 0)
	}
	ask := Ask{PID: ProcessOf(tid), Tracee: ProcessOf(call.target), TraceMe: call.traceMe}
	switch {
	case ask.Tracee == 0 || !tracedByThis(call.target):
		return true, t.resume(tid, 0) // it has failed for another reason
	case ask.Tracee == t.pid || !t.follow || ask.Tracee == ask.PID && !call.traceMe:
		t.OnAsk(ask)
		return true, t.resume(tid, 0)
	}
	ask.Yielded = true
	if call.traceMe {
		t.yields(ask)
		repeatCall(tid)
		return true, t.detach(tid, 0)
	}
	t.waiting[call.target] = append(t.waiting[call.target], asker{tid, ask})
	_ = ptrace(unix.PTRACE_INTERRUPT, call.target, 0, 0) // it may have ended, which threadEnded handles
	return true, nil
}

// yieldStopped handles a stop of a thread that others wait for to be able to trace it.
func (t *Tracee) yieldStopped(tid int, ws unix.WaitStatus) error {
	sig := ws.StopSignal()
	switch event := int(uint32(ws) >> 16); {
	case event == unix.PTRACE_EVENT_STOP && sig == unix.SIGTRAP:
		t.firstStop(tid)
		sig = 0
	case event == unix.PTRACE_EVENT_EXEC:
		if err := t.OnExec(tid); err != nil && !killed(tid) {
			return err
		}
		sig = 0
	case event != 0 || sig == syscallStop:
		sig = 0
	}
	for _, a := range t.waiting[tid] {
		t.yields(a.ask)
	}
	if err := t.detach(tid, sig); err != nil {
		return err
	}
	return t.answer(tid)
}

// yields says that a process will be traced by the program.
func (t *Tracee) yields(a Ask) {
	t.OnAsk(a)
	if t.Throttle != nil {
		t.Throttle.recordObstacle(a.Tracee, obstacle(a.Tracee))
	}
}

// answer has the threads go on that wait for one which is not traced any more, or has ended.
func (t *Tracee) answer(tid int) error {
	waiting := t.waiting[tid]
	delete(t.waiting, tid)
	for _, a := range waiting {
		repeatCall(a.tid)
		if err := t.resume(a.tid, 0); err != nil {
			return err
		}
	}
	return nil
}

// detach ends the tracing of a thread, which is in a stop.
func (t *Tracee) detach(tid int, sig unix.Signal) error {
	delete(t.loading, tid)
	delete(t.forked, tid)
	return ignoreEnded(ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig)))
}

// forgetAsker forgets that a thread, which has ended, waits for others.
func (t *Tracee) forgetAsker(tid int) {
	for target, askers := range t.waiting {
		t.waiting[target] = slices.DeleteFunc(askers, func(a asker) bool { return a.tid == tid })
	}
}

// ProcessOf returns the ID of a thread's process; 0 if it has ended.
func ProcessOf(tid int) int { return statusNumber(tid, "Tgid") }

// tracedByThis reports whether the calling thread traces a thread.
func tracedByThis(tid int) bool { return statusNumber(tid, "TracerPid") == unix.Gettid() }

func statusNumber(tid int, key string) int {
	status, err := procfs.Status(strconv.Itoa(tid))
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(status[key])
	return n
}

// obstacle returns why a process that the program traces cannot be made to wait.
func obstacle(pid int) string {
	return fmt.Sprintf("process %d is traced by the program, so it could not be made to wait", pid)
}
