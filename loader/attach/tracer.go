// Package attach loads the BPF programs and attaches them: to instructions in files by
// uprobe_multi links, to tracepoints, and to memory by hardware watchpoints. A Tracer owns
// programs, maps and links; closing it leaves no probe behind.
package attach

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ring"
	"github.com/tracepredict/tracepredict/probes"
)

// TracerOptions select BPF programs and the sizes of maps. The zero value is valid.
type TracerOptions struct {
	// RingBytes is the size of all ring buffers together: a power of two of at least
	// one page. Default: DefaultRingBytes.
	RingBytes int
	// Stacks selects what is recorded about the call stack of an event.
	Stacks Stacks
	// Shared makes room for variables that the user did not name.
	Shared bool
	// Pointers: accesses through pointers are observed. PointerAtomics: those of atomic code are.
	Pointers, PointerAtomics bool
	// ArrayAccesses is the number of accesses to one array that are recorded; 0: all. It is the
	// field of this name of loader.RemovalLimits.
	ArrayAccesses uint64
	// Follow makes the processes that a target forks targets too.
	Follow bool
	// Monitors is code that runs in the observed threads; see bpf.SetMonitor.
	Monitors map[bpf.Monitor]asm.Instructions
	// Knowledge is a formula that is evaluated in the observed threads; nil: there is none.
	Knowledge *bpf.Knowledge
	// Scope has the automata of a scope that is monitored in the observed threads; nil: none is.
	Scope *bpf.ScopeAutomata
	// ScopeConditions is the code of its conditions, as bpf.SetScopeConditions takes it; nil: it has none.
	ScopeConditions asm.Instructions
	// Futexes makes room for waits for futexes. OnlyFutexes: no other probes will be attached.
	Futexes, OnlyFutexes bool
	// NoProbes means that threads, and what they are doing, are listed only.
	NoProbes bool
	// Messages makes room for the system calls by which threads pass each other messages; see StartMessages.
	Messages bool
}

// DefaultRingBytes is the default size of the ring buffer. It has room for about a million
// records.
const DefaultRingBytes = 64 << 20

// MinRingBytes is the smallest ring buffer with which the program can be made to wait in time. The half above
// ring.HighMark holds what threads record until they have stopped: 8 MiB are 120,000 records of 64 bytes and their
// headers, those of 30 ms of 4 million a second. A look at a thousand threads takes 10 ms, and the watcher waits some
// milliseconds for a processor where all are busy.
const MinRingBytes = 16 << 20

const (
	// The last 1/lifeShare of the ring buffer is reserved for records of beginnings and ends of
	// threads and of libraries that are mapped: losing one of these does more harm than
	// losing an event.
	lifeShare = 16
	// Copies of new call stacks are sent only while less than 1/stackShare of a ring buffer is
	// unread: they do not make the program wait.
	stackShare = ring.LowMark
)

// spareFiles is the number of file descriptors that loading the BPF objects needs besides one for
// each program, and two for each map: for descriptions of their types, for trying features of the kernel, and for what
// the search for sites opens meanwhile.
const spareFiles = 32

// Tracer is the loaded BPF side: programs, maps and links. Its methods may be called
// concurrently; one goroutine calls Ring.Run.
type Tracer struct {
	objs        objects
	programs    *programs
	Ring        *ring.Buffer
	noProbes    bool
	onlyFutexes bool

	mu                   sync.Mutex          // guards the fields below; no other lock is acquired while it is held
	links                []link.Link         // to tracepoints
	watchedCallsAttached bool                // on_watched_call is attached, see attachWatchedCalls
	messagesLoading      bool                // see LoadMessages
	messagesStarted      bool                // see StartMessages
	yields               bool                // see StartYielding
	closers              map[int][]io.Closer // links of probes in files, and hardware watchpoints, by process ID
	perfProbes           int                 // see PerfProbes
	sites                uint32              // next free index; index 0 means no site

	signatures map[bpf.Signature]uint32 // index of each signature

	turns turns
	words words
}

