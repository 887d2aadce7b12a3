// Package loader observes processes: it joins the rooms below it, which load and attach the BPF
// programs (attach), hold the traced process (ptrace), read the ring buffer (ring), find call
// stacks (chains) and judge what is to be observed (target).
//
// A Session observes one process, started (Start) or found (Attach): whatever executable file it
// maps gets the probes of its plan, and the records of their hits come to a Handler in the order
// of the run. The package knows plans and records; what a record means for the program is the
// observer's business.
//
// The traced process outlives the tool: probes are held by links that the kernel closes, and
// ptrace (for started programs) lets go when the tracer dies. Nothing is written into its memory.
package loader

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/stacks"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Options configure a session.
type Options struct {
	Plan probes.Options
	// RingBytes is the size of the ring buffer: a power of two of at least one page.
	// Default: attach.DefaultRingBytes.
	RingBytes int
	// Stacks says what is recorded of where an event was.
	Stacks attach.Stacks
	// Handler takes records and stacks; called from one goroutine.
	Handler Handler
	// Duration ends the observation this long after all probes are in; the
	// program goes on. Default 0: no limit.
	Duration time.Duration
	// Lossy: records that the ring buffer has no room for are lost, and
	// counted. By default the program waits until there is room.
	Lossy bool
	// DropPrivileges: before anything of the observed program is read, the
	// process gives up, for good and in all threads, what it does not need:
	// all capabilities but CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE, and to
	// gain others; with a Program.User it becomes that user, and files of a
	// found process are opened with that process's rights. For a process
	// whose one task is the observation. Where the binary cannot (cgo), the
	// session's notes say so.
	DropPrivileges bool
	// Messages: what threads hand each other through the kernel (pipes, sockets,
	// eventfds, futexes) is recorded too.
	Messages bool
	// Look: no probe is put in. What the threads are doing can be asked (Sleepers), and
	// there are no records of what they do.
	Look bool
	// Follow: the processes that the program forks are observed too, and what they
	// execute, until the first process ends.
	Follow bool
	// Accept is asked, before the program runs and with its libraries in place, whether
	// the variables that were found, by the names that asked for them, are as wanted; an
	// error is wrong usage, and the program does not run. A found process was running
	// already, and goes on. Nil: they are.
	Accept func(map[string]variable.Variable) error
	// LetGo: when the probes of a variable that nobody named and that one thread
	// alone uses are removed. Default: never.
	LetGo LetGo
}

// Handler takes what the ring buffer brings, in the order of the run. The records
// lie in the ring buffer itself: they cannot be written, and what is kept must be
// copied.
type Handler interface {
	Record(*bpf.Record)
	Call(*bpf.CallRecord)
	Stack(*bpf.StackRecord)
	// Idle is called when nothing is left to read for now.
	Idle()
}

// Session observes a process, and with Options.Follow those that come of it.
type Session struct {
	opts   Options
	tracer *attach.Tracer
	job    job           // of a started program
	held   bool          // it is traced, and so stands at each execve and fork
	brake  *ptrace.Brake // nil: the program never waits
	keeper *keeper       // of variables that nobody named; nil without probes.Options.Shared

	mu         sync.Mutex // guards what follows; before Tracer's own
	first      *process
	target     *os.Process      // the same, to send signals to; nil if it had ended before
	processes  map[int]*process // by id; the latest
	all        []*process
	modules    map[procfs.FileID][]*Module
	early      target.EarlyFiles
	sites      []*probes.Site
	places     []placeRef // that synchronise unobserved, by number; the first is none
	notes      []string
	unobserved []string  // paths, see Unobserved
	resolved   bool      // a program before an execve had all variables to watch; with Options.Follow
	running    bool      // the program has been let go with its libraries in place
	began      time.Time // then
	over       bool      // the observation has ended: no more probes
	lost       Lost      // valid at the end
	watched    []Watched // likewise

	counters map[string]*busy // of atomic variables that nobody named
	tooBusy  []string         // of them, see TooBusy

	busy     atomic.Pointer[[]*busy] // by site; nil for others
	shedding sync.WaitGroup          // links of variables that are too busy

	live    pidSet         // processes that are observed
	closing sync.WaitGroup // links of processes that have ended

	end atomic.Uint64 // when the observation ended, as records tell time; 0 before
	cut bool          // the first record after end has been read; of the reader alone

	lostLives uint64 // as of the last look at the libraries; of the reader alone

	copies stacks.Collector // of the reader alone
	chains *stacks.Finder

	stop     chan struct{} // closed: read what is left and return
	readDone chan struct{} // closed when the reader has returned
	readErr  error         // valid then

	watchDone  chan struct{} // closed when the brake's watcher has returned; nil without
	processors int           // of Go's scheduler before there was a watcher
}

