package loader

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// process is one process of a session: the first one, or, with Options.Follow, one that it has
// forked, directly or indirectly. What depends on a file alone (its plan, its sites) belongs to
// the session; what depends on where the file is mapped belongs to the process. Each process has
// links of its own for the probes in a file.
type process struct {
	pid int

	// Spaces.mu guards these.
	program      string           // path of the program that it runs
	executable   string           // path of the file that the kernel has executed: program, or the dynamic loader that has loaded it
	firstProgram string           // path of the first program that it ran
	command      string           // the command line of the program that it runs; "" until that is known
	segments     []Segment        // mappings of the present program, in the order of their discovery
	past         []Segment        // mappings of the programs before an execve
	unmapped     map[Segment]bool // the segments that were unmapped at some time
	overlaid     []elf.Range      // where segments of several files were, one after the other
	// copied reports that segments are those of the process that forked this one, until an execve;
	// parents is the number of entries of past that were. Meanwhile the process had one thread,
	// unless it never came to an execve.
	copied  bool
	parents int
	ended   bool // it has ended

	// Session.mu guards these.
	loads        bool            // executable is a dynamic loader, which was not asked for by a program
	identity     procfs.Identity // as in the journal; zero: it is not there
	planner      *probes.Planner
	limited      bool                      // planner has been given the number of free watchpoints
	modules      map[procfs.FileID]*Module // the files that the present program maps
	attached     map[*Module]bool          // its probes are attached, or attaching them has failed
	in           map[*Module]uint64        // since when its probes are in (CLOCK_MONOTONIC, ns)
	watched      map[*Module]uint64        // modules with hardware watchpoints; the load bias then
	used         map[*Module]bool          // modules of the present program or of one before an execve
	loadingUntil time.Time                 // when findLateLibraries stops looking for its libraries; zero: it does not look, see untracedExec
}

// executes returns the path of the program that the process runs, of which the kernel has executed the file exe: another
// one, once exe has loaded it.
func (p *process) executes(exe string, maps []procfs.Mapping) string {
	if exe != p.executable {
		p.loads = target.IsLoader(p.pid)
	}
	switch {
	case !p.loads:
		return exe
	case exe == p.executable && p.program != exe:
		return p.program
	}
	return target.LoadedBy(p.pid, exe, maps)
}

func (s *Session) newProcess(pid int) *process {
	p := &process{pid: pid, used: map[*Module]bool{}}
	s.reset(p)
	return p
}

// gone reports whether a process has no memory any more. An error about such a process
// means nothing.
func (p *process) gone() bool {
	_, err := procfs.Executable(p.pid)
	return err != nil
}

// reset discards what belongs to the program that the process ran before an execve.
func (s *Session) reset(p *process) {
	if s.opts.Follow && p.planner != nil && p.planner.Unresolved() == nil {
		s.resolved = true
	}
	p.planner, p.limited = probes.NewPlanner(s.planning.options(s.opts.Plan)), false
	p.modules = map[procfs.FileID]*Module{}
	p.attached, p.in = map[*Module]bool{}, map[*Module]uint64{}
	p.watched = map[*Module]uint64{}
	s.discard(p)
}

