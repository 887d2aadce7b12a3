package ptrace

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/ring"
)

// How nothing is lost. Problem: the program makes records faster than they are
// analysed, and the ring buffer between is finite. So the program must wait;
// but a wait in BPF starves our own reader, and a stop signal outlives a tool
// that is killed. So: ptrace, which the kernel undoes when the tracer dies. A
// watcher that does nothing else, so that neither an analysis nor an output pipe
// can keep it, looks at how full the ring buffer is. Past the high mark the threads
// that run are interrupted; below the low mark they go on.
//
// Threads that block in the kernel are left alone: they make no events, and a
// blocking call that is interrupted may end with EINTR, which the program may not
// expect. Where one begins to block just when it is interrupted, its call is
// made to start again (see resumeCall).
//
// A started program is traced already, so its tracer does it (tracee.run); the
// watcher rings the tracer's bell. A program that was found is seized for the
// length of a hold alone, and is free for a debugger at all other times.

const (
	idlePause = 5 * time.Millisecond // between looks at the ring buffer
	busyPause = time.Millisecond     // once 1/lowMark is unread, and during a hold
)

// ringFill tells how full a ring buffer is, in bytes.
type ringFill interface {
	AvailableBytes() int
	BufferSize() int
}

// Brake makes the threads of the observed processes wait while the ring buffer is too
// full. The counts may be read at any time.
type Brake struct {
	ring ringFill
	pids func() []int // the processes to hold; must not block
	off  atomic.Bool  // no hold any more

	mu        sync.Mutex // guards what follows; a leaf
	holds     int
	held      time.Duration
	obstacles map[int]string // why a process could not be made to wait
	absent    time.Duration  // longest time that the watcher could not run
}

// NewBrake returns a brake that looks at a ring buffer.
func NewBrake(ring ringFill, pids func() []int) *Brake { return &Brake{ring: ring, pids: pids} }

// Waits returns how often and how long the threads were made to wait.
func (b *Brake) Waits() (times int, d time.Duration) {
	if b == nil {
		return 0, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.holds, b.held
}

// wanted: the ring buffer is so full that the program must wait.
func (b *Brake) wanted() bool {
	return b != nil && !b.off.Load() && b.ring.AvailableBytes() >= b.ring.BufferSize()/ring.HighMark
}

// enough: it may go on.
func (b *Brake) enough() bool {
	return b.off.Load() || b.ring.AvailableBytes() <= b.ring.BufferSize()/ring.LowMark
}

// Release ends a hold and lets no other begin.
func (b *Brake) Release() {
	if b != nil {
		b.off.Store(true)
	}
}

// Watch calls press whenever the ring buffer is too full, until the brake is off. The
// kernel wakes it, through epoll, when the reader is to be woken; between it looks by itself.
func (b *Brake) Watch(epoll int, press func()) {
	var events [1]unix.EpollEvent
	for !b.off.Load() {
		pause := idlePause
		if b.ring.AvailableBytes() >= b.ring.BufferSize()/ring.LowMark {
			pause = busyPause
		}
		if b.wanted() {
			press()
		}
		before := time.Now()
		_, _ = unix.EpollWait(epoll, events[:], int(pause/time.Millisecond)) // whatever it says, we look
		b.WasAbsent(time.Since(before) - pause)
	}
}

// WasAbsent records for how long the watcher could not run.
func (b *Brake) WasAbsent(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.absent = max(b.absent, d)
}

func (b *Brake) count(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds++
	b.held += d
}

// obstacle keeps the first reason for each process.
func (b *Brake) obstacle(pid int, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.obstacles == nil {
		b.obstacles = map[int]string{}
	}
	if _, known := b.obstacles[pid]; !known && len(b.obstacles) < maxObstacles {
		b.obstacles[pid] = why
	}
}

const (
	maxObstacles = 8
	// longAbsence is longer than a machine with a core to spare keeps a thread
	// from running.
	longAbsence = 100 * time.Millisecond
)

// Notes are sentences on the waits, and, where events were lost, on why.
func (b *Brake) Notes(lost bool) []string {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var notes []string
	if b.holds > 0 {
		times := "once"
		if b.holds > 1 {
			times = fmt.Sprintf("%d times", b.holds)
		}
		notes = append(notes, fmt.Sprintf("the program was made to wait %s, %.3f s in all, for tracepredict to catch up", times, b.held.Seconds()))
	}
	if !lost {
		return notes
	}
	for _, pid := range slices.Sorted(maps.Keys(b.obstacles)) {
		notes = append(notes, b.obstacles[pid])
	}
	switch {
	case len(b.obstacles) > 0:
	case b.absent >= longAbsence:
		notes = append(notes, fmt.Sprintf("tracepredict itself was stopped, or kept from running, for %.1f s, so the program could not be made to wait: a larger --ring gives it more time", b.absent.Seconds()))
	default:
		notes = append(notes, "the ring buffer was full before the program could be made to wait: give a larger --ring")
	}
	return notes
}

// Hurry asks that the calling operating system thread, which must be locked to
// its goroutine, runs soon after it has woken up, for it looks and goes to sleep
// again: an urgent thread where the tool may ask for that, and short turns, which
// anybody may have since Linux 6.12. Without both it works, on busy machines later.
func Hurry() {
	const shortTurn = 100_000 // ns; the least that the kernel takes
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: -20, Runtime: shortTurn}
	if unix.SchedSetAttr(0, &attr, 0) == nil {
		return
	}
	if own, err := unix.SchedGetAttr(0, 0); err == nil {
		own.Runtime = shortTurn
		_ = unix.SchedSetAttr(0, own, 0)
	}
}

// SpareProcessors returns Go's scheduler processors for the watcher and the tracer
// beside those of the others: a thread that comes back from the kernel must find
// one free, and on a busy machine those there are may belong to threads of ours that
// the kernel keeps from running. It gives the number before.
func SpareProcessors() (before int) {
	return runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
}

// nap sleeps for the time between two looks during a hold.
func nap() {
	ts := unix.NsecToTimespec(int64(busyPause))
	_ = unix.Nanosleep(&ts, nil)
}

// nextStop reaps what the calling thread's tracees have to tell: tid 0 if
// nothing. Without block it does not wait; a wait may end early.
func nextStop(block bool) (tid int, ws unix.WaitStatus, err error) {
	options := unix.WALL | unix.WNOTHREAD
	if !block {
		options |= unix.WNOHANG
	}
	tid, err = unix.Wait4(-1, &ws, options, nil)
	if errors.Is(err, unix.EINTR) {
		return 0, 0, nil
	}
	return tid, ws, err
}

// interruption reports whether a stop may have interrupted a system call that
// the program would not have seen interrupted.
func interruption(ws unix.WaitStatus) bool {
	event := int(uint32(ws) >> 16)
	return ws.Stopped() && ws.StopSignal() != syscallStop && (event == 0 || event == unix.PTRACE_EVENT_STOP)
}
