package ptrace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/tracepredict/tracepredict/loader/target"
)

// heldArg is the first argument of the process that waits to become the program. That process
// runs the tool's own binary, so that there is only one binary. It waits on a pipe, so that it
// ends when the tool dies before releasing it.
const heldArg = "__tracepredict-held"

const (
	heldGoFD   = 3 // one byte: become the program; end of file: the tool has ended
	heldPlanFD = 4 // the Plan, as JSON
	heldFailFD = 5 // heldReady, then why exec failed; a successful exec closes it
)

// heldReady means that the waiting process has executed the tool's binary. If it were seized
// earlier, that execve would be mistaken for the program's.
const heldReady = '!'

// Plan is what the waiting process becomes.
type Plan struct {
	Path string
	Args []string
	User *target.Credentials
}

func init() {
	if len(os.Args) == 2 && os.Args[1] == heldArg {
		// The main thread must be the one that calls execve: if another one did, it would take
		// on the main thread's ID, and the tracer would lose it.
		runtime.LockOSThread()
	}
}

// MainIfHeld must be the first call of main. In the process that waits to become the program it
// becomes the program and never returns; in others it does nothing.
func MainIfHeld() {
	if len(os.Args) != 2 || os.Args[1] != heldArg {
		return
	}
	err := becomeProgram()
	fmt.Fprint(os.NewFile(heldFailFD, "fail"), err)
	status := 126
	if errors.Is(err, os.ErrNotExist) {
		status = 127
	}
	os.Exit(status)
}

func becomeProgram() error {
	for fd := heldGoFD; fd <= heldFailFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	if _, err := syscall.Write(heldFailFD, []byte{heldReady}); err != nil {
		return fmt.Errorf("the tool is gone: %w", err)
	}
	var plan Plan
	if err := json.NewDecoder(os.NewFile(heldPlanFD, "plan")).Decode(&plan); err != nil {
		return fmt.Errorf("read what to run: %w", err)
	}
	if n, err := os.NewFile(heldGoFD, "go").Read(make([]byte, 1)); n != 1 {
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
	return &os.PathError{Op: "execute", Path: plan.Path, Err: syscall.Exec(plan.Path, plan.Args, target.OriginalEnviron())}
}

// Held is a process of the tool's that has not become the program yet.
type Held struct {
	PID  int
	cmd  *exec.Cmd
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
	goR, goW, err := os.Pipe()
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
	cmd := exec.Command(self, heldArg)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, os.Stderr
	cmd.Env = target.OriginalEnviron()
	cmd.ExtraFiles = []*os.File{goR, planR, failW}
	err = cmd.Start()
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("start a process for %s: %w", plan.Path, err)
	}
	err = json.NewEncoder(planW).Encode(plan)
	planW.Close()
	if err != nil {
		return nil, fmt.Errorf("tell a process to become %s: %w", plan.Path, err)
	}
	h := &Held{PID: cmd.Process.Pid, cmd: cmd, gate: goW, fail: failR}
	if n, err := failR.Read(make([]byte, 1)); n != 1 {
		h.gate.Close()
		return nil, fmt.Errorf("start a process for %s: it ended before it could wait: %w", plan.Path, err)
	}
	return h, nil
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
	_ = h.cmd.Wait() // an error is of no interest: nobody reads the reason either
}

// Failure returns the reason why the process could not become the program; "" if it could.
func (h *Held) Failure() string {
	defer h.fail.Close()
	why, _ := io.ReadAll(io.LimitReader(h.fail, 4096))
	return string(why)
}
