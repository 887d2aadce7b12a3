package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/target"
)

// Attach observes a running process until ctx ends or the process does. The process runs on when
// the observation ends. If tasks is not nil, Attach calls it before the first record, with the
// threads that exist already. If started is not nil, Attach calls it when all probes are in.
func Attach(ctx context.Context, pid int, opts Options, tasks func([]Task), started func(*Session)) (Result, error) {
	res, err := attachTo(ctx, pid, opts, tasks, started)
	return res, need.ExplainFiles(err)
}

func attachTo(ctx context.Context, pid int, opts Options, tasks func([]Task), started func(*Session)) (Result, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return Result{}, fmt.Errorf("observe process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	anchored, err := anchor(pid, opts)
	if err != nil {
		return Result{}, ifEnded(fd, pid, err)
	}
	kept := openJournals(opts.journal(), pid, true)
	var early target.EarlyFiles
	s, err := newSession(opts, func() error {
		early = target.OpenEarly(pid)
		return dropForProcess(pid, anchored != 0)
	})
	defer early.Close()
	if err != nil {
		kept.close()
		return Result{}, ifEnded(fd, pid, err)
	}
	defer s.endThreads()
	s.early, s.journals = early, kept
	s.tieTo(anchored)
	ctx, cancel := s.endsWith(ctx)
	defer cancel()
	s.begin(pid)
	goOn := context.AfterFunc(ctx, func() { s.abandon(target.ExitFailed, "it was ended while the probes were being planned") })
	defer goOn()
	s.restoreLeaked()
	s.journals.closeOthers()
	if err = s.guardWatchpoints(); err == nil {
		err = s.watchAttached()
	}
	if err == nil {
		err = s.attachAll(tasks)
	}
	if err != nil {
		s.hold()
		_ = s.unload()
		s.ring.stop()
		s.hardware.guard.stop()
		return Result{}, ifEnded(fd, pid, err)
	}
	s.noteChildren(pid)
	if started != nil {
		started(s)
	}
	s.startReading() // after started: the handler may need what started was given
	if opts.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opts.Duration)
		defer cancel()
	}
	waitForEnd(ctx, fd)
	s.tellEnd()
	lost, err := s.finish()
	return Result{Lost: lost}, err
}

// watchAttached starts to watch the ring buffer for an attached process. The first probe comes later, since the process
// runs already.
func (s *Session) watchAttached() error {
	if s.hardware.guard != nil {
		return s.ring.watch(waking(s.hardware.guard.wake))
	}
	return s.ring.watch(s.ring.throttle.HoldUntraced) // between two holds the process is not traced
}

// noteChildren adds a note on the children that a process had before the observation began, since
// a server may leave all its work to them. It adds none where the kernel does not list children.
func (s *Session) noteChildren(pid int) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return
	}
	var children []string
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err == nil { // otherwise the thread has ended
			children = append(children, strings.Fields(string(text))...)
		}
	}
	if len(children) == 0 {
		return
	}
	text := fmt.Sprintf("process %s, which it had started before, is not observed: attach to it", children[0])
	if n := len(children); n > 1 {
		text = fmt.Sprintf("%d processes that it had started before are not observed (the first: process %s): attach to each", n, children[0])
	}
	s.notes.say(text)
}

// dropForProcess drops privileges for the observation of a process of another user, whose files
// are opened with the rights of that process from then on. That user cannot send signals to the
// tool. For perf events, the kernel wants CAP_SYS_ADMIN to the end.
func dropForProcess(pid int, perfEvents bool) error {
	user, err := target.FileUserOf(pid)
	if err != nil {
		return err
	}
	if perfEvents {
		return target.DropPrivileges(nil, user, capability.CAP_SYS_ADMIN)
	}
	return target.DropPrivileges(nil, user)
}

// attachAll attaches the probes of an attached process, whose threads run, and calls tasks.
func (s *Session) attachAll(tasks func([]Task)) error {
	if err := s.tracer.AddTarget(s.PID()); err != nil {
		return err
	}
	lines, err := s.tracer.Tasks()
	if err != nil {
		return err
	}
	if len(lines) > 1 {
		if err := s.tracer.SetSeveralThreads(); err != nil {
			return err
		}
	}
	if err := s.sync(s.PID()); err != nil {
		return err
	}
	if tasks != nil {
		tasks(s.withStartRoutines(lines))
	}
	return s.ready()
}

// waitForEnd returns when ctx ends or when the process of the pidfd fd ends.
func waitForEnd(ctx context.Context, fd int) {
	ended := make(chan struct{})
	var wake [2]int
	if err := unix.Pipe2(wake[:], unix.O_CLOEXEC); err != nil {
		<-ctx.Done()
		return
	}
	var waiting safely.Group
	waiting.Go(func() {
		defer close(ended)
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake[0]), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(fds, -1); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	select {
	case <-ctx.Done():
	case <-ended:
	}
	unix.Close(wake[1])
	waiting.Wait()
	unix.Close(wake[0])
}

// ifEnded returns an error that says that a process has ended, if it has, instead of what could not be done with it
// because of that. The process is that of a pidfd. Wrong usage stays what it is.
func ifEnded(pidfd, pid int, err error) error {
	var usage *UsageError
	if errors.As(err, &usage) || !target.Ended(pidfd, 0) {
		return err
	}
	return &need.Error{What: fmt.Sprintf("process %d ended before all probes were in", pid), Remedy: "start it under tracepredict exec", Kind: target.ErrNoProcess}
}
