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

// How no event is lost. Problem: the program makes records faster than they are analysed, and
// the ring buffer between is finite. So the program must wait; but a wait in BPF starves the
// reader, and a stop signal outlives a tool that is killed. Solution: ptrace, which the kernel
// undoes when the tracer dies. A watcher looks at how full the ring buffer is. It does nothing
// else, so that neither an analysis nor an output pipe delays it. Above the high mark the
// threads that run are interrupted; below the low mark they run again.
//
// Threads that block in the kernel are left alone: they make no events, and a blocking call that
// is interrupted may end with EINTR, which the program may not expect. If a thread begins to
// block just when it is interrupted, its call is restarted (see resumeCall).
//
// A started program is traced already, so its tracer holds it (Tracee.updateHold); the watcher
// wakes the tracer by a waker. A program that was found is seized only for the duration of a
// hold, and can be traced by a debugger at all other times.

const (
	idlePause = 5 * time.Millisecond // between looks at the ring buffer
	busyPause = time.Millisecond     // likewise, once 1/ring.LowMark is unread, and during a hold
)

// ringFill reports how full a ring buffer is, in bytes.
type ringFill interface {
	AvailableBytes() int
	BufferSize() int
}

// Throttle makes the threads of the observed processes wait while the ring buffer is too full, and while
// their probes are removed. Its counts may be read at any time.
type Throttle struct {
	ring     ringFill
	pids     func() []int  // returns the processes to hold; must not block
	released atomic.Bool   // no hold begins any more, and one under way ends
	leaving  atomic.Bool   // a hold lasts until Release, see Hold
	still    chan struct{} // closed during that hold: a look has found no thread that runs
	holding  atomic.Bool   // a hold goes on

	mu        sync.Mutex     // guards the fields below; no other lock is acquired while it is held
	holds     int            // number of holds
	held      time.Duration  // total time of the holds
	obstacles map[int]string // by process ID: why it could not be made to wait
	stall     time.Duration  // longest time for which the watcher could not run
}

// NewThrottle returns a Throttle that looks at a ring buffer.
func NewThrottle(ring ringFill, pids func() []int) *Throttle {
	return &Throttle{ring: ring, pids: pids, still: make(chan struct{})}
}

