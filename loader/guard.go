package loader

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/ptrace"
)

// This file handles debug exceptions whose cause is lost. Problem: register DR6 shows the kernel
// which watchpoint caused a debug exception. A hypervisor may lose it: KVM before Linux 6.14 loads
// an old value when it resumes the guest between the exception and the reading of the register, as
// was measured about once in 100,000 accesses. The kernel then finds no watchpoint, takes the
// exception for the program's own, and sends SIGTRAP, which ends the program. Solution: ptrace
// withholds such a signal, and the access counts as a lost event of its thread. A started program
// is traced in any case; an attached one is traced, in a virtual machine, while it may have
// watchpoints.

// unexplainedTrap counts a debug exception without a cause as a lost access. It returns false if no
// watchpoint of the tool's can be its cause.
func (s *Session) unexplainedTrap(tid int) bool {
	if !s.tracer.HasWatched() {
		return false
	}
	tgid := s.processOfThread(tid)
	s.hardware.unexplained.Add(1)
	if err := s.tracer.CountLost(tid, tgid); err != nil {
		s.noteAbout(tgid, "process %d lost an access of thread %d: %v", tgid, tid, err)
	}
	return true
}

// guard traces an attached process.
type guard struct {
	tracee *ptrace.Tracee
	wake   func()
	done   chan struct{} // closed when the process is not traced any more
}

// guardWatchpoints traces an attached process if it may get hardware watchpoints and the machine
// is a virtual one. Where that is impossible, none are chosen for variables that can be watched
// otherwise, and those that were asked for are refused.
func (s *Session) guardWatchpoints() error {
	p := s.opts.Plan
	if len(p.Hardware) == 0 && (len(p.Watch) == 0 || p.Choose.Registers == 0) || !virtualMachine() {
		return nil
	}
	g, err := s.startGuard()
	switch {
	case err == nil:
		s.hardware.guard = g
	case len(p.Hardware) > 0:
		return &need.Error{
			What:   "no hardware watchpoints in this virtual machine, as the process cannot be traced: a debug exception that the hypervisor garbles would end it",
			Remedy: "detach the debugger, or watch without --watch-hw", Err: err,
		}
	default:
		s.hardware.unguarded = err.Error()
	}
	return nil
}

func (s *Session) startGuard() (*guard, error) {
	g := &guard{tracee: ptrace.NewTracee(s.PID(), s.opts.Follow), done: make(chan struct{})}
	g.tracee.Throttle, g.tracee.OnTrap, g.tracee.OnCopied = s.ring.throttle, s.unexplainedTrap, s.copied
	started := make(chan error, 1)
	s.tracing.Run(func() {
		defer close(g.done)
		waker, err := ptrace.NewWaker()
		if err == nil {
			g.wake = waker.Wake
			err = g.tracee.SeizeThreads()
		}
		started <- err
		if err == nil {
			_, _ = g.tracee.Run() // the process has ended, or its end is noticed otherwise
		}
	}, func(p *safely.Panic) {
		s.fail(p)
		select {
		case started <- p:
		default: // it had begun
		}
	})
	return g, <-started
}

// stop ends the tracing. The kernel detaches the threads when the tracer's thread ends.
func (g *guard) stop() {
	if g == nil {
		return
	}
	g.tracee.Release()
	for {
		g.wake()
		select {
		case <-g.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// virtualMachine reports whether the kernel runs under a hypervisor.
func virtualMachine() bool {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "flags" {
			return slices.Contains(strings.Fields(value), "hypervisor")
		}
	}
	return false
}
