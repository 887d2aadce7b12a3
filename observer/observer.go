// Package observer is the pipeline between the ring buffer and the analyses:
// records in, in the order of the run; events out, with dynamic vector clocks.
//
// It identifies threads and objects (the kernel's ids and addresses are used again
// within a run; a ThreadID or ObjectID is not), leaves out the inner levels of recursive
// locks, splits a condition wait into its parts, finds the thread that a join awaited,
// and keeps what reports need to name all of them. It knows nothing of ELF files, source
// lines and the formats of reports.
//
// An Observer decides by the operation of a record which of its parts handles it, and ends threads and processes for all
// of them. Each part is a type that owns a kind of state and sends its events through the core, which all share: locks,
// on which once, inlined and interpreters are built; variables; heaps; messages; causes; teams; calls. A part knows of
// others only those that it is given in New, and none knows the Observer.
//
// It is used from one goroutine. Memory is bounded by the live threads, by the addresses
// of objects that were seen and not destroyed, and by what the sinks report that they may
// still name (Rememberer): the names of other threads and objects are discarded in
// sweeps. A sink that is no Rememberer keeps all names of the run.
package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"math"
)

// Sink receives the events of a run, in order. The event is reused.
type Sink interface {
	Event(*event.Event)
}

// Rememberer is a Sink that reports for which threads and objects it may still call
// ThreadInfo and ObjectInfo. While every sink of an observer is one, the observer discards
// the names that are neither alive nor remembered.
type Rememberer interface {
	Sink
	Remember(*event.Names)
}

// SiteInfo is what the observer must know of a site, by its index in records.
type SiteInfo struct {
	Kind     event.Kind
	Flags    event.Flags // Try, Timed, Atomic
	Variable string      // name of the watched variable, for accesses
	Form     *event.Form // how reports write the variable's values; nil if unknown
	// Shift and Mask extract the variable's value from the value in the record: it is
	// shifted right by Shift bits, then masked. A Mask of 0 keeps the whole value.
	Shift uint8
	Mask  uint64
	// Check, if not 0, is the only address whose accesses count: the instruction at the
	// probe site may also access other objects.
	Check uint64
	// Elements, if not nil, is the array that the variable is an element of.
	Elements *Elements
	// Field reports that the variable is a field. The object that contains it begins
	// Inside bytes before it.
	Field  bool
	Inside int64
	// NoInnerCalls reports that the condition wait itself calls no observed function. An
	// unlock that is recorded below its frame then belongs to a cleanup handler.
	NoInnerCalls bool
	// RecordsLockKind reports that the record of an acquisition contains 1 + the kind of the
	// read-write lock (event.PreferReader and so on), 0 if that could not be read.
	RecordsLockKind bool
	// Marks reports that the record contains the mark by which the C library's conditions and
	// mutexes say that they were destroyed. CountsWaiters reports that it also contains
	// whether processes share the condition and, from bit bpf.WaitersShift on, the number of
	// threads that wait on it.
	Marks, CountsWaiters bool
	// ReportsOwnerDead reports that the call returns EOWNERDEAD if the last owner of the
	// mutex died while holding it.
	ReportsOwnerDead bool
	// ObjectName is the name of the object, if the site determines it.
	ObjectName string
	// Func describes the function whose calls the site records; nil at other sites.
	Func *event.Func
	// Sync, if not nil, describes an access that synchronises.
	Sync *Sync
	// Repeats and Traceless are as probes.Site has them: the access is an attempt to make the variable other than 0
	// which is repeated until it succeeds, and how often it failed does not matter.
	Repeats, Traceless bool
	// AtExit reports that the probe is at the instruction where a loop that waits is left, so that it may be hit before
	// the one that says so.
	AtExit bool
	// Lock is what the access is for, if code of an inlined lock makes it.
	Lock bpf.LockUse
	// Parts, if not nil, returns the parts of the array Variable that an access at an
	// offset touches. The offset counts bytes from the beginning of the array; it is Extra
	// of the record.
	Parts func(offset uint64) []Part
	// Bytes is the size of the variable, if accesses of its memory through pointers are recorded too; else 0.
	Bytes uint8
	// Pointer reports that the site is of an access through a pointer: the record has the word and,
	// in Extra, the bytes of it that are touched.
	Pointer bool
	// OneWatchpoint reports that one hardware watchpoint covers the variable, so that each of its traps
	// is an access of its own, unless the instruction repeats or the kernel makes it.
	OneWatchpoint bool
	// Loads is the number of bytes that the instruction of the site loads, of which the source may not read all; 0 if
	// it is no load, or of a variable of which is known what it is.
	Loads uint8
	// ordering is this, of an access through a pointer that orders threads, and parts of one that touches
	// several variables; nil: there was none yet.
	ordering *SiteInfo
	parts    []*SiteInfo
	array    string // name of the array, at a site made for one of its elements
}

