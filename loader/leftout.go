package loader

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes"
)

// lockProbes are the probes of the C library's lock functions. Once the locks of a module are left out, they are at the
// stubs by which the other modules call these functions, and no longer in the C library: the calls of the module then cost
// nothing. Session.mu guards the fields but turn, entered and cuts.
type lockProbes struct {
	remover *remover
	asked   []string         // Options.NotModules
	out     map[*Module]bool // modules that were left out while the program ran
	moved   bool             // the locks of a module are left out: probes are put in at stubs
	away    removableProbes  // those in the C library
	here    map[*Module]*removableProbes
	unseen  []string // see LockUses

	turn    sync.Mutex              // held while a module is being left out, one after the other; acquired before Session.mu
	failed  bool                    // probes could not be put in; turn guards it
	entered atomic.Pointer[entered] // while the first module is about to be left out
	cuts    atomic.Pointer[[]*cut]  // the newest slice; nil: there is none
}

func newLockProbes(r *remover, asked []string) *lockProbes {
	l := &lockProbes{remover: r, asked: asked, out: map[*Module]bool{}, here: map[*Module]*removableProbes{}, moved: len(asked) > 0}
	l.away.name = "the lock functions of the C library"
	return l
}

// leavesOut reports whether the locks that a module's code takes are left out.
func (l *lockProbes) leavesOut(m *Module) bool { return l.out[m] || probes.Named(l.asked, m.Bin) }

// attach attaches the lock probes of a module for a process.
func (l *lockProbes) attach(p *process, m *Module, to attach.LinkTarget) error {
	// A program that has the lock functions itself calls them by no stub.
	if !l.moved || m.Path == p.program {
		if err := l.put(&l.away, to, m.lockSites(probes.MovesAway)); err != nil {
			return err
		}
	}
	if !l.moved || l.leavesOut(m) {
		return nil
	}
	return l.putHere(m, to)
}

// putHere attaches the probes at the stubs of a module.
func (l *lockProbes) putHere(m *Module, to attach.LinkTarget) error {
	g := l.here[m]
	if g == nil {
		g = &removableProbes{name: "the stubs of lock functions in " + path.Base(m.Path)}
		l.here[m] = g
	}
	for _, name := range m.Plan.LocksByPointer {
		what := fmt.Sprintf("%s in %s", name, path.Base(m.Path))
		if !slices.Contains(l.unseen, what) {
			l.unseen = append(l.unseen, what)
		}
	}
	return l.put(g, to, m.lockSites(probes.MovesHere))
}

// put attaches probes of a group, those of returns with a link of their own.
func (l *lockProbes) put(g *removableProbes, to attach.LinkTarget, all []attach.Probe) error {
	for _, returns := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(all), func(p attach.Probe) bool { return p.Return != returns })
		if len(some) == 0 {
			continue
		}
		if err := l.remover.attach(g, to, some); err != nil {
			return err
		}
	}
	return nil
}

// lockSites returns the module's probes of lock functions that move so.
func (m *Module) lockSites(as probes.Moves) []attach.Probe {
	return m.probesOf(func(_ int, s *probes.Site) bool { return s.Moves == as })
}

// CallsLocksByPointer reports whether a module, but for one whose locks are to be left out, may call lock functions by
// no stub, so that their calls would not be seen.
func (s *Session) CallsLocksByPointer(but *Module) bool {
	program := s.ProgramPath()
	return slices.ContainsFunc(s.Modules(), func(m *Module) bool {
		return m != but && m.Plan != nil && (len(m.Plan.LocksByPointer) > 0 || m.Path == program && len(m.lockSites(probes.MovesAway)) > 0)
	})
}

// cut ends the records of some sites, whose probes are being removed: a wanted call has another probe, if it needs one.
type cut struct {
	at     uint64  // when, CLOCK_MONOTONIC, ns
	module *Module // the module whose stubs they are; nil: those in the C library
	past   bool    // a later record has been read: all that come now are discarded. The reader alone uses it
}

// of reports whether a site is one of those.
func (c *cut) of(index uint32, site *probes.Site) bool {
	if c.module == nil {
		return site.Moves == probes.MovesAway
	}
	return site.Moves == probes.MovesHere && index >= c.module.Base && index-c.module.Base < uint32(len(c.module.Plan.Sites))
}

// LeaveOut stops observing the locks that the code of a module takes, in the background. For the first module, the probes
// of the others are put in, and, when no thread is in the middle of a lock function, those in the C library are removed;
// for a further one, those at its stubs are. done is called before they are removed, with the time (CLOCK_MONOTONIC, ns)
// from which on the calls of the module are not recorded; never if that does not come to pass.
func (s *Session) LeaveOut(m *Module, done func(now uint64)) {
	if s.steered != nil {
		return // the schedule is followed by the probes that are there
	}
	s.remover.running.Go(func() {
		l := s.locks
		l.turn.Lock()
		defer l.turn.Unlock()
		first := l.cuts.Load() == nil
		if l.failed || first && !s.moveLocks(m) {
			return
		}
		if c, group := s.cutLocks(m, first); c != nil {
			done(c.at)
			s.remover.start(group, group.name, nil)
		}
	})
}

// moveLocks puts in the probes at the stubs of all modules but one, and waits until no thread is in a lock function that it
// entered before. It returns false if that cannot be done, or the observation ends first.
func (s *Session) moveLocks(m *Module) bool {
	if err := s.attachStubs(m); err != nil {
		s.locks.failed = true
		s.notes.say(fmt.Sprintf("the locks of %s stay observed: %v", path.Base(m.Path), err))
		return false
	}
	return s.awaitQuiet()
}