// newSession drops privileges with drop, where that is asked for, and loads the
// BPF programs.
func newSession(opts Options, drop func() error) (*Session, error) {
	var notes []string
	if opts.DropPrivileges {
		err := drop()
		if errors.Is(err, target.ErrCgo) {
			notes = append(notes, fmt.Sprintf("tracepredict kept privileges that it does not need: %v", err))
		} else if err != nil {
			return nil, err
		}
	}
	plan := opts.Plan
	tracer, err := attach.NewTracer(attach.TracerOptions{
		RingBytes: opts.RingBytes, Stacks: opts.Stacks, Shared: plan.Shared, Enough: opts.LetGo.Enough,
		NoCalls: len(plan.On) == 0, NoVariables: len(plan.Watch)+len(plan.Hardware) == 0, NoPlaces: !plan.Atomics,
		Follow: opts.Follow, Look: opts.Look, Messages: opts.Messages,
	})
	if err != nil {
		return nil, err
	}
	s := &Session{
		opts:      opts,
		tracer:    tracer,
		modules:   map[procfs.FileID][]*Module{},
		processes: map[int]*process{},
		counters:  map[string]*busy{},
		sites:     []*probes.Site{nil},
		places:    make([]placeRef, 1),
		notes:     notes,
		stop:      make(chan struct{}),
		readDone:  make(chan struct{}),
		copies:    stacks.Collector{},
	}
	s.chains = stacks.New(s)
	if opts.Plan.Shared {
		s.keeper = newKeeper(tracer, opts.LetGo)
	}
	if !opts.Lossy {
		s.brake = ptrace.NewBrake(tracer.Ring, s.livePIDs)
	}
	return s, nil
}

// watch starts to look at the ring buffer and to press where it is too full;
// what press does for long keeps nothing but the watcher.
func (s *Session) watch(press func()) error {
	if s.brake == nil {
		return nil
	}
	epoll, err := s.tracer.Ring.WakeUps()
	if err != nil {
		return err
	}
	s.watchDone = make(chan struct{})
	s.processors = ptrace.SpareProcessors()
	due := time.Now()
	ptrace.OnOneThread(func() {
		defer close(s.watchDone)
		defer unix.Close(epoll)
		ptrace.Hurry()
		s.brake.WasAbsent(time.Since(due))
		s.brake.Watch(epoll, press)
	})
	return nil
}

// Began returns when the program was let go with all probes in place; the zero time
// if it never was.
func (s *Session) Began() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}

// PID returns the observed process, the first of several.
func (s *Session) PID() int { return s.first.pid }

// begin says which process is observed.
func (s *Session) begin(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = s.newProcess(pid)
	s.add(s.first)
	s.target, _ = os.FindProcess(pid) // by a descriptor: its number may be another's later
}

// Site returns the site of an index in records, nil if there is none.
func (s *Session) Site(index uint32) *probes.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(index) >= len(s.sites) {
		return nil
	}
	return s.sites[index]
}

// SiteModule returns the path of the file that a site is in, "" if there is none.
func (s *Session) SiteModule(index uint32) string {
	for _, m := range s.Modules() {
		if index >= m.Base && index-m.Base < uint32(len(m.Plan.Sites)) {
			return m.Path
		}
	}
	return ""
}

