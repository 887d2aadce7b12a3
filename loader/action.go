package loader

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Signal sends a signal to the first process, if it still runs. An error says
// which right is missing.
func (s *Session) Signal(sig unix.Signal) error {
	pid := s.PID()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	switch err {
	case nil, unix.ESRCH:
		return nil
	case unix.EPERM:
		return fmt.Errorf("send %s to process %d: the observation has given up the rights of root, and the process is another user's", unix.SignalName(sig), pid)
	}
	return fmt.Errorf("send %s to process %d: %w", unix.SignalName(sig), pid, err)
}

// DumpCore ends the first process with a core dump: SIGABRT, with the limit on the
// size of cores raised as far as the process itself could. Where the kernel puts
// the file is /proc/sys/kernel/core_pattern's affair.
func (s *Session) DumpCore() error {
	var limit unix.Rlimit
	if err := unix.Prlimit(s.PID(), unix.RLIMIT_CORE, nil, &limit); err == nil && limit.Cur < limit.Max {
		limit.Cur = limit.Max
		if err := unix.Prlimit(s.PID(), unix.RLIMIT_CORE, &limit, nil); err != nil {
			return fmt.Errorf("raise the limit on core dumps of process %d: %w", s.PID(), err)
		}
	}
	return s.Signal(unix.SIGABRT)
}