// attachStubs puts in the probes at the stubs of all modules but one.
func (s *Session) attachStubs(m *Module) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	l := s.locks
	l.out[m], l.moved = true, true
	for _, p := range s.processes {
		for other, in := range p.attached {
			if !in || l.leavesOut(other) {
				continue
			}
			to, err := s.linkTarget(p, other)
			if err == nil {
				err = l.putHere(other, to)
			}
			if err != nil && !p.gone() {
				return err
			}
		}
	}
	return nil
}

// cutLocks ends the records of the probes in the C library, or of those at the stubs of a further module, and returns these
// probes; nil if the observation has ended.
func (s *Session) cutLocks(m *Module, first bool) (c *cut, group *removableProbes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, nil
	}
	l := s.locks
	l.out[m] = true
	c, group = &cut{at: monotonic()}, &l.away
	cuts := []*cut{c}
	if !first {
		c.module = m
		if group = l.here[m]; group == nil {
			group = &removableProbes{} // it calls no lock function by a stub
		}
		cuts = append(slices.Clone(*l.cuts.Load()), c)
	}
	l.cuts.Store(&cuts)
	return c, group
}

// leftOut reports whether a record is of a probe that is being removed. The reader alone calls it.
func (s *Session) leftOut(r *bpf.Record) (discarded bool) {
	e, cuts := s.locks.entered.Load(), s.locks.cuts.Load()
	if e == nil && cuts == nil {
		return false
	}
	site := s.Site(r.Site)
	moves := site != nil && site.Moves != probes.MovesNot
	if e != nil && moves {
		e.left(r)
	}
	if cuts == nil {
		return false
	}
	for _, c := range *cuts {
		c.past = c.past || r.Time >= c.at
		discarded = discarded || c.past && moves && c.of(r.Site, site)
	}
	return discarded
}

const (
	quietPause   = 100 * time.Millisecond // between two looks at the threads
	quietRunning = 5                      // looks at a thread that runs on, after which it has left any lock function
)

// entered are the threads that may be in a lock function which they have entered before the probes at stubs were in: its
// return would not be seen.
type entered struct {
	mu    sync.Mutex
	since uint64         // when the probes were in, ns
	looks map[uint32]int // how often a thread has been seen to run, by its ID
}

// left notes a record: its thread is in no lock function that it has entered before.
func (e *entered) left(r *bpf.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.Time > e.since {
		delete(e.looks, r.Tid)
	}
}

// look looks at the threads, and reports whether none is in such a function any more.
func (e *entered) look(state func(tid uint32) string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for tid := range e.looks {
		switch line := state(tid); {
		case inLockFunction(line), strings.HasPrefix(line, "-1 "): // stopped, or waiting for memory, anywhere in its code
			continue
		case line == "running":
			if e.looks[tid]++; e.looks[tid] < quietRunning {
				continue
			}
		}
		delete(e.looks, tid)
	}
	return len(e.looks) == 0
}

// awaitQuiet waits until no thread can be in a lock function which it has entered before the probes at stubs were in. It
// returns false if the observation ends first.
func (s *Session) awaitQuiet() bool {
	e := &entered{since: monotonic(), looks: map[uint32]int{}}
	for _, pid := range s.livePIDs() {
		threads, _ := procfs.Threads(pid) // an error says that it has ended
		for _, tid := range threads {
			e.looks[uint32(tid)] = 0
		}
	}
	s.locks.entered.Store(e)
	defer s.locks.entered.Store(nil)
	tick := time.NewTicker(quietPause)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return false
		case <-tick.C:
		}
		if !s.ring.throttle.Holding() && e.look(systemCallOf) {
			return true
		}
	}
}

// systemCallOf returns the system call that a thread is in, as /proc/TID/syscall has it: "running" if it is in none, "" if it
// has ended.
func systemCallOf(tid uint32) string {
	dir := procfs.Dir(int(tid))
	text, err := os.ReadFile(dir + "/syscall")
	if err == nil {
		return strings.TrimSpace(string(text))
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return "running" // the kernel does not tell
}

// inLockFunction reports whether a line of /proc/PID/task/TID/syscall is that of a thread that waits as lock functions
// do: futex(2) with FUTEX_WAIT or FUTEX_LOCK_PI. Waits for conditions, semaphores and barriers use FUTEX_WAIT_BITSET; those
// of read-write locks do too, which is why these are never left out.
func inLockFunction(line string) bool {
	var nr int64
	var addr, op uint64
	if n, _ := fmt.Sscanf(line, "%d 0x%x 0x%x", &nr, &addr, &op); n < 3 {
		return false
	}
	const waitCommand, lockPI, lockPI2, commands = 0, 6, 13, 0x7f
	command := op & commands
	return nr == unix.SYS_FUTEX && (command == waitCommand || command == lockPI || command == lockPI2)
}

// LockUses says which locks are not observed.
type LockUses struct {
	Asked  []string // modules whose locks the user did not want, by their names
	Unseen []string // lock functions that other modules call by no stub, so that these calls are not seen
}

// LeftOut returns which locks are not observed.
func (s *Session) LeftOut() LockUses {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := LockUses{Unseen: slices.Clone(s.locks.unseen)}
	for _, m := range s.Modules() {
		if probes.Named(s.locks.asked, m.Bin) {
			u.Asked = append(u.Asked, path.Base(m.Path))
		}
	}
	return u
}
