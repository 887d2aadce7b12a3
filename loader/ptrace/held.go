package ptrace

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/target"
)

// heldArg is the first argument of the process that waits to become the program. That process
// runs the tool's own binary, so that there is only one binary. It waits on a pipe, so that it
// ends when the tool dies before releasing it.
const heldArg = "__tracepredict-held"

// heldFDs are the ends of pipes that the waiting process has. Their numbers, which are its
// further arguments, are those that they have in the tool: the program may have been given
// descriptors of any other number, from 3 on.
type heldFDs struct {
	start int // one byte: become the program; end of file: the tool has ended
	plan  int // the Plan, in a form that keeps arguments which are no UTF-8
	fail  int // heldReady, then why exec failed; a successful exec closes it
}

// args returns the arguments of the waiting process behind the tool's name.
func (f heldFDs) args() []string {
	return []string{heldArg, strconv.Itoa(f.start), strconv.Itoa(f.plan), strconv.Itoa(f.fail)}
}

// heldBy reads the arguments of a process; ok is false if it is not one that waits.
func heldBy(args []string) (f heldFDs, ok bool) {
	if len(args) != 5 || args[1] != heldArg {
		return heldFDs{}, false
	}
	for i, fd := range []*int{&f.start, &f.plan, &f.fail} {
		n, err := strconv.Atoi(args[2+i])
		if err != nil {
			return heldFDs{}, false
		}
		*fd = n
	}
	return f, true
}

// heldReady means that the waiting process has executed the tool's binary. If it were seized
// earlier, that execve would be mistaken for the program's.
const heldReady = '!'

// Plan is what the waiting process becomes.
type Plan struct {
	Path string
	Args []string
	User *target.Credentials
	// Debuggable: any process of the same user may trace it, also where Yama allows that to its parents alone.
	Debuggable bool
}

func init() {
	if _, ok := heldBy(os.Args); ok {
		// The main thread must be the one that calls execve: if another one did, it would take
		// on the main thread's ID, and the tracer would lose it.
		runtime.LockOSThread()
	}
}

// MainIfHeld must be the first call of main. In the process that waits to become the program it
// becomes the program and never returns; in others it does nothing.
func MainIfHeld() {
	fds, ok := heldBy(os.Args)
	if !ok {
		return
	}
	err := becomeProgram(fds)
	fmt.Fprint(os.NewFile(uintptr(fds.fail), "fail"), err)
	status := 126
	if errors.Is(err, os.ErrNotExist) {
		status = 127
	}
	os.Exit(status)
}

func becomeProgram(fds heldFDs) error {
	for _, fd := range []int{fds.start, fds.plan, fds.fail} {
		syscall.CloseOnExec(fd)
	}
	if _, err := syscall.Write(fds.fail, []byte{heldReady}); err != nil {
		return fmt.Errorf("the tool is gone: %w", err)
	}
	var plan Plan
	if err := gob.NewDecoder(os.NewFile(uintptr(fds.plan), "plan")).Decode(&plan); err != nil {
		return fmt.Errorf("read what to run: %w", err)
	}
	if n, err := os.NewFile(uintptr(fds.start), "go").Read(make([]byte, 1)); n != 1 {
		return fmt.Errorf("the tool is gone: %w", err)
	}
	if plan.User != nil {
		if err := plan.User.Assume(); err != nil {
			return err
		}
	}
	if err := target.Disinherit(); err != nil {
		return err
	}
	if plan.Debuggable {
		_ = unix.Prctl(unix.PR_SET_PTRACER, unix.PR_SET_PTRACER_ANY, 0, 0, 0) // fails without Yama, where it is not needed
	}
	return &os.PathError{Op: "execute", Path: plan.Path, Err: syscall.Exec(plan.Path, plan.Args, target.OriginalEnviron())}
}

// Held is a process of the tool's that has not become the program yet.
type Held struct {
	PID  int
	gate *os.File // a byte written here releases the process; closing it ends the process
	fail *os.File // the process writes heldReady and errors here
}

// Start starts the waiting process with the tool's own standard streams, environment and working
// directory. If stdout is not nil, it is the process's standard output.
func Start(plan Plan, stdout *os.File) (*Held, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the tool's own binary: %w", err)
	}
	startR, startW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	planR, planW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	failR, failW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	if stdout == nil {
		stdout = os.Stdout
	}
	fds := heldFDs{start: int(startR.Fd()), plan: int(planR.Fd()), fail: int(failW.Fd())}
	pid, err := syscall.ForkExec(self, append([]string{self}, fds.args()...), &syscall.ProcAttr{
		Env:   target.OriginalEnviron(),
		Files: append([]uintptr{os.Stdin.Fd(), stdout.Fd(), os.Stderr.Fd()}, inherited(fds)...),
	})
	for _, f := range []*os.File{startR, planR, failW} {
		f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("start a process for %s: %w", plan.Path, err)
	}
	err = gob.NewEncoder(planW).Encode(plan)
	planW.Close()
	if err != nil {
		return nil, fmt.Errorf("tell a process to become %s: %w", plan.Path, err)
	}
	h := &Held{PID: pid, gate: startW, fail: failR}
	if n, err := failR.Read(make([]byte, 1)); n != 1 {
		h.gate.Close()
		return nil, fmt.Errorf("start a process for %s: it ended before it could wait: %w", plan.Path, err)
	}
	return h, nil
}

// notInherited stands for a descriptor that a new process does not inherit.
const notInherited = ^uintptr(0)

// inherited returns the descriptors from 3 to the highest in fds that a new process inherits,
// each under the number that it has here: those in fds, and those that the tool itself was
// given, which are the ones without close-on-exec. It inherits higher ones in any case.
func inherited(fds heldFDs) []uintptr {
	var files []uintptr
	for fd := 3; fd <= max(fds.start, fds.plan, fds.fail); fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if own := fd == fds.start || fd == fds.plan || fd == fds.fail; own || err == nil && flags&unix.FD_CLOEXEC == 0 {
			files = append(files, uintptr(fd))
		} else {
			files = append(files, notInherited)
		}
	}
	return files
}

// Release makes the process become the program.
func (h *Held) Release() error {
	defer h.gate.Close()
	if _, err := h.gate.Write([]byte{1}); err != nil {
		return fmt.Errorf("let process %d go: %w", h.PID, err)
	}
	return nil
}

// GiveUp ends the process if it still waits. It does not wait for the end.
func (h *Held) GiveUp() { h.gate.Close() }

// Abandon ends the process before it becomes the program, and waits for the end.
func (h *Held) Abandon() {
	h.gate.Close()
	h.fail.Close()
	_, _ = syscall.Wait4(h.PID, nil, 0, nil) // an error changes nothing: the process has ended, or ends soon
}

// Failure returns the reason why the process could not become the program; "" if it could.
func (h *Held) Failure() string {
	defer h.fail.Close()
	why, _ := io.ReadAll(io.LimitReader(h.fail, 4096))
	return string(why)
}
