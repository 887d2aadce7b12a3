package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/parent"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/target"
)

// Program is the program to start.
type Program struct {
	Path string // path of the binary
	Args []string
	User *target.Credentials // nil: the tool's own user
	// Stdout is the program's standard output; nil: the tool's own.
	Stdout *os.File
	// Debugger is the path of a debugger that is run if the program is left stopped (Session.Leave), with its process ID
	// behind -p, as the program's user; "": none is.
	Debugger string
	// Debuggable: the user's other processes may trace the program, also where Yama allows that to its parents alone.
	Debuggable bool
}

// Start runs a program and observes it from its first instruction until it ends. When ctx ends,
// the observation ends and the program runs on. Start returns only after the program has ended,
// since the program uses the tool's standard streams, or has been left stopped (Result.Left). If started is not nil, Start calls it
// before the first record; the program has not run then, and may end while its libraries are
// being loaded.
func Start(ctx context.Context, prog Program, opts Options, started func(*Session)) (Result, error) {
	res, err := start(ctx, prog, opts, started)
	return res, need.ExplainFiles(err)
}

func start(ctx context.Context, prog Program, opts Options, started func(*Session)) (res Result, err error) {
	// The process is started before privileges are dropped, so that the program has those that
	// it would have without the tool.
	held, err := ptrace.Start(ptrace.Plan{Path: prog.Path, Args: prog.Args, User: prog.User, Debuggable: prog.Debuggable}, prog.Stdout)
	if err != nil {
		return Result{}, err
	}
	debugger, err := prog.debugger(held.PID)
	if err != nil {
		held.Abandon()
		return Result{}, err
	}
	stopSignals := func() {}
	defer func() {
		if res.Left == nil {
			abandon(debugger)
			stopSignals()
			return
		}
		if res.Left.unlisten, res.Left.debugger = stopSignals, debugger; err != nil {
			res.Left.GoOn()
			_, waitErr := res.Left.Await(func(error) {})
			res.Left, err = nil, errors.Join(err, waitErr)
		}
	}()
	kept := openJournals(opts.journal(), held.PID, true)
	kept.closeOthers() // a new process has none
	s, err := newSession(opts, func() error { return target.DropPrivileges(prog.User, nil) })
	if err != nil {
		held.Abandon()
		kept.close()
		return Result{}, err
	}
	defer s.endThreads()
	s.journals = kept
	ctx, cancel := s.endsWith(ctx)
	defer cancel()
	s.begin(held.PID)
	s.traced = true
	if err := s.tracer.HoldLoading(); err != nil {
		s.notes.say(fmt.Sprintf("libraries that the program loads while it runs get their probes late: %v", s.notes.reason(err)))
	}
	if opts.Steer != nil {
		if s.steered, err = newSteered(s, opts.Steer); err != nil {
			held.Abandon()
			return Result{}, errors.Join(err, s.unload())
		}
	}
	if started != nil {
		started(s)
	}
	s.opts.Parent.Started(s.PID())
	s.job.parent = s.opts.Parent
	s.startReading()
	stopSignals = passSignals(s.PID(), &s.job, s.signalled, s.fail)
	done := make(chan traceResult, 1)
	s.tracing.Run(func() { done <- s.trace(held, cancel) }, func(p *safely.Panic) {
		s.fail(p)
		done <- traceResult{untraced: true}
	})
	return s.await(ctx, done)
}

// traceResult is what trace returns.
type traceResult struct {
	exit     ptrace.Exit
	err      error
	untraced bool // the tracer has panicked, and the program goes on without it
	left     bool // the program has been left stopped
}

// await waits for the end of the program, and removes the probes when ctx ends.
func (s *Session) await(ctx context.Context, done <-chan traceResult) (Result, error) {
	var out traceResult
	var stopErr error
	select {
	case out = <-done:
	case <-ctx.Done():
		stopErr = s.stopObserving()
		out = <-done
	}
	if out.untraced {
		stopErr = errors.Join(stopErr, s.stopObserving())
		out.exit, out.err = ptrace.WaitUntraced(s.PID())
	}
	res := Result{Exit: out.exit, Requested: s.sent(out.exit.Signal)}
	if out.left {
		res.Left = &Left{PID: s.PID()}
		res.Left.visit.first = res.Left.look()
		s.left.Store(res.Left)
	}
	s.tellEnd()
	var err error
	res.Lost, err = s.finish()
	return res, errors.Join(out.err, stopErr, err)
}

