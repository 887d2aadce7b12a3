package loader

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
)

// Sleepers lists what the threads of the observed processes are doing. No thread is
// stopped for it. The error is ErrEnded when the observation has ended.
func (s *Session) Sleepers() ([]bpf.Sleeper, error) {
	s.mu.Lock() // the programs stay while it is held
	defer s.mu.Unlock()
	if s.over {
		return nil, ErrEnded
	}
	lines, err := iterate[bpf.Sleeper](s.tracer.objs.ListSleepers)
	if err != nil {
		return nil, fmt.Errorf("ask what the threads are doing: %w", err)
	}
	return lines, nil
}

// ReadMemory fills b from the memory of a process; false if it cannot be read.
func (s *Session) ReadMemory(pid int, addr uint64, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
	return err == nil && n == len(b)
}

// Caught gives the signals for which a process has handlers: bit n-1 is signal n. Ok
// is false if that cannot be read.
func (s *Session) Caught(pid int) (mask uint64, ok bool) {
	status, err := readStatus(strconv.Itoa(pid))
	if err != nil {
		return 0, false
	}
	mask, err = strconv.ParseUint(status["SigCgt"], 16, 64)
	return mask, err == nil
}

// visit is what somebody wants done between two records.
type visit struct {
	do    func()
	after uint64 // position in the ring that must have been read
	done  chan struct{}
}

// Between calls f once on the goroutine that hands records on, between two of them
// and after all that were there when Between was called, and returns then; false: that
// goroutine has ended, and f was not called.
func (s *Session) Between(f func()) bool {
	v := visit{f, s.tracer.reader.written(), make(chan struct{})}
	select {
	case s.tracer.visits <- v:
	case <-s.readDone:
		return false
	}
	select {
	case <-v.done:
		return true
	case <-s.readDone:
	}
	select {
	case <-v.done: // at the last moment
		return true
	default:
		return false
	}
}

// serve lets in who waits at Between, as far as all has been read that they want; at
// is what has been.
func (t *Tracer) serve(at uint64) {
	for {
		if t.visitor == nil {
			select {
			case v := <-t.visits:
				t.visitor = &v
			default:
				return
			}
		}
		if t.visitor.after > at {
			return
		}
		v := t.visitor
		t.visitor = nil
		v.do()
		close(v.done)
	}
}
