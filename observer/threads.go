package observer

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// thread is a live thread, or one that has ended and can still be joined. What only one part of the observer knows of
// it is declared with that part. What each record needs comes first.
type thread struct {
	process   *process
	id        event.ThreadID
	tid       uint32
	ended     bool
	underWay  bool   // it lived when the observation began, and may not have returned from a call of then
	lastEvent uint64 // number of the last event of the run after its last record was handled
	// atExit reports that its last records are of sites AtExit, and beforeExit is lastEvent before them.
	atExit     bool
	beforeExit uint64

	woken   *run.Cause     // what woke it in the system call from which it returns; nil: not known
	once    *onceCall      // its innermost call of pthread_once; nil: none
	touches []pendingTouch // at most one, except those of one system call
	threadLocks
	threadMessages
	threadHeap
	teams       membership
	interpreter interpreterUse

	tp         uint64  // thread pointer, which pthread_t equals; 0 if unknown
	createdAt  uint64  // time of its creation; 0 if it lived before the observation began
	previous   *thread // the thread that had the thread pointer before and may still be joined
	detached   bool
	cancelled  bool // pthread_cancel was called for it
	lostEvents bool // events of it were lost

	joined   uint64 // thread pointer of the thread that it joined last
	joinedAt uint64 // time at which that join was entered

	created  event.StackID // stack of its current call of pthread_create; 0: none
	start    uint64        // start routine passed to that call
	name     string        // "" if it is not known
	joinable bool          // that call certainly makes a joinable thread
}

// ThreadInfo returns the description of a thread; ok is false for an unknown identifier, or
// one whose name was discarded (Rememberer).
func (o *Observer) ThreadInfo(id event.ThreadID) (t run.Thread, ok bool) {
	if info := o.names.threads[id]; info != nil {
		return *info, true
	}
	return run.Thread{}, false
}

// AddTask adds a thread that lived when the observation began. Start is the address of its
// start routine, 0 if that is not known. sleeps reports that it is in a call that only waits for a
// time to pass.
func (o *Observer) AddTask(l bpf.TaskLine, start uint64, sleeps bool) {
	t := o.threads.live[l.Tid]
	if t == nil {
		t = o.threads.addExisting(&bpf.Record{Tid: l.Tid, Tgid: l.Tgid}, run.Thread{TID: l.Tid, TGID: l.Tgid, StartAddr: start})
	}
	t.underWay = !sleeps
	o.threads.setPointer(t, l.ThreadPointer)
}

// returned handles the first record of a thread that lived when the observation began. It may just have
// returned from a call that waited then, and of which there is no other record.
func (o *Observer) returned(t *thread, r *bpf.Record) {
	switch op, leave := bpf.Op(r.Op), r.Flags&bpf.RecLeave != 0; {
	case op == bpf.OpReceive && leave && bpf.ChannelKind(r.Result) == bpf.ChannelFutex && !o.messages.ownFutex(t, r):
		return // which makes no event
	case op == bpf.OpReceive && leave, op == bpf.OpExit:
	default:
		o.doubt(t, doubtUnderWay)
	}
	t.underWay = false
}

func (o *Observer) threadCall(t *thread, r *bpf.Record) {
	switch bpf.Op(r.Op) {
	case bpf.OpCreate:
		t.created, t.start, t.joinable = event.StackID(r.Stack), r.Value, joinableByDefault(r.Object)
	case bpf.OpFork:
		o.forked(t, r)
	case bpf.OpExit:
		if r.Flags&bpf.RecProcess == 0 {
			o.locks.leftWait(t, r)
		}
		o.end(t, r)
	case bpf.OpJoin:
		if r.Flags&bpf.RecFailed == 0 {
			o.joined(t, r)
		} else {
			o.joinRefused(t, r)
		}
	case bpf.OpDetach:
		o.detaches(t, r)
	case bpf.OpCancel:
		o.locks.cancels(t, r)
	case bpf.OpUnwind:
		o.locks.unwinds(t, r)
	case bpf.OpExec:
		o.execveCall(t, r)
	}
}