// trace traces the program from the waiting process to its end. It runs on the tracer's thread.
// It calls endObservation when Options.Duration has passed.
func (s *Session) trace(held *ptrace.Held, endObservation func()) traceResult {
	first := true
	// An error ends the program only before it runs. Later, ending it would do harm.
	tolerant := func(f func(int) error) func(int) error {
		return func(pid int) error {
			err := s.attempt(func() error { return f(pid) })
			if err == nil || first {
				return err
			}
			s.noteAbout(pid, "what process %d became by execve is not observed: %v", pid, err)
			return nil
		}
	}
	t := ptrace.NewTracee(s.PID(), s.opts.Follow)
	t.Throttle, t.OnExec, t.OnMap = s.ring.throttle, tolerant(s.newProgram), tolerant(s.sync)
	t.OnStop, t.OnContinue = s.job.stopped, s.job.continued
	t.OnFork, t.OnEnd, t.OnTrap, t.OnCopied = s.child, s.processEnded, s.unexplainedTrap, s.copied
	t.OnAsk, t.OnLoaded = s.asked, s.loaded
	s.steer(t)
	t.OnReady = func(pid int) error {
		if !first || pid != s.PID() {
			return nil
		}
		first = false
		if s.opts.Duration > 0 {
			time.AfterFunc(s.opts.Duration, endObservation)
		}
		return s.ready()
	}
	exit, err := s.traceHeld(t, held)
	s.ring.throttle.Release()
	switch {
	case errors.Is(err, ptrace.ErrNeverRan):
		return traceResult{err: neverRan(exit, held)}
	case errors.Is(err, ptrace.ErrLeft):
		return traceResult{left: true}
	}
	if err != nil {
		held.GiveUp() // if it still waits: the tool may lack the right to signal it
		kill(s.PID()) // the program is stopped at its start, or cannot be observed
		_, _ = t.Run()
	}
	if err == nil && first {
		err = endedEarly(exit)
	}
	return traceResult{exit: exit, err: err}
}

// neverRan returns an error with the reason why the waiting process ended before it became the
// program.
func neverRan(exit ptrace.Exit, held *ptrace.Held) error {
	if exit.Signal != 0 {
		return &target.ExitError{Code: exit.Code(), Err: fmt.Errorf("process %d was ended by signal %d (%s) before it became the program", held.PID, int(exit.Signal), unix.SignalName(exit.Signal))}
	}
	return &target.ExitError{Code: exit.Status, Err: errors.New(held.Failure())}
}

// newProgram handles an execve, after which nothing of the process's former program is left.
func (s *Session) newProgram(pid int) error {
	if err := s.discardProgram(pid); err != nil {
		return err
	}
	if pid == s.PID() {
		s.steered.begin(pid)
	}
	// The process becomes a target only at its first execve, because before it the waiting
	// process has threads of its own.
	if err := s.tracer.AddTarget(pid); err != nil {
		return err
	}
	return s.sync(pid)
}

// child handles a fork. The child is stopped before its first instruction.
func (s *Session) child(parent, pid int, shared bool) {
	s.yields.forget(pid)
	if err := s.forked(parent, pid, shared); err != nil {
		s.noteAbout(pid, "process %d, forked by %d, is not observed: %v", pid, parent, err)
	}
}

func (s *Session) traceHeld(t *ptrace.Tracee, held *ptrace.Held) (ptrace.Exit, error) {
	if err := t.Seize(); err != nil {
		return ptrace.Exit{}, err
	}
	waker, err := ptrace.NewWaker()
	if err != nil {
		return ptrace.Exit{}, err
	}
	stop := s.steered.tick(waker.Wake, s.fail)
	defer stop()
	if err := s.ring.watch(waking(waker.Wake)); err != nil {
		return ptrace.Exit{}, err
	}
	if err := held.Release(); err != nil {
		return ptrace.Exit{}, err
	}
	return t.Run()
}

// waking returns a hold for ringWatcher.watch that wakes the thread that traces the program, which holds it.
func waking(wake func()) func() bool {
	return func() bool {
		wake()
		return true
	}
}

