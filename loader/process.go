package loader

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes"
)

// process is one process of a session: the first, or with Options.Follow one
// that it has forked, directly or not. What follows from a file (its plan, its
// sites) belongs to the session, and what follows from where it is mapped to the
// process. Probes in a file go off for a process by links of its own. Guarded by
// Session.mu.
type process struct {
	pid      int
	program  string // path of what it runs
	began    string // path of what it ran first
	planner  *probes.Planner
	limited  bool                      // the planner knows how many watchpoints there are
	modules  map[procfs.FileID]*Module // of the program that it runs now
	attached map[*Module]bool          // its links are there, or have been tried
	watched  map[*Module]uint64        // with hardware watchpoints; where it lay then (Segment.Bias)
	used     map[*Module]bool          // by this program or one before
	segments []Segment                 // by Lo; newest last among equals
	past     []Segment                 // of the programs before an execve
	young    time.Time                 // until when libraries are looked for at each pause; see became
	gone     bool
}

func (s *Session) newProcess(pid int) *process {
	p := &process{pid: pid, used: map[*Module]bool{}}
	s.reset(p)
	return p
}

// reset discards what belongs to a program before an execve.
func (s *Session) reset(p *process) {
	if s.opts.Follow && p.planner != nil && p.planner.Unresolved() == nil {
		s.resolved = true
	}
	p.planner, p.limited = probes.NewPlanner(s.opts.Plan), false
	p.modules = map[procfs.FileID]*Module{}
	p.attached = map[*Module]bool{}
	p.watched = map[*Module]uint64{}
	p.past = append(p.past, p.segments...)
	p.segments = nil
}

// Process names an observed process.
type Process struct {
	PID     int
	Program string // path of what it ran last
}

// Processes lists the processes that were observed, the first one first.
func (s *Session) Processes() []Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ps []Process
	for _, p := range s.all {
		ps = append(ps, Process{PID: p.pid, Program: p.program})
	}
	return ps
}

// Became returns the path of what the first process ran last, where that is not what it
// ran first: as sh -c 'exec ./server' becomes the server; else "".
func (s *Session) Became() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.program == s.first.began {
		return ""
	}
	return s.first.program
}

// of returns the process with a kernel's id, the latest if several have had it;
// the first for one that is not known.
func (s *Session) of(pid int) *process {
	if p := s.processes[pid]; p != nil {
		return p
	}
	return s.first
}

// add makes a process known; s.mu is held.
func (s *Session) add(p *process) {
	s.all = append(s.all, p)
	s.processes[p.pid] = p
	s.setLive()
}

func (s *Session) setLive() {
	var pids []int
	for _, p := range s.processes {
		if !p.gone {
			pids = append(pids, p.pid)
		}
	}
	slices.Sort(pids)
	s.live.Store(&pids)
}

// livePIDs returns the processes that are observed now; it does not block.
func (s *Session) livePIDs() []int {
	if pids := s.live.Load(); pids != nil {
		return *pids
	}
	return nil
}

// forked makes a child known that has been forked and has not run yet, or, where
// the program is not held, only just. Shared says that it runs in its parent's
// memory until it executes a program: until then it is its parent's affair.
func (s *Session) forked(parent, pid int, shared bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	p, from := s.newProcess(pid), s.of(parent)
	p.program = from.program
	s.add(p)
	if err := s.tracer.AddTarget(pid); err != nil {
		return err
	}
	if shared {
		return nil
	}
	p.planner, p.limited = from.planner, from.limited
	p.segments, p.past = slices.Clone(from.segments), slices.Clone(from.past)
	var fresh []*Module
	for id, m := range from.modules {
		p.modules[id], p.used[m] = m, true
		if from.attached[m] {
			p.attached[m] = true
			fresh = append(fresh, m)
		}
	}
	return s.attachAllOf(p, fresh)
}

