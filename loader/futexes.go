package loader

import (
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
)

// FutexWaits returns, after the observation, the waits for futexes that Options.Plan asks for. Those that had not ended end with it, and
// nobody has ended them.
func (s *Session) FutexWaits() (attach.FutexWaits, error) { return s.futexes, s.futexesErr }

// futexWaiting returns the waits for futexes that go on now.
func (s *Session) futexWaiting() []attach.FutexSum {
	if !s.opts.Plan.Futexes || s.futexesRead {
		return nil
	}
	waiting, err := s.tracer.FutexWaiting()
	if err != nil || len(waiting) == 0 {
		s.futexesErr = err
		return nil
	}
	threads, err := s.tracer.Sleepers()
	if err != nil {
		s.futexesErr = err
		return nil
	}
	var sums []attach.FutexSum
	end := s.end.Load()
	for i := range threads {
		thread := uint64(threads[i].Tgid)<<32 | uint64(threads[i].Tid)
		wait, ok := waiting[thread]
		if call := threads[i].Call; !ok || call != unix.SYS_FUTEX && call != unix.SYS_RESTART_SYSCALL || wait.Since > end {
			continue // it was left by a signal handler
		}
		sums = append(sums, attach.FutexSum{
			FutexKey: bpf.FutexKey{Thread: thread, Word: wait.Word, Stack: wait.Stack},
			FutexSum: bpf.FutexSum{Waits: 1, Ns: end - wait.Since},
		})
	}
	return sums
}

// readFutexes reads the waits for futexes once all probes are removed. waiting are those that went on then.
func (s *Session) readFutexes(waiting []attach.FutexSum) {
	if !s.opts.Plan.Futexes || s.futexesRead {
		return
	}
	s.futexesRead = true
	if s.futexesErr != nil {
		return
	}
	s.futexes, s.futexesErr = s.tracer.FutexWaits()
	s.futexes.Sums = append(s.futexes.Sums, waiting...)
}
