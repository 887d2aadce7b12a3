package attach

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Problem: if the tool is killed while the kernel puts probes into a process, or removes them,
// some breakpoints stay in that process for good. To write a breakpoint the kernel reads the
// page of the process on the tool's behalf, which fails with EINTR in a task that has been
// killed; the kernel then gives up ("leaking uprobe"). Solution: the tool does not make such a
// system call itself. It clones a task that lives for this one call only. The task shares memory
// and descriptors with the tool, and has a thread group and a session of its own, so that
// signals sent to those of the tool do not reach it. If the tool dies meanwhile, the task
// completes the call, and the kernel closes the descriptors only when the call is over.
//
// That task runs no Go code, only the three system calls of calltask_*.s: it has no stack
// of its own and handles no signal.

// errKilled means that the task was killed, which only a signal sent to the task itself can do.
var errKilled = errors.New("the task that made the system call was killed")

// noResultYet is the result while the task has not stored one. It is no result of a system call.
const noResultYet = 1 << 62

// startCallTask clones the task, with all signals blocked, and returns its ID, or a negative
// errno. It stores the caller's signal mask in old, and restores it. The task stores the return
// value of the system call in result.
func startCallTask(mask, old *uint64, nr uintptr, a uintptr, b unsafe.Pointer, c uintptr, result *int64) (pid int64)

// callInTask makes the system call nr(a, b, c) in a task of its own and waits for it.
func callInTask(nr, a uintptr, b unsafe.Pointer, c uintptr) (uintptr, error) {
	// Allocated on the heap, because Go moves stacks.
	call := &struct {
		mask, old uint64
		result    int64
	}{mask: ^uint64(0), result: noResultYet}
	pid := startCallTask(&call.mask, &call.old, nr, a, b, c, &call.result)
	if pid < 0 {
		return 0, fmt.Errorf("clone a task for a system call: %w", unix.Errno(-pid))
	}
	for {
		_, err := unix.Wait4(int(pid), nil, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("wait for the task of a system call: %w", err)
		}
		break
	}
	switch r := atomic.LoadInt64(&call.result); {
	case r == noResultYet:
		return 0, errKilled
	case r < 0:
		return 0, unix.Errno(-r)
	default:
		return uintptr(r), nil
	}
}

// Link is the descriptor of a uprobe_multi link.
type Link int

// uprobeMulti is the part of union bpf_attr for a BPF_LINK_CREATE of a uprobe_multi link.
type uprobeMulti struct {
	prog       uint32
	_          uint32
	attachType uint32
	_          uint32
	path       *byte
	offsets    *uint64
	_          uint64
	cookies    *uint64
	count      uint32
	flags      uint32
	pid        uint32
	_          uint32
}

const (
	linkCreate       = 28 // enum bpf_cmd
	traceUprobeMulti = 48 // enum bpf_attach_type
	uprobeReturn     = 1  // BPF_F_UPROBE_MULTI_RETURN
)

// linkProbes creates a link with probes at offsets of the file at path, each with the cookie of
// the same index. pid 0 stands for all processes.
func linkProbes(path string, prog int, returns bool, pid int, offsets, cookies []uint64) (Link, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return 0, err
	}
	attr := &uprobeMulti{
		prog: uint32(prog), attachType: traceUprobeMulti,
		path: name, offsets: unsafe.SliceData(offsets), cookies: unsafe.SliceData(cookies),
		count: uint32(len(offsets)), pid: uint32(pid),
	}
	if returns {
		attr.flags = uprobeReturn
	}
	fd, err := callInTask(unix.SYS_BPF, linkCreate, unsafe.Pointer(attr), unsafe.Sizeof(*attr))
	runtime.KeepAlive(attr) // the garbage collector does not know that the task reads it
	return Link(fd), err
}

// Close removes the probes.
func (l Link) Close() error {
	if _, err := callInTask(unix.SYS_CLOSE, uintptr(l), nil, 0); err != nil {
		return fmt.Errorf("remove probes: %w", err)
	}
	return nil
}