// NewTracer attaches the programs that record beginnings and ends of threads. The others are loaded when they are
// needed.
// An error of the verifier prints the verifier's whole log with %+v.
func NewTracer(opts TracerOptions) (*Tracer, error) {
	spec, err := bpf.LoadTracepredict()
	if err != nil {
		return nil, fmt.Errorf("read the BPF object: %w", err)
	}
	if err := configure(spec, opts); err != nil {
		return nil, err
	}
	t := &Tracer{noProbes: opts.NoProbes, onlyFutexes: opts.OnlyFutexes, sites: 1, closers: map[int][]io.Closer{}, signatures: map[bpf.Signature]uint32{}}
	// The library that loads the objects takes some errors for lack of a feature of the kernel.
	if err := need.CheckFiles(2*len(spec.Maps) + bpf.MaxRings + len(spec.Programs) + spareFiles); err != nil {
		return nil, need.ExplainFiles(fmt.Errorf("load the BPF programs: %w", err))
	}
	if t.programs, err = newPrograms(spec, &t.objs); err != nil {
		return nil, err
	}
	if err := t.writeScope(opts.Scope); err != nil {
		t.Close()
		return nil, err
	}
	if err := t.start(&opts); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// wordBits returns the binary logarithm of the size of the table of words.
func (o *TracerOptions) wordBits() uint32 {
	if o.Pointers {
		return bpf.WordBits
	}
	return bpf.AtomicWordBits
}

// maxSites returns the size of the table of sites.
func (o *TracerOptions) maxSites() uint32 {
	if o.Pointers {
		return bpf.MaxPointerSites
	}
	return bpf.MaxSites
}

// sizeMaps gives the tables the sizes that the options need.
func sizeMaps(spec *ebpf.CollectionSpec, opts *TracerOptions) {
	if opts.Shared {
		spec.Maps[bpf.TracepredictMapWatched].MaxEntries, spec.Maps[bpf.TracepredictMapHitsLimit].MaxEntries = bpf.MaxWatched, bpf.MaxWatched
		spec.Maps[bpf.TracepredictMapReadings].MaxEntries = spec.Maps[bpf.TracepredictMapSlots].MaxEntries
	}
	if opts.Shared || opts.Pointers {
		spec.Maps[bpf.TracepredictMapThreadCosts].MaxEntries = spec.Maps[bpf.TracepredictMapSlots].MaxEntries
	}
	spec.Maps[bpf.TracepredictMapSites].MaxEntries = opts.maxSites()
	if opts.Shared || opts.Pointers || opts.PointerAtomics {
		spec.Maps[bpf.TracepredictMapSiteHits].MaxEntries = opts.maxSites()
	}
	if opts.Pointers || opts.PointerAtomics {
		spec.Maps[bpf.TracepredictMapUnseenWords].MaxEntries = opts.maxSites()
		spec.Maps[bpf.TracepredictMapWordPages].MaxEntries = 1 << (bpf.PageBits - 6)
	}
	if opts.Pointers {
		spec.Maps[bpf.TracepredictMapAllocations].MaxEntries = bpf.MaxAllocations
	}
	if opts.Scope != nil {
		sizeScope(spec)
	}
	if opts.Futexes {
		spec.Maps[bpf.TracepredictMapFutexWaiting].MaxEntries = bpf.MaxFutexWaiting
		spec.Maps[bpf.TracepredictMapFutexWakes].MaxEntries = bpf.MaxFutexWords
		spec.Maps[bpf.TracepredictMapFutexSums].MaxEntries = bpf.MaxFutexSums
	}
	if !opts.Messages {
		spec.Maps[bpf.TracepredictMapIoCalls].MaxEntries = 1
	}
}

// rings returns how many ring buffers there are, and their size in bytes.
func (o *TracerOptions) rings() (parts, size int) {
	total := cmp.Or(o.RingBytes, DefaultRingBytes)
	parts = ring.Parts(onlineCPUs(), total)
	return parts, total / parts
}

func configure(spec *ebpf.CollectionSpec, opts TracerOptions) error {
	ns, err := procfs.OwnPIDNamespace()
	if err != nil {
		return err
	}
	parts, size := opts.rings()
	spec.Maps[bpf.TracepredictMapRingBuffers].MaxEntries = uint32(parts)
	spec.Maps[bpf.TracepredictMapRingBuffers].InnerMap.MaxEntries = uint32(os.Getpagesize()) // it stands for others alone
	sizeMaps(spec, &opts)
	set := func(name string, value any) {
		if err == nil {
			err = spec.Variables[name].Set(value)
		}
	}
	set("pidns_dev", ns.HelperDev())
	set("pidns_ino", ns.Inode)
	set("tool_tgid", uint32(os.Getpid()))
	set("rings", uint32(parts))
	set("wake_bytes", uint32(min(size/4, 1<<18)))
	set("ring_limit", uint32(size-size/lifeShare))
	set("want_stacks", opts.Stacks != StacksNone)
	set("stack_bytes", opts.Stacks.bytes())
	set("stack_limit", uint32(size/stackShare))
	set("follow", opts.Follow)
	set("unnamed", opts.Shared || opts.Pointers)
	set("through_pointers", opts.Pointers || opts.PointerAtomics)
	set("all_pointers", opts.Pointers)
	set("word_bits", opts.wordBits())
	set("enough", opts.ArrayAccesses)
	set("scoped", opts.Scope != nil)
	if opts.Futexes {
		set("most_futex_keys", uint32(bpf.MaxFutexKeys))
	}
	if err != nil {
		return fmt.Errorf("set a constant of the BPF object: %w", err)
	}
	for m, body := range opts.Monitors {
		if err := bpf.SetMonitor(spec, m, body); err != nil {
			return err
		}
	}
	if opts.ScopeConditions != nil {
		if err := bpf.SetScopeConditions(spec, opts.ScopeConditions); err != nil {
			return err
		}
	}
	if opts.Knowledge != nil {
		if err := bpf.SetKnowledge(spec, opts.Knowledge); err != nil {
			return err
		}
	}
	// Otherwise the library reads the kernel's version from /proc/self/mem, which a process that
	// has changed its user cannot open. The kernel has ignored the version since Linux 5.0, but
	// it must not be 0.
	for _, p := range spec.Programs {
		p.KernelVersion = 1
	}
	return nil
}

// newRing makes so many ring buffers of a size in bytes.
func (t *Tracer) newRing(parts, size int) (*ring.Buffer, error) {
	var all []*ebpf.Map
	for i := range uint32(parts) {
		m, err := ebpf.NewMap(&ebpf.MapSpec{Name: bpf.TracepredictMapRingBuffers, Type: ebpf.RingBuf, MaxEntries: uint32(size)})
		if err == nil {
			all = append(all, m)
			err = t.objs.RingBuffers.Put(i, m)
		}
		if err != nil {
			for _, m := range all {
				m.Close()
			}
			return nil, fmt.Errorf("make a ring buffer with the size %d: %w", size, err)
		}
	}
	return ring.New(all)
}

func (t *Tracer) start(opts *TracerOptions) error {
	var err error
	if err := t.startWords(opts); err != nil {
		return err
	}
	if t.Ring, err = t.newRing(opts.rings()); err != nil {
		return err
	}
	if t.noProbes {
		return nil
	}
	// The kernel takes long to verify these, and each program has probes for them, while it is planned which.
	if !t.onlyFutexes {
		t.programs.ahead(bpf.TracepredictProgOnProbe)
		t.programs.ahead(bpf.TracepredictProgOnHeap, bpf.TracepredictProgOnHeapReturn)
	}
	for _, name := range []string{bpf.TracepredictProgOnFork, bpf.TracepredictProgOnExit, bpf.TracepredictProgOnExec, bpf.TracepredictProgOnRename} {
		if err := t.attachTracing(name); err != nil {
			return fmt.Errorf("attach a tracepoint of the life of threads: %w", err)
		}
	}
	return nil
}

// attachTracing attaches a program to the tracepoint that it is made for. The caller holds t.mu, or has t alone.
func (t *Tracer) attachTracing(name string) error {
	p, err := t.programs.get(name)
	if err != nil {
		return err
	}
	l, err := link.AttachTracing(link.TracingOptions{Program: p})
	if err == nil {
		t.links = append(t.links, l)
	}
	return err
}

// LoadAll loads all BPF programs, whether they are needed or not. An error of the verifier prints the verifier's
// whole log with %+v.
func (t *Tracer) LoadAll() error { return t.programs.loadAll() }

// messagePrograms returns the programs of StartMessages at raw tracepoints, in the order in which they are attached.
func messagePrograms() []struct{ tracepoint, program string } {
	return []struct{ tracepoint, program string }{
		{"signal_deliver", bpf.TracepredictProgOnSignalCame}, {"signal_generate", bpf.TracepredictProgOnSignalSent},
		{"sys_exit", bpf.TracepredictProgOnCallOut}, {"sys_enter", bpf.TracepredictProgOnCallIn},
	}
}

// LoadMessages begins to load the programs of StartMessages, which the kernel takes long to verify.
func (t *Tracer) LoadMessages() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.messagesLoading {
		return
	}
	t.messagesLoading = true
	for _, p := range messagePrograms() {
		t.programs.ahead(p.program)
	}
}