// ready returns an error if the program cannot be observed as asked. It is called when all
// libraries are mapped and, of a started program, nothing has run.
func (s *Session) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	if err := s.checkAbandoned(); err != nil {
		return err
	}
	var missing, unfit error
	if !s.opts.Follow { // with Follow, a program executed later may have the variable
		missing = s.first.planner.Unresolved()
	}
	if s.opts.Accept != nil {
		unfit = s.opts.Accept(s.first.planner)
	}
	if err := errors.Join(missing, unfit); err != nil {
		return &UsageError{Err: err}
	}
	if err := s.checkObservable(); err != nil {
		return err
	}
	s.noteLeakCheck()
	s.running, s.began = true, time.Now()
	return nil
}

// checkObservable returns an error if the program has no call that could be observed.
func (s *Session) checkObservable() error {
	for _, m := range s.first.modules {
		if m.Plan.Calls-m.Plan.Quits+m.Plan.Methods > 0 {
			return nil
		}
	}
	switch {
	case s.opts.NoProbes:
		return nil
	case s.opts.Plan.Contended:
		return errors.New("neither the program nor its libraries have an instruction that is known to call futex(2): no wait would be seen")
	}
	return errNotObservable(s.first.modules)
}

// UsageError is an error in what the user asked for.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

func errNotObservable(modules map[procfs.FileID]*Module) error {
	for _, m := range modules {
		if m.Bin.IsGo() {
			return fmt.Errorf("%s is a Go program: its locks are in Go's run-time system, which is not observed; for Go there is go build -race", m.Path)
		}
		if m.Bin.Static() && !m.Bin.HasSymbols() && !m.Bin.LoadsPrograms() {
			return fmt.Errorf("%s is static and stripped: without symbols its synchronisation calls cannot be found; keep the symbols (link without -s, do not strip), link it dynamically, or name its functions in a file for --sync", m.Path)
		}
	}
	return errors.New("neither the program nor its libraries have a synchronisation call that the table knows: if it locks by functions of its own, name them in a file for --sync")
}

// passSignals keeps the tool alive when the terminal interrupts both it and the program, and
// passes the signals that are sent to the tool alone on to the program.
// interrupted is called for each of them first, and failed if this panics.
func passSignals(pid int, job *job, interrupted func(unix.Signal), failed func(*safely.Panic)) (stop func()) {
	c := make(chan os.Signal, 16)
	done := make(chan struct{})
	unlisten := job.parent.Notify(c, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP)
	safely.Go(func() {
		defer close(done)
		for sig := range c {
			s, ok := sig.(unix.Signal)
			interrupted(s)
			if s == unix.SIGTSTP {
				job.ask()
			}
			if !ok || target.FromTerminal(s) {
				continue
			}
			_ = unix.Kill(pid, s)
		}
	}, failed)
	return func() {
		unlisten()
		close(c)
		<-done
	}
}

// job stops the tool together with its program, as the Ctrl-Z of a shell does. If the tool were
// stopped first, the program would not stop, because its threads stop only when the tracer has
// passed the signal on. If the program ignores Ctrl-Z, the tool does not stop, and the program
// keeps the terminal.
type job struct {
	mu     sync.Mutex // guards the fields below; no other lock is acquired while it is held
	asked  uint64     // when the tool was to stop, on the clock of the records, ns; 0: not, or done
	halted uint64     // when the program stopped, likewise; 0: it runs

	parent *parent.Link // nil: there is none
}

// maxStopDelay is the longest time, in ns, between Ctrl-Z and a stop of the program that counts
// as its result. A program may do something first, such as restoring the terminal.
const maxStopDelay = 2_000_000_000

// ask handles a request to stop the tool. The program may have stopped before.
func (j *job) ask() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked = monotonic()
	j.stop()
}

// stopped records that the program has stopped.
func (j *job) stopped() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.halted = monotonic()
	j.stop()
}

// continued records that the program runs again.
func (j *job) continued() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.halted = 0
}

func (j *job) stop() {
	if j.asked != 0 && j.halted != 0 && max(j.asked, j.halted)-min(j.asked, j.halted) < maxStopDelay {
		j.asked = 0
		j.parent.Stopping()
		_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
	}
}
