package attach

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Problem: who is killed while the kernel puts probes into a process, or takes
// them out, leaves some there for ever. To write a breakpoint the kernel reads
// the page of the process on the tool's behalf, which fails with EINTR in a
// task that has been killed; it then gives up ("leaking uprobe"). So such a
// call is not made by the tool itself but by a task that lives for this one call
// only: it shares memory and descriptors with the tool, has a thread group and
// a session of its own, which no signal for the tool's reaches, and what it holds is closed
// in order when the call is over, whether the tool still lives or not.
//
// That task runs no Go code, only the two or three system calls of
// apart_*.s: it has no stack of its own and handles no signal.

// errKilled says that the task was killed, which takes somebody who aims at it.
var errKilled = errors.New("the task that made the system call was killed")

// notYet is no result of a system call.
const notYet = 1 << 62

// startApart clones the task, with all signals blocked, and returns its id, or
// a negative errno. Old takes the caller's own signal mask, which is restored;
// the task sets result to what the system call returned.
func startApart(mask, old *uint64, nr uintptr, a uintptr, b unsafe.Pointer, c uintptr, result *int64) (pid int64)

// apart makes the system call nr(a, b, c) in a task of its own and waits for it.
func apart(nr, a uintptr, b unsafe.Pointer, c uintptr) (uintptr, error) {
	// Not on the stack, which moves.
	call := &struct {
		mask, old uint64
		result    int64
	}{mask: ^uint64(0), result: notYet}
	pid := startApart(&call.mask, &call.old, nr, a, b, c, &call.result)
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
	case r == notYet:
		return 0, errKilled
	case r < 0:
		return 0, unix.Errno(-r)
	default:
		return uintptr(r), nil
	}
}

// Link is the descriptor of a uprobe_multi link.
type Link int

// uprobeMulti is the part of union bpf_attr for BPF_LINK_CREATE of that kind.
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

// linkProbes makes a link for probes at offsets of the file at path, with as
// many cookies; pid 0 stands for every process.
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
	fd, err := apart(unix.SYS_BPF, linkCreate, unsafe.Pointer(attr), unsafe.Sizeof(*attr))
	runtime.KeepAlive(attr) // the collector does not know of the task that reads it
	return Link(fd), err
}

// Close removes the probes.
func (l Link) Close() error {
	if _, err := apart(unix.SYS_CLOSE, uintptr(l), nil, 0); err != nil {
		return fmt.Errorf("remove probes: %w", err)
	}
	return nil
}