// forked adds a child that has just been forked. If the program is traced, the child has not run
// yet. shared means that the child runs in its parent's memory until it executes a program;
// until then it gets no probes of its own.
func (s *Session) forked(parent, pid int, shared bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	p, from := s.newProcess(pid), s.processOf(parent)
	p.program, p.executable, p.command, p.loads = from.program, from.executable, from.command, from.loads
	s.Spaces.add(p)
	if err := s.tracer.AddTarget(pid); err != nil {
		return err
	}
	if shared {
		return nil
	}
	p.planner, p.limited = from.planner, from.limited
	s.inherit(p, from)
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

// processEnded frees what the kernel keeps for a process that has ended.
func (s *Session) processEnded(pid int) {
	s.mu.Lock()
	p := s.processes[pid]
	if p == nil || p == s.first || p.ended {
		s.mu.Unlock()
		return
	}
	s.exited(p)
	id := p.identity
	s.mu.Unlock()
	_ = s.journals.own.RemoveTarget(id) // a process that is gone does no harm there
	_ = s.tracer.RemoveTarget(pid)
	links := s.tracer.RemoveLinks(pid)
	s.closing.Go(func() { _ = attach.CloseInTurn(s.tracer, links) }) // the kernel takes long to close them
}

// untracedExec handles the execve of a process that is not traced. The libraries of the new
// program are not mapped yet, so findLateLibraries looks for them during maxLoadingTime. since
// is the time of the execve (CLOCK_MONOTONIC, ns).
func (s *Session) untracedExec(pid int, since uint64) {
	p := s.known(pid)
	if p == nil {
		return
	}
	if err := s.newProgram(pid); err != nil {
		s.noteAbout(pid, "what process %d became by execve is not observed: %v", pid, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.loadingUntil = time.Now().Add(maxLoadingTime)
	s.notes.missed("process %d executed %s: what it did in the first %.1f ms was not observed", since, pid, p.program)
}

// maxLoadingTime bounds the time in which a program that is not traced loads its libraries. No
// record reports these libraries.
const maxLoadingTime = time.Second

// findLateLibraries looks for new libraries of programs that were executed less than
// maxLoadingTime ago, where processes are not traced.
func (s *Session) findLateLibraries() {
	s.mu.Lock()
	var loading []int
	for _, p := range s.processes {
		if !p.ended && !p.loadingUntil.IsZero() {
			loading = append(loading, p.pid)
			if time.Now().After(p.loadingUntil) {
				p.loadingUntil = time.Time{}
			}
		}
	}
	s.mu.Unlock()
	for _, pid := range loading {
		s.noteUnsynced(pid, s.sync(pid))
	}
}

// handleLifetime handles the records of forks, execve calls and ends of processes that are not
// traced.
func (s *Session) handleLifetime(r *bpf.Record) {
	switch op := bpf.Op(r.Op); {
	case op == bpf.OpFork && r.Flags&bpf.RecProcess != 0:
		pid := int(r.Object)
		if err := s.forked(int(r.Tgid), pid, r.Flags&bpf.RecShared != 0); err != nil {
			s.noteAbout(pid, "process %d, forked by %d, is not observed: %v", pid, r.Tgid, err)
			return
		}
		if s.traced {
			s.yields.add(pid, r.Time)
		}
		if r.Flags&bpf.RecShared == 0 {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.notes.missed("process %d was forked from %s: what it did in the first %.1f ms was not observed", r.Time, pid, s.processOf(pid).program)
		}
	case op == bpf.OpExec:
		s.untracedExec(int(r.Tgid), r.Time)
	case op == bpf.OpExit && r.Tid == r.Tgid:
		// Other threads of the process may still run; then the links stay until its memory is
		// freed.
		if !procfs.HasLiveThread(int(r.Tgid)) {
			s.processEnded(int(r.Tgid))
		}
	}
}

// noteRemaining adds notes at the end: which processes run on unobserved, which variables to
// watch no program had, and that the last program of the first process has nothing to observe.
func (s *Session) noteRemaining() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkObservable(); err != nil && s.first.program != s.first.firstProgram {
		s.notes.say(err.Error())
	}
	if !s.opts.Follow {
		return
	}
	unresolved := func(p *process) bool { return p.planner.Unresolved() != nil }
	if !s.resolved && !slices.ContainsFunc(s.all, func(p *process) bool { return !unresolved(p) }) {
		s.notes.say(s.first.planner.Unresolved().Error())
	}
	n, first := 0, 0
	for _, p := range s.all {
		if p != s.first && !p.ended && !errors.Is(unix.Kill(p.pid, 0), unix.ESRCH) && !p.gone() {
			if n++; n == 1 {
				first = p.pid
			}
		}
	}
	if n > 0 {
		s.notes.say(plural.Sprintf("%d {process that the program started goes on, and is|processes that the program started go on, and are} no longer observed (the first: process %d)", n, first))
	}
}
