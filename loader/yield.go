package loader

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/ptrace"
)

// yields are the processes of a traced session that are not traced any more, because the program traces them.
type yields struct {
	any   atomic.Bool    // since has had entries
	mu    sync.Mutex     // guards since; no other lock is acquired while it is held
	since map[int]uint64 // by process ID: since when (CLOCK_MONOTONIC, ns)
}

// add records that a process has not been traced since a time (CLOCK_MONOTONIC, ns).
func (y *yields) add(pid int, since uint64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.since == nil {
		y.since = map[int]uint64{}
	}
	y.since[pid] = since
	y.any.Store(true)
}

// forget records that another process had this process ID.
func (y *yields) forget(pid int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	delete(y.since, pid)
}

// before reports whether a process was not traced any more at a time (CLOCK_MONOTONIC, ns).
func (y *yields) before(pid int, at uint64) bool {
	if !y.any.Load() {
		return false
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	since, yielded := y.since[pid]
	return yielded && since <= at
}

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
	s.yields.add(a.Tracee, monotonic())
	s.noteAbout(a.Tracee, "%s, and from then on exec has not traced that one: it was observed, but not made to wait, and what it executed or forked was observed late", what)
}

// lifetimeByRecord reports whether what a record says of the life of a process is not told by the tracer.
func (s *Session) lifetimeByRecord(r *bpf.Record) bool {
	switch bpf.Op(r.Op) {
	case bpf.OpFork, bpf.OpExec, bpf.OpExit:
		return s.opts.Follow && (!s.traced || s.yields.before(int(r.Tgid), r.Time))
	}
	return false
}
