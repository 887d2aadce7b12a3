package ptrace

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
)

// Try calls f while a process of the tool's own is stopped under ptrace, as exec stops the
// process that is to become the program, and on the thread that traces it. explain converts the
// error if the process may not be traced.
func Try(f func(pid int) error, explain func(error) error) error {
	held, err := Start(Plan{}, nil)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	OnOneThread(func() { done <- seizeAnd(held.PID, f, explain) }, func(p *safely.Panic) { done <- p })
	err = <-done
	held.Abandon()
	return err
}

func seizeAnd(pid int, f func(pid int) error, explain func(error) error) error {
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0, ptraceOptions); err != nil {
		return explain(err)
	}
	if err := ptrace(unix.PTRACE_INTERRUPT, pid, 0, 0); err != nil {
		return fmt.Errorf("stop a process of the tool's own: %w", err)
	}
	if err := waitStop(pid); err != nil {
		return err
	}
	err := f(pid)
	if e := ptrace(unix.PTRACE_DETACH, pid, 0, 0); e != nil && err == nil {
		err = fmt.Errorf("let a process of the tool's own go: %w", e)
	}
	return err
}

func waitStop(pid int) error {
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(pid, &ws, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for a process of the tool's own: %w", err)
		case ws.Stopped():
			return nil
		default:
			return errors.New("a process of the tool's own ended early")
		}
	}
}
