package loader

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/ring"
)

// ringWatcher watches the ring buffer, and makes the program wait while it is too full.
type ringWatcher struct {
	ring     *ring.Buffer
	throttle *ptrace.Throttle // nil: the program is never made to wait
	thread   *ptrace.Thread
	failed   func(*safely.Panic)

	done       chan struct{} // closed when the goroutine of watch has returned; nil without one
	processors int           // GOMAXPROCS before that was started
}

// watch starts the goroutine that watches the ring buffer, which calls hold when the program must wait. A hold that
// takes long delays that goroutine alone. Where hold returns false, the goroutine's operating system thread must end,
// and another goroutine goes on.
func (w *ringWatcher) watch(hold func() bool) error {
	if w.throttle == nil {
		return nil
	}
	epoll, err := w.ring.WakeUps()
	if err != nil {
		return err
	}
	w.done = make(chan struct{})
	w.processors = ptrace.SpareProcessors()
	watching := make(chan struct{})
	w.start(w.thread, epoll, hold, sync.OnceFunc(func() { close(watching) }))
	<-watching
	return nil
}

// start calls watching when the goroutine of watch runs, or has panicked.
func (w *ringWatcher) start(on *ptrace.Thread, epoll int, hold func() bool, watching func()) {
	due := time.Now()
	on.Run(func() {
		ended := true
		defer func() {
			if ended {
				unix.Close(epoll)
				close(w.done)
			}
			watching()
		}()
		w.throttle.RecordStall(time.Since(due))
		watching()
		w.throttle.Watch(epoll, hold)
		if !w.throttle.Released() {
			ended = false
			w.start(nil, epoll, hold, watching)
		}
	}, w.failed)
}

// hold makes the program wait if it can be made to.
func (w *ringWatcher) hold() {
	if w.done != nil {
		w.throttle.Hold()
	}
}

// stop ends what watch has started.
func (w *ringWatcher) stop() {
	if w.done != nil {
		w.throttle.Release()
		<-w.done
		runtime.GOMAXPROCS(w.processors)
	}
}

// endThreads ends those of the session's threads that were not needed.
func (s *Session) endThreads() {
	s.ring.thread.End()
	s.tracing.End()
}

// Holding reports whether the program is made to wait for the reader now.
func (s *Session) Holding() bool { return s.ring.throttle.Holding() }

// RingUse is how full the ring buffer became, and how long the program waited because of it.
type RingUse struct {
	Bytes     uint64        // size of the ring buffers, all together
	HighWater uint64        // most unread bytes that the reader has seen, as if all had had as many as the one that had most
	Late      uint64        // records that came too late for their place in the order: there are holes
	Waits     int           // number of times that the program was made to wait
	Waited    time.Duration // total time of these waits
}

// RingUse returns the use of the ring buffer. It is valid once the session has ended.
func (s *Session) RingUse() RingUse {
	r := s.ring.ring
	u := RingUse{Bytes: uint64(r.BufferSize()), HighWater: r.HighWater(), Late: r.Late()}
	u.Waits, u.Waited = s.ring.throttle.Waits()
	return u
}