// StartMessages attaches the programs for system calls and signals, if it has not done so before.
// From then on each system call on the machine costs a look-up of its process. What receives comes
// before what sends, so that the return of each call that was seen to begin is seen too.
func (t *Tracer) StartMessages() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.messagesStarted {
		return nil
	}
	t.messagesStarted = true
	for _, p := range messagePrograms() {
		if err := t.attachRawTracepoint(p.tracepoint, p.program); err != nil {
			return err
		}
	}
	if err := t.attachTracing(bpf.TracepredictProgOnWaking); err != nil {
		return fmt.Errorf("attach the tracepoint of wake-ups: %w", err)
	}
	return nil
}

// StartAsking does what StartMessages does, and has it record what threads ask the kernel for and change.
func (t *Tracer) StartAsking() error {
	if err := t.StartMessages(); err != nil {
		return err
	}
	if err := t.objs.Asking.Set(uint32(1)); err != nil {
		return fmt.Errorf("record what threads ask for: %w", err)
	}
	return nil
}

// HoldLoading has threads that the tool traces stop, by SIGURG, whenever the dynamic loader has changed the list of libraries;
// their records have the result 1. See TakeLoading.
func (t *Tracer) HoldLoading() error {
	if err := t.objs.HoldsLoading.Set(uint32(1)); err != nil {
		return fmt.Errorf("hold threads that load libraries: %w", err)
	}
	return nil
}

