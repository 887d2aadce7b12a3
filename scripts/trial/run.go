package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/proc"
)

// ErrInterrupted says that the user ended the command.
var ErrInterrupted = errors.New("interrupted")

// grace is what a program that was asked to end may take for it.
const grace = 3 * time.Second

// Ran is what came of a run.
type Ran struct {
	Said   string // on its standard output and standard error
	Ended  bool   // by itself, within its time
	Status int    // its exit status; -1 if a signal ended it
}

// Run runs a command line to its end, until its time is over, or until it hangs, which is when
// no thread of it has run for the time still: then it is asked to end, and a little later it is killed.
func Run(ctx context.Context, limit, still time.Duration, env, args []string) (Ran, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(within, args[0], args[1:]...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		return Ran{}, err
	}
	over := make(chan struct{}) // ends the watcher, which the next line waits for
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if hangs(over, cmd.Process.Pid, still) {
			cancel()
		}
	}()
	_ = cmd.Wait() // the status tells how it ended
	ended := within.Err() == nil
	close(over)
	<-watched
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // whatever it left behind
	if ctx.Err() != nil {
		return Ran{}, ErrInterrupted
	}
	return Ran{Said: text.String(), Ended: ended, Status: cmd.ProcessState.ExitCode()}, nil
}

// samples is how often it is looked whether a program is still until it is taken to hang.
const samples = 10

// hangs returns true when no thread of a process, or of one below it, was seen to run for so
// long, and false when over is closed. On a busy machine a thread that waits for a processor runs.
func hangs(over <-chan struct{}, pid int, still time.Duration) bool {
	tick := time.NewTicker(still / samples)
	defer tick.Stop()
	for asleep := 0; asleep < samples; {
		select {
		case <-over:
			return false
		case <-tick.C:
		}
		asleep++
		if !proc.Still(pid) {
			asleep = 0
		}
	}
	return true
}

// Build makes a binary with a compiler's command line, unless it is there and was made of the
// same by the same compiler. More is what it follows from besides.
func Build(ctx context.Context, fresh bool, out string, args []string, more ...string) error {
	made := Key(append([]string{strings.Join(args, " ")}, more...)...)
	if !fresh && made.IsOf(out) {
		return nil
	}
	if text, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return made.Keep(out)
}

// FirstLine returns the first line of what a command says, as its version.
func FirstLine(ctx context.Context, args []string) (string, error) {
	text, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first), nil
}
