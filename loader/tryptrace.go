package loader

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// probePtrace seizes a process of the tool's own, as exec does with what is to
// become the program.
func probePtrace() error {
	return withSeized(func(int) error { return nil })
}

func probeSyscallInfo() error {
	return withSeized(func(pid int) error {
		_, err := syscallInfo(pid)
		if errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL) {
			return &NeedError{What: "PTRACE_GET_SYSCALL_INFO is missing", Remedy: "boot Linux 5.3 or later", Err: err}
		}
		return err
	})
}

// withSeized calls f while a process of the tool's own is stopped under
// ptrace, on the thread that traces it.
func withSeized(f func(pid int) error) error {
	held, err := startHeld(heldPlan{}, nil)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	onOneThread(func() { done <- seizeAnd(held.cmd.Process.Pid, f) })
	err = <-done
	held.abandon()
	return err
}

func seizeAnd(pid int, f func(pid int) error) error {
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0, ptraceOptions); err != nil {
		return explainPtrace(err)
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

// explainPtrace says why a process of the tool's own may not be traced.
func explainPtrace(err error) error {
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if who := tracedBy(); who != "" {
		return &NeedError{What: "the tool itself is traced by " + who, Remedy: "start tracepredict without " + who, Err: err}
	}
	c := readCircumstances()
	if scope, ok, _ := readSetting("kernel.yama.ptrace_scope"); ok {
		if need := c.judgeYama(scope); need != nil {
			return need
		}
	}
	if c.noPtrace {
		return &NeedError{What: "the kernel forbids tracing without " + capSysPtrace, Remedy: c.privilegeRemedy(), Err: err}
	}
	return &NeedError{What: "tracing is forbidden (a container's filter of system calls?)",
		Remedy: "start the container with --cap-add SYS_PTRACE --security-opt seccomp=unconfined", Err: err}
}

func probeNotTraced() error {
	if who := tracedBy(); who != "" {
		return &NeedError{What: "traced by " + who + ": programs that it follows cannot be held", Remedy: "start tracepredict without " + who}
	}
	return nil
}

// tracedBy names the process that traces the tool, "" if none does.
func tracedBy() string { return tracerOf("self") }
