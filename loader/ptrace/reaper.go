package ptrace

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// A thread that has ended is a zombie of its tracer until that waits for it. While the tracer handles a stop, which takes
// seconds where a large program gets its probes, the program would see threads that it has joined: chromium's sandbox
// counts its threads before it begins, and aborts. So another thread waits for those meanwhile. It need not be the tracer
// for that.

// reapEvery is the time between two looks for such threads; a stop is handled for so long before the first.
const reapEvery = 10 * time.Millisecond

// reaper waits for threads that end while the tracer is busy. The zero value is ready.
type reaper struct {
	group safely.Group
	quit  chan struct{}

	mu    sync.Mutex // guards the fields below; held while a thread is waited for
	busy  bool       // the tracer handles a stop
	since time.Time  // it does from then on
	pids  []int      // the traced processes
	ended []int      // the threads that were waited for, for the tracer
}

// start starts to look for threads that end, until halt.
func (r *reaper) start() {
	r.quit = make(chan struct{})
	r.group.Go(func() {
		each := time.NewTicker(reapEvery)
		defer each.Stop()
		for {
			select {
			case <-r.quit:
				return
			case now := <-each.C:
				r.reap(now)
			}
		}
	})
}

// halt ends that goroutine.
func (r *reaper) halt() {
	close(r.quit)
	r.group.Wait()
}

// begin says that the tracer handles a stop; the threads of pids are waited for until finish.
func (r *reaper) begin(pid int, forked map[int]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy, r.since = true, time.Now()
	r.pids = append(slices.AppendSeq(r.pids[:0], maps.Keys(forked)), pid)
}

// finish says that the stop is handled, and returns the threads that were waited for meanwhile.
func (r *reaper) finish() (ended []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
	ended, r.ended = r.ended, nil
	return ended
}

// reap waits for the threads that have ended, but not for first threads: the ends of processes are the tracer's.
func (r *reaper) reap(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.busy || now.Sub(r.since) < reapEvery {
		return
	}
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