func (o *Observer) forked(t *thread, r *bpf.Record) {
	tid, tgid := uint32(r.Object), r.Tgid
	if r.Flags&bpf.RecProcess != 0 {
		if !o.follow {
			o.messages.setInexact() // the child has inherited them
			o.stats.Children++
			o.messages.notifiesOutside(t)
			o.messages.emitForked(t, r)
			return // the child is not observed
		}
		tgid = tid
	}
	if old := o.threads.live[tid]; old == t {
		return // no thread creates itself
	} else if old != nil {
		o.end(old, nil) // the record of its end was lost, and the kernel has reused its id
	}
	if tgid != r.Tgid {
		delete(o.threads.processes, tgid) // an earlier process with that id
	}
	u := o.threads.add(run.Thread{TID: tid, TGID: tgid, Parent: t.id, Created: t.created, StartAddr: t.start, Name: t.name})
	u.createdAt = r.Time
	unjoinable := o.threads.setPointer(u, r.Value)
	e := o.begin(t, r, event.Fork)
	e.Peer, e.Stack = u.id, t.created
	if t.joinable && tgid == r.Tgid {
		e.Flags = event.Joinable
	}
	if tgid == r.Tgid {
		o.teams.created(t, u, t.start)
	}
	t.created, t.start, t.joinable = 0, 0, false
	o.send()
	o.begin(u, r, event.Begin).Stack = 0
	o.send()
	if tgid != r.Tgid {
		u.process.forked, u.process.inParentMemory = true, r.Flags&bpf.RecShared != 0
		u.process.parent = t.process.id
		if r.Flags&bpf.RecShared == 0 {
			o.sharing.share(t.process, u.process)
			o.inherit(t, u, r)
		}
	}
	if unjoinable != nil && !unjoinable.detached {
		o.begin(t, nil, event.Detach).Peer = unjoinable.id
		o.ev.Flags = event.Inferred
		o.send()
	}
}

// named handles a new name of a thread. If another one may have given it, it says nothing about what the thread does.
func (o *Observer) named(r *bpf.Record) {
	t := o.threads.live[r.Tid]
	if t == nil {
		return // it lived before, and will be asked for its name
	}
	o.nameWords = [...]uint64{r.Object, r.Value}
	e := o.begin(t, nil, event.Named)
	e.Args = o.nameWords[:]
	t.name = e.ThreadName()
	if r.ByItself() != 0 {
		e.Peer = t.id
	}
	o.send()
	e.Args, e.Peer = nil, 0
}

// violated handles a verdict of a formula.
func (o *Observer) violated(r *bpf.Record) {
	other := o.threads.threadAt(uint32(r.Extra), r.Time)
	e := o.begin(o.threads.of(r), nil, event.Violated)
	if other != nil {
		e.Peer = other.id
	}
	o.send()
}

// end ends a thread, which releases all locks. R is the record of its end, nil if that is
// inferred. The thread stays known by its thread pointer, since a join may follow.
func (o *Observer) end(t *thread, r *bpf.Record) {
	if t.ended {
		return
	}
	for _, addr := range slices.Sorted(maps.Keys(t.ownStack)) {
		if obj := t.process.objects[addr]; obj != nil {
			o.locks.endObject(t, nil, obj)
		}
	}
	o.locks.emitQuit(t, r)
	// The release holds for every kind of mutex: the next owner inherits a robust one, and
	// any other is never acquired again unless a thread that does not hold it unlocks it.
	if r == nil || r.Flags&bpf.RecProcess == 0 {
		o.locks.emitOwnerDeath(t)
	}
	o.locks.releaseAll(t)
	o.finishThread(t, r)
}

// finishThread sends the End of t and discards the state that only a live thread needs.
func (o *Observer) finishThread(t *thread, r *bpf.Record) {
	o.variables.flushTouches(t)
	for c := t.once; c != nil; c = c.outer {
		o.once.abandonOnce(c)
	}
	o.teams.leavesTeam(t)
	if t.process.forked && t.process.living == 1 && o.follow {
		o.messages.emitProcessEnd(t, r)
	}
	o.begin(t, r, event.End).Stack = 0
	switch {
	case r == nil:
		o.ev.Flags = event.Inferred
	case r.Flags&bpf.RecProcess != 0:
		o.ev.Flags, o.ev.Value = event.WithProcess|event.HasValue, r.Value
	}
	o.send()
	t.leaveOnce()
	o.messages.leave(t)
	t.ended = true
	if t.condWait != nil {
		t.condWait.cond.waiters--
	}
	t.held, t.condWait, t.ownStack = nil, nil, nil
	o.threads.remove(t)
	if t.process.living--; t.process.living == 0 && t.process.forked {
		o.removeProcess(t.process)
	}
}

func (o *Observer) detaches(t *thread, r *bpf.Record) {
	u := t.process.byPointer(r.Object, r.Time)
	if last, _ := o.threads.unjoinable.get(t.process, r.Object); u == nil || u.detached || u.id < last {
		o.detachesAgain(t, r, u, last)
		return
	}
	u.detached = true
	o.begin(t, r, event.Detach).Peer = u.id
	o.send()
	o.locks.setLastCall(t, r)
	if u.ended {
		o.threads.retire(u)
	}
}

