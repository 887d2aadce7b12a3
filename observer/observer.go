// Package observer is the pipeline between the ring buffer and the analyses:
// records in, in the order of the run; events out, with dynamic vector clocks.
//
// It identifies threads and objects (the kernel's ids and addresses are used again
// within a run; a ThreadID or ObjectID is not), leaves out the inner levels of recursive
// locks, splits a condition wait into its parts, finds the thread that a join awaited,
// and keeps what reports need to name all of them. It knows nothing of ELF files, source
// lines and the formats of reports.
//
// It is used from one goroutine. Memory is bounded by the live threads, by the addresses
// of objects that were seen and not destroyed, and by what the sinks report that they may
// still name (Rememberer): the names of other threads and objects are discarded in
// sweeps. A sink that is no Rememberer keeps all names of the run.
package observer

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
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
	Variable string      // the watched variable's name, for accesses
	Form     *event.Form // how its values are written; nil if unknown
	// Shift and Mask extract the value of a variable from that of the record. A Mask of
	// 0 keeps all of it.
	Shift uint8
	Mask  uint64
	// Check, if not 0, is the address that the object must have: the probe
	// stands at an instruction that may access other things too.
	Check uint64
	// Elements, if not nil, is the array that the variable is an element of.
	Elements *Elements
	// Field reports that the variable is a field. The object that has it begins Inside
	// bytes before it.
	Field  bool
	Inside int64
	// Alone reports that the condition wait makes no observed call itself, so that an
	// unlock from below its frame belongs to a cleanup handler.
	Alone bool
	// TellsKind reports that the value in the record of an acquisition is 1 + the kind of
	// the read-write lock (event.Acquire), 0 if that could not be read.
	TellsKind bool
	// TellsDead reports that the call returns EOWNERDEAD where the last owner of the mutex
	// died while holding it.
	TellsDead bool
	// Func is what is known of the function, at a site of its calls.
	Func *event.Func
	// Sync, if not nil, describes an access that synchronises.
	Sync *Sync
	// Parts, if not nil, returns what is accessed of the array Variable at an offset in
	// bytes from its beginning, which is Extra of the record.
	Parts func(offset uint64) []Part
	array string // of an element
}

// Part is what an access touches of an array.
type Part struct {
	Offset uint64 // from the array's beginning
	Name   string
	Form   *event.Form // nil if unknown
	Whole  bool        // it is all that the access touches, and is touched whole
}

// Options configure an Observer.
type Options struct {
	// Sites returns the site of a record, nil for an unknown index. What it returns must
	// not change.
	Sites func(index uint32) *SiteInfo
	// Sinks receive each event, in this order.
	Sinks []Sink
	// Attached reports that the observation began in the middle of the run, so that locks
	// may be held, and threads may wait, without a record of it.
	Attached bool
	// Follow reports that forked processes are observed too.
	Follow bool
	// CheckIn returns SiteInfo.Check for a forked process, which may run another program.
	// Nil: it is that of the first process.
	CheckIn func(tgid, index uint32) uint64
	// Declare returns the variables whose first values the sinks receive, each as an
	// inferred Init. It is called once, before the first event that does not concern
	// threads alone. Nil: there are none.
	Declare func() []Declared
	// Futex reports whether a futex call was made by the program's own code, not by the C
	// library, whose calls implement what is observed otherwise. Ip is the address behind
	// the system call instruction, caller the word on top of the stack. Nil: none is.
	Futex func(tgid uint32, ip, caller uint64) bool
	// Touch returns what an access was that a hardware watchpoint saw. Nil: that is never
	// known.
	Touch func(Trap) Touch
}

// Stats counts what happened, and what could not be observed.
type Stats struct {
	Events  uint64 // handed to the sinks
	Records uint64 // from the ring buffer
	Lost    uint64 // by Hole events
	Holed   int    // threads that lost events
	Threads int
	// Contradicted counts reads whose value is not that of the last recorded
	// write: two racing accesses whose records stand in the other order, or
	// a write that no probe saw. Such a read carries no causality. Swapped
	// counts those of them that the neighbouring record explains.
	Contradicted, Swapped uint64
	// UnheldReleases counts releases by a thread that did not hold the lock.
	UnheldReleases uint64
	// InferredReleases counts locks that another thread took although no
	// release was recorded.
	InferredReleases uint64
	// Untold counts accesses seen by hardware watchpoints whose instruction is not known to
	// be a read or a write. They are taken for writes where the value had changed.
	Untold uint64
	// Children counts processes that were forked and are not observed.
	Children uint64
	// UnknownJoins counts joins of threads that nobody saw begin.
	UnknownJoins uint64
}

