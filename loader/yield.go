package loader

import (
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/ptrace"
)

// startYielding has the tracer make way for what the program traces, if a module may trace. The caller holds s.mu.
func (s *Session) startYielding(m *Module) {
	if !s.traced || !ptrace.Yields || !m.traces() {
		return
	}
	if err := s.tracer.StartYielding(); err != nil {
		s.notes.say(fmt.Sprintf("where the program asks ptrace for what exec traces, that fails: %v", s.notes.reason(err)))
	}
}

// asked handles a thread's request to trace, or to be traced, that stands against the tool's own tracing.
func (s *Session) asked(a ptrace.Ask) {
	what := fmt.Sprintf("process %d asked ptrace to trace process %d", a.PID, a.Tracee)
	if a.TraceMe {
		what = fmt.Sprintf("process %d asked ptrace to be traced by its parent (PTRACE_TRACEME)", a.PID)
	}
	if !a.Yielded {
		s.noteAbout(a.PID, "%s, which failed with EPERM, as under any debugger: exec traces what it observes from its start, attach does not", what)
		return
	}
	s.mu.Lock()
	s.yield(a.Tracee, monotonic())
	s.mu.Unlock()
	s.noteAbout(a.Tracee, "%s, and from then on exec has not traced that one: it was observed, but not made to wait, and what it executed or forked was observed late", what)
}

// yield records that a process has not been traced since a time (CLOCK_MONOTONIC, ns). The caller holds s.mu.
func (s *Session) yield(pid int, since uint64) {
	if s.yielded == nil {
		s.yielded = map[int]uint64{}
	}
	s.yielded[pid] = since
	s.anyYielded.Store(true)
}

// lifetimeByRecord reports whether what a record says of the life of a process is not told by the tracer.
func (s *Session) lifetimeByRecord(r *bpf.Record) bool {
	switch bpf.Op(r.Op) {
	case bpf.OpFork, bpf.OpExec, bpf.OpExit:
		return s.opts.Follow && (!s.traced || s.untracedAt(int(r.Tgid), r.Time))
	}
	return false
}

// untracedAt reports whether a process was not traced any more at a time (CLOCK_MONOTONIC, ns), although the session
// traces what it has started.
func (s *Session) untracedAt(pid int, at uint64) bool {
	if !s.anyYielded.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	since, yielded := s.yielded[pid]
	return yielded && since <= at
}