func (o *Observer) joined(t *thread, r *bpf.Record) {
	if t.joined == r.Object && r.Entered() < t.joinedAt {
		return // an outer call around the recorded one: musl's thrd_join
	}
	p := t.process
	u := p.byPointer(r.Object, r.Entered())
	if u == nil && p.leader != nil && p.leader.tp == 0 && o.stats.Lost == 0 {
		u = p.leader // the only thread whose creation cannot have been recorded
	}
	if u == nil || u == t {
		o.stats.UnknownJoins++
		return
	}
	t.joined, t.joinedAt = r.Object, r.Entered()
	if u == p.leader {
		p.leader = nil // no thread is joined twice
	}
	o.locks.leftWait(u, r)
	o.end(u, nil) // the kernel may record its exit after the join has returned
	o.threads.retire(u)
	o.begin(t, r, event.Join).Peer = u.id
	o.send()
}

// execveCall handles an execve: it ends all other threads of the process and all its
// objects, since the addresses now belong to another program.
func (o *Observer) execveCall(t *thread, r *bpf.Record) {
	for _, u := range o.threads.living() {
		if u != t && u.process == t.process {
			o.end(u, nil)
		}
	}
	if t.condWait != nil {
		o.locks.wake(t, r, event.Inferred|event.TimedOut)
	}
	o.locks.releaseAll(t)
	t.leaveOnce()
	t.ownStack, t.quit = nil, 0
	t.created, t.start, t.joinable = 0, 0, false
	o.removeObjects(t.process)
	clear(t.process.byTP)
	t.teams, t.interpreter = membership{}, interpreterUse{}
	t.tp, t.createdAt, t.previous = 0, 0, nil // its stack and its pthread_t are gone
	t.process.leader, t.process.inParentMemory = t, false
}

// hole handles the loss of events of t. They may have been of any kind, so that the state of
// t is no longer known. A lock whose release was lost would stay held, and each later
// acquisition of it would count as recursive; so t releases all locks here. If t does hold
// one, its release finds the lock unheld, which is then not counted (releasedUnheld).
// Calls of pthread_once are kept: their frames show whether they have returned.
func (o *Observer) hole(t *thread, r *bpf.Record) {
	if t.condWait != nil {
		o.locks.woken(t, r, event.Inferred|event.TimedOut) // without the mutex, whose holder is unknown
	}
	o.locks.releaseAll(t)
	t.created, t.start, t.joinable, t.interpreter = 0, 0, false, interpreterUse{}
	if !t.lostEvents {
		t.lostEvents = true
		o.stats.ThreadsWithHoles++
	}
	o.stats.Lost += r.Value
	e := o.begin(t, r, event.Hole)
	e.Value, e.Flags = r.Value, event.HasValue
	o.send()
}

// changeID changes the id of a thread that calls execve: the kernel assigns it the id of the
// first thread of the process, which has ended by then like all others.
func (o *Observer) changeID(r *bpf.Record) {
	old := uint32(r.Object)
	t := o.threads.live[old]
	if old == r.Tid || t == nil || t.process.id != r.Tgid {
		return
	}
	if first := o.threads.live[r.Tid]; first != nil {
		o.end(first, nil)
	}
	delete(o.threads.live, old)
	t.tid = r.Tid
	o.names.threads[t.id].TID = r.Tid
	o.threads.live[r.Tid] = t
}

// joinRefused handles a join that failed. A join that failed by its time limit, or because the
// thread had not ended, is no misuse.
func (o *Observer) joinRefused(t *thread, r *bpf.Record) {
	if r.Result != errInvalid && r.Result != errNoThread && r.Result != errDeadlock || o.stats.ThreadsWithHoles > 0 {
		return
	}
	if t.joined == r.Object && r.Entered() < t.joinedAt {
		return
	}
	peer := o.threads.joinTarget(t, r)
	if peer == 0 {
		return
	}
	t.joined, t.joinedAt = r.Object, r.Entered()
	e := o.begin(t, r, event.JoinFailed)
	e.Peer, e.Value, e.Flags = peer, uint64(r.Result), event.HasValue
	o.send()
}

// detachesAgain handles a detach for which there is no thread that can be detached. U is the
// detached thread that has the pthread_t, nil if there is none. Peer is the last joined or
// detached thread that had it and has ended, 0 if there is none.
func (o *Observer) detachesAgain(t *thread, r *bpf.Record, u *thread, peer event.ThreadID) {
	if u != nil {
		peer = max(peer, u.id)
	}
	if peer == 0 || o.stats.ThreadsWithHoles > 0 || t.insideLastCall(r) {
		return
	}
	o.begin(t, r, event.DetachAgain).Peer = peer
	o.send()
}
