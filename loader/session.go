// Package loader observes processes. It joins the packages below it, which load and attach the
// BPF programs (attach), hold the traced process (ptrace), read the ring buffer (ring), find
// call stacks (stacks) and judge what is to be observed (target).
//
// A Session observes one process, started (Start) or found (Attach): whatever executable file it
// maps gets the probes of its plan, and the records of their hits come to a Handler in the order
// of the run. The package knows plans and records; what a record means for the program is the
// observer's business.
//
// The observed process outlives the tool: when the tool dies, the kernel closes the links, which
// removes the probes, and detaches the threads that ptrace holds. The package writes nothing
// into the memory of the process, but for the original instructions where the process has copied breakpoints. Where the
// kernel fails to remove probes, Repair has it try again.
package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/parent"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/stacks"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Options configure a session.
type Options struct {
	Plan probes.Options
	// RingBytes is the size of the ring buffer: a power of two of at least one page.
	// Default: attach.DefaultRingBytes.
	RingBytes int
	// Stacks selects what is recorded about the call stack of an event.
	Stacks attach.Stacks
	// Handler receives records and call stacks. One goroutine calls it.
	Handler Handler
	// Duration is the time, after all probes are in, at which the observation ends; the program
	// runs on. Default 0: no limit.
	Duration time.Duration
	// Lossy: records that find the ring buffer full are lost, and counted. By default the
	// program is made to wait until there is room.
	Lossy bool
	// DropPrivileges: before anything of the observed program is read, the tool gives up, in all
	// threads and irrevocably, the privileges that it does not need: all capabilities but
	// CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE, and the right to gain others. With a Program.User
	// it becomes that user; the files of a found process are opened with that process's rights.
	// It is for a tool that does nothing but observe. Where the binary cannot drop privileges
	// (cgo), a note of the session says so.
	DropPrivileges bool
	// Messages says whether the messages that threads pass each other through the kernel (pipes,
	// sockets, eventfds, futexes) are recorded too.
	Messages Messages
	// NoProbes: no probe is attached, so there are no records of events. Sleepers still reports
	// what the threads are doing.
	NoProbes bool
	// Follow: the processes that the program forks, and the programs that these execute, are
	// observed too, until the first process ends.
	Follow bool
	// Accept checks the variables and the functions that were found for what the user named. It is
	// called once, when the libraries are mapped and a started program has not run yet. An error is
	// wrong usage: it ends a started program, while an attached process runs on. Nil accepts all.
	Accept func(*probes.Planner) error
	// RemovalLimits determine when the probes of variables that the user did not name are
	// removed. Default: never.
	RemovalLimits RemovalLimits
	// Planning is told what is done before the program runs on, for people: "reading code of NAME" and how
	// much of it, between 0 and 1, "" at the end. Several goroutines call it. Nil: nobody is told.
	Planning func(what string, done float64)
	// Ended is called when nothing more will be observed: the started program has ended, or the observation of an
	// attached process is over. What was recorded is read to its end after that. Nil: nobody is told.
	Ended func()
	// Left is called when no probe is in the program any more, and it is not made to wait. What was recorded may not
	// have been read then. Nil: nobody is told.
	Left func()
	// TouchOthers: probes for a process whose first thread has ended may be in other processes too, since the kernel
	// cannot tell them apart. Otherwise such a process is not attached to, and its new files are not observed.
	TouchOthers bool
	// Failed is called, once, when a goroutine of the session has panicked; the observation ends then, and the
	// program goes on. Nil: nobody is told.
	Failed func(*safely.Panic)
	// Parent is the connection to the parent that waits for this process. Nil: there is none.
	Parent *parent.Link
	// Journal is the folder of the journals of where probes are, see package journal; "": none is kept.
	Journal string
	// Knowledge is a formula that is evaluated in the observed threads. The zero value is none.
	Knowledge Knowledge
	// Steer is a schedule that the threads of the first process are to follow, if the session has started it. Nil: they
	// run as they would. See Session.Steered.
	Steer *steer.Plan
	// Following is told what becomes of Steer; nil: nobody is.
	Following Following
	// Verbose: notes say, too, what does not concern the observation itself.
	Verbose bool
	// Scope is what is monitored in the observed threads instead of being recorded; nil: nothing is.
	Scope *Scope
	// NotModules are names of libraries, as patterns of path.Match: the mutexes and spin locks that their code takes are
	// not observed.
	NotModules []string
	// Budget is how many times as long as without observation the program may take, because of the probes of
	// accesses through pointers (Options.Plan.Pointers), in processor time: more than 1; 0: there is no bound.
	Budget float64
}