// Part is a part of an array that an access touches.
type Part struct {
	Offset uint64 // bytes from the beginning of the array
	Name   string
	Form   *event.Form // nil if unknown
	Whole  bool        // the access touches all of this part and nothing else
	Bytes  uint8       // as SiteInfo.Bytes
	Loads  uint8       // as SiteInfo.Loads
	Wider  bool        // the access is a load of more bytes than this part has
}

// Options configure an Observer.
type Options struct {
	// Sites returns the site with an index, nil for an unknown index. The SiteInfo must
	// not change afterwards.
	Sites func(index uint32) *SiteInfo
	// Sinks receive each event, in this order.
	Sinks []Sink
	// Attached reports that the observation began in the middle of the run. Threads may
	// then hold locks, or wait, without a record of it.
	Attached bool
	// LeftOut reports that some code acquires and releases locks without records of it.
	LeftOut bool
	// Follow reports that forked processes are observed too.
	Follow bool
	// SharedMemory returns the memory of a process that its children share with it, when it has forked
	// one, and that it may have mapped twice. Nil: there is none.
	SharedMemory func(tgid uint32) []SharedMapping
	// CheckIn returns SiteInfo.Check for a site in a forked process, which may run another
	// program. Nil: forked processes have the value of the first process.
	CheckIn func(tgid, index uint32) uint64
	// Declare returns the variables whose initial values the sinks receive, each as an
	// inferred Init. It is called once, before the first event that does more than create
	// or end threads. Nil: no variable is declared.
	Declare func() []Declared
	// Futex reports whether the program's own code made a futex call. The C library's own
	// futex calls implement functions that have probes. Ip is the address behind
	// the system call instruction, caller the word on top of the stack. Nil: no call is the
	// program's own.
	Futex func(tgid uint32, ip, caller uint64) bool
	// Past receives accesses that were made before the last event, and are recorded only now, with flag
	// Past. Nil: they are lost.
	Past func(*event.Event)
	// Verdicts means that a formula is evaluated in the observed threads alone, and its verdicts are records.
	Verdicts bool
	// SiteAddr returns the address, in a process, of the instruction that a site observes; 0 if it is
	// not known. Nil: none is.
	SiteAddr func(tgid, index uint32) uint64
	// SeesFrees reports whether what frees memory is observed in a process. Nil: it is in each.
	SeesFrees func(tgid uint32) bool
	// OpenMP reports whether a start routine of a thread is libgomp's, so that the thread belongs to the team
	// of who creates it. Nil: none is.
	OpenMP func(tgid uint32, start uint64) bool
	// Repeated reports whether a call that tries to acquire a lock, at a call stack, is repeated by its code, which does
	// nothing else, until it has succeeded. Nil: none is.
	Repeated func(event.StackID) bool
	// NameOf returns the name of a living thread. Nil: it is not known.
	NameOf func(tgid, tid uint32) string
	// Touch classifies an access that a hardware watchpoint saw. Nil: no access can be
	// classified.
	Touch func(Trap) Touch
}