// Waits returns how often and how long the threads were made to wait.
func (t *Throttle) Waits() (times int, d time.Duration) {
	if t == nil {
		return 0, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holds, t.held
}

// needed reports whether the program must wait.
func (t *Throttle) needed() bool {
	return t != nil && !t.released.Load() && (t.leaving.Load() || t.ring.AvailableBytes() >= t.ring.BufferSize()/ring.HighMark)
}

// drained reports whether a hold is to end.
func (t *Throttle) drained() bool {
	return t.released.Load() || !t.leaving.Load() && t.ring.AvailableBytes() <= t.ring.BufferSize()/ring.LowMark
}

// The bounds of Hold.
const (
	maxSettling = time.Second     // until no thread runs
	maxLeaving  = 2 * time.Second // of the hold
)

// Hold makes the processes wait until Release, because the kernel removes probes slowly from a program that hits them:
// it waits for each thread that does. Hold returns once no thread of theirs runs, but after maxSettling at the latest,
// and the processes wait for maxLeaving at most. Watch must run, which ends then.
func (t *Throttle) Hold() {
	if t == nil || t.released.Load() {
		return
	}
	if !t.leaving.Swap(true) {
		time.AfterFunc(maxLeaving, t.Release)
	}
	select {
	case <-t.still:
	case <-time.After(maxSettling):
	}
}

// looked is called during a hold, by the thread that holds, after each look at the threads; running is the number of
// those that ran.
func (t *Throttle) looked(running int) {
	if running > 0 || !t.leaving.Load() {
		return
	}
	select {
	case <-t.still:
	default:
		close(t.still)
	}
}

// Released reports whether Release was called.
func (t *Throttle) Released() bool { return t.released.Load() }

// Release ends a hold and prevents others.
func (t *Throttle) Release() {
	if t != nil {
		t.released.Store(true)
	}
}

// Watch calls hold whenever the program must wait, until Release is called or hold returns false. It looks when
// the kernel wakes it through epoll, which is when the reader is woken too, and also every
// idlePause or busyPause.
func (t *Throttle) Watch(epoll int, hold func() (goOn bool)) {
	var events [1]unix.EpollEvent
	for !t.released.Load() {
		pause := idlePause
		if t.ring.AvailableBytes() >= t.ring.BufferSize()/ring.LowMark {
			pause = busyPause
		}
		if t.needed() && !hold() {
			return
		}
		before := time.Now()
		_, _ = unix.EpollWait(epoll, events[:], int(pause/time.Millisecond)) // Watch looks in any case
		t.RecordStall(time.Since(before) - pause)
	}
}

// RecordStall records a time for which the watcher could not run.
func (t *Throttle) RecordStall(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stall = max(t.stall, d)
}

// Holding reports whether threads are made to wait now.
func (t *Throttle) Holding() bool { return t != nil && t.holding.Load() }

// holdBegins returns a function to be called at the end of the hold that begins now, with whether threads were held. It
// counts the hold then, unless that is one of Hold.
func (t *Throttle) holdBegins() (ends func(held bool)) {
	t.holding.Store(true)
	began, leaving := time.Now(), t.leaving.Load()
	return func(held bool) {
		t.holding.Store(false)
		if held && !leaving {
			t.countHold(time.Since(began))
		}
	}
}

func (t *Throttle) countHold(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holds++
	t.held += d
}

// recordObstacle records why a process could not be made to wait. It keeps the first reason for
// each process.
func (t *Throttle) recordObstacle(pid int, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.obstacles == nil {
		t.obstacles = map[int]string{}
	}
	if _, known := t.obstacles[pid]; !known && len(t.obstacles) < maxObstacles {
		t.obstacles[pid] = why
	}
}

const (
	maxObstacles = 8 // processes of which a reason is kept
	// longStall is longer than a thread has to wait for a processor on a machine that has one
	// to spare.
	longStall = 100 * time.Millisecond
)

// Notes returns sentences on the waits and, if events were lost, on the reason.
func (t *Throttle) Notes(lost bool) []string {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var notes []string
	if t.holds > 0 {
		times := "once"
		if t.holds > 1 {
			times = fmt.Sprintf("%d times", t.holds)
		}
		notes = append(notes, fmt.Sprintf("the program was made to wait %s, %.3f s in all, for tracepredict to catch up", times, t.held.Seconds()))
	}
	if !lost {
		return notes
	}
	for _, pid := range slices.Sorted(maps.Keys(t.obstacles)) {
		notes = append(notes, t.obstacles[pid])
	}
	switch {
	case len(t.obstacles) > 0:
	case t.stall >= longStall:
		notes = append(notes, fmt.Sprintf("tracepredict itself was stopped, or kept from running, for %.1f s, so the program could not be made to wait: a larger --ring gives it more time", t.stall.Seconds()))
	default:
		notes = append(notes, "the ring buffer was full before the program could be made to wait: give a larger --ring")
	}
	return notes
}

// SpareProcessors adds two processors to Go's scheduler (GOMAXPROCS), for the watcher and the
// tracer. A thread that returns from a system call must find one free, and on a busy machine the
// others may belong to threads of the tool that the kernel does not run at present. It returns
// the former number.
func SpareProcessors() (before int) {
	return runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
}

// pauseBriefly sleeps for busyPause, or for as long as what was done before took: a look at thousands of threads takes
// long, and the reader needs the processor.
func pauseBriefly(after time.Duration) {
	ts := unix.NsecToTimespec(int64(max(busyPause, after)))
	_ = unix.Nanosleep(&ts, nil)
}

// nextStop returns the next stop or end of a tracee of the calling thread; tid 0 if there is
// none. It waits for one only with block, and that wait may end early. It takes nothing of the
// children that the thread has started and does not trace, as it would with WALL: not their ends,
// for which others wait, nor their stops, which another thread of the tool handles if that traces
// them. WCLONE excludes those, since they end with SIGCHLD, and no tracee.
func nextStop(block bool) (tid int, ws unix.WaitStatus, err error) {
	options := unix.WCLONE | unix.WNOTHREAD
	if !block {
		options |= unix.WNOHANG
	}
	tid, err = unix.Wait4(-1, &ws, options, nil)
	if errors.Is(err, unix.EINTR) {
		return 0, 0, nil
	}
	return tid, ws, err
}

// interruption reports whether a stop may have interrupted a system call that would not have
// been interrupted without the tool.
func interruption(ws unix.WaitStatus) bool {
	event := int(uint32(ws) >> 16)
	return ws.Stopped() && ws.StopSignal() != syscallStop && (event == 0 || event == unix.PTRACE_EVENT_STOP)
}
