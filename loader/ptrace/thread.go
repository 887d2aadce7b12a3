package ptrace

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
)

// OnOneThread runs f on an operating system thread of its own, as ptrace requires. The thread
// ends when f returns or panics; then failed is called before.
func OnOneThread(f func(), failed func(*safely.Panic)) {
	safely.Go(func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// The process's first thread does not end with its goroutine. So this goroutine keeps it
		// until f runs on another thread, and then releases it.
		started := make(chan struct{})
		OnOneThread(func() {
			close(started)
			f()
		}, failed)
		<-started
		runtime.UnlockOSThread()
	}, failed)
}

// Thread is an operating system thread with raised priority that waits for what it is to do. It exists before the tool
// drops CAP_SYS_NICE, after which no thread can get that priority, and need not wait for its first turn on a busy machine
// when it is needed.
type Thread struct {
	work chan task
	end  sync.Once
}

// task is what a Thread does, and what is called if that panics.
type task struct {
	f      func()
	failed func(*safely.Panic)
}

// NewThread starts a thread and raises its priority.
func NewThread() *Thread {
	t := &Thread{work: make(chan task, 1)}
	ready := make(chan struct{})
	OnOneThread(func() {
		raisePriority()
		close(ready)
		todo, needed := <-t.work
		if !needed {
			return
		}
		if p := safely.Call(todo.f); p != nil {
			todo.failed(p)
		}
	}, func(*safely.Panic) {}) // the task's panics are handled above
	<-ready
	return t
}

// Run runs f on the thread, once, as OnOneThread does. Without a thread it starts one, and raises its priority as far as
// the tool still may.
func (t *Thread) Run(f func(), failed func(*safely.Panic)) {
	if t == nil {
		OnOneThread(func() {
			raisePriority()
			f()
		}, failed)
		return
	}
	t.work <- task{f, failed}
}

// End ends a thread that has not been used. It does nothing to one that has.
func (t *Thread) End() {
	if t != nil {
		t.end.Do(func() { close(t.work) })
	}
}

// raisePriority requests that the calling operating system thread, which must be locked to its
// goroutine, runs soon after it wakes up, since it only looks and sleeps again. It requests a
// high priority, which needs CAP_SYS_NICE, and short time slices, which anybody may have since
// Linux 6.12. Without both the thread works, but later on a busy machine.
func raisePriority() {
	const shortTurn = 100_000 // ns; the shortest time slice that the kernel accepts
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: -20, Runtime: shortTurn}
	if unix.SchedSetAttr(0, &attr, 0) == nil {
		return
	}
	if own, err := unix.SchedGetAttr(0, 0); err == nil {
		own.Runtime = shortTurn
		_ = unix.SchedSetAttr(0, own, 0)
	}
}