// Observer turns records into events.
type Observer struct {
	opts  Options
	clock *clock.Must
	stats Stats
	ev    event.Event // reused for all
	args  [event.MaxArgs]uint64

	now         uint64             // time of the record at hand
	from        uint64             // calls and accesses before it are left out
	threads     map[uint32]*thread // live, by kernel id
	last        *thread            // of the last record
	threadCache [cachedThreads]*thread
	objectCache [cachedObjects]*object
	processes   map[uint32]*process
	names       names
	stacks      map[event.StackID]Stack

	foundPlaces uint32 // of threads that were found to wait; see Blocked

	part     bpf.Record // what a record tells of one of the parts that it touched
	unknown  SiteInfo   // of a site that nobody knows
	funcs    funcs
	channels channels
	places   map[uint64]*run.Executed // that synchronise unobserved, by number
	graves   graves
	parted   latest[event.ThreadID] // joined or detached threads that have ended, by thread pointer

	waiting  []postponed // the first needs a store that has not come; see synchronising.go
	want     awaited     // that store
	postpone bool        // the record at hand must wait
	forced   bool        // it may not
}

// The sizes of the direct-mapped caches in front of the maps of threads, by the low bits
// of the kernel's id, and of objects, by a hash of the address. A server has thousands of
// locks: one for each bucket of a table.
const (
	cachedThreads = 64
	cachedObjects = 1 << 12
)

// New returns an observer that has seen nothing.
func New(opts Options) *Observer {
	return &Observer{
		opts:      opts,
		clock:     clock.New(),
		threads:   map[uint32]*thread{},
		processes: map[uint32]*process{},
		names:     newNames(opts.Sinks),
		stacks:    map[event.StackID]Stack{},
		channels:  newChannels(opts.Attached),
		places:    map[uint64]*run.Executed{},
		funcs:     funcs{bySite: map[uint32]event.FuncID{}, byText: map[string]event.FuncID{}},
	}
}

// Stats returns the counts so far.
func (o *Observer) Stats() Stats {
	o.stats.Threads = int(o.names.lastThread)
	return o.stats
}

// Stack is what is known of a stack but for its frames, which the session finds.
type Stack struct {
	Site   uint32
	Call   uint32   // one more than the number of the system call in which the kernel did it; 0: the program did
	TGID   uint32   // of the process whose addresses these are
	Caller uint64   // return address at a function's entry; of a watchpoint, where it was
	Found  []uint64 // of a thread that was found there: its whole chain
}

// maxStacks bounds the stacks that are kept. The BPF programs have a table of half as
// many; an event beyond it has a stack of its own, and loader.Lost counts it.
const maxStacks = 1 << 16

// Stack implements loader.Handler: it keeps what is known of a stack.
func (o *Observer) Stack(s *bpf.StackRecord) {
	if len(o.stacks) < maxStacks {
		o.stacks[event.StackID(s.Stack)] = Stack{Site: s.Site, Call: s.Call, TGID: s.Tgid, Caller: s.Caller}
	}
}

// StackOf returns what is known of a stack, and whether it was recorded.
func (o *Observer) StackOf(p event.StackID) (Stack, bool) {
	s, ok := o.stacks[p]
	return s, ok
}

// Idle implements loader.Handler: there is nothing to do.
func (o *Observer) Idle() {}

// Call implements loader.Handler: it makes events of a record of a call with its
// arguments.
func (o *Observer) Call(c *bpf.CallRecord) { o.one(&c.Head, &c.Args) }

// Record implements loader.Handler: it makes events of a record.
func (o *Observer) Record(r *bpf.Record) { o.one(r, nil) }

// one makes events of a record, with the arguments of a call where there are any, or keeps
// the record until those before it can be handled.
func (o *Observer) one(r *bpf.Record, args *[event.MaxArgs]uint64) {
	o.stats.Records++
	if len(o.waiting) > 0 {
		o.wait(r, args)
		return
	}
	o.postpone = false
	if o.digest(r, args); o.postpone {
		o.waiting = append(o.waiting, newPostponed(r, args))
	}
}

// digest makes events of a record.
func (o *Observer) digest(r *bpf.Record, args *[event.MaxArgs]uint64) {
	o.now = r.Time
	if o.names.full() {
		o.sweep()
	}
	if bpf.Op(r.Op) == bpf.OpUnseen {
		o.reached(o.thread(r), r)
		return
	}
	if r.Time < o.from && !ofThreads(bpf.Op(r.Op)) {
		return
	}
	switch {
	case bpf.Op(r.Op) == bpf.OpExec:
		o.renamed(r)
	case bpf.Op(r.Op) == bpf.OpExit && o.threads[r.Tid] == nil:
		return // a join told of its end already
	}
	t := o.thread(r)
	if bpf.Op(r.Op) == bpf.OpHole {
		o.hole(t, r)
		return
	}
	if len(t.touches) > 0 && bpf.Op(r.Op) != bpf.OpTouch {
		o.settle(t)
	}
	if t.wait != nil && o.duringWait(t, r) {
		return
	}
	if t.once != nil && bpf.Op(r.Op) != bpf.OpOnce {
		t.insideOnce(r)
	}
	if o.opts.Declare != nil && !ofThreads(bpf.Op(r.Op)) {
		o.declare(t, r)
	}
	o.digestOf(t, r, args)
	t.seen = o.stats.Events
}

