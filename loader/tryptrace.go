package loader

import (
	"errors"

	"golang.org/x/sys/unix"
)

// probePtrace seizes a process of the tool's own.
func probePtrace() error {
	return try(func(int) error { return nil }, explainPtrace)
}

func probeSyscallInfo() error {
	return try(func(pid int) error {
		_, err := syscallInfo(pid)
		if errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL) {
			return &NeedError{What: "PTRACE_GET_SYSCALL_INFO is missing", Remedy: "boot Linux 5.3 or later", Err: err}
		}
		return err
	}, explainPtrace)
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
		if need := judgeYama(c, scope); need != nil {
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
