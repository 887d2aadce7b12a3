package ptrace

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// A thread that has ended is a zombie of its tracer until that waits for it. While the tracer handles a stop, which takes
// seconds where a large program gets its probes, the program would see threads that it has joined: chromium's sandbox
// counts its threads before it begins, and aborts. So another thread of the tool waits for those meanwhile: it need not be the
// tracer for that.

// reapEvery is the time between two looks for such threads; a stop is handled for so long before the first.
const reapEvery = 10 * time.Millisecond

// reaper waits for threads that end while the tracer is busy. The zero value is ready.
type reaper struct {
	mu    sync.Mutex  // guards the fields below; held while a thread is waited for
	next  *time.Timer // of the next look; nil: there was none yet
	busy  bool        // the tracer handles a stop
	pids  []int       // the traced processes
	ended []int       // the threads that were waited for, for the tracer
}

// begin says that the tracer handles a stop; the threads of pids are waited for until finish.
func (r *reaper) begin(pid int, forked map[int]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = true
	r.pids = append(slices.AppendSeq(r.pids[:0], maps.Keys(forked)), pid)
	if r.next == nil {
		r.next = time.AfterFunc(reapEvery, r.reap)
	} else {
		r.next.Reset(reapEvery)
	}
}

// finish says that the stop is handled, and returns the threads that were waited for meanwhile.
func (r *reaper) finish() (ended []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
	r.next.Stop()
	ended, r.ended = r.ended, nil
	return ended
}

// reap waits for the threads that have ended, but not for first threads: the ends of processes are the tracer's.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.busy {
		return
	}
	defer r.next.Reset(reapEvery)
	for _, pid := range r.pids {
		procfs.EachZombie(pid, func(tid int) {
			var ws unix.WaitStatus
			if tid == pid {
				return
			}
			if got, err := unix.Wait4(tid, &ws, unix.WALL|unix.WNOHANG, nil); err == nil && got == tid {
				r.ended = append(r.ended, tid)
			}
		})
	}
}
