// Package observer is the pipeline between the ring buffer and the analyses:
// records in, in the order of the run; events out, with dynamic vector clocks.
//
// It gives threads and objects their identity (kernel ids and addresses are
// used again within a run; a ThreadID or ObjectID is not), drops the inner
// levels of recursive locks, splits a condition wait into its parts, finds the
// thread that a join awaited, and keeps what the reports need to name all of
// them. What it does not know: ELF files, source lines, formats of reports.
//
// It is used from one goroutine. Memory is bounded by live threads, by the
// addresses that objects were seen at and not destroyed, and by what the sinks say
// that they may still name (Rememberer): the names of other threads and objects
// are forgotten in sweeps. A sink that does not say keeps all names of the run.
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

// Sink takes the events of a run, in order. The event is reused.
type Sink interface {
	Event(*event.Event)
}

// Rememberer is a Sink that can say which threads and objects it may still ask
// ThreadInfo and ObjectInfo for. While every sink of an observer is one, the
// observer forgets what is neither alive nor remembered.
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
	// Shift and Mask take a variable's value out of what the record has; a Mask of
	// 0 takes all.
	Shift uint8
	Mask  uint64
	// Check, if not 0, is the address that the object must have: the probe
	// stands at an instruction that may access other things too.
	Check uint64
	// Elements, if not nil: the variable is an element of an array.
	Elements *Elements
	// Field: the variable is a field; the object that has it begins Inside bytes
	// before it.
	Field  bool
	Inside int64
	// Alone: a condition wait that makes no observed call itself, so that an
	// unlock from below its frame is a cleanup handler's.
	Alone bool
	// TellsKind: the value of an acquisition's record is 1 + the kind of the read-write
	// lock (event.Acquire), 0 if that could not be read.
	TellsKind bool
	// TellsDead: the call returns EOWNERDEAD where the mutex's last owner died with it.
	TellsDead bool
	// Func is what is known of the function, at a site of its calls.
	Func *event.Func
	// Sync, if not nil, says that the access synchronises.
	Sync *Sync
	// Parts, if not nil, says what is touched of the array Variable so many bytes from
	// its beginning: Entered of the record.
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
	// Sites gives the site of a record, nil for an unknown index. What it gives
	// must not change.
	Sites func(index uint32) *SiteInfo
	// Sinks take the events, each event in this order.
	Sinks []Sink
	// Attached: observation began in the middle of the run, so that locks
	// may be held and threads wait that no record told of.
	Attached bool
	// Follow: processes that are forked are observed too.
	Follow bool
	// CheckIn gives SiteInfo.Check for a process that was forked, which may run
	// another program; nil: as in the first process.
	CheckIn func(tgid, index uint32) uint64
	// Declare gives the variables whose first values the sinks shall have, each by
	// an inferred Init; called once, before the first event that is not of threads
	// alone. Nil: none.
	Declare func() []Declared
	// Futex says whether a futex call of the program's own was made from behind the
	// instruction at ip, with caller on top of the stack; nil: none is. The C library's
	// calls implement what is observed otherwise.
	Futex func(tgid uint32, ip, caller uint64) bool
	// Touch says what an access was that a hardware watchpoint saw; nil: nobody
	// knows.
	Touch func(Trap) Touch
}

// Stats count what happened and what could not be had.
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
	// Untold counts accesses seen by hardware watchpoints whose instruction did
	// not tell read from write; the value was taken to tell.
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

	now       uint64             // time of the record at hand
	from      uint64             // calls and accesses before it are left out
	threads   map[uint32]*thread // live, by kernel id
	last      *thread            // of the last record
	lately    [recentThreads]*thread
	recent    [recentObjects]*object
	processes map[uint32]*process
	names     names
	stacks    map[event.StackID]Stack

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

// How many threads, by the low bits of the kernel's id, and objects, by a hash of
// the address, are found without a map. A server has thousands of locks: one for
// each bucket of a table.
const (
	recentThreads = 64
	recentObjects = 1 << 12
)

// New makes an observer.
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

// Stats gives the counts so far.
func (o *Observer) Stats() Stats {
	o.stats.Threads = int(o.names.lastThread)
	return o.stats
}

// Stack is what is known of a place. Its calling chain is found apart.
type Stack struct {
	Site   uint32
	Call   uint32   // one more than the number of the system call in which the kernel did it; 0: the program did
	TGID   uint32   // of the process whose addresses these are
	Caller uint64   // return address at a function's entry; of a watchpoint, where it was
	Found  []uint64 // of a thread that was found there: its whole chain
}

// maxStacks bounds the places that are kept. The BPF programs have a table
// of half as many; an event beyond it comes as a place of its own, and
// loader.Lost counts it.
const maxStacks = 1 << 16

// Stack takes what is known of a place; loader.Handler.
func (o *Observer) Stack(s *bpf.StackRecord) {
	if len(o.stacks) < maxStacks {
		o.stacks[event.StackID(s.Stack)] = Stack{Site: s.Site, Call: s.Call, TGID: s.Tgid, Caller: s.Caller}
	}
}

// StackOf gives what is known of a place, and whether it was recorded.
func (o *Observer) StackOf(p event.StackID) (Stack, bool) {
	s, ok := o.stacks[p]
	return s, ok
}

// Idle is called when nothing is left to read for now; loader.Handler.
func (o *Observer) Idle() {}

// Call takes one record of a call with its arguments; loader.Handler.
func (o *Observer) Call(c *bpf.CallRecord) { o.one(&c.Head, &c.Args) }

// Record takes one record; loader.Handler.
func (o *Observer) Record(r *bpf.Record) { o.one(r, nil) }

// one takes a record, with the arguments of a call where there are any.
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

// StartAt leaves out the calls and accesses before the time t, in nanoseconds of
// CLOCK_MONOTONIC: when the last probe went into a running process. Probes go in
// one by one, and a lock whose release has none yet would seem to be held for
// ever. What is told of threads counts from the beginning. It is called before
// the first record.
func (o *Observer) StartAt(t uint64) { o.from = t }

// ofThreads reports whether an operation tells of threads, or of what was lost.
func ofThreads(op bpf.Op) bool {
	switch op {
	case bpf.OpCreate, bpf.OpFork, bpf.OpExit, bpf.OpJoin, bpf.OpDetach, bpf.OpCancel, bpf.OpExec, bpf.OpTask, bpf.OpHole:
		return true
	}
	return false
}

// begin resets the shared event for thread t at record r. Nil is for what was
// inferred: it has the time of the record that told of it.
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

// send gives the event its sequence number and clock and hands it on.
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

// site gives what is known of the record's site.
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

// living gives the threads that have not ended, in order of creation.
func (o *Observer) living() []*thread {
	return slices.SortedFunc(maps.Values(o.threads), func(t, u *thread) int { return cmp.Compare(t.id, u.id) })
}

// Attached reports whether observation began in the middle of the run.
func (o *Observer) Attached() bool { return o.opts.Attached }
