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

// heldArg marks, as first argument, the process that waits to become the
// program. It is the tool itself, so that there is one binary; it waits on a
// pipe, so that it goes away when the tool dies before letting it go.
const heldArg = "__tracepredict-held"

const (
	heldGoFD   = 3 // one byte: go; end of file: the tool is gone
	heldPlanFD = 4 // what to become, as JSON
	heldFailFD = 5 // heldReady, then why exec failed; closed by a successful exec
)

// heldReady says that the waiting process has been executed itself: seized
// earlier, its own execve would be taken for the program's.
const heldReady = '!'

// Plan is what the waiting process becomes.
type Plan struct {
	Path string
	Args []string
	User *target.Credentials
}

func init() {
	if len(os.Args) == 2 && os.Args[1] == heldArg {
		// The main thread must be the one that execs: another one would
		// change its id, and the tracer's with it.
		runtime.LockOSThread()
	}
}

// MainIfHeld must be the first call of main: in the process that waits to
// become the program it does that and never returns.
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

// Held is a process of ours that has not become the program yet.
type Held struct {
	PID  int
	cmd  *exec.Cmd
	gate *os.File // write one byte to let it go
	fail *os.File
}

// Start starts the waiting process with the tool's own standard streams,
// environment and working directory; stdout, if not nil, instead of its own.
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

// Release lets it become the program.
func (h *Held) Release() error {
	defer h.gate.Close()
	if _, err := h.gate.Write([]byte{1}); err != nil {
		return fmt.Errorf("let process %d go: %w", h.PID, err)
	}
	return nil
}

// GiveUp ends it where it still waits, without waiting for its end.
func (h *Held) GiveUp() { h.gate.Close() }

// Abandon ends it without its having become anything.
func (h *Held) Abandon() {
	h.gate.Close()
	h.fail.Close()
	_ = h.cmd.Wait() // it says why it ended to a pipe that nobody reads
}

// Failure returns why it could not become the program, "" if it could.
func (h *Held) Failure() string {
	defer h.fail.Close()
	why, _ := io.ReadAll(io.LimitReader(h.fail, 4096))
	return string(why)
}