// Knowledge is a formula for the programs in the kernel.
type Knowledge struct {
	*bpf.Knowledge
	// Events returns the events of the formula that calls or returns of functions that match a pattern of
	// Options.Plan.On may be, a bit for each.
	Events func(pattern string, returns bool) uint64
}

// Messages says when messages through the kernel are recorded.
type Messages uint8

// The values of Messages.
const (
	MessagesAuto   Messages = iota // from when a file is mapped whose code may make channels
	MessagesAlways                 // from the beginning
	MessagesNever
)

// Handler receives the contents of the ring buffer, in the order of the run. The records lie in
// the ring buffer itself: they are read-only, and what is kept must be copied.
type Handler interface {
	Record(*bpf.Record)
	Call(*bpf.CallRecord)
	Stack(*bpf.StackRecord)
	// Idle is called when nothing is left to read at the moment.
	Idle()
}

// Session observes a process and, with Options.Follow, its descendants. Its parts own their state, each with a lock of
// its own where several goroutines use it. The order of the locks is: Session.mu, that of the thinner, that of another
// part, and then that of the notes or of the Tracer.
type Session struct {
	Spaces // what the processes map
	Sites

	opts   Options
	tracer *attach.Tracer
	notes  notes // for the report

	planning planning
	calls    calls // that the modules want
	ring     ringWatcher
	hardware watchpoints
	yields   yields
	journals *journals
	thinner  *thinner        // nil: all accesses through pointers are observed
	unnamed  *unnamedWatcher // of variables that the user did not name; nil without Options.Plan.Shared

	// Probes that may be removed while the process runs.
	remover *remover
	atomics *atomicProbes // see busy.go
	heap    *heapProbes   // see lives.go
	unseen  *unseenProbes // see unseen.go
	locks   *lockProbes   // see leftout.go

	steered *steered             // nil without Options.Steer
	left    atomic.Pointer[Left] // the program, once it has been left stopped

	mu       sync.Mutex                  // guards the fields below
	target   *os.Process                 // the first process, to signal; nil if it had ended before
	modules  map[procfs.FileID][]*Module // several of one file after an execve
	early    target.EarlyFiles           // files of an attached process, opened with all privileges
	resolved bool                        // with Follow: a former program had all variables to watch
	running  bool                        // the program runs, with the probes of its libraries in
	began    time.Time                   // when running became true
	ended    bool                        // the observation has ended: no more probes
	restored int                         // breakpoints that were copied and then replaced, see copied.go
	lost     Lost                        // valid at the end
	watched  []Watched                   // valid at the end
	sampled  *Sampled                    // valid at the end, see Sampled

	traced   bool           // ptrace traces the processes: each stops at its execve and fork
	tracing  *ptrace.Thread // traces the program, if it is traced throughout
	anchored uint32         // kernel's ID of the thread that probes are tied to, see tieTo; 0: none
	job      job            // job control of a started program

	sentSignals  atomic.Uint64                    // bit n: signal n was sent by Signal
	abandoned    atomic.Pointer[target.ExitError] // why the planning of probes is to end; nil: it goes on
	failed       atomic.Pointer[safely.Panic]     // the first panic of a goroutine; nil: there was none
	cancel       context.CancelFunc               // ends the observation; that of endsWith
	end          atomic.Uint64                    // when the observation ended, on the clock of the records, ns; 0: not yet
	knowledge    attach.Knowledge                 // valid after the observation
	knowledgeErr error
	futexes      attach.FutexWaits // valid after the observation
	futexesErr   error
	futexesRead  bool
	undetached   atomic.Bool // the kernel has not removed all probes
	tender       wordTender
	crowdedBy    Crowded      // see Crowded
	closing      safely.Group // goroutines that close links of processes that have ended

	finder   *stacks.Finder
	stop     chan struct{} // closed: the reader reads what is left and returns
	readDone chan struct{} // closed when the reader has returned
	readErr  error         // valid when readDone is closed
}