// Patterns lists the patterns of functions that were asked for.
func (s *Session) Patterns() []function.Pattern { return s.opts.Plan.On }

// Unmatched lists those of them that no file of the first process has anything of.
func (s *Session) Unmatched() []function.Pattern {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []function.Pattern
	for _, i := range s.first.planner.Unmatched() {
		out = append(out, s.opts.Plan.On[i])
	}
	return out
}

// Variable returns the variable that a site accesses; ok is false if it is of no
// variable.
func (s *Session) Variable(site *probes.Site) (v variable.Variable, ok bool) {
	if site.Variable == "" {
		return v, false
	}
	for _, m := range s.Modules() {
		if v, ok := m.Plan.Variable(site.Variable); ok {
			return v, true
		}
	}
	return v, false
}

// VariableAddr returns the address in a process of a watched variable, 0 if it
// is not loaded.
func (s *Session) VariableAddr(pid int, name string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for seg := range s.of(pid).backward() {
		for _, vars := range [][]variable.Variable{seg.Module.Plan.Variables, seg.Module.Plan.Atomics} {
			for _, v := range vars {
				if v.Name == name {
					return v.Addr + seg.Bias
				}
			}
		}
	}
	return 0
}

// Notes are sentences on what could not be observed.
func (s *Session) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := append(slices.Clone(s.notes), s.brake.Notes(s.lost.Records > 0)...)
	if s.lost.Lives > 0 {
		notes = append(notes, fmt.Sprintf("of the events lost, %d were beginnings or ends of threads, or libraries that came: who made and who joined a thread may be wrong", s.lost.Lives))
	}
	return notes
}

// Modules lists the files mapped so far, the program first.
func (s *Session) Modules() []*Module {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[*Module]bool{}
	var ms []*Module
	for _, p := range s.all {
		for _, segments := range [][]Segment{p.past, p.segments} {
			for _, seg := range segments {
				if !seen[seg.Module] {
					seen[seg.Module] = true
					ms = append(ms, seg.Module)
				}
			}
		}
	}
	sort.SliceStable(ms, func(i, j int) bool { return ms[i].Base < ms[j].Base })
	return ms
}

// Segment finds the code that an address of a process lies in: the newest
// mapping, if several have been there.
func (s *Session) Segment(pid int, addr uint64) (Segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for seg := range s.of(pid).backward() {
		if seg.Lo <= addr && addr < seg.Hi {
			return seg, true
		}
	}
	return Segment{}, false
}

// Code implements chains' view of the processes.
func (s *Session) Code(pid int, addr uint64) (file *elf.File, bias uint64, ok bool) {
	seg, ok := s.Segment(pid, addr)
	if !ok {
		return nil, 0, false
	}
	return seg.Module.Bin, seg.Bias, true
}

// Segments lists all code that a process has mapped so far.
func (s *Session) Segments(pid int) []Segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(pid)
	return slices.Concat(p.past, p.segments)
}

// backward returns the segments, the newest first.
func (p *process) backward() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		for _, segments := range [][]Segment{p.segments, p.past} {
			for _, seg := range slices.Backward(segments) {
				if !yield(seg) {
					return
				}
			}
		}
	}
}

// sync looks at what a process maps now, and plans and attaches what is new.
func (s *Session) sync(pid int) error {
	_, err := s.attachNew(pid)
	return err
}