// Stats counts the events of a run, and what could not be observed.
type Stats struct {
	Events           uint64 // passed to the sinks
	Records          uint64 // read from the ring buffer
	Lost             uint64 // events lost in the ring buffer, summed over all Hole events
	ThreadsWithHoles int    // threads of which events were lost
	Threads          int
	// Contradicted counts reads whose value is not that of the last recorded write: two
	// racing accesses were recorded in the wrong order, or no probe saw the write. Such a
	// read has no reads-from edge. Swapped counts the pairs of accesses that were found to
	// be recorded in the wrong order: a contradicted read and the write that explains it
	// soon afterwards, or a synchronising load and its store.
	Contradicted, Swapped uint64
	// Forced counts threads that are taken to begin after an earlier thread has ended, to bound the
	// number of slots of the clocks; see clock.Must.Forced.
	Forced uint64
	// UnheldReleases counts releases by a thread that did not hold the lock.
	UnheldReleases uint64
	// InferredReleases counts releases that were not recorded, but must have happened
	// because another thread acquired the lock.
	InferredReleases uint64
	// Unclassified counts accesses seen by hardware watchpoints whose instruction is not
	// known to be a read or a write. Each is reported as a write if the value had changed,
	// else as a read.
	Unclassified uint64
	// Children counts processes that were forked and are not observed.
	Children uint64
	// UnknownJoins counts joins for which the observer does not know the joined thread.
	UnknownJoins uint64
}

// Observer turns records into events. It must not be copied: its parts point to each other.
type Observer struct {
	core
	threads  threadTable
	messages messages
	causes   causes
	teams    teams
	calls    calls
	stacks   stacks
	sharing  sharing
	backlog  backlog

	locks        locks
	once         onceCalls
	inlined      inlinedLocks
	interpreters interpreters
	variables    variables
	heaps        heaps
	follow       bool      // Options.Follow
	nameWords    [2]uint64 // Args of the last Named
}

// New returns an observer without any threads, objects or events.
func New(opts Options) *Observer {
	o := &Observer{core: newCore(&opts), stacks: newStacks(&opts), follow: opts.Follow}
	o.threads = newThreadTable(&o.core, opts.Past != nil || opts.Verdicts)
	o.messages = newMessages(&o.core, &opts, o.threads.observes)
	o.causes = causes{core: &o.core, threads: &o.threads}
	o.teams = teams{core: &o.core, threads: &o.threads, starts: opts.OpenMP}
	o.calls = newCalls(&o.core)
	o.sharing = sharing{threads: &o.threads, read: opts.SharedMemory}
	o.locks = locks{leaving: newLeaving(opts.LeftOut), core: &o.core, messages: &o.messages, sharing: &o.sharing, attempts: &o.interpreters, repeated: opts.Repeated}
	o.once = onceCalls{core: &o.core, locks: &o.locks}
	o.inlined = inlinedLocks{core: &o.core, locks: &o.locks, sharing: &o.sharing}
	o.interpreters = interpreters{core: &o.core, locks: &o.locks}
	o.backlog = backlog{core: &o.core, handle: o.handle}
	o.variables = variables{
		core: &o.core, threads: &o.threads, backlog: &o.backlog,
		once: &o.once, inlined: &o.inlined, sharing: &o.sharing, stacks: &o.stacks,
		pastSink: opts.Past, classify: opts.Touch, declares: opts.Declare, checkIn: opts.CheckIn,
		accessedNames: map[string]bool{},
	}
	o.heaps = heaps{
		core: &o.core, threads: &o.threads, variables: &o.variables, locks: &o.locks, calls: &o.calls, stacks: &o.stacks,
		seesFrees: opts.SeesFrees,
	}
	return o
}

// Shrink evicts the oldest of what is kept of the order of events and of their names, and reports whether there was any.
// A Sink may call it within Event. What is evicted orders later events as clock.Must.Shrink says, which explains unused.
func (o *Observer) Shrink(unused uint64) bool {
	if o.names.limit > 0 {
		o.names.limit = minSweep // the next record has the names swept that nothing needs any more
	}
	return o.clock.Shrink(unused) > 0
}

// Stats returns the counts so far.
func (o *Observer) Stats() Stats {
	o.stats.Threads, o.stats.Forced = int(o.names.lastThread), o.clock.Forced()
	return o.stats
}

// Stack implements loader.Handler: it stores the description of a call stack.
func (o *Observer) Stack(s *bpf.StackRecord) {
	o.stacks.add(event.StackID(s.Stack), Stack{Site: s.Site, Call: s.Call, TGID: s.Tgid, Caller: s.Caller})
}

// InnerAcquisitions returns the number of acquisitions of locks that their threads held already,
// which make no events.
func (o *Observer) InnerAcquisitions() uint64 { return o.locks.inner }

