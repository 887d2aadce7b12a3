package loader

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/target"
)

// ErrNotBegun means that the run ended before all probes were in: nothing was observed, and the
// absence of findings means nothing.
var ErrNotBegun = errors.New("nothing was observed: the observation had not begun")

// abandon ends the planning of probes, if the program does not run yet, with a reason and the exit
// status of the tool.
func (s *Session) abandon(status int, reason string) {
	s.abandoned.CompareAndSwap(nil, &target.ExitError{Code: status, Err: fmt.Errorf("%w: %s", ErrNotBegun, reason)})
}

// checkAbandoned returns the error of a session that was abandoned before the program ran. The
// caller holds s.mu.
func (s *Session) checkAbandoned() error {
	if err := s.abandoned.Load(); err != nil && !s.running {
		return err
	}
	return nil
}

// interrupted abandons the session if a signal will end the program before its first instruction.
func (s *Session) interrupted(sig unix.Signal) {
	if status, err := procfs.Status(strconv.Itoa(s.PID())); err == nil && !ignores(status, sig) {
		s.abandon(signalStatus(sig), fmt.Sprintf("%s came while the probes were being planned", unix.SignalName(sig)))
	}
}

// ignores reports whether a process ignores a signal, or its default action does not end a process.
func ignores(status map[string]string, sig unix.Signal) bool {
	mask, err := strconv.ParseUint(status["SigIgn"], 16, 64)
	return err != nil || mask>>(uint(sig)-1)&1 != 0 || sig == unix.SIGTSTP
}

// signalStatus returns the exit status of a shell's command that a signal has ended.
func signalStatus(sig unix.Signal) int { return ptrace.Exit{Signal: sig}.Code() }

// endedEarly returns the error of a program that ended before all probes were in.
func endedEarly(exit ptrace.Exit) error {
	how, status := fmt.Sprintf("the program ended with status %d", exit.Status), exit.Code()
	if exit.Signal != 0 {
		how = fmt.Sprintf("the program was ended by %s", unix.SignalName(exit.Signal))
	}
	if status == 0 {
		status = target.ExitFailed
	}
	return &target.ExitError{Code: status, Err: fmt.Errorf("%w: %s before its first instruction after loading its libraries", ErrNotBegun, how)}
}
