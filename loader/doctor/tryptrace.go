package doctor

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
)

// probePtrace seizes a process of the tool's own.
func probePtrace() error {
	return ptrace.Try(func(int) error { return nil }, explainPtrace)
}

func probeSyscallInfo() error {
	return ptrace.Try(func(pid int) error {
		_, err := ptrace.SyscallInfo(pid)
		if errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL) {
			return &need.Error{What: "PTRACE_GET_SYSCALL_INFO is missing", Remedy: "boot Linux 5.3 or later", Err: err}
		}
		return err
	}, explainPtrace)
}

// explainPtrace returns an error with the reason why a process of the tool's own may not be
// traced.
func explainPtrace(err error) error {
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if who := tracedBy(); who != "" {
		return &need.Error{What: "the tool itself is traced by " + who, Remedy: "start tracepredict without " + who, Err: err}
	}
	c := need.Read()
	if scope, ok, _ := procfs.Setting("kernel.yama.ptrace_scope"); ok {
		if yama := explainYama(c, scope); yama != nil {
			return yama
		}
	}
	if c.NoPtrace {
		return &need.Error{What: "the kernel forbids tracing without " + need.CapSysPtrace, Remedy: c.PrivilegeRemedy(), Err: err}
	}
	return &need.Error{What: "tracing is forbidden (a container's filter of system calls?)",
		Remedy: "start the container with --cap-add SYS_PTRACE --security-opt seccomp=unconfined", Err: err}
}

func probeNotTraced() error {
	if who := tracedBy(); who != "" {
		return &need.Error{What: "traced by " + who + ": programs that it follows cannot be held", Remedy: "start tracepredict without " + who}
	}
	return nil
}

// tracedBy returns the name of the process that traces the tool; "" if none does.
func tracedBy() string { return procfs.TracerOf("self") }