// StackOf returns the description of a call stack, and whether it was recorded.
func (o *Observer) StackOf(p event.StackID) (Stack, bool) {
	return o.stacks.get(p)
}

// Idle implements loader.Handler. It does nothing.
func (o *Observer) Idle() {}

// Call implements loader.Handler: it turns the record of a call, with its arguments, into
// events.
func (o *Observer) Call(c *bpf.CallRecord) { o.receive(&c.Head, &c.Args) }

// Record implements loader.Handler: it turns a record into events.
func (o *Observer) Record(r *bpf.Record) { o.receive(r, nil) }

// receive turns a record into events, or keeps it back until the records before it can be
// handled. Args are the arguments of a call; nil if the record has none.
func (o *Observer) receive(r *bpf.Record, args *[event.MaxArgs]uint64) {
	o.stats.Records++
	if len(o.backlog.records) > 0 {
		o.backlog.add(r, args)
		return
	}
	o.backlog.mustWait = false
	if o.handle(r, args); o.backlog.mustWait {
		o.backlog.keep(r, args)
	}
}

// handle turns a record into events. It sets mustWait of the backlog if the record must wait.
func (o *Observer) handle(r *bpf.Record, args *[event.MaxArgs]uint64) {
	o.now = r.Time
	if o.locks.leaving.due(r.Time) {
		o.leaves()
	}
	if o.names.full() {
		o.sweep()
	}
	if bpf.Op(r.Op) == bpf.OpUnseen {
		o.recordExecuted(o.threads.of(r), r)
		return
	}
	if bpf.Op(r.Op) == bpf.OpVerdict {
		o.violated(r)
		return
	}
	if bpf.Op(r.Op) == bpf.OpName {
		o.named(r)
		return
	}
	if bpf.Op(r.Op) == bpf.OpHeapCost {
		o.variables.stopsLives(r)
		return
	}
	if r.Time < o.startTime && !ofThreads(bpf.Op(r.Op)) {
		return
	}
	switch {
	case bpf.Op(r.Op) == bpf.OpExec:
		o.changeID(r)
	case bpf.Op(r.Op) == bpf.OpExit && o.threads.live[r.Tid] == nil:
		return // the observer ended the thread when it was joined
	}
	if r.Flags&bpf.RecPast != 0 {
		o.pastRecord(r)
		return
	}
	t := o.threads.of(r)
	if bpf.Op(r.Op) == bpf.OpHole {
		o.hole(t, r)
		return
	}
	if len(t.touches) > 0 && bpf.Op(r.Op) != bpf.OpTouch && !ofWake(r) {
		o.variables.flushTouches(t)
	}
	if t.condWait != nil && o.locks.duringWait(t, r) {
		return
	}
	if t.once != nil && bpf.Op(r.Op) != bpf.OpOnce {
		o.once.insideOnce(t, r)
	}
	if o.variables.declares != nil && !ofThreads(bpf.Op(r.Op)) {
		o.variables.declare(t, r)
	}
	if t.underWay {
		o.returned(t, r)
	}
	if !sleepsOn(r) {
		t.woken = nil
	}
	before := t.lastEvent
	o.dispatch(t, r, args)
	t.lastEvent = o.stats.Events
	if atExit := o.site(r).AtExit; atExit && !t.atExit {
		t.atExit, t.beforeExit = true, before
	} else {
		t.atExit = atExit
	}
}