// TakeLoading reports, once, whether a thread that has stopped by SIGURG did so because of HoldLoading.
func (t *Tracer) TakeLoading(tid int) bool {
	var held uint32
	return t.objs.LoadingThreads.LookupAndDelete(uint32(tid), &held) == nil
}

// Messages reports whether StartMessages was called.
func (t *Tracer) Messages() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.messagesStarted
}

// attachRawTracepoint attaches a program to a tracepoint.
func (t *Tracer) attachRawTracepoint(name, program string) error {
	prog, err := t.programs.get(program)
	if err != nil {
		return err
	}
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: prog})
	if err != nil {
		return fmt.Errorf("attach the tracepoint %s: %w", name, err)
	}
	t.links = append(t.links, l)
	return nil
}

// StartYielding attaches the program that lets a traced thread stop where it asks the kernel to trace a thread, or to be
// traced, if it has not done so before. From then on each system call on the machine costs a comparison.
func (t *Tracer) StartYielding() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.yields {
		return nil
	}
	t.yields = true
	return t.attachRawTracepoint("sys_enter", bpf.TracepredictProgOnPtrace)
}

// AddTarget makes the tracepoints, and links without a PID filter, report the process pid.
func (t *Tracer) AddTarget(pid int) error {
	err := t.objs.Targets.Update(uint32(pid), uint64(0), ebpf.UpdateNoExist)
	if err != nil && !errors.Is(err, ebpf.ErrKeyExist) {
		return fmt.Errorf("observe process %d: %w", pid, err)
	}
	return nil
}

// ExecutedAt returns the time of the last execve of a process that was a target then (CLOCK_MONOTONIC, ns); 0 if there
// was none.
func (t *Tracer) ExecutedAt(pid int) (at uint64) {
	if t.objs.Targets.Lookup(uint32(pid), &at) != nil {
		return 0
	}
	return at
}

