package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/proc"
)

// command is how a program is started.
type command struct {
	args   []string
	stdin  *os.File // nil: none; closed once the program has it
	input  *os.File // the other end of it, see pipe
	stdout *os.File // nil: into the log; closed once the program has it
	port   int      // that a server listens to; 0 for others
	serves bool     // it goes on until it is asked to end
	// bad are words that the log of a healthy program does not hold.
	bad []string
}

// process is a run of a program: the program, and tracepredict beside it.
type process struct {
	*env
	*command
	dir         string // of this run
	report, log string
	spec        string // of the protocols that are learned or checked
	mode        mode

	main     *exec.Cmd // the program, or tracepredict exec
	mainDone chan error
	pid      int // of the program
	pidfd    int
	tool     *watched
	attached time.Duration
	output   *os.File // the log
	attacher *exec.Cmd
}

// What is potential is counted by the tables too.
const (
	jsonReport = "--format=json"
	allOfThem  = "--confidence=potential"
)

// start starts the program, in exec mode below tracepredict.
func (p *process) start(ctx context.Context, r *runner, m mode) error {
	p.mode, p.pidfd = m, -1
	var err error
	if p.output, err = os.Create(p.log); err != nil {
		return err
	}
	args := p.args
	if m.starts() {
		args = slices.Concat(p.observed(r, m), []string{"--"}, args)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "HOME="+p.dir)
	cmd.Stdout, cmd.Stderr = p.output, p.output
	cmd.SysProcAttr = r.owner.attributes()
	if m.starts() {
		cmd.SysProcAttr.Credential = nil // tracepredict is root; it starts the program as the user
	}
	for _, f := range []*os.File{p.stdin, p.stdout} {
		if f != nil {
			defer f.Close()
		}
	}
	if p.stdin != nil {
		cmd.Stdin = p.stdin
	}
	if p.stdout != nil {
		cmd.Stdout = p.stdout
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.main, p.mainDone = cmd, make(chan error, 1)
	go func() {
		// The last figures are read while the process is a zombie at the latest.
		p.mainDone <- cmd.Wait()
	}()
	if !m.starts() {
		return p.found(cmd.Process.Pid)
	}
	return p.findBelow(ctx)
}

// observed returns the command line of tracepredict that starts the program in a mode.
func (p *process) observed(r *runner, m mode) []string {
	if m == mined {
		return []string{r.tool, "mine", "--spec", p.spec, "--user", r.owner.name, "--output", strings.TrimSuffix(p.report, ".json") + ".tps"}
	}
	options := []string{r.tool, "exec", jsonReport, allOfThem, "--output", p.report, "--findings-exit=0", "--user", r.owner.name, "--stacks=" + m.stacks()}
	if m == checked {
		options = append(options, "--spec", p.spec)
	}
	if budget, ok := m.budget(); ok {
		return append(options, "--watch-shared=all", "--budget="+budget)
	}
	return append(options, "--watch-shared=off")
}

// found notes the program's process; the descriptor stays its, whoever gets the
// number later.
func (p *process) found(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	p.pid, p.pidfd = pid, fd
	return nil
}

// findBelow waits for a process below tracepredict to become the program; its parent is the process that observes.
func (p *process) findBelow(ctx context.Context) error {
	program, err := filepath.EvalSymlinks(p.args[0])
	if err != nil {
		return err
	}
	for {
		if observer, pid := below(p.main.Process.Pid, program); pid > 0 {
			p.tool = watch(observer)
			return p.found(pid)
		}
		select {
		case err := <-p.mainDone:
			p.mainDone <- err
			return p.explain(fmt.Errorf("tracepredict ended (%v) before the program ran", err))
		case <-ctx.Done():
			return p.explain(fmt.Errorf("tracepredict does not run the program: %w", ctx.Err()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// below returns the process below another one whose file is a program, and its parent; 0 if there is none.
func below(ancestor int, program string) (parent, pid int) {
	children := proc.Children()
	next := []int{ancestor}
	for len(next) > 0 {
		parent, next = next[0], next[1:]
		for _, pid := range children[parent] {
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && exe == program {
				return parent, pid
			}
			next = append(next, pid)
		}
	}
	return 0, 0
}

// poll calls ask until it answers nil, and fails if the program ends before.
func (p *process) poll(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer: %w", ctx.Err(), err)
		case end := <-p.mainDone:
			p.mainDone <- end
			return fmt.Errorf("it ended: %v", end)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// ended waits for the program's own end, whoever its parent is.
func (p *process) ended(ctx context.Context) error {
	for {
		// A second at a time, to look at ctx.
		fds := []unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 1000)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for the program: %w", err)
		}
		if n > 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// attach starts tracepredict on the running program and returns when it
// observes.
func (p *process) attach(ctx context.Context, r *runner) error {
	cmd := exec.Command(r.tool, "attach", jsonReport, allOfThem, "--output", p.report, "--findings-exit=0", "-p", strconv.Itoa(p.pid))
	cmd.SysProcAttr = r.owner.attributes()
	cmd.SysProcAttr.Credential = nil
	observing := &waitFor{text: "observing", seen: make(chan struct{}), to: p.output}
	cmd.Stderr = observing
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	p.tool = watch(cmd.Process.Pid)
	p.attacher = cmd
	select {
	case <-observing.seen:
		p.attached = time.Since(began)
		return nil
	case <-p.tool.gone:
	case <-ctx.Done():
	}
	return p.explain(errors.New("tracepredict attach did not come to observe: the load is too short, or it failed"))
}

// detach ends the observation, if the program's end has not.
func (p *process) detach(ctx context.Context) error {
	cmd := p.attacher
	if p.serves {
		if err := cmd.Process.Signal(unix.SIGINT); err != nil {
			return fmt.Errorf("end tracepredict attach: %w", err)
		}
	}
	select {
	case <-p.tool.gone:
	case <-ctx.Done():
		return fmt.Errorf("tracepredict attach does not end: %w", ctx.Err())
	}
	p.attacher = nil
	if err := cmd.Wait(); err != nil {
		return p.explain(fmt.Errorf("tracepredict attach: %w", err))
	}
	return nil
}

// stop asks a server to end, and waits for the program's good end and, in exec
// mode, tracepredict's.
func (p *process) stop(ctx context.Context) error {
	if p.serves {
		if err := unix.PidfdSendSignal(p.pidfd, unix.SIGTERM, nil, 0); err != nil {
			return fmt.Errorf("ask it to end: %w", err)
		}
	}
	select {
	case err := <-p.mainDone:
		p.mainDone <- err
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(p.main.Path), err)
		}
	case <-ctx.Done():
		return fmt.Errorf("it does not end: %w", ctx.Err())
	}
	return p.healthy()
}

// healthy looks for complaints in the program's log.
func (p *process) healthy() error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		for _, word := range p.bad {
			if strings.Contains(line, word) {
				return fmt.Errorf("it complains: %s", strings.TrimSpace(line))
			}
		}
	}
	return nil
}

// end leaves nothing of the run, however it went.
func (p *process) end() error {
	if p.attacher != nil {
		// SIGKILL, for something is wrong: the kernel takes the probes away.
		err := p.attacher.Process.Kill()
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		_ = p.attacher.Wait() // it was killed
	}
	if p.main != nil {
		p.kill()
		select {
		case <-p.mainDone:
		case <-time.After(30 * time.Second):
			_ = p.main.Process.Kill()
			<-p.mainDone
		}
	}
	if p.pidfd >= 0 {
		unix.Close(p.pidfd)
	}
	if p.input != nil {
		_ = p.input.Close() // it may be closed
	}
	if p.output != nil {
		return p.output.Close()
	}
	return nil
}

// kill ends the program, unless it has ended; tracepredict exec ends with it.
func (p *process) kill() {
	if p.pidfd >= 0 {
		_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	} else {
		_ = p.main.Process.Kill()
	}
}

// explain adds the end of the log to an error.
func (p *process) explain(err error) error {
	text, readErr := os.ReadFile(p.log)
	if err == nil || readErr != nil || len(text) == 0 {
		return err
	}
	if len(text) > 2000 {
		text = text[len(text)-2000:]
	}
	return fmt.Errorf("%w\n%s ends with:\n%s", err, p.log, text)
}

// watched is a process whose peak memory and CPU time are wanted. Its
// resources as a child do not tell: they hold those of its children too.
type watched struct {
	peak uint64 // bytes
	cpu  time.Duration
	gone chan struct{} // closed at its end, after which peak and cpu are final
}

// watch reads until the process has ended. Both figures only grow, so that what
// is missed is what the last few milliseconds added.
func watch(pid int) *watched {
	w := &watched{gone: make(chan struct{})}
	fd, err := unix.PidfdOpen(pid, 0)
	go func() {
		defer close(w.gone)
		if err != nil {
			return // it has ended already
		}
		defer unix.Close(fd)
		for {
			w.read(pid)
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if n, err := unix.Poll(fds, 20); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return w
}

func (w *watched) read(pid int) {
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		w.peak = max(w.peak, peakOf(string(status)))
	}
	if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		w.cpu = max(w.cpu, cpuOf(proc.StatFields(raw)))
	}
}

// peakOf returns VmHWM in bytes, 0 if status does not have it.
func peakOf(status string) uint64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 50)
			if err == nil {
				return kb << 10
			}
		}
	}
	return 0
}

