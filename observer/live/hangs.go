package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/stuck"
	"github.com/tracepredict/tracepredict/probes/futex"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// This file finds hangs. An acquisition is recorded only after it has succeeded, because
// that is cheapest, so no record shows that a thread waits for a lock. But a waiting thread
// makes no events. If a thread that holds a lock or waits, or if all threads, made no event
// for a while, a look at the process follows: the kernel lists the threads that sleep in
// futex(2), and the futex words. The events and the memory of an object show which object a
// word is part of and which thread holds it; package stuck finds the threads that will never
// proceed. Records may be late, and a thread may be about to wake up. So a hang is reported
// only if two looks found the same threads at the same waits, none of them ran in between,
// and all records made before the second look have been handled.

const (
	hangEvery   = 250 * time.Millisecond // between two looks
	hangConfirm = 100 * time.Millisecond // between a look that found a hang and the next
	// hangShare bounds the share of time that looks take, about: 1/hangShare.
	hangShare = 50
)

// Threads is the process that is searched for hangs; a loader.Session implements it.
type Threads interface {
	Process
	// Sleepers returns the state of each thread of the observed processes.
	Sleepers() ([]bpf.Sleeper, error)
	// ReadMemory fills b from the memory of a process.
	ReadMemory(pid int, addr uint64, b []byte) bool
	// Sharing returns a function that reports whether other processes may see what a process writes at an address.
	Sharing(pid int) func(addr uint64) bool
	// Caught returns the set of signals for which a process has handlers: bit n-1 is signal n.
	Caught(pid int) (uint64, bool)
	// Between calls f on the observer's goroutine, after all records made so far have been
	// handled. It returns false, without calling f, if there will be no more records.
	Between(f func()) bool
}

// Hangs looks for hangs while the program runs.
type Hangs struct {
	Threads  Threads
	Observer *observer.Observer
	// OnHangs is called after the events of new hangs, between two records.
	OnHangs func()
	// OnStates, if not nil, is called once, between two records. The call comes when each hang
	// found so far is confirmed or gone, at the latest after maxOpenLooks looks. Its argument
	// is the state of each thread.
	OnStates func([]run.ThreadState)

	looks    int             // number of looks that examined the threads
	states   []threadState   // state of each thread at the last look; only while OnStates is not nil
	events   uint64          // number of the last event as of the last look
	last     map[string]bool // signatures of the hangs that the last look found
	reported map[string]bool // signatures of the hangs that were reported
	lookTime time.Duration   // duration of the current look, without waiting times
	tables   map[*loader.Module]*unwind.Table
}

// timed calls f and adds its duration to the time of the current look.
func (h *Hangs) timed(f func()) {
	began := time.Now()
	f()
	h.lookTime += time.Since(began)
}

// newHangs returns a copy of h with empty maps.
func newHangs(h Hangs) *Hangs {
	h.reported, h.tables = map[string]bool{}, map[*loader.Module]*unwind.Table{}
	return &h
}

// Watch searches for hangs until stop is closed or there are no more records. The first look
// follows at once.
func (h Hangs) Watch(stop <-chan struct{}) { newHangs(h).watch(stop) }

func (h *Hangs) watch(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		h.lookTime = 0
		next, going := h.look()
		if !going {
			return
		}
		timer.Reset(max(next, hangShare*h.lookTime))
	}
}

// look examines the process once. It returns how long to wait before the next look, and
// whether a next look is possible.
func (h *Hangs) look() (next time.Duration, going bool) {
	stalled := false
	// A thread may hold a lock by a record that is kept back, and that no other follows while the program hangs.
	now := monotonic()
	if !h.Threads.Between(func() {
		h.timed(func() {
			h.Observer.Passed(now)
			stalled, h.events = h.Observer.Stalled(h.events)
		})
	}) {
		return 0, false
	}
	if !stalled && len(h.last) == 0 && h.OnStates == nil {
		return hangEvery, true
	}
	var lines []bpf.Sleeper
	var err error
	h.timed(func() { lines, err = h.Threads.Sleepers() })
	if err != nil {
		return 0, false // the process has ended, or the kernel cannot list its threads
	}
	var found []waits
	if !h.Threads.Between(func() { h.timed(func() { found = h.hangs(lines) }) }) {
		return 0, false
	}
	before := h.last
	h.last = map[string]bool{}
	var confirmed []waits
	for _, w := range found {
		key := w.signature()
		if h.last[key] = true; before[key] && !h.reported[key] {
			confirmed = append(confirmed, w)
		}
	}
	if len(confirmed) > 0 && !h.report(confirmed) {
		return 0, false
	}
	open := len(found) > len(h.reported)
	if h.looks++; h.OnStates != nil && (!open || h.looks == maxOpenLooks) && !h.reportStates() {
		return 0, false
	}
	if open {
		return hangConfirm, true
	}
	return hangEvery, true
}

