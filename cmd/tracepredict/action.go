package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/observer/event"
)

// action is an --on-violation: what is done, while the program runs, when a property is
// violated.
type action struct {
	command string      // shell command to run; "": none
	signal  unix.Signal // signal to send; 0: none
	thread  bool        // the signal goes to the thread that violated a formula
	core    bool        // end the program with a core dump
}

// parseAction reads "run COMMAND", "signal NAME", "signal:NAME" or "core".
func parseAction(text string) (action, error) {
	if name, ok := strings.CutPrefix(strings.TrimSpace(text), "signal:"); ok {
		if sig := signalNamed(name); sig != 0 {
			return action{signal: sig, thread: true}, nil
		}
		return action{}, usage("--on-violation %s: there is no signal %s", text, name)
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case verb == "core" && rest == "":
		return action{core: true}, nil
	case verb == "run" && rest != "":
		return action{command: rest}, nil
	case verb == "signal" && rest != "":
		if sig := signalNamed(rest); sig != 0 {
			return action{signal: sig}, nil
		}
		return action{}, usage("--on-violation %s: there is no signal %s", text, rest)
	}
	return action{}, usage("--on-violation %s: it is 'run COMMAND', 'signal NAME', signal:NAME or 'core'", text)
}

func signalNamed(name string) unix.Signal {
	if n, err := strconv.Atoi(name); err == nil && unix.SignalName(unix.Signal(n)) != "" {
		return unix.Signal(n)
	}
	name = strings.ToUpper(name)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	return unix.SignalNum(name)
}

// actor performs the actions of --on-violation, once for each property. The observation
// continues meanwhile.
type actor struct {
	actions []action
	session func() *loader.Session
	stderr  io.Writer
	tid     func(event.ThreadID) uint32 // the kernel's ID of a thread
	// told reports whether the kernel sends the signal for an event of a thread; nil: it sends none.
	told func(tid uint32, at uint64) (bool, error)

	mu          sync.Mutex      // guards stderr and commandTime
	commandTime time.Duration   // processor time of commands that have ended
	done        map[string]bool // properties whose actions have been started; used by the goroutine of violated alone
	running     safely.Group    // actions that run
}

func newActor(texts []string, session func() *loader.Session, stderr io.Writer) (*actor, error) {
	a := &actor{session: session, stderr: stderr, done: map[string]bool{}}
	for _, text := range texts {
		act, err := parseAction(text)
		if err != nil {
			return nil, err
		}
		a.actions = append(a.actions, act)
	}
	return a, nil
}

// violated starts the actions when a property is first known to be violated. The goroutine that
// handles records calls it.
func (a *actor) violated(property, message string) {
	if a.done[property] {
		return
	}
	a.done[property] = true
	for _, act := range a.actions {
		if act.thread {
			continue
		}
		a.running.Go(func() {
			err := a.do(act, property, message)
			if errors.Is(err, target.ErrEnded) {
				err = fmt.Errorf("too late: %w; that %s is violated was known only then, and is known earlier with a smaller --queue", err, property)
			}
			a.report(err)
		})
	}
}

// wait returns when all actions that were started have ended.
func (a *actor) wait() { a.running.Wait() }

func (a *actor) do(act action, property, message string) error {
	s := a.session()
	switch {
	case act.core:
		return s.DumpCore()
	case act.signal != 0:
		return s.Signal(act.signal)
	}
	cmd := exec.Command("/bin/sh", "-c", act.command)
	cmd.Env = append(os.Environ(), "TRACEPREDICT_PROPERTY="+property, "TRACEPREDICT_MESSAGE="+message, "TRACEPREDICT_PID="+strconv.Itoa(s.PID()))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr // standard output is the program's
	err := cmd.Run()
	a.add(cmd.ProcessState)
	if err != nil {
		return fmt.Errorf("%s: %w", act.command, err)
	}
	return nil
}

// add adds the processor time of a command; p is nil if the command never ran.
func (a *actor) add(p *os.ProcessState) {
	if p == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.commandTime += p.UserTime() + p.SystemTime()
}

// cpu returns the processor time of the commands that have ended.
func (a *actor) cpu() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.commandTime
}

// found handles a finding of a property when it is first known.
func (a *actor) found(f *finding.Finding) {
	if f.Confidence == finding.Potential {
		return
	}
	if f.Kind == finding.Knowledge && len(f.Evidence) > 0 {
		a.signalThread(&f.Evidence[0])
	}
	a.violated(f.Property, f.Message)
}

// threadSignal returns the first signal that a thread gets which violates a formula; 0: none.
func (a *actor) threadSignal() unix.Signal {
	for _, act := range a.actions {
		if act.thread {
			return act.signal
		}
	}
	return 0
}

// signalThread sends the signals of signal:NAME to the thread whose event violated a formula, unless the kernel does.
func (a *actor) signalThread(cause *finding.Step) {
	if a.threadSignal() == 0 {
		return
	}
	tid := a.tid(cause.Thread)
	if a.told != nil {
		told, err := a.told(tid, cause.Time)
		if a.report(err); told || err != nil {
			return
		}
	}
	for _, act := range a.actions {
		if act.thread {
			a.report(a.session().SignalThread(tid, act.signal))
		}
	}
}

// report prints an error, if it is one.
func (a *actor) report(err error) {
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.stderr, "tracepredict: --on-violation: %s\n", report.Sanitize(err.Error()))
}
