package loader

import (
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
)

// Sleepers returns what each thread of the observed processes is doing, without stopping any. What the tool itself makes
// wait at the moment runs. It returns target.ErrEnded if the observation has ended.
func (s *Session) Sleepers() ([]bpf.Sleeper, error) {
	s.mu.Lock() // as long as it is held the BPF programs are not unloaded
	defer s.mu.Unlock()
	if s.ended {
		return nil, target.ErrEnded
	}
	held := s.Holding()
	lines, err := s.tracer.Sleepers()
	if held || s.Holding() {
		markRunning(lines)
	}
	return lines, err
}

// stateTraced is the state of a thread in a stop of its tracer's, __TASK_TRACED.
const stateTraced = 8

// markRunning makes the threads in a stop of the tool's, which only threads that run are brought to, ones that run.
func markRunning(lines []bpf.Sleeper) {
	for i := range lines {
		if lines[i].State&stateTraced != 0 {
			lines[i].State = 0
		}
	}
}

// ReadMemory fills b from the memory of a process at addr. It returns false if not all of it can
// be read. A first thread that has called pthread_exit has none any more; then another one's is read.
func (a *Spaces) ReadMemory(pid int, addr uint64, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}
	n, err := unix.ProcessVMReadv(pid, local, remote, 0)
	if err == unix.ESRCH {
		if tid := procfs.Living(pid); tid != pid {
			n, err = unix.ProcessVMReadv(tid, local, remote, 0)
		}
	}
	return err == nil && n == len(b)
}

// Sharing returns a function that reports whether the mapping at an address may be shared with other processes, as it is
// where that is not known. It reads the mappings once, when it is called for the first time.
func (a *Spaces) Sharing(pid int) func(addr uint64) bool {
	mappings := sync.OnceValue(func() []procfs.Mapping {
		maps, _ := procfs.Maps(pid) // none of a process that has ended
		return maps
	})
	return func(addr uint64) bool {
		maps := mappings()
		i := slices.IndexFunc(maps, func(m procfs.Mapping) bool { return m.Lo <= addr && addr < m.Hi })
		return i < 0 || maps[i].Shared
	}
}

// Caught returns the signals for which a process has handlers: bit n-1 stands for signal n. ok
// is false if that cannot be read.
func (a *Spaces) Caught(pid int) (mask uint64, ok bool) {
	status, err := procfs.Status(strconv.Itoa(pid))
	if err != nil {
		return 0, false
	}
	mask, err = strconv.ParseUint(status["SigCgt"], 16, 64)
	return mask, err == nil
}

// Between calls f once on the goroutine that passes records to the handler, between two records
// and after all those that were in the ring buffer when Between was called. It returns true
// after f has returned, and false, without having called f, if that goroutine has ended.
func (s *Session) Between(f func()) bool { return s.tracer.Ring.Between(f, s.readDone) }
