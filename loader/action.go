package loader

import (
	"errors"
	"fmt"
	"os"

	"github.com/tracepredict/tracepredict/loader/target"
	"golang.org/x/sys/unix"
)

// Signal sends a signal to the first process. It returns target.ErrEnded if the process has
// ended. If the tool lacks the right to send a signal, the error says why.
func (s *Session) Signal(sig unix.Signal) error {
	s.mu.Lock()
	process := s.target
	s.mu.Unlock()
	err := os.ErrProcessDone
	if process != nil {
		err = process.Signal(sig)
	}
	switch {
	case err == nil:
		s.sentSignals.Or(1 << sig)
		return nil
	case errors.Is(err, os.ErrProcessDone):
		return target.ErrEnded
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("send %s to process %d: the observation has given up the rights of root, and the process is another user's", unix.SignalName(sig), s.PID())
	}
	return fmt.Errorf("send %s to process %d: %w", unix.SignalName(sig), s.PID(), err)
}

// SignalThread sends a signal to a thread of the first process, by the kernel's ID. It returns target.ErrEnded if there is
// none any more.
func (s *Session) SignalThread(tid uint32, sig unix.Signal) error {
	err := unix.Tgkill(s.PID(), int(tid), sig)
	switch {
	case err == nil:
		s.sentSignals.Or(1 << sig)
		return nil
	case errors.Is(err, unix.ESRCH):
		return target.ErrEnded
	}
	return fmt.Errorf("send %s to thread %d of process %d: %w", unix.SignalName(sig), tid, s.PID(), err)
}

// sent reports whether Signal or SignalThread has sent a signal to the first process.
func (s *Session) sent(sig unix.Signal) bool {
	return sig != 0 && s.sentSignals.Load()>>sig&1 != 0
}

// DumpCore ends the first process with a core dump, by SIGABRT. It first raises the process's
// limit on the size of core dumps to the hard limit, as the process itself could.
// /proc/sys/kernel/core_pattern determines where the kernel puts the file.
func (s *Session) DumpCore() error {
	if err := s.Signal(0); err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(s.PID(), unix.RLIMIT_CORE, nil, &limit); err == nil && limit.Cur < limit.Max {
		limit.Cur = limit.Max
		if err := unix.Prlimit(s.PID(), unix.RLIMIT_CORE, &limit, nil); err != nil {
			return fmt.Errorf("raise the limit on core dumps of process %d: %w", s.PID(), err)
		}
	}
	return s.Signal(unix.SIGABRT)
}
