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

// systemCall is a system call that a task of its own makes. The task reads it, and what it points to, from the heap: Go
// moves stacks.
type systemCall struct {
	nr     uintptr
	args   [5]uintptr
	memory []unsafe.Pointer // what args point to, all of it
	masks  [2]uint64        // the signals that the task blocks, all of them; and those that the caller does
	result int64            // as the kernel returns it
}

// startCallTask clones the task, with all signals blocked, and returns its ID, or a negative errno. The task stores the
// result of the call in it.
func startCallTask(c *systemCall) (pid int64)

// callInTask makes the system call nr(args...), which has at most five parameters, in a task of its own and waits for it.
// memory is all that the parameters point to.
func callInTask(nr uintptr, args []uintptr, memory ...unsafe.Pointer) (uintptr, error) {
	call := &systemCall{nr: nr, memory: memory, masks: [2]uint64{^uint64(0)}, result: noResultYet}
	copy(call.args[:], args)
	pid := startCallTask(call)
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
	runtime.KeepAlive(call) // the garbage collector does not know that the task reads it
	switch r := atomic.LoadInt64(&call.result); {
	case r == noResultYet:
		return 0, errKilled
	case r < 0:
		return 0, unix.Errno(-r)
	default:
		return uintptr(r), nil
	}
}