// maxOpenLooks is the number of looks after which OnStates is called at the latest.
const maxOpenLooks = 5

// report makes the events of confirmed hangs, except of those that went on while they were looked
// at. It returns false if there are no more records.
func (h *Hangs) report(confirmed []waits) bool {
	at := monotonic()
	all := make([][]observer.BlockedThread, 0, len(confirmed))
	for _, w := range confirmed {
		all = append(all, h.blocks(w))
	}
	return h.Threads.Between(func() {
		lasting := make([]bool, len(confirmed))
		for i, w := range confirmed {
			lasting[i] = !slices.ContainsFunc(w.threads, h.wentOn)
		}
		for i, blocks := range all {
			if lasting[i] {
				h.reported[confirmed[i].signature()] = true
				h.Observer.Blocked(at, blocks)
			}
		}
		h.OnHangs()
	})
}

// wentOn reports whether a thread of a confirmed hang has made an event or has ended since the look
// that confirmed it began. All that it did before the look that found it had been handled by then.
func (h *Hangs) wentOn(t waiting) bool {
	last, lives := h.Observer.LastEvent(t.line.Tid)
	return lives && last > h.events || !lives && t.seen
}

func monotonic() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // cannot fail for this clock
	return uint64(now.Nano())
}

// waiting is a thread that sleeps in futex(2), or spins.
type waiting struct {
	line  bpf.Sleeper
	call  futex.Call
	wait  futex.Wait
	cond  uint64 // address of the condition variable that it waits on by its events; 0: none
	known int    // number of readers of the lock that are known from events
	seen  bool   // an event or a list of threads has shown the thread before
}

// waits is a hang: a stuck.Hang with the waits of its threads.
type waits struct {
	stuck.Hang
	threads  []waiting
	cycle    bool              // the threads form a cycle
	handlers bool              // a signal handler could wake one
	peers    map[uint32]uint32 // the kernel's thread ids, by the ids in the process's own PID namespace
}

// signature returns a text that stays the same while none of the threads has run.
func (w waits) signature() string {
	var b strings.Builder
	for _, t := range w.threads {
		switches := t.line.Switches
		if t.wait.Kind == futex.Spin {
			switches = 0 // it runs all the time
		}
		fmt.Fprintf(&b, "%d %d %d %#x %#x %d;", t.line.Tgid, t.line.Tid, switches, cmp.Or(t.call.Addr, t.wait.Object), stackPointer(&t.line), t.wait.Owner)
	}
	return b.String()
}

// hangs returns the hangs of each process, from the state of its threads.
func (h *Hangs) hangs(lines []bpf.Sleeper) []waits {
	by := map[uint32][]bpf.Sleeper{}
	for _, l := range lines {
		by[l.Tgid] = append(by[l.Tgid], l)
	}
	live := map[uint32][]observer.LiveThread{}
	for _, l := range h.Observer.Living() {
		live[l.TGID] = append(live[l.TGID], l)
	}
	var out []waits
	for _, tgid := range sortedKeys(by) {
		out = append(out, h.inProcess(tgid, by[tgid], live[tgid])...)
	}
	return out
}