// cpuOf returns user and system time, which the kernel tells in hundredths.
func cpuOf(fields []string) time.Duration {
	if len(fields) < 13 {
		return 0
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// waitFor passes what is written on, and tells when a text has come by.
type waitFor struct {
	text string
	seen chan struct{}
	to   io.Writer
	held []byte
	once sync.Once
}

func (w *waitFor) Write(b []byte) (int, error) {
	if len(w.held) < 1<<16 {
		w.held = append(w.held, b...)
	}
	if bytes.Contains(w.held, []byte(w.text)) {
		w.once.Do(func() { close(w.seen) })
	}
	return w.to.Write(b)
}

// tail keeps the last of what is written.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if n := len(t.text) - 2000; n > 0 {
		t.text = t.text[n:]
	}
	return len(b), nil
}

func (t *tail) String() string { return string(t.text) }

func stringReader(s string) io.Reader {
	if s == "" {
		return nil
	}
	return strings.NewReader(s)
}

// freePort asks the kernel for a port of the loopback address that nobody uses.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// dial opens a connection to the program.
func (p *process) dial() (net.Conn, error) {
	return net.Dial("tcp", p.address())
}

func (p *process) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// stacks is what exec is to record of where events were.
func (m mode) stacks() string {
	if m == bare {
		return "none"
	}
	return "full"
}