// dispatch turns a record of thread t into events, by the operation of the record.
func (o *Observer) dispatch(t *thread, r *bpf.Record, args *[event.MaxArgs]uint64) {
	if t.process.interpreted && o.interpreters.ofInterpreter(t, r) {
		return
	}
	switch bpf.Op(r.Op) {
	case bpf.OpAcquire, bpf.OpAcquireRead:
		o.locks.acquired(t, r)
	case bpf.OpRelease, bpf.OpSignal, bpf.OpBroadcast, bpf.OpSemPost:
		o.locks.atEntry(t, r)
	case bpf.OpWait:
		o.locks.waits(t, r)
	case bpf.OpBarrier:
		o.locks.barrier(t, r)
	case bpf.OpSemWait:
		o.locks.semWaited(t, r)
	case bpf.OpOnce, bpf.OpGuardAcquire, bpf.OpGuardRelease, bpf.OpGuardAbort:
		o.once.onceRecord(t, r)
	case bpf.OpInit, bpf.OpDestroy:
		o.locks.lifetime(t, r)
	case bpf.OpInterpreterRelease:
		o.interpreters.entersInterpreter(t, r)
	case bpf.OpQuit:
		t.quit = event.StackID(r.Stack)
	case bpf.OpConsistent:
		o.locks.madeConsistent(t, r)
	case bpf.OpCreate, bpf.OpFork, bpf.OpExit, bpf.OpJoin, bpf.OpDetach, bpf.OpCancel, bpf.OpUnwind, bpf.OpExec, bpf.OpTask:
		o.threadCall(t, r)
	case bpf.OpPause:
		o.pauses(t, r)
	case bpf.OpKeyCreate, bpf.OpKeyDelete:
		o.messages.threadKey(t, r)
	case bpf.OpRead, bpf.OpWrite, bpf.OpUpdate:
		o.variables.accessed(t, r)
	case bpf.OpTouch:
		o.variables.touched(t, r)
	case bpf.OpAlloc, bpf.OpFree, bpf.OpMove, bpf.OpConstruct, bpf.OpDestruct:
		o.heaps.heapCall(t, r)
	case bpf.OpCall, bpf.OpReturn:
		o.calls.called(t, r, args)
	case bpf.OpSend, bpf.OpReceive:
		o.messageCall(t, r)
	case bpf.OpParallel, bpf.OpTeamBarrier, bpf.OpOrderedLoop, bpf.OpOrderedNext, bpf.OpOrderedBegin, bpf.OpOrderedEnd, bpf.OpCopyBegin, bpf.OpCopyEnd:
		o.teams.openMP(t, r)
	}
}

// pastRecord handles the record of what its thread did before, and that is recorded only now.
func (o *Observer) pastRecord(r *bpf.Record) {
	switch {
	case !o.variables.takesPast():
	case bpf.Op(r.Op) == bpf.OpAlloc:
		o.heaps.pastAllocation(r)
	case bpf.Op(r.Op) >= bpf.OpRead && bpf.Op(r.Op) <= bpf.OpUpdate:
		o.variables.past(r)
	}
}

// messageCall handles the record of a call that sends or receives, that wakes a thread, or that asks.
func (o *Observer) messageCall(t *thread, r *bpf.Record) {
	switch kind := channelKind(r); kind {
	case bpf.ChannelWake:
		if woken := o.causes.woke(t, r); woken != nil && accepts(uint32(r.Value)) {
			o.variables.flushTouches(t)
			o.messages.makesRoom(t, r, woken)
		}
	case bpf.ChannelAsked:
		o.causes.asked(t, r)
	default:
		o.messages.message(t, r, kind)
	}
}

// StartAt makes the observer ignore calls and accesses before time t, in nanoseconds of
// CLOCK_MONOTONIC. T is the time at which the last probe was inserted into a running
// process. Probes are inserted one by one, and a lock whose release has no probe yet would
// seem to be held until the end of the run. Records on the creation and end of threads
// count from the beginning. StartAt is called before the first record.
func (o *Observer) StartAt(t uint64) { o.startTime = t }

// ofThreads reports whether an operation concerns threads or processes themselves, or lost
// records.
func ofThreads(op bpf.Op) bool {
	switch op {
	case bpf.OpCreate, bpf.OpFork, bpf.OpExit, bpf.OpJoin, bpf.OpDetach, bpf.OpCancel, bpf.OpExec, bpf.OpTask, bpf.OpHole:
		return true
	}
	return false
}

// Passed says that all records up to a time, in ns of CLOCK_MONOTONIC, have been handled: no load waits longer for its
// store than that.
func (o *Observer) Passed(now uint64) { o.backlog.resume(now) }

// Finish ends the threads that are still alive, so that every thread of the run has an End
// event. They do not release the locks that they hold. No record may follow.
func (o *Observer) Finish() {
	o.backlog.resume(math.MaxUint64)
	for _, t := range o.threads.living() {
		o.variables.flushTouches(t)
	}
	for _, t := range o.threads.living() {
		o.finishThread(t, nil)
	}
}

// Attached reports whether observation began in the middle of the run.
func (o *Observer) Attached() bool { return o.attached }