func sortedKeys[V any](m map[uint32]V) []uint32 {
	keys := make([]uint32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// inProcess returns the hangs of one process.
func (h *Hangs) inProcess(tgid uint32, lines []bpf.Sleeper, live []observer.LiveThread) []waits {
	p := newParties(lines, live)
	memory := h.memory(tgid, p)
	var all []waiting
	others := false
	shared := h.Threads.Sharing(int(tgid))
	h.states = nil
	for _, l := range lines {
		w, ok := asleep(l)
		if ok {
			memory.Registers, memory.Stack = l.Regs[:], stackPointer(&l)
			w.wait = futex.WaitOf(w.call, memory)
			// A call that is restarted might be another one with such arguments.
			ok = l.Call != unix.SYS_RESTART_SYSCALL || w.wait.Kind != futex.Unknown
		}
		if !ok {
			w.wait, ok = h.spins(&l, p)
		}
		if ok {
			if t := p.live[l.Tid]; t != nil {
				w.cond, w.seen = t.Cond, true
			}
		}
		if !ok || w.wait.Kind != futex.Thread && !w.call.Private && shared(cmp.Or(w.call.Addr, w.wait.Object)) {
			others = true // it may proceed: it is not in futex(2), or another process may wake it
			if h.OnStates != nil {
				h.states = append(h.states, threadState{waiting: w, futex: ok, needs: p.wait(&w, nil).Needs, kernel: p.kernel})
			}
			continue
		}
		all = append(all, w)
	}
	s := stuck.Snapshot{Others: others}
	for i := range all {
		s.Waits = append(s.Waits, p.wait(&all[i], all))
		if h.OnStates != nil {
			h.states = append(h.states, threadState{waiting: all[i], futex: true, needs: s.Waits[i].Needs, kernel: p.kernel})
		}
	}
	var out []waits
	for _, g := range stuck.Find(s) {
		w := waits{Hang: g, peers: p.kernel, cycle: !g.NoCycle}
		for _, i := range g.Waits {
			w.threads = append(w.threads, all[i])
			w.cycle = w.cycle && !slices.Contains(s.Waits[i].Needs, 0)
		}
		if g.NoCycle {
			caught, ok := h.Threads.Caught(int(tgid))
			w.handlers = !ok || caught&^ignoredSignals != 0
		}
		out = append(out, w)
	}
	return out
}

// ignoredSignals is the set of signals whose handlers are assumed to wake no thread: signals
// of faults, of the C library itself, and the like.
const ignoredSignals = 1<<(unix.SIGSEGV-1) | 1<<(unix.SIGBUS-1) | 1<<(unix.SIGFPE-1) | 1<<(unix.SIGILL-1) | 1<<(unix.SIGTRAP-1) |
	1<<(unix.SIGABRT-1) | 1<<(unix.SIGSYS-1) | 1<<(unix.SIGPIPE-1) | 1<<31 | 1<<32 | 1<<33

// asleep returns the futex call in which a thread sleeps; false if it sleeps in none. A call with a time limit is
// restarted by the kernel, with the same arguments, after a stop.
func asleep(l bpf.Sleeper) (waiting, bool) {
	if l.State&stateWaits == 0 || l.Call != unix.SYS_FUTEX && l.Call != unix.SYS_RESTART_SYSCALL {
		return waiting{line: l}, false
	}
	c, ok := futex.Decode(arguments(&l))
	ok = ok && (c.Timed || l.Call == unix.SYS_FUTEX)
	return waiting{line: l, call: c}, ok
}

// spins returns the wait of a thread that runs in pthread_spin_lock, for a lock that another thread was seen to acquire.
// The kernel has the registers with which the thread came in last, as by the clock's interrupt.
func (h *Hangs) spins(l *bpf.Sleeper, p *parties) (futex.Wait, bool) {
	regs := registers(l)
	seg, ok := h.Threads.Segment(int(l.Tgid), regs.PC)
	if l.State != stateRuns || !ok || strings.TrimLeft(seg.Module.Bin.FunctionName(regs.PC-seg.Bias), "_") != "pthread_spin_lock" {
		return futex.Wait{}, false
	}
	lock := arguments(l)[0] // which neither glibc nor musl changes
	holder := p.writer[lock]
	kind, known := h.Observer.ObjectAt(l.Tgid, lock)
	if !known || kind != event.KindSpin || holder == nil || holder.TID == l.Tid {
		return futex.Wait{}, false
	}
	return futex.Wait{Kind: futex.Spin, Object: lock}, true
}

// Bits of a thread's state in the kernel (include/linux/sched.h).
const (
	stateRuns    = 0     // TASK_RUNNING
	stateWaits   = 1     // TASK_INTERRUPTIBLE
	stateAsleep  = 1 | 2 // or TASK_UNINTERRUPTIBLE
	stateStopped = 4 | 8 // __TASK_STOPPED, __TASK_TRACED
)

func (h *Hangs) memory(tgid uint32, p *parties) futex.Memory {
	return futex.Memory{
		Arch: hostArch,
		Read: func(addr uint64, b []byte) bool { return h.Threads.ReadMemory(int(tgid), addr, b) },
		KindAt: func(addr uint64) (futex.Kind, bool) {
			kind, ok := h.Observer.ObjectAt(tgid, addr)
			return futexKinds[kind], ok && futexKinds[kind] != futex.Unknown
		},
		HasThread: func(tid uint32) bool { return p.kernel[tid] != 0 },
	}
}

var futexKinds = map[event.Kind]futex.Kind{
	event.KindMutex: futex.Mutex, event.KindRWLock: futex.RWLock, event.KindCond: futex.Cond,
	event.KindSemaphore: futex.Semaphore, event.KindBarrier: futex.Barrier, event.KindSpin: futex.Spin,
}

// parties are the threads of a process.
type parties struct {
	kernel map[uint32]uint32                 // the kernel's id, by the id in the process's own PID namespace
	live   map[uint32]*observer.LiveThread   // by the kernel's id
	writer map[uint64]*observer.LiveThread   // the exclusive holder of a lock, by the lock's address
	reader map[uint64][]*observer.LiveThread // the holders for reading, by the lock's address
}

func newParties(lines []bpf.Sleeper, live []observer.LiveThread) *parties {
	p := &parties{kernel: map[uint32]uint32{}, live: map[uint32]*observer.LiveThread{}, writer: map[uint64]*observer.LiveThread{}, reader: map[uint64][]*observer.LiveThread{}}
	for _, l := range lines {
		p.kernel[l.OwnTid] = l.Tid
	}
	for i := range live {
		l := &live[i]
		p.live[l.TID] = l
		for _, held := range l.Holds {
			if held.Shared {
				p.reader[held.Addr] = append(p.reader[held.Addr], l)
			} else {
				p.writer[held.Addr] = l
			}
		}
	}
	return p
}

// wait returns which threads must proceed before thread w can.
func (p *parties) wait(w *waiting, all []waiting) stuck.Wait {
	out := stuck.Wait{Thread: stuck.Thread(w.line.Tid), Bounded: w.call.Timed}
	need := func(tid uint32) { out.Needs = append(out.Needs, stuck.Thread(tid)) }
	switch w.wait.Kind {
	case futex.Thread:
		need(p.kernel[w.wait.Owner])
	case futex.Mutex, futex.RWLock, futex.Spin:
		if w.wait.Owner != 0 {
			need(p.kernel[w.wait.Owner]) // 0 if the owner has ended
			break
		}
		if l := p.writer[w.wait.Object]; l != nil {
			need(l.TID)
			break
		}
		if w.wait.Read {
			for _, other := range all { // a waiting writer acquires the lock first
				if other.wait.Object == w.wait.Object && !other.wait.Read {
					need(other.line.Tid)
				}
			}
			break
		}
		for _, l := range p.reader[w.wait.Object] {
			need(l.TID)
		}
		w.known = len(p.reader[w.wait.Object])
	}
	out.Any = len(out.Needs) == 0
	return out
}

// blocks returns the BlockedThreads of the threads of a hang, with their stacks.
func (h *Hangs) blocks(w waits) []observer.BlockedThread {
	owned := map[uint32][]uint64{}
	for _, t := range w.threads {
		if t.wait.Kind == futex.Mutex && t.wait.Owner != 0 {
			tid := w.peers[t.wait.Owner]
			owned[tid] = append(owned[tid], t.wait.Object)
		}
	}
	out := make([]observer.BlockedThread, 0, len(w.threads))
	for _, t := range w.threads {
		b := h.block(t, w.peers)
		b.Holds, b.Cycle, b.Handlers = owned[t.line.Tid], w.cycle, w.handlers
		out = append(out, b)
	}
	return out
}

// block returns the BlockedThread of a thread that sleeps in futex(2), with its stack.
func (h *Hangs) block(t waiting, peers map[uint32]uint32) observer.BlockedThread {
	stack := h.stack(t.line)
	if t.wait.Kind == futex.Unknown && t.cond == 0 {
		t.wait = h.waitInLibrary(t, stack)
	}
	b := observer.BlockedThread{
		TID: t.line.Tid, TGID: t.line.Tgid, Op: attempted(t), Addr: t.wait.Object, Kind: eventKind(t.wait.Kind),
		Stack: stack, Start: h.start(t.line, stack), Readers: max(0, t.wait.Readers-t.known),
	}
	if t.wait.Kind == futex.Thread {
		b.Peer = peers[t.wait.Owner]
	}
	if t.cond != 0 && b.Addr == 0 {
		b.Addr, b.Kind = t.cond, event.KindCond // musl's threads wait on futex words on their own stacks
	}
	if t.call.Timed {
		b.Flags |= event.Timed
	}
	return b
}

func attempted(t waiting) event.Op {
	switch t.wait.Kind {
	case futex.Mutex, futex.Spin:
		return event.Acquire
	case futex.RWLock:
		if t.wait.Read {
			return event.AcquireRead
		}
		return event.Acquire
	case futex.Semaphore:
		return event.SemWait
	case futex.Barrier:
		return event.BarrierArrive
	case futex.Thread:
		return event.Join
	}
	return event.Wait
}

func eventKind(k futex.Kind) event.Kind {
	for kind, of := range futexKinds {
		if of == k {
			return kind
		}
	}
	return event.KindUnknown
}