// AddSites appends sites to the table and returns the index of the first. A Next of n > 0 in a
// site means the n-th site of this call, counted from 1; AddSites replaces it by the index in
// the table.
func (t *Tracer) AddSites(sites []bpf.Site) (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	base := t.sites
	if most := int(t.objs.Sites.MaxEntries()); int(base)+len(sites) > most {
		return 0, fmt.Errorf("%d sites are too many: at most %d in one run; watch fewer variables", int(base)+len(sites), most)
	}
	keys, values := make([]uint32, len(sites)), slices.Clone(sites)
	for i := range values {
		if keys[i] = base + uint32(i); values[i].Next > 0 {
			values[i].Next += base - 1
		}
	}
	if len(sites) > 0 {
		if _, err := t.objs.Sites.BatchUpdate(keys, values, nil); err != nil {
			return 0, fmt.Errorf("write the sites from %d on: %w", base, err)
		}
	}
	t.sites += uint32(len(sites))
	return base, nil
}

// Signature returns the index of a signature. Functions that are recorded in the same way share
// a signature.
func (t *Tracer) Signature(s bpf.Signature) (uint32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.signatures[s]
	if ok {
		return n, nil
	}
	n = uint32(len(t.signatures))
	if n >= bpf.MaxSignatures {
		return 0, fmt.Errorf("the functions asked for take their parameters in more than %d ways: ask for fewer", bpf.MaxSignatures)
	}
	if err := t.objs.Signatures.Put(n, s); err != nil {
		return 0, fmt.Errorf("write signature %d: %w", n, err)
	}
	t.signatures[s] = n
	return n, nil
}

// Probe is an offset in a file at which a BPF program is to run.
type Probe struct {
	Offset  uint64 // in the file
	Site    uint32 // index in the table of sites; of a ProgramUnseen, the number of the probe
	Program probes.Program
	Return  bool // a uretprobe: Offset is the entry of the function
}

// Attach attaches probes for as long as the process that owns them is observed. The kernel puts
// them into each mapping of the file at once, including those made later.
func (t *Tracer) Attach(to LinkTarget, all []Probe) error {
	for _, run := range []struct {
		program probes.Program
		ret     bool
	}{
		// At one address the kernel runs the program of the latest link first. So the program
		// for ends of objects, attached first, runs after those for accesses, and the one for
		// beginnings, attached last, runs before them.
		{probes.ProgramHeapLate, false},
		{probes.ProgramPointer, false},
		{probes.ProgramNamed, false}, {probes.ProgramNamed, true}, {probes.ProgramCall, false},
		{probes.ProgramFutex, false},
		{probes.ProgramHeap, false}, {probes.ProgramHeap, true},
	} {
		matching := slices.DeleteFunc(slices.Clone(all), func(p Probe) bool { return p.Program != run.program || p.Return != run.ret })
		if len(matching) == 0 {
			continue
		}
		l, err := t.Link(to, matching, 0)
		if err != nil {
			return err
		}
		t.SetOwner(to.Owner, l)
	}
	return nil
}

// LinkTarget is the file of a link, and the process that it is for.
type LinkTarget struct {
	File       *os.File
	Owner      int  // process ID
	Unfiltered bool // the kernel does not filter by process: the hits of all targets are reported
	Thread     int  // if not 0, a thread of the process that lives, by whose memory the kernel is to filter
}

// program returns the name of the BPF program that a probe runs.
func program(p Probe) string {
	switch p.Program {
	case probes.ProgramShared:
		return bpf.TracepredictProgOnShared
	case probes.ProgramPointer, probes.ProgramPointerAtomic:
		return bpf.TracepredictProgOnPointer
	case probes.ProgramFutex:
		return bpf.TracepredictProgOnFutex
	case probes.ProgramUnseen:
		return bpf.TracepredictProgOnUnseen
	case probes.ProgramCall:
		return bpf.TracepredictProgOnCall
	case probes.ProgramHeap, probes.ProgramHeapLate, probes.ProgramLives:
		if p.Return {
			return bpf.TracepredictProgOnHeapReturn
		}
		return bpf.TracepredictProgOnHeap
	}
	if p.Return {
		return bpf.TracepredictProgOnReturn
	}
	return bpf.TracepredictProgOnProbe
}