// newSession drops privileges by calling drop, if the options ask for it, and loads the BPF
// programs.
func newSession(opts Options, drop func() error) (s *Session, err error) {
	opts.Plan.Terse = true
	var kept string // why privileges were not dropped
	var watcher, tracing *ptrace.Thread
	if !opts.NoProbes { // the threads get their priority before the right to it is dropped
		watcher, tracing = ptrace.NewThread(), ptrace.NewThread()
	}
	defer func() {
		if s == nil {
			watcher.End()
			tracing.End()
		}
	}()
	if opts.DropPrivileges {
		err := drop()
		if errors.Is(err, target.ErrCgo) {
			kept = fmt.Sprintf("tracepredict kept privileges that it does not need: %v", err)
		} else if err != nil {
			return nil, err
		}
	}
	plan := opts.Plan
	tracer, err := attach.NewTracer(attach.TracerOptions{
		RingBytes: opts.RingBytes, Stacks: opts.Stacks, Shared: plan.Shared, Pointers: plan.Pointers, PointerAtomics: plan.Atomics, ArrayAccesses: opts.RemovalLimits.ArrayAccesses,
		Follow: opts.Follow, NoProbes: opts.NoProbes, Messages: opts.Messages != MessagesNever, Futexes: plan.Futexes, OnlyFutexes: plan.Contended, Knowledge: opts.Knowledge.Knowledge, Scope: opts.Scope.automata(), ScopeConditions: opts.Scope.conditions(),
	})
	if err != nil {
		return nil, err
	}
	s = &Session{
		Spaces:   Spaces{processes: map[int]*process{}},
		Sites:    Sites{list: []*probes.Site{nil}},
		opts:     opts,
		tracing:  tracing,
		tracer:   tracer,
		modules:  map[procfs.FileID][]*Module{},
		journals: &journals{},
		stop:     make(chan struct{}),
		readDone: make(chan struct{}),
	}
	s.hardware.tracer = tracer
	s.planning.tell = opts.Planning
	s.ring.ring, s.ring.thread, s.ring.failed = tracer.Ring, watcher, s.fail
	s.remover = &remover{tracer: tracer, notes: &s.notes}
	s.atomics, s.heap, s.unseen = newAtomicProbes(s.remover), newHeapProbes(s.remover, &s.opts), newUnseenProbes(s.remover)
	s.locks = newLockProbes(s.remover, opts.NotModules)
	if kept != "" {
		s.notes.say(kept)
	}
	if opts.Messages == MessagesAlways {
		if err := tracer.StartMessages(); err != nil {
			tracer.Close()
			return nil, err
		}
	}
	s.finder = stacks.New(s)
	s.finder.Unwound = s.settleStack
	s.tender = wordTender{tracer: tracer, notes: &s.notes}
	s.tender.done.Failed = s.fail
	s.finder.Failed, s.remover.running.Failed, s.closing.Failed = s.fail, s.fail, s.fail
	if opts.Plan.Shared {
		s.unnamed = newUnnamedWatcher(tracer, opts.RemovalLimits)
		s.unnamed.done.Failed = s.fail
	}
	if opts.Plan.Pointers && opts.Budget > 0 {
		s.thinner = newThinner(tracer, s.unnamed, opts.Budget, s.livePIDs)
		s.thinner.done.Failed = s.fail
	}
	if !opts.Lossy {
		s.ring.throttle = ptrace.NewThrottle(tracer.Ring, s.livePIDs)
	}
	return s, nil
}

// Began returns when the program began to run with all probes in; the zero time if it never did.
func (s *Session) Began() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}

// begin sets the first process of the session.
func (s *Session) begin(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = s.newProcess(pid)
	s.Spaces.add(s.first)
	s.noteUnrecorded(s.journals.why)
	s.target, _ = os.FindProcess(pid) // holds a pidfd: the number may be another process's later
}

// Patterns returns the patterns of functions that the user asked for.
func (s *Session) Patterns() []function.Pattern { return s.opts.Plan.On }

// Unmatched returns those of these patterns that match no function in any file of the first
// process.
func (s *Session) Unmatched() []function.Pattern {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []function.Pattern
	for _, i := range s.first.planner.Unmatched() {
		out = append(out, s.opts.Plan.On[i])
	}
	return out
}