// attachNew is sync; it gives the modules that have got probes.
func (s *Session) attachNew(pid int) (fresh []*Module, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(pid)
	if s.over {
		return nil, nil
	}
	// Read under the lock: else it may be of the program before an execve, and be taken
	// for what the one after it has mapped.
	maps, err := procfs.Maps(pid)
	if err != nil {
		return nil, err
	}
	exe, err := procfs.Executable(p.pid)
	if err != nil {
		return nil, err
	}
	p.program, p.began = exe, cmp.Or(p.began, exe)
	s.limitWatchpoints(p)
	// The program before its libraries: it is searched for variables first.
	slices.SortStableFunc(maps, func(a, b procfs.Mapping) int { return boolInt(b.Path == exe) - boolInt(a.Path == exe) })
	for _, m := range maps {
		if !m.Exec || m.File.Inode == 0 || p.known(m) {
			continue
		}
		mod, err := s.addMapping(p, m)
		if err != nil {
			if err := s.without(p, m.Path, err); err != nil {
				return nil, err
			}
			continue
		}
		if !p.attached[mod] && mod.probed() {
			p.attached[mod] = true
			fresh = append(fresh, mod)
		}
	}
	if err := s.attachAllOf(p, fresh); err != nil {
		return fresh, err
	}
	return fresh, s.rewatch(p, maps)
}

// attachAllOf puts probes in for a process: into the program, whose variables are
// watched, after the libraries that have the locks. Else a program that runs would
// be seen to access without locking.
func (s *Session) attachAllOf(p *process, fresh []*Module) error {
	slices.SortStableFunc(fresh, func(a, b *Module) int { return boolInt(a.Path == p.program) - boolInt(b.Path == p.program) })
	for _, mod := range fresh { // first: what is observed before would be without them
		if err := s.attachPlaces(p, mod); err != nil {
			if err := s.without(p, mod.Path, err); err != nil {
				return err
			}
		}
	}
	for _, mod := range fresh {
		if err := s.attach(p, mod); err != nil {
			if err := s.without(p, mod.Path, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// without decides what becomes of an error that leaves a file unobserved: nil
// if the observation can go on without.
func (s *Session) without(p *process, path string, err error) error {
	var wrong *variable.Error
	var tooMany *probes.TooManyError
	switch {
	case errors.As(err, &wrong), errors.As(err, &tooMany): // of what is to be watched, wherever it was looked for
		return &UsageError{Err: err}
	case path == p.program || s.endedProcess(p) || errors.Is(err, attach.ErrNoWatchpoint):
		return err
	}
	s.unobserved = append(s.unobserved, path)
	s.note(fmt.Sprintf("%s is not observed: %v", path, err))
	return nil
}

// syncLate is sync for libraries that the program loads while it runs: it is
// not held then, so what they do before their probes are in goes unseen, and the
// report says so. Since is when the loader told of them (CLOCK_MONOTONIC, ns).
func (s *Session) syncLate(pid int, since uint64) error {
	fresh, err := s.attachNew(pid)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range fresh {
		m.late = m.late || s.running
		if s.running && s.of(pid).young.IsZero() { // of a young program all is said
			s.note(fmt.Sprintf("%s was loaded while the program ran: what it did in the first %.1f ms was not observed",
				m.Path, float64(monotonic()-since)/1e6))
		}
	}
	return nil
}

// monotonic returns the time of the records, in ns.
func monotonic() uint64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return uint64(ts.Nano())
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *process) known(m procfs.Mapping) bool {
	for _, seg := range p.segments {
		if seg.Lo == m.Lo && seg.Hi == m.Hi && seg.Module == p.modules[m.File] {
			return true
		}
	}
	return false
}

// addMapping makes an executable mapping known and plans its file's probes.
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
		p.segments = append(p.segments, Segment{Lo: m.Lo, Hi: m.Hi, Bias: bias, Module: mod})
	}
	return mod, nil
}

// endedProcess reports whether a process has no memory any more: then nothing that
// fails about it says anything.
func (s *Session) endedProcess(p *process) bool {
	_, err := procfs.Executable(p.pid)
	return err != nil
}

// Unobserved lists the files whose code the process runs without probes,
// because they could not be read: they may synchronise in ways that nobody saw.
func (s *Session) Unobserved() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unobserved)
}

// noteAbout notes something about a process that has not ended; s.mu is not held.
func (s *Session) noteAbout(pid int, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.endedProcess(s.of(pid)) {
		s.note(fmt.Sprintf(format, args...))
	}
}