// Link creates a link of probes that all run the same program, and are either all uretprobes or
// all not. The link belongs to no process until SetOwner is called.
func (t *Tracer) Link(to LinkTarget, probes []Probe, generation uint16) (*Link, error) {
	pid, flags := to.Owner, uint64(generation)*bpf.CookieGeneration
	if to.Unfiltered {
		pid, flags = 0, flags|bpf.CookieFilter
	}
	offsets := make([]offset, len(probes))
	for i, p := range probes {
		offsets[i] = offset{p.Offset, uint64(p.Site) + flags}
	}
	get, link := t.programs.get, linkMulti
	if to.Thread != 0 {
		if err := t.countPerf(len(probes)); err != nil {
			return nil, err
		}
		pid, get, link = to.Thread, t.programs.single, linkPerf
	}
	prog, err := get(program(probes[0]))
	if err != nil {
		return nil, err
	}
	l, err := link(fmt.Sprintf("/proc/self/fd/%d", to.File.Fd()), prog.FD(), probes[0].Return, pid, offsets)
	runtime.KeepAlive(to.File)
	if err != nil {
		return nil, fmt.Errorf("%s to %s: %w", plural.Sprintf("attach %d {probe|probes}", len(probes)), to.File.Name(), err)
	}
	return l, nil
}

// Tasks returns the threads of the targets that exist now.
func (t *Tracer) Tasks() ([]bpf.TaskLine, error) {
	lines, err := iterate[bpf.TaskLine](t.programs, bpf.TracepredictProgListTasks)
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	return lines, nil
}

// Sleepers returns what the threads of the targets are doing.
func (t *Tracer) Sleepers() ([]bpf.Sleeper, error) {
	lines, err := iterate[bpf.Sleeper](t.programs, bpf.TracepredictProgListSleepers)
	if err != nil {
		return nil, fmt.Errorf("ask what the threads are doing: %w", err)
	}
	return lines, nil
}

// iterate runs a BPF iterator and returns the lines that it writes.
func iterate[Line any](all *programs, name string) ([]Line, error) {
	prog, err := all.get(name)
	if err != nil {
		return nil, err
	}
	it, err := link.AttachIter(link.IterOptions{Program: prog})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	r, err := it.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	size := int(unsafe.Sizeof(*new(Line)))
	lines := make([]Line, 0, len(raw)/size)
	for ; len(raw) >= size; raw = raw[size:] {
		lines = append(lines, *(*Line)(unsafe.Pointer(&raw[0])))
	}
	return lines, nil
}

// Lost counts what could not be recorded.
type Lost struct {
	Records     uint64 // lost events
	LifeRecords uint64 // of these, those that report beginnings and ends of threads, or libraries
	Stacks      uint64 // new call stacks whose record had no room
	Incomplete  uint64 // call stacks that may be incomplete: no room for the copy, or one ID for several
	Pending     uint64 // calls whose return was not recognised
	Untabled    uint64 // events whose call stack was new when there was so much else to read that only their site and caller are known
	Blocks      uint64 // heap blocks that had no room in the table; their end was not recorded
	Words       uint64 // accesses through pointers of memory that had no room in the tables
	Forgotten   uint64 // words of memory that were forgotten, to make room, when one thread alone had accessed them
	OwnWords    uint64 // accesses through pointers of memory that one thread alone had used: nothing is lost
	CutRanges   uint64 // calls of library functions of whose accesses the last ones were not looked at
}

// Lost reads the counters. They are exact once the probes are removed.
func (t *Tracer) Lost() (Lost, error) {
	var l Lost
	for _, c := range []struct {
		v *ebpf.Variable
		n *uint64
	}{{t.objs.LostRecords, &l.Records}, {t.objs.LostLives, &l.LifeRecords}, {t.objs.LostStacks, &l.Stacks}, {t.objs.CutStacks, &l.Incomplete}, {t.objs.LostPending, &l.Pending}, {t.objs.UntabledStacks, &l.Untabled}, {t.objs.LostBlocks, &l.Blocks}, {t.objs.FullWords, &l.Words}, {t.objs.OwnWords, &l.OwnWords}, {t.objs.CutRanges, &l.CutRanges}} {
		if err := c.v.Get(c.n); err != nil {
			return l, fmt.Errorf("read the counters of lost records: %w", err)
		}
	}
	for _, n := range t.ForgottenWords() {
		l.Forgotten += n
	}
	return l, nil
}