// NamedVariables returns the names, as sites have them, of the variables and fields that the user
// asked to watch and that were found, sorted.
func (s *Session) NamedVariables() []string {
	var names []string
	for _, m := range s.Modules() {
		for i := range m.Plan.Sites {
			if site := &m.Plan.Sites[i]; site.Variable != "" && site.Program == probes.ProgramNamed {
				names = append(names, site.Variable)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.first.planner.Found() {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// FollowsPointers reports whether all accesses through pointers of the program's code are observed.
func (s *Session) FollowsPointers() bool { return s.opts.Plan.Pointers }

// Notes returns sentences on what could not be observed, and why.
func (s *Session) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	unexplained := s.hardware.unexplained.Load()
	notes := append(plural.Texts(s.notes.all()), s.ring.throttle.Notes(s.lost.Records > unexplained)...)
	if s.restored > 0 {
		notes = append(notes, plural.Sprintf("the program executes copies of its own code, with breakpoints of probes in them: %d {was|were} replaced by the original {instruction|instructions}, and what the copies do is not observed; --watch-shared=off puts in fewer probes", s.restored))
	}
	if unexplained > 0 {
		notes = append(notes, plural.Sprintf("of the events lost, %d {was an access to a watched variable|were accesses to watched variables}: this virtual machine did not tell which variable, a fault of hypervisors (KVM before Linux 6.14)", unexplained))
	}
	if s.lost.LifeRecords > 0 {
		notes = append(notes, plural.Sprintf("of the events lost, %d {was the beginning or end of a thread, or a library|were beginnings or ends of threads, or libraries} that came: who made and who joined a thread may be wrong", s.lost.LifeRecords))
	}
	return notes
}

// sync reads what a process maps now, and plans and attaches the probes of new files.
func (s *Session) sync(pid int) error {
	_, err := s.attachNew(pid)
	if err == nil && s.steered != nil && pid == s.PID() {
		err = s.attachSteering()
	}
	return err
}

// attachNew does the same as sync, and returns the modules whose probes it attached.
func (s *Session) attachNew(pid int) (fresh []*Module, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processOf(pid)
	if s.ended {
		return nil, nil
	}
	if err := target.CheckCaller(pid); err != nil { // it may have executed a set-uid program
		s.notes.add(plural.About("", "process %d is not observed: %v", pid, err))
		return nil, nil
	}
	// The lock is held while the mappings are read. Otherwise they could be those of the program
	// before an execve, and be mistaken for those of the program after it.
	maps, err := procfs.Maps(pid)
	if err != nil {
		return nil, err
	}
	exe, err := procfs.Executable(p.pid)
	if err != nil {
		return nil, err
	}
	if !s.traced {
		s.noteChangedCode(maps)
	}
	if exe == p.executable { // otherwise the mappings may be those of another program
		s.findUnloaded(p, maps)
	}
	program := p.executes(exe, maps)
	s.runs(p, exe, program, func() string { return procfs.CommandLine(p.pid) })
	if p.loads && program == exe {
		return nil, nil // the program is planned first, and has not been loaded yet
	}
	s.hardware.limit(p, &s.opts.Plan)
	// The program comes before its libraries, because variables are looked for in it first.
	slices.SortStableFunc(maps, func(a, b procfs.Mapping) int { return boolToInt(b.Path == program) - boolToInt(a.Path == program) })
	var mapped []*Module
	for _, m := range maps {
		if !m.Exec || m.File.Inode == 0 || p.known(m) {
			continue
		}
		if err := s.checkAbandoned(); err != nil {
			return nil, err
		}
		mod, err := s.addMapping(p, m)
		if err != nil {
			if err := s.leaveUnobserved(p, m.Path, err); err != nil {
				return nil, err
			}
			continue
		}
		mapped = append(mapped, mod)
		if !p.attached[mod] && mod.probed() {
			p.attached[mod] = true
			fresh = append(fresh, mod)
		}
	}
	defer s.planning.say("", 1)
	if err := s.findActions(p, mapped); err != nil {
		return fresh, err
	}
	if err := s.startCalls(); err != nil {
		return fresh, err
	}
	if len(fresh) > 0 {
		s.planning.say("attaching probes", 0)
	}
	if err := s.attachAllOf(p, fresh); err != nil {
		return fresh, err
	}
	return fresh, s.hardware.update(p, maps)
}

// attachAllOf attaches probes for a process. Libraries, which have the lock functions, come
// before the program, whose variables are watched: otherwise a program that runs would be seen
// to access variables without locking.
func (s *Session) attachAllOf(p *process, fresh []*Module) error {
	defer s.tracer.Attaching()()
	s.record(p, fresh)
	slices.SortStableFunc(fresh, func(a, b *Module) int { return boolToInt(a.Path == p.program) - boolToInt(b.Path == p.program) })
	for _, mod := range fresh { // unseen first: an execution before its probe is in would be missed
		if err := s.attachUnseen(p, mod); err != nil {
			if err := s.leaveUnobserved(p, mod.Path, err); err != nil {
				return err
			}
		}
	}
	for _, mod := range fresh {
		if err := s.attach(p, mod); err != nil {
			if err := s.leaveUnobserved(p, mod.Path, err); err != nil {
				return err
			}
			continue
		}
		p.in[mod] = monotonic()
	}
	return nil
}

// leaveUnobserved handles an error that leaves a file unobserved. It returns nil if the
// observation can go on without the file.
func (s *Session) leaveUnobserved(p *process, path string, err error) error {
	var wrong *variable.Error
	var tooMany *probes.TooManyError
	switch {
	case errors.As(err, &wrong), errors.As(err, &tooMany): // in what the user asked to watch
		return &UsageError{Err: err}
	case path == p.program || p.gone() || errors.Is(err, attach.ErrNoWatchpoint) || !s.running && (need.OutOfFiles(err) || errors.Is(err, attach.ErrNotLoaded)):
		return err
	}
	s.notes.leave(path, p.pid, err)
	return nil
}

// syncLate does the same as sync for libraries that the program loads while it runs. The program
// is not held then, so what a library does before its probes are in is not observed, and a note
// says so. since is when the dynamic loader reported the library (CLOCK_MONOTONIC, ns).
func (s *Session) syncLate(pid int, since uint64) error {
	fresh, err := s.attachNew(pid)
	if err != nil {
		return err
	}
	if s.traced && !s.yields.before(pid, since) && s.tracer.ExecutedAt(pid) > since {
		return nil // they are those of a program that the tracer holds until all of them have their probes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range fresh {
		m.attachedLate = m.attachedLate || s.running
		if s.running && s.processOf(pid).loadingUntil.IsZero() { // untracedExec has added a note about a program that is still loading
			s.notes.add(plural.About(m.Path, "%s was loaded while the program ran: what it did in the first %.1f ms was not observed",
				m.Path, float64(monotonic()-since)/1e6))
		}
	}
	return nil
}

// loaded attaches the probes of newly loaded libraries, if that is what a thread has stopped for (attach.Tracer.HoldLoading), and
// reports whether it is. The thread has not executed any code of the libraries yet, not even their constructors.
func (s *Session) loaded(tid int) bool {
	if !s.tracer.TakeLoading(tid) {
		return false
	}
	if pid := ptrace.ProcessOf(tid); pid != 0 {
		_, err := s.attachNew(pid)
		s.noteUnsynced(pid, err)
	}
	return true
}

// monotonic returns the present time on the clock of the records, in ns.
func monotonic() uint64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return uint64(ts.Nano())
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// known reports whether a mapping is a segment of the process already.
func (p *process) known(m procfs.Mapping) bool {
	for _, seg := range p.segments {
		if seg.Lo == m.Lo && seg.Hi == m.Hi && seg.Module == p.modules[m.File] {
			return true
		}
	}
	return false
}

// addMapping adds an executable mapping to a process, and plans the probes of its file.
func (s *Session) addMapping(p *process, m procfs.Mapping) (*Module, error) {
	mod := p.modules[m.File]
	if mod == nil {
		var err error
		if mod, err = s.module(p, m); err != nil {
			return nil, err
		}
		p.modules[m.File], p.used[mod] = mod, true
	}
	if bias, ok := mod.bias(m); ok {
		if before := s.mapped(p, Segment{Lo: m.Lo, Hi: m.Hi, Bias: bias, Module: mod}); before != nil && len(p.overlaid) == 1 {
			s.notes.add(plural.About(m.Path, "%s was loaded where %s had been: what both had at the same addresses is named as in the last file that was loaded there", m.Path, before.Path))
		}
	}
	return mod, nil
}

// module returns the module of a mapped file. Processes share a module, unless a program before
// an execve had it in the same process: locations are identified by process and site, and each
// such pair must mean one location.
func (s *Session) module(p *process, m procfs.Mapping) (*Module, error) {
	if s.opts.Follow {
		for _, mod := range s.modules[m.File] {
			if !p.used[mod] {
				return mod, nil
			}
		}
	}
	mod, err := openModule(p.pid, m, p.executable, s.early)
	if err != nil {
		return nil, err
	}
	if err := s.register(p, mod); err != nil { // the planner may keep what it found in the file, which stays open
		return nil, err
	}
	s.modules[m.File] = append(s.modules[m.File], mod)
	return mod, nil
}

// register plans the probes of a new module, and enters its sites. If it fails, the session does not know the module.
func (s *Session) register(p *process, mod *Module) (err error) {
	if s.opts.Messages == MessagesAuto && !s.opts.NoProbes && mod.passesMessages(s.opts.Follow) {
		s.wants(messagesWanted)
	}
	s.startYielding(mod)
	if s.opts.NoProbes {
		mod.Plan = &probes.Plan{}
	} else if mod.Plan, err = s.planning.plan(p.planner, mod); err != nil {
		return err
	}
	s.wantCalls(mod)
	for _, n := range mod.Plan.Notes {
		s.notes.add(n)
	}
	if mod.probed() {
		if err := s.enterSites(mod); err != nil {
			return err
		}
	}
	s.unseen.add(mod)
	return nil
}

// enterSites enters a module's sites into the tables of the BPF programs and of the session.
func (s *Session) enterSites(mod *Module) error {
	if len(mod.Plan.Shared) > 0 {
		base, err := s.unnamed.add(mod.Plan.Shared)
		if err != nil {
			return err
		}
		mod.offsetWatched(base)
	}
	sites := mod.bpfSites()
	err := mod.addSignatures(s.tracer, sites)
	if err != nil {
		return err
	}
	s.markEvents(mod, sites)
	if mod.Base, err = s.tracer.AddSites(sites); err != nil {
		return err
	}
	if err := s.enterScope(mod); err != nil {
		return err
	}
	s.Sites.add(mod.Plan)
	s.atomics.add(mod)
	return nil
}

// markEvents marks the sites of a module that are events of the formula in the kernel.
func (s *Session) markEvents(mod *Module, sites []bpf.Site) {
	if s.opts.Knowledge.Knowledge == nil {
		return
	}
	for i := range mod.Plan.Sites {
		fn := mod.Plan.Sites[i].Method
		if fn == nil {
			continue
		}
		to := sites[i].Function()
		for _, n := range fn.Patterns {
			switch p := &s.opts.Plan.On[n]; {
			case p.Left:
				to.Leaves |= s.opts.Knowledge.Events(p.Text, true)
			case p.Return:
				to.Returns |= s.opts.Knowledge.Events(p.Text, true)
			default:
				to.Calls |= s.opts.Knowledge.Events(p.Text, false)
			}
		}
	}
}

// Knowledge returns how far the formula of Options.Knowledge was evaluated, after the observation.
func (s *Session) Knowledge() (attach.Knowledge, error) { return s.knowledge, s.knowledgeErr }

// Told reports whether the kernel delivers the verdict on the formula of Options.Knowledge that an event of a thread of the
// first process causes, by the kernel's ID and the time of the event.
func (s *Session) Told(tid uint32, at uint64) (bool, error) {
	return s.tracer.Told(uint32(s.PID()), tid, at)
}

// wantCalls has system calls recorded, if the plan of a module shows that they order threads and that is wanted.
func (s *Session) wantCalls(m *Module) {
	switch {
	case s.opts.Messages == MessagesNever || s.opts.NoProbes:
	case m.asks():
		s.wants(askingWanted)
	case s.opts.Messages == MessagesAuto && m.locksFiles():
		s.wants(messagesWanted)
	}
}

// calls says which system calls are to be recorded.
type calls uint8

const (
	noCalls calls = iota
	messagesWanted
	askingWanted // also what threads ask the kernel for and change
)

// wants has startCalls start that. The programs are loaded meanwhile.
func (s *Session) wants(c calls) {
	s.calls = max(s.calls, c)
	s.tracer.LoadMessages()
}

// startCalls has the system calls recorded that the modules so far want.
func (s *Session) startCalls() error {
	switch s.calls {
	case askingWanted:
		return s.tracer.StartAsking()
	case messagesWanted:
		return s.tracer.StartMessages()
	}
	return nil
}

// attach attaches a module's probes except its UnseenProbes, which attachUnseen attaches.
func (s *Session) attach(p *process, mod *Module) error {
	to, err := s.linkTarget(p, mod)
	if err != nil {
		return err
	}
	// Of the probes at one address those attached last run first: a call of a lock function is recorded before what it does.
	if err := s.locks.attach(p, mod, to); err != nil {
		return err
	}
	if err := s.tracer.Attach(to, mod.permanentProbes(s.thinner != nil)); err != nil {
		return err
	}
	if err := s.atomics.attach(mod, to); err != nil {
		return err
	}
	if err := s.heap.attach(mod, to); err != nil {
		return err
	}
	if s.unnamed != nil {
		if err := s.unnamed.attach(mod, to); err != nil {
			return err
		}
	}
	if s.thinner != nil {
		if err := s.thinner.attach(mod, to); err != nil {
			return err
		}
	}
	if err := s.attachTogether(mod, to); err != nil {
		return err
	}
	return s.hardware.set(p, mod)
}

// discardProgram discards what belongs to the program that the process ran before an execve, and
// removes its probes.
func (s *Session) discardProgram(pid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processOf(pid)
	s.forgetCommand(p) // also of a child that has run in its parent's memory until now
	if len(p.modules) == 0 {
		return nil
	}
	s.reset(p)
	return s.tracer.DetachProcess(pid)
}

// tellEnd calls Options.Ended.
func (s *Session) tellEnd() {
	if s.opts.Ended != nil {
		s.opts.Ended()
	}
}

// hold makes the program wait while its probes are removed, if it can be made to wait, and it takes no longer than a
// moment: the kernel removes perf events one by one.
func (s *Session) hold() {
	if s.anchored == 0 && s.tracer.HasProbes() {
		s.ring.hold()
	}
}

// stopObserving removes the probes and lets none be attached any more, not even those of a
// library or of another program that are being prepared at this moment. The program waits meanwhile.
func (s *Session) stopObserving() error {
	s.mu.Lock()
	s.ended = true
	s.end.CompareAndSwap(0, monotonic())
	s.mu.Unlock()
	s.hold()
	defer s.ring.throttle.Release() // no more records come, and those that have come can wait
	waiting := s.futexWaiting()
	err := s.tracer.Detach()
	if err != nil {
		s.undetached.Store(true)
	}
	if s.opts.Knowledge.Knowledge != nil {
		s.knowledge, s.knowledgeErr = s.tracer.Knowledge()
	}
	s.readFutexes(waiting)
	return err
}

// unload removes the probes, if any are left, and the BPF programs, and then the journal.
func (s *Session) unload() error {
	err := s.tracer.Close()
	if err != nil || s.undetached.Load() {
		s.journals.closeOthers()
	} else {
		s.journals.close()
	}
	if s.steered != nil {
		err = errors.Join(err, s.steered.close())
	}
	return err
}

// finish removes the probes, passes the records that are left to the handler, and unloads the
// BPF programs.
func (s *Session) finish() (Lost, error) {
	s.hold()
	s.noteRemaining()
	if s.unnamed != nil {
		s.unnamed.halt()
	}
	if s.thinner != nil {
		s.thinner.halt()
	}
	s.tracer.CloseTogether()
	err := s.stopObserving()
	s.tender.halt()
	s.closing.Wait()
	s.ring.stop()
	s.hardware.guard.stop()
	if s.opts.Left != nil {
		s.opts.Left()
	}
	close(s.stop)
	<-s.readDone
	s.finder.End()
	s.remover.running.Wait()
	s.collectWatched()
	s.collectSampled()
	lost, lostErr := s.tracer.Lost()
	lostErr = errors.Join(lostErr, s.lastRegion(), s.collectCrowded(lost))
	lost.Records += s.hardware.unexplained.Load()
	if lost.Records > 0 {
		lostErr = errors.Join(lostErr, s.reportLost())
	}
	s.mu.Lock()
	s.lost = lost
	s.mu.Unlock()
	err = errors.Join(err, s.readErr, lostErr, s.unload())
	return lost, err
}

// Lost counts what could not be recorded.
type Lost = attach.Lost

// Result is the outcome of a session.
type Result struct {
	Exit ptrace.Exit // how a started program ended
	// Requested reports that the signal of Exit was sent by Session.Signal or Session.DumpCore.
	Requested bool
	Lost      Lost
	Left      *Left // the program, if it has been left stopped; nil: it has ended
}

// kill ends a program that the tool has started and cannot observe.
func kill(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }

// SharedMemory returns the mappings of a process that were made to be shared with others; nil if they cannot
// be read.
func SharedMemory(pid int) []procfs.Mapping {
	all, err := procfs.Maps(pid)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(m procfs.Mapping) bool { return !m.Shared })
}