// note adds a sentence to the notes, once; s.mu is held.
func (s *Session) note(text string) {
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// module returns the module of a mapped file. One that another process has is good
// for this one too, unless a program before an execve had it in the same
// process: places are known by process and site, and must mean one thing.
func (s *Session) module(p *process, m procfs.Mapping) (*Module, error) {
	if s.opts.Follow {
		for _, mod := range s.modules[m.File] {
			if !p.used[mod] {
				return mod, nil
			}
		}
	}
	mod, err := openModule(p.pid, m, m.Path == p.program, s.early)
	if err != nil {
		return nil, err
	}
	if s.opts.Look {
		mod.Plan = &probes.Plan{}
	} else if mod.Plan, err = p.planner.Plan(mod.Bin); err != nil {
		return nil, err
	}
	for _, n := range mod.Plan.Notes {
		s.note(n)
	}
	s.modules[m.File] = append(s.modules[m.File], mod)
	s.numberPlaces(mod)
	if !mod.probed() {
		return mod, nil
	}
	if len(mod.Plan.Shared) > 0 {
		base, err := s.keeper.add(mod.Plan.Shared)
		if err != nil {
			return nil, err
		}
		mod.keep(base)
	}
	sites := mod.bpfSites()
	if err := mod.sign(s.tracer, sites); err != nil {
		return nil, err
	}
	if mod.Base, err = s.tracer.AddSites(sites); err != nil {
		return nil, err
	}
	for i := range mod.Plan.Sites {
		s.sites = append(s.sites, &mod.Plan.Sites[i])
	}
	s.countBusy(mod)
	for i := range mod.Plan.Watchpoints {
		s.sites = append(s.sites, &mod.Plan.Watchpoints[i].Site)
	}
	return mod, nil
}

// linkTo returns where links of a module's probes for the process go. Once the first thread has
// called pthread_exit the kernel's filter by process lets nothing through. Then the BPF program
// filters.
func (p *process) linkTo(m *Module) attach.LinkTo {
	return attach.LinkTo{File: m.file, Owner: p.pid, Unfiltered: procfs.Dir(p.pid) != fmt.Sprintf("/proc/%d", p.pid)}
}

// attach puts a module's probes in, but for those of attachPlaces.
func (s *Session) attach(p *process, mod *Module) error {
	to := p.linkTo(mod)
	if err := s.tracer.Attach(to, mod.probesOf()); err != nil {
		return err
	}
	if err := s.attachUnnamed(mod, to); err != nil {
		return err
	}
	if s.keeper != nil {
		if err := s.keeper.attach(mod, to); err != nil {
			return err
		}
	}
	return s.watchVariables(p, mod)
}

// forgetProgram drops what belongs to the program of a process before an execve.
func (s *Session) forgetProgram(pid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(pid)
	if len(p.modules) == 0 {
		return nil
	}
	s.reset(p)
	return s.tracer.DetachProcess(pid)
}

// read starts handing records to the handler.
func (s *Session) read() {
	if s.keeper != nil {
		s.keeper.run()
	}
	go s.chains.Run()
	go func() {
		defer close(s.readDone)
		s.readErr = s.tracer.Ring.Run(filter{s}, s.stop)
	}()
}

// filter looks at what concerns the session itself before it hands records on.
type filter struct{ s *Session }

func (f filter) Record(r *bpf.Record) {
	if f.late(r) && bpf.Op(r.Op) != bpf.OpHole { // what was lost may have been lost before
		return
	}
	if bpf.Op(r.Op) == bpf.OpLibrary {
		// A library came or went. An error here means that the process is gone.
		_ = f.s.syncLate(int(r.Tgid), r.Time)
		return
	}
	if f.s.opts.Follow && !f.s.held {
		f.s.life(r)
	}
	if bpf.Op(r.Op) == bpf.OpUnseen && r.Result != 0 {
		f.s.leavePlace(r.Object)
	}
	if f.s.leftOut(r) {
		return
	}
	f.s.opts.Handler.Record(r)
}

// late: it takes the kernel milliseconds to remove probes. What they still tell
// is left out from one record on, so that the rest is a run without holes.
func (f filter) late(r *bpf.Record) bool {
	if end := f.s.end.Load(); end != 0 && r.Time > end {
		f.s.cut = true
	}
	return f.s.cut
}

func (f filter) Call(r *bpf.CallRecord) {
	if !f.late(&r.Head) {
		f.s.opts.Handler.Call(r)
	}
}

// Part collects a part of a stack.
func (f filter) Part(p *bpf.StackPart) { f.s.copies.Part(p) }

func (f filter) Stack(r *bpf.StackRecord) {
	f.s.chains.Take(f.s.copies.Finish(r))
	f.s.opts.Handler.Stack(r)
}

// Chain returns the call stack of a place, innermost first: where the event was, then
// return addresses, as far as they can be found. It waits until it is found.
func (s *Session) Chain(place uint32) []uint64 { return s.chains.Chain(place) }

// Chains counts the places that have call stacks, and those of them whose chain
// reaches the first function of its thread or of the program.
func (s *Session) Chains() (places, whole int) { return s.chains.Counts() }

func (f filter) Idle() {
	if n := f.s.tracer.LostLives(); n != f.s.lostLives {
		// A library may have come, and its record been lost.
		f.s.lostLives = n
		for _, pid := range f.s.livePIDs() {
			_ = f.s.syncLate(pid, monotonic())
		}
	}
	if f.s.opts.Follow && !f.s.held {
		f.s.pause()
	}
	f.s.opts.Handler.Idle()
}

// stopObserving removes the probes and lets no more come: those of a library or
// of another program that are being prepared at this moment included.
func (s *Session) stopObserving() error {
	s.mu.Lock()
	s.over = true
	s.end.CompareAndSwap(0, monotonic())
	s.mu.Unlock()
	defer s.brake.Release() // nothing more comes, and what has come may wait
	return s.tracer.Detach()
}

// finish removes the probes, hands over what is left to read and unloads.
func (s *Session) finish() (Lost, error) {
	s.remaining()
	if s.keeper != nil {
		s.keeper.halt()
	}
	err := s.stopObserving()
	s.closing.Wait()
	if s.watchDone != nil {
		<-s.watchDone
		runtime.GOMAXPROCS(s.processors)
	}
	close(s.stop)
	<-s.readDone
	s.chains.End()
	s.shedding.Wait()
	s.settle()
	lost, lostErr := s.tracer.Lost()
	if lost.Records > 0 {
		lostErr = errors.Join(lostErr, s.tellLost())
	}
	s.mu.Lock()
	s.lost = lost
	s.mu.Unlock()
	err = errors.Join(err, s.readErr, lostErr, s.tracer.Close())
	return lost, err
}

// tellLost hands on what was lost after the last record of its thread.
func (s *Session) tellLost() error {
	lines, err := s.tracer.LostByThread()
	for _, tid := range slices.Sorted(maps.Keys(lines)) {
		line := lines[tid]
		s.opts.Handler.Record(&bpf.Record{Time: monotonic(), Op: uint8(bpf.OpHole), Tid: tid, Tgid: line.Tgid, Value: line.Records})
	}
	return err
}

// RingUse tells how full the ring buffer became, and of the waits that this took.
type RingUse struct {
	Bytes     uint64 // its size
	HighWater uint64 // most bytes that were taken when the reader looked
	Waits     int    // how often the program was made to wait
	Waited    time.Duration
}

// RingUse is valid once the session has ended.
func (s *Session) RingUse() RingUse {
	r := s.tracer.Ring
	u := RingUse{Bytes: uint64(r.BufferSize()), HighWater: r.HighWater()}
	u.Waits, u.Waited = s.brake.Waits()
	return u
}

// Lost counts what could not be recorded.
type Lost = attach.Lost

// Result is how a session ended.
type Result struct {
	Exit ptrace.Exit // of a started program
	Lost Lost
}

// kill ends a program that we started and cannot observe.
func kill(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }
