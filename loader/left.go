package loader

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/target"
)

// Left is a program that Start has left stopped, by SIGSTOP. It has no probes and no breakpoints of the tool's any more, and
// is not traced, so that a debugger can be attached. One goroutine uses it. Signals are passed on to it until
// Await returns.
type Left struct {
	PID      int
	debugger *ptrace.Held // nil: there is none
	visit    visit
	// unlisten ends that signals of the tool are passed on.
	unlisten func()
}

// debugger returns the process that becomes the debugger of a program; nil if none is wanted. It is started before the tool
// drops its privileges, with which a debugger of root's programs could not be started later.
func (p *Program) debugger(pid int) (*ptrace.Held, error) {
	if p.Debugger == "" {
		return nil, nil
	}
	return ptrace.Start(ptrace.Plan{Path: p.Debugger, Args: []string{p.Debugger, "-p", strconv.Itoa(pid)}, User: p.User}, nil)
}

// abandon ends a process that has not become the debugger.
func abandon(debugger *ptrace.Held) {
	if debugger != nil {
		debugger.Abandon()
	}
}

// GoOn sends the program SIGCONT, and ends the process that would have become its debugger.
func (l *Left) GoOn() {
	abandon(l.debugger)
	l.debugger = nil
	l.resume()
}

// resume lets the program go on, unless it is being debugged.
func (l *Left) resume() {
	if procfs.TracerID(l.PID, l.thread()) == 0 {
		_ = unix.Kill(l.PID, unix.SIGCONT) // it may have ended
	}
}

// signalled lets the program, if it has been left stopped, go on at a signal that is to end the tool.
func (s *Session) signalled(sig unix.Signal) {
	s.interrupted(sig)
	if l := s.left.Load(); l != nil && slices.Contains([]unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP}, sig) {
		l.resume()
	}
}

// thread returns a thread of the program that has not ended; its first one if that is not known.
func (l *Left) thread() int {
	if tid, err := procfs.OldestThread(l.PID); err == nil && tid != 0 {
		return tid
	}
	return l.PID
}

// awaitEvery is the time between two looks at whether a debugger has left.
const awaitEvery = 50 * time.Millisecond

// Await runs Program.Debugger, if there is one, and waits for the end of the program. The program goes on when that
// debugger has ended, when another one has been attached and leaves the program stopped, and at a signal that is to end
// the tool, which it gets then. failed is called if the debugger could not be run.
func (l *Left) Await(failed func(error)) (ptrace.Exit, error) {
	defer l.unlisten()
	if l.debugger != nil {
		if err := l.debug(); err != nil {
			failed(err)
		} else {
			l.resume()
		}
	}
	fd, err := unix.PidfdOpen(l.PID, 0)
	if err != nil {
		return ptrace.Exit{}, fmt.Errorf("wait for process %d: %w", l.PID, err)
	}
	defer unix.Close(fd)
	for !target.Ended(fd, int(awaitEvery.Milliseconds())) {
		if l.visit.over(l.look()) {
			l.resume()
		}
	}
	return ptrace.WaitUntraced(l.PID)
}

// debug runs the debugger, and waits for its end.
func (l *Left) debug() error {
	debugger := l.debugger
	l.debugger = nil
	if err := debugger.Release(); err != nil {
		return err
	}
	why := debugger.Failure()
	_, err := ptrace.WaitUntraced(debugger.PID)
	if why != "" {
		err = errors.New(why)
	}
	return err
}

// look is what a program that was left stopped does at a time.
type look struct {
	stopped, traced bool
	// switches is how often one of its threads has run.
	switches string
}

func (l *Left) look() look {
	tid := l.thread()
	status, err := procfs.Status(fmt.Sprintf("%d/task/%d", l.PID, tid))
	if err != nil {
		return look{}
	}
	return look{
		stopped: procfs.ThreadState(l.PID, tid) == 'T', traced: procfs.TracerID(l.PID, tid) != 0,
		switches: fmt.Sprint(tid, status["voluntary_ctxt_switches"], status["nonvoluntary_ctxt_switches"]),
	}
}

// visit finds out when a debugger that was attached has left the program stopped. Problem: it may come and go between two
// looks. But a thread that is stopped runs for nobody else, and the kernel counts how often it does.
type visit struct {
	first look // when it was left
	runs  int  // looks in a row in which it ran without a debugger
	ended bool // the program has gone on, or is to
}

// over reports, once, that the program is to go on.
func (v *visit) over(now look) bool {
	switch {
	case v.ended || now == v.first:
	case now.traced:
		v.runs = 0
	case !now.stopped: // between the debugger's leave and the stop it is so too
		if v.runs++; v.runs > 1 {
			v.ended = true
		}
	default:
		v.ended = true
		return true
	}
	return false
}