// digestOf makes events of a record of thread t.
func (o *Observer) digestOf(t *thread, r *bpf.Record, args *[event.MaxArgs]uint64) {
	switch bpf.Op(r.Op) {
	case bpf.OpAcquire, bpf.OpAcquireRead:
		o.acquired(t, r)
	case bpf.OpRelease:
		o.releasing(t, r)
	case bpf.OpWait:
		o.waits(t, r)
	case bpf.OpSignal:
		o.signals(t, r, event.Signal)
	case bpf.OpBroadcast:
		o.signals(t, r, event.Broadcast)
	case bpf.OpBarrier:
		o.barrier(t, r)
	case bpf.OpSemPost:
		o.emitOn(t, r, event.SemPost, o.object(t, r, event.KindSemaphore))
	case bpf.OpSemWait:
		o.semWaited(t, r)
	case bpf.OpOnce, bpf.OpGuardAcquire, bpf.OpGuardRelease, bpf.OpGuardAbort:
		o.onceCall(t, r)
	case bpf.OpInit, bpf.OpDestroy:
		o.lifetime(t, r)
	case bpf.OpConsistent:
		o.madeConsistent(t, r)
	case bpf.OpCreate, bpf.OpFork, bpf.OpExit, bpf.OpJoin, bpf.OpDetach, bpf.OpCancel, bpf.OpExec, bpf.OpTask:
		o.threadCall(t, r)
	case bpf.OpRead, bpf.OpWrite, bpf.OpUpdate:
		o.accessed(t, r)
	case bpf.OpTouch:
		o.touched(t, r)
	case bpf.OpAlloc, bpf.OpFree, bpf.OpMove, bpf.OpConstruct, bpf.OpDestruct:
		o.heapCall(t, r)
	case bpf.OpCall, bpf.OpReturn:
		o.called(t, r, args)
	case bpf.OpSend, bpf.OpReceive:
		o.message(t, r)
	}
}

// StartAt leaves out the calls and accesses before time t, in nanoseconds of
// CLOCK_MONOTONIC: when the last probe was put into a running process. Probes are put in
// one by one, and a lock whose release has no probe yet would seem to be held for ever.
// Records of threads count from the beginning. StartAt is called before the first record.
func (o *Observer) StartAt(t uint64) { o.from = t }

// ofThreads reports whether an operation concerns threads, or lost records.
func ofThreads(op bpf.Op) bool {
	switch op {
	case bpf.OpCreate, bpf.OpFork, bpf.OpExit, bpf.OpJoin, bpf.OpDetach, bpf.OpCancel, bpf.OpExec, bpf.OpTask, bpf.OpHole:
		return true
	}
	return false
}

// begin resets the shared event for thread t at record r. R is nil for an inferred event,
// which has the time of the record from which it was inferred.
func (o *Observer) begin(t *thread, r *bpf.Record, op event.Op) *event.Event {
	// Field by field: the clocks fill the rest. To write the whole would go
	// through the collector's barrier.
	e := &o.ev
	e.Time, e.Value, e.Thread, e.Object, e.Object2, e.Peer, e.Stack = o.now, 0, t.id, 0, 0, 0, 0
	e.Op, e.Kind, e.Flags = op, event.KindUnknown, 0
	if e.Func != 0 {
		e.Func, e.Args = 0, nil
	}
	if r != nil {
		e.Stack = event.StackID(r.Stack)
	}
	return e
}

// send numbers the event, stamps it with its clock and hands it to the sinks.
func (o *Observer) send() {
	o.stats.Events++
	o.ev.Seq = o.stats.Events
	o.clock.Stamp(&o.ev)
	for _, s := range o.opts.Sinks {
		s.Event(&o.ev)
	}
	o.clock.Done(&o.ev)
}

// emitOn sends an event on an object that needs nothing else.
func (o *Observer) emitOn(t *thread, r *bpf.Record, op event.Op, obj *object) {
	e := o.begin(t, r, op)
	e.Object, e.Kind = obj.id, obj.kind
	o.send()
}

// site returns what is known of the record's site.
func (o *Observer) site(r *bpf.Record) *SiteInfo {
	if o.opts.Sites != nil {
		if info := o.opts.Sites(r.Site); info != nil {
			return info
		}
	}
	return &o.unknown
}

// Finish ends the threads that still live, so that every thread of the run
// has its last event. What they hold stays held. No record may follow.
func (o *Observer) Finish() {
	o.resume(true)
	for _, t := range o.living() {
		o.settle(t)
	}
	for _, t := range o.living() {
		o.over(t, nil)
	}
}

// living returns the threads that have not ended, in order of creation.
func (o *Observer) living() []*thread {
	return slices.SortedFunc(maps.Values(o.threads), func(t, u *thread) int { return cmp.Compare(t.id, u.id) })
}

// Attached reports whether observation began in the middle of the run.
func (o *Observer) Attached() bool { return o.opts.Attached }