// processEnded lets go of what the kernel keeps for a process that is no more.
func (s *Session) processEnded(pid int) {
	s.mu.Lock()
	p := s.processes[pid]
	if p == nil || p == s.first || p.gone {
		s.mu.Unlock()
		return
	}
	p.gone = true
	s.setLive()
	s.mu.Unlock()
	_ = s.tracer.RemoveTarget(pid)
	links := s.tracer.TakeProcess(pid)
	s.closing.Go(func() { _ = attach.CloseAll(links) }) // it takes the kernel long, and nobody waits for it
}

// became serves the execve of a process that is not held: its libraries are still
// to come, and are looked for until it has had time to load them.
func (s *Session) became(pid int, since uint64) {
	s.mu.Lock()
	p := s.processes[pid]
	s.mu.Unlock()
	if p == nil {
		return
	}
	if err := s.newProgram(pid); err != nil {
		s.noteAbout(pid, "what process %d became by execve is not observed: %v", pid, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.young = time.Now().Add(loadingTime)
	s.missed("process %d executed %s: what it did in the first %.1f ms was not observed", since, pid, p.program)
}

// loadingTime is how long a program that is not held may take to load its
// libraries without its loader telling of it.
const loadingTime = time.Second

func (s *Session) missed(format string, since uint64, pid int, program string) {
	s.note(fmt.Sprintf(format, pid, program, float64(monotonic()-since)/1e6))
}

// pause looks again at programs that have only begun, where they are not held.
func (s *Session) pause() {
	s.mu.Lock()
	var look []int
	for _, p := range s.processes {
		if !p.gone && !p.young.IsZero() {
			look = append(look, p.pid)
			if time.Now().After(p.young) {
				p.young = time.Time{}
			}
		}
	}
	s.mu.Unlock()
	for _, pid := range look {
		_ = s.sync(pid) // it may have ended
	}
}

// life serves the records of processes where nobody holds them.
func (s *Session) life(r *bpf.Record) {
	switch op := bpf.Op(r.Op); {
	case op == bpf.OpFork && r.Flags&bpf.RecProcess != 0:
		pid := int(r.Object)
		if err := s.forked(int(r.Tgid), pid, r.Flags&bpf.RecShared != 0); err != nil {
			s.noteAbout(pid, "process %d, forked by %d, is not observed: %v", pid, r.Tgid, err)
			return
		}
		if r.Flags&bpf.RecShared == 0 {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.missed("process %d was forked from %s: what it did in the first %.1f ms was not observed", r.Time, pid, s.of(pid).program)
		}
	case op == bpf.OpExec:
		s.became(int(r.Tgid), r.Time)
	case op == bpf.OpExit && r.Tid == r.Tgid:
		// Others of its threads may live on: its links go with its memory.
		if !procfs.HasLiveThread(int(r.Tgid)) {
			s.processEnded(int(r.Tgid))
		}
	}
}

// remaining notes which processes are left to themselves, what no program
// had that was to be watched, and that the first became one that has nothing to observe.
func (s *Session) remaining() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.nothingToSee(); err != nil && s.first.program != s.first.began {
		s.note(err.Error())
	}
	if !s.opts.Follow {
		return
	}
	unresolved := func(p *process) bool { return p.planner.Unresolved() != nil }
	if !s.resolved && !slices.ContainsFunc(s.all, func(p *process) bool { return !unresolved(p) }) {
		s.note(s.first.planner.Unresolved().Error())
	}
	n, first := 0, 0
	for _, p := range s.all {
		if p != s.first && !p.gone && !errors.Is(unix.Kill(p.pid, 0), unix.ESRCH) && !s.endedProcess(p) {
			if n++; n == 1 {
				first = p.pid
			}
		}
	}
	if n > 0 {
		s.note(fmt.Sprintf("%d processes that the program started go on, and are no longer observed (the first: process %d)", n, first))
	}
}

// pidSet is a set of processes that may be read without a lock.
type pidSet = atomic.Pointer[[]int]
