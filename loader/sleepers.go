package loader

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
)

// Sleepers lists what the threads of the observed processes are doing. No thread is
// stopped for it. The error is ErrEnded when the observation has ended.
func (s *Session) Sleepers() ([]bpf.Sleeper, error) {
	s.mu.Lock() // the programs stay while it is held
	defer s.mu.Unlock()
	if s.over {
		return nil, target.ErrEnded
	}
	return s.tracer.Sleepers()
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

// Caught returns the signals for which a process has handlers: bit n-1 is signal n. Ok
// is false if that cannot be read.
func (s *Session) Caught(pid int) (mask uint64, ok bool) {
	status, err := procfs.Status(strconv.Itoa(pid))
	if err != nil {
		return 0, false
	}
	mask, err = strconv.ParseUint(status["SigCgt"], 16, 64)
	return mask, err == nil
}

// Between calls f once on the goroutine that hands records on, between two of them
// and after all that were there when Between was called, and returns then. It returns
// false if that goroutine has ended, and f was not called.
func (s *Session) Between(f func()) bool { return s.tracer.Ring.Between(f, s.readDone) }