// LostByThread returns, by the kernel's ID of a thread, the records that the thread has lost and
// that no later record of the thread has reported. It is exact once the probes are removed.
func (t *Tracer) LostByThread() (map[uint32]bpf.LostLine, error) {
	m := map[uint32]bpf.LostLine{}
	var tid uint32
	var line bpf.LostLine
	it := t.objs.Lost.Iterate()
	for it.Next(&tid, &line) {
		if line.Records > 0 {
			m[tid] = line
		}
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("read the lost records by thread: %w", err)
	}
	return m, nil
}

// CountLost counts an event that a thread of a process has lost without a BPF program's knowledge.
// The thread must be in a stop of ptrace, since otherwise it changes its line itself.
func (t *Tracer) CountLost(tid, pid int) error {
	line := bpf.LostLine{Tgid: uint32(pid)}
	if err := t.objs.Lost.Lookup(uint32(tid), &line); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("read the lost records of thread %d: %w", tid, err)
	}
	line.Records++
	if err := t.objs.Lost.Put(uint32(tid), line); err != nil {
		return fmt.Errorf("count a lost record of thread %d: %w", tid, err)
	}
	return t.objs.AnyLost.Set(uint32(1))
}

// LostLifeRecords returns the present value of Lost.LifeRecords.
func (t *Tracer) LostLifeRecords() uint64 {
	var n uint64
	_ = t.objs.LostLives.Get(&n) // Lost reports an error in reading it
	return n
}

// HasProbes reports whether there are probes, or hardware watchpoints.
func (t *Tracer) HasProbes() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.closers) > 0
}

// PerfProbes returns the number of probes that were made as perf events; see LinkTarget.Thread.
func (t *Tracer) PerfProbes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.perfProbes
}

// countPerf counts n more probes that are to be perf events, or returns an error if they are too many.
func (t *Tracer) countPerf(n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.perfProbes += n; t.perfProbes > MaxPerfProbes {
		return fmt.Errorf("%d probes are too many for a process whose first thread has ended: the kernel removes them one by one, and %d are the most that is asked of it; watch fewer variables, or allow --touch-other-processes", t.perfProbes, MaxPerfProbes)
	}
	return need.CheckFiles(n + spareFiles)
}

// Detach removes all probes, and then the tracepoints. Records that are in the ring buffer can
// still be read.
func (t *Tracer) Detach() error {
	t.mu.Lock()
	probes, tracepoints := slices.Concat(slices.Collect(maps.Values(t.closers))...), t.links
	t.links = nil
	clear(t.closers)
	t.mu.Unlock()
	return errors.Join(CloseAll(probes), CloseAll(tracepoints))
}

// DetachProcess removes the probes that belong to a process.
func (t *Tracer) DetachProcess(owner int) error { return CloseAll(t.RemoveLinks(owner)) }

// RemoveLinks removes the links of a process from the Tracer and returns them. The caller closes
// them.
func (t *Tracer) RemoveLinks(owner int) []io.Closer {
	t.mu.Lock()
	defer t.mu.Unlock()
	links := t.closers[owner]
	delete(t.closers, owner)
	return links
}

// RemoveTarget undoes AddTarget.
func (t *Tracer) RemoveTarget(pid int) error {
	if err := t.objs.Targets.Delete(uint32(pid)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("observe process %d no longer: %w", pid, err)
	}
	return nil
}

// Closing closes links concurrently, because each close waits for a grace period of the kernel. The zero value is
// ready.
type Closing struct {
	group safely.Group
	mu    sync.Mutex // guards errs
	errs  []error
}

// Close begins to close a link. One goroutine at a time may call it.
func (c *Closing) Close(l io.Closer) {
	c.group.Go(func() {
		if err := l.Close(); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.errs = append(c.errs, err)
		}
	})
}

