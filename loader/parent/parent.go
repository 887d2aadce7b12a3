// Package parent has a small process wait for the one that observes a program. What Go cannot recover from (concurrent
// writes of a map) and the kernel's killer end a process without a report. The program then goes on without
// probes, and the parent, which is what the user's shell waits for, says so and waits for its end.
package parent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/target"
)

// What the observing process says to its parent: a letter and a number in a line each. The parent says which signals it
// was sent: a byte each.
const (
	saysProgram = 'p' // the number is the process ID of the program
	saysStop    = 's' // it stops now, and the parent shall
	saysEnd     = 'e' // it ends by itself
)

// fatalStatus is the exit status of a Go program that Go ends.
const fatalStatus = 2

// waiter is the parent of an observing process.
type waiter struct {
	stderr  io.Writer
	conn    *os.File // to the observing process
	command *exec.Cmd
	signals chan os.Signal
	program int // process ID; 0: it has not been started
	pidfd   int // of the program; -1: none
	proper  bool
}

// Run starts this program again, with its arguments, waits for it, and returns its exit status. When that process has
// ended, it calls ended with its ID. It returns an error if it could not be started.
func Run(stderr io.Writer, ended func(pid int)) (status int, err error) {
	return RunAgain(stderr, ended, nil)
}

// RunAgain repeats Run as long as again returns true for the exit status. With a nil again it runs once, and drops the
// privileges that it would need to start this program another time.
func RunAgain(stderr io.Writer, ended func(pid int), again func(status int) bool) (status int, err error) {
	for {
		if status, err = run(stderr, ended, again == nil); err != nil || again == nil || !again(status) {
			return status, err
		}
	}
}

// run starts this program and waits for it. last: it will not be started another time, so that the privileges for that are
// dropped.
func run(stderr io.Writer, ended func(pid int), last bool) (status int, err error) {
	w := &waiter{stderr: stderr, signals: make(chan os.Signal, 64), pidfd: -1}
	if err := w.start(); err != nil {
		return 0, fmt.Errorf("start the process that observes: %w", err)
	}
	defer w.conn.Close()
	if last {
		_ = target.KeepOnlySignals() // where it cannot, it has what it was given, and uses none of it
	}
	signal.Notify(w.signals, passed()...)
	defer signal.Stop(w.signals)
	said, waited := make(chan string), make(chan error, 1)
	failed := func(p *safely.Panic) {
		fmt.Fprintf(stderr, "tracepredict: the parent of the process that observes failed: %v\n%s", p, p.Stack)
	}
	safely.Go(func() { w.listen(said) }, failed)
	safely.Go(func() { waited <- w.command.Wait() }, failed)
	w.relay(said)
	err = <-waited // the connection is closed: it has ended, or is about to
	ended(w.command.Process.Pid)
	switch code, by := w.command.ProcessState.ExitCode(), endedBy(w.command.ProcessState); {
	case code >= 0 && (w.proper || code != fatalStatus):
		return code, nil
	case slices.Contains(passed(), os.Signal(by)):
		endBy(by)
	}
	w.outlive(err)
	return target.ExitFailed, nil
}

// endedBy returns the signal that ended a process; 0 if none did.
func endedBy(s *os.ProcessState) unix.Signal {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return 0
}

// endBy ends this process by a signal, as it ended the observing one, which had no handler for it yet. It returns if the
// signal does not end it.
func endBy(s unix.Signal) {
	signal.Reset(s)
	_ = unix.Kill(unix.Getpid(), s)
}

// start starts the observing process. What this process ignores is ignored there, too: no signal has a handler yet.
func (w *waiter) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[1])
	w.conn = os.NewFile(uintptr(fds[0]), "process that observes")
	theirs, err := unix.FcntlInt(uintptr(fds[1]), unix.F_DUPFD, 3)
	if err != nil {
		return errors.Join(err, w.conn.Close())
	}
	defer unix.Close(theirs)
	w.command = &exec.Cmd{Path: self, Args: os.Args, Env: append(target.OriginalEnviron(), fmt.Sprintf("%s=%d", target.ParentVariable, theirs)),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := w.command.Start(); err != nil {
		return errors.Join(err, w.conn.Close())
	}
	return nil
}

// passed returns the signals that the parent passes on. Those that end an observation are among them, but not SIGHUP
// under nohup.
func passed() []os.Signal {
	all := []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGCONT}
	if !signal.Ignored(unix.SIGHUP) {
		all = append(all, unix.SIGHUP)
	}
	return all
}

// listen sends on said what the observing process says, and closes it when that has ended.
func (w *waiter) listen(said chan<- string) {
	defer close(said)
	lines := bufio.NewScanner(w.conn)
	for lines.Scan() {
		said <- lines.Text()
	}
}

// relay passes signals on until the observing process has ended.
func (w *waiter) relay(said <-chan string) {
	for {
		select {
		case line, more := <-said:
			if !more {
				return
			}
			w.heard(line)
		case s := <-w.signals:
			if s == unix.SIGCONT { // only the parent may have had it
				_ = w.command.Process.Signal(s)
				continue
			}
			_, _ = w.conn.Write([]byte{byte(s.(unix.Signal))}) // fails if it has ended
		}
	}
}

// heard handles what the observing process says.
func (w *waiter) heard(line string) {
	if line == "" {
		return
	}
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case saysProgram:
		w.program = n
		if fd, err := unix.PidfdOpen(n, 0); err == nil {
			w.pidfd = fd
		}
	case saysStop:
		_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
	case saysEnd:
		w.proper = true
	}
}

// outlive says that the observing process has failed, and waits for the end of the program.
func (w *waiter) outlive(failure error) {
	why := fmt.Sprintf("Go's run-time system ended the process that observes (%v), which is an error of tracepredict", failure)
	if s := endedBy(w.command.ProcessState); s != 0 {
		why = fmt.Sprintf("%s ended the process that observes", unix.SignalName(s))
		if s == unix.SIGKILL {
			why += ", as the kernel does where memory runs out"
		}
	}
	fmt.Fprintf(w.stderr, "tracepredict: it failed: %s; there is no report\n", why)
	if w.pidfd < 0 || target.Ended(w.pidfd, 0) {
		return
	}
	fmt.Fprintf(w.stderr, "tracepredict: the program (pid %d) goes on without probes; waiting for its end\n", w.program)
	done := make(chan struct{})
	safely.Go(func() {
		for !target.Ended(w.pidfd, -1) {
		}
		close(done)
	}, func(*safely.Panic) { close(done) })
	for {
		select {
		case <-done:
			fmt.Fprintf(w.stderr, "tracepredict: the program (pid %d) has ended; its exit status is not known\n", w.program)
			return
		case s := <-w.signals:
			if sig := s.(unix.Signal); !target.FromTerminal(sig) {
				_ = unix.PidfdSendSignal(w.pidfd, sig, nil, 0)
			}
		}
	}
}

// numbered returns a line with a letter and a number.
func numbered(letter byte, n int) []byte {
	return fmt.Appendf(nil, "%c%d\n", letter, n)
}