// Wait waits until all of them are closed.
func (c *Closing) Wait() error {
	c.group.Wait()
	return errors.Join(c.errs...)
}

// CloseAll closes links concurrently.
func CloseAll[L io.Closer](links []L) error {
	var closing Closing
	for _, l := range links {
		closing.Close(l)
	}
	return closing.Wait()
}

// Close removes the probes and unloads the programs.
func (t *Tracer) Close() error {
	errs := []error{t.Detach()}
	if t.Ring != nil {
		errs = append(errs, t.Ring.Close())
	}
	return errors.Join(append(errs, t.words.close(), t.programs.close())...)
}

// SetOwner makes a process the owner of a link.
func (t *Tracer) SetOwner(owner int, l *Link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closers[owner] = append(t.closers[owner], l)
}

// Replace replaces a link of a process by another; if next is nil it only removes the link. It
// does not close the old link. It returns false if the process no longer has the old link.
func (t *Tracer) Replace(owner int, old, next *Link) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.closers[owner], io.Closer(old))
	if i < 0 {
		return false
	}
	if next == nil {
		t.closers[owner] = slices.Delete(t.closers[owner], i, i+1)
	} else {
		t.closers[owner][i] = next
	}
	return true
}

// Tallies returns the counts of the first n variables that the user did not name.
func (t *Tracer) Tallies(n int) ([]bpf.Tally, error) {
	if n == 0 {
		return nil, nil
	}
	keys, values := make([]uint32, n), make([]bpf.Tally, n)
	var cursor ebpf.MapBatchCursor
	got, err := t.objs.Watched.BatchLookup(&cursor, keys, values, nil)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil, fmt.Errorf("read the counts of variables: %w", err)
	}
	return values[:got], nil
}

// SiteHits sets each element of hits to how often the probe of the site with that number was hit, counted from first,
// if it is one of accesses that nobody named.
func (t *Tracer) SiteHits(first uint32, hits []uint64) error {
	if err := readMapped(t.objs.SiteHits, int(first), hits); err != nil {
		return fmt.Errorf("read the hits of accesses that nobody named: %w", err)
	}
	return nil
}

// ThreadCosts sets costs, which has an element for each of bpf.ThreadCost's places, to what the accesses that nobody
// named have cost threads.
func (t *Tracer) ThreadCosts(costs []bpf.ThreadCost) error {
	if err := readMapped(t.objs.ThreadCosts, 0, costs); err != nil {
		return fmt.Errorf("read what accesses have cost each thread: %w", err)
	}
	return nil
}

// readMapped reads elements of an array that is mapped, from first on, without a system call.
func readMapped[T any](m *ebpf.Map, first int, elements []T) error {
	if len(elements) == 0 {
		return nil
	}
	memory, err := m.Memory()
	if err != nil {
		return err
	}
	each := unsafe.Sizeof(elements[0])
	_, err = memory.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(&elements[0])), uintptr(len(elements))*each), int64(first)*int64(each))
	return err
}

// Threads returns the number of places that ThreadCosts has, at least 1.
func (t *Tracer) Threads() int { return int(t.objs.ThreadCosts.MaxEntries()) }

// MixedWords reports whether code that is not atomic has accessed a word that atomic code had accessed.
func (t *Tracer) MixedWords() bool {
	var mixed uint32
	return t.objs.MixedWords.Get(&mixed) != nil || mixed != 0
}

// IgnoreVariable makes the programs ignore the accesses of a variable at probes that were hit more than limit times, which
// is not 0.
func (t *Tracer) IgnoreVariable(index uint32, limit uint8) error {
	if err := t.objs.HitsLimit.Put(index, limit); err != nil {
		return fmt.Errorf("stop watching a variable: %w", err)
	}
	return nil
}

// SetSeveralThreads makes the BPF programs assume that the process has several threads already.
func (t *Tracer) SetSeveralThreads() error {
	if err := t.objs.Crowded.Set(uint32(1)); err != nil {
		return fmt.Errorf("tell the programs of threads: %w", err)
	}
	return nil
}
