// Package futex finds what a thread waits for that sleeps in the futex system call:
// from the call's arguments, and from the memory of the object that the futex word is
// part of, as glibc and musl lay it out. Arguments and a memory function in, a Wait
// out; it knows no process. Memory may hold anything: what does not fit a layout is
// Unknown.
//
// Layouts are those of glibc 2.25 to 2.42 (sysdeps/nptl, struct pthread_mutex_s and
// its kin) and of musl 1.1 and 1.2 (src/internal/pthread_impl.h), 64 bits,
// little-endian.
package futex

import (
	"encoding/binary"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Call is a wait by futex(2).
type Call struct {
	Addr    uint64
	Value   uint32 // that the word had
	Timed   bool   // it has a time limit
	Private bool   // nobody outside the process can end it
	PI      bool   // it waits for a lock that hands down priority
	bits    bool   // FUTEX_WAIT_BITSET
}

// Commands and flags of futex(2), from include/uapi/linux/futex.h.
const (
	cmdWait          = 0
	cmdLockPI        = 6
	cmdWaitBits      = 9
	cmdWaitRequeuePI = 11
	cmdLockPI2       = 13
	flagPrivate      = 128
	flagRealtime     = 256
)

// Decode reads the arguments of futex(2); ok is false if it is no wait.
func Decode(args [4]uint64) (c Call, ok bool) {
	op := uint32(args[1])
	c = Call{Addr: args[0], Value: uint32(args[2]), Timed: args[3] != 0, Private: op&flagPrivate != 0}
	switch op &^ (flagPrivate | flagRealtime) {
	case cmdWait:
	case cmdWaitBits, cmdWaitRequeuePI:
		c.bits = true
	case cmdLockPI, cmdLockPI2:
		c.PI = true
	default:
		return Call{}, false
	}
	return c, true
}

// Kind is the sort of object that is waited at.
type Kind uint8

// The kinds.
const (
	Unknown Kind = iota
	Mutex
	RWLock
	Cond
	Semaphore
	Barrier
	Thread // for its end
)

// Wait is what a thread waits for.
type Wait struct {
	Kind   Kind
	Object uint64 // its address; 0 if it is not known
	Read   bool   // of an RWLock: to read
	// Owner is whom it waits for: the mutex's owner, the writer that has the RWLock,
	// the Thread, by the kernel's id in the process's own namespace; 0 if that is not
	// written there.
	Owner uint32
	// Readers is how many threads have the RWLock for reading. Who they are is written
	// nowhere.
	Readers int
}

// Memory is the process's memory.
type Memory struct {
	// Read fills b; false if it cannot be read.
	Read func(addr uint64, b []byte) bool
	// Known returns the kind of an object that is known to be at an address.
	Known func(addr uint64) (Kind, bool)
	// Lives reports whether a thread of the process has this id in its namespace.
	Lives func(tid uint32) bool
	Arch  insn.Arch
}

func (m Memory) word(addr uint64) (uint32, bool) {
	var b [4]byte
	ok := m.Read(addr, b[:])
	return binary.LittleEndian.Uint32(b[:]), ok
}

func (m Memory) wide(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := m.Read(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), ok
}

// offsets of futex words within objects: glibc's and musl's.
var offsets = map[Kind][]uint64{
	Mutex:     {0, 4},
	RWLock:    {8, 12, 0},
	Cond:      {40, 44, 32, 36, 0, 4, 8},
	Semaphore: {0},
	Barrier:   {4, 0, 8, 12, 16},
}

var kinds = [...]Kind{Mutex, Semaphore, RWLock, Cond, Barrier}

// Of returns what a call waits for; its Kind is Unknown if that is not known.
func Of(c Call, m Memory) Wait {
	if now, ok := m.word(c.Addr); !ok || now != c.Value && !c.PI {
		return Wait{} // it is about to go on
	}
	if w, ok := join(c, m); ok {
		return w
	}
	for _, kind := range kinds {
		for _, off := range offsets[kind] {
			if k, ok := m.Known(c.Addr - off); ok && k == kind {
				return known(c, m, kind, c.Addr-off)
			}
		}
	}
	for _, guess := range []func(Call, Memory) (Wait, bool){glibcMutex, muslMutex, glibcRWLock} {
		if w, ok := guess(c, m); ok {
			return w
		}
	}
	return Wait{}
}

// known completes what is known of an object with what stands in it.
func known(c Call, m Memory, kind Kind, at uint64) Wait {
	w := Wait{Kind: kind, Object: at}
	switch kind {
	case Mutex:
		w.Owner = mutexOwner(c, m, at)
	case RWLock:
		w.Read, w.Owner = glibcRW(c, m, at)
		w.Readers = readers(c, m, at)
	}
	return w
}

// readers returns the number of threads that hold a lock for reading. In glibc's lock the
// first word has it from bit 3 on, unless its bit 0 is set: then it is a writer's turn. In
// musl's the low 31 bits have it, unless all of them are set: then a writer holds it.
func readers(c Call, m Memory, at uint64) int {
	now, ok := m.word(at)
	n := now >> 3
	if !c.bits { // musl
		n = now & muslWriter
	}
	if !ok || c.bits && now&1 != 0 || n == muslWriter || n >= maxTID {
		return 0
	}
	return int(n)
}

const (
	maxTID  = 1 << 22    // PID_MAX_LIMIT of the kernel
	tidMask = 0x3fffffff // of a futex word that has its owner
	waiters = 0x80000000
)

// mutexOwner reads the owner of a mutex: glibc's word at the mutex itself, musl's 4
// behind.
func mutexOwner(c Call, m Memory, at uint64) uint32 {
	if c.PI {
		now, _ := m.word(c.Addr)
		return now & tidMask
	}
	if c.Addr == at {
		owner, _ := m.word(at + glibcOwner)
		return owner
	}
	if kind, ok := m.word(at); ok && kind&muslType != 0 {
		return c.Value & tidMask
	}
	return 0 // musl's normal mutex does not know it
}

// Offsets in glibc's objects.
const (
	glibcOwner   = 8
	glibcUsers   = 12 // __nusers
	glibcList    = 24 // of robust mutexes
	glibcKind    = 16
	glibcPhase   = 8  // __wrphase_futex
	glibcWriters = 12 // __writers_futex
	glibcWriter  = 24 // __cur_writer
	// glibcReadersSleep is PTHREAD_RWLOCK_RWAITING of __readers, which the other words never have.
	glibcReadersSleep = 4
	// glibcKinds are the bits of __kind: type, robust, PI, PP, shared, elision.
	glibcKinds = 0x3 | 0x10 | 0x20 | 0x40 | 0x80 | 0x100 | 0x200
	// muslType are the bits of _m_type that have the type: 0 is normal.
	muslType  = 15
	muslTypes = 15 | 0x80 | 8
	// muslWriter in the word of a lock: it is held for writing.
	muslWriter = 1<<31 - 1
	muslBusy   = 16 // EBUSY, in a normal mutex
)

// glibcMutex takes the word for that of a mutex of glibc that is not Known.
func glibcMutex(c Call, m Memory) (Wait, bool) {
	owner, ok := m.word(c.Addr + glibcOwner)
	kind, ok2 := m.word(c.Addr + glibcKind)
	if !ok || !ok2 || c.bits || kind&^glibcKinds != 0 || !m.Lives(owner) && !left(c, m, owner, kind) {
		return Wait{}, false
	}
	now, _ := m.word(c.Addr)
	if !c.PI && c.Value != 2 && c.Value != owner|waiters || c.PI && now&tidMask != owner {
		return Wait{}, false
	}
	return Wait{Kind: Mutex, Object: c.Addr, Owner: owner}, true
}

// left reports whether all words look like those of a plain mutex: then a thread that has
// ended may be its owner.
func left(c Call, m Memory, owner, kind uint32) bool {
	users, ok := m.word(c.Addr + glibcUsers)
	prev, ok2 := m.wide(c.Addr + glibcList)
	next, ok3 := m.wide(c.Addr + glibcList + 8)
	return ok && ok2 && ok3 && owner != 0 && owner < maxTID && kind&^(0x3|0x100|0x200) == 0 &&
		users > 0 && users < maxTID && prev == 0 && next == 0
}

// muslMutex takes the word for that of a mutex of musl.
func muslMutex(c Call, m Memory) (Wait, bool) {
	kind, ok := m.word(c.Addr - 4)
	if !ok || c.bits || c.PI || c.Value&waiters == 0 || kind&^muslTypes != 0 {
		return Wait{}, false
	}
	w := Wait{Kind: Mutex, Object: c.Addr - 4}
	switch owner := c.Value & tidMask; {
	case kind&muslType == 0:
		return w, owner == muslBusy
	default:
		w.Owner = owner
		return w, m.Lives(owner)
	}
}

// glibcRWLock takes the word for one of those in a lock that a living thread has for writing.
func glibcRWLock(c Call, m Memory) (Wait, bool) {
	if !c.bits {
		return Wait{}, false
	}
	for _, off := range []uint64{glibcPhase, glibcWriters} {
		at := c.Addr - off
		if writer, ok := m.word(at + glibcWriter); ok && m.Lives(writer) {
			read, _ := glibcRW(c, m, at)
			return Wait{Kind: RWLock, Object: at, Read: read, Owner: writer}, true
		}
	}
	return Wait{}, false
}

// glibcRW returns whether a thread waits to read, and which one holds the lock for writing.
// Readers wait at __wrphase_futex for the end of a phase of writing, which has the low
// bit set, or at __readers behind writers that go first.
func glibcRW(c Call, m Memory, at uint64) (read bool, writer uint32) {
	if !c.bits {
		return false, 0 // musl's has neither
	}
	read = c.Addr == at || c.Addr == at+glibcPhase && c.Value&1 != 0
	if writer, _ = m.word(at + glibcWriter); !m.Lives(writer) {
		writer = 0
	}
	return read, writer
}

// thread descriptors: where the word is that a join waits at, where the thread's id,
// and where its own address (noSelf: nowhere).
type descriptor struct{ word, tid, self uint64 }

const noSelf = ^uint64(0)

var glibcThread = map[insn.Arch]descriptor{insn.AMD64: {0x2d0, 0x2d0, 0x10}, insn.ARM64: {0xd0, 0xd0, noSelf}}
var muslThread = map[insn.Arch]descriptor{insn.AMD64: {56, 48, 0}, insn.ARM64: {40, 32, 0}}

// muslJoinable is DT_JOINABLE.
const muslJoinable = 2

// join takes the word for that of a living thread.
func join(c Call, m Memory) (Wait, bool) {
	d, ok := muslThread[m.Arch]
	if !c.Private {
		d, ok = glibcThread[m.Arch]
	} else if c.Value != muslJoinable {
		return Wait{}, false
	}
	at := c.Addr - d.word
	tid, read := m.word(at + d.tid)
	if !ok || !read || c.PI || !m.Lives(tid) {
		return Wait{}, false
	}
	if self, ok := m.wide(at + d.self); d.self != noSelf && (!ok || self != at) {
		return Wait{}, false
	}
	return Wait{Kind: Thread, Owner: tid}, true
}

// function is what a function of the C library waits for.
type function struct {
	kind Kind
	read bool
}

// functions are those in which a thread may sleep in futex(2).
var functions = map[string]function{
	"pthread_mutex_lock": {kind: Mutex}, "pthread_mutex_timedlock": {kind: Mutex}, "pthread_mutex_clocklock": {kind: Mutex},
	"mtx_lock": {kind: Mutex}, "mtx_timedlock": {kind: Mutex},
	"pthread_rwlock_rdlock": {RWLock, true}, "pthread_rwlock_timedrdlock": {RWLock, true}, "pthread_rwlock_clockrdlock": {RWLock, true},
	"pthread_rwlock_wrlock": {kind: RWLock}, "pthread_rwlock_timedwrlock": {kind: RWLock}, "pthread_rwlock_clockwrlock": {kind: RWLock},
	"pthread_cond_wait": {kind: Cond}, "pthread_cond_timedwait": {kind: Cond}, "pthread_cond_clockwait": {kind: Cond},
	"cnd_wait": {kind: Cond}, "cnd_timedwait": {kind: Cond},
	"sem_wait": {kind: Semaphore}, "sem_timedwait": {kind: Semaphore}, "sem_clockwait": {kind: Semaphore},
	"pthread_barrier_wait": {kind: Barrier},
	"pthread_join":         {kind: Thread}, "pthread_timedjoin_np": {kind: Thread}, "pthread_clockjoin_np": {kind: Thread}, "thrd_join": {kind: Thread},
}

// functionOf knows a function by any of its names: within the C library these begin with
// underscores.
func functionOf(name string) (function, bool) {
	f, ok := functions[strings.TrimLeft(name, "_")]
	return f, ok
}

// Waits reports whether In knows a function.
func Waits(name string) bool {
	_, ok := functionOf(name)
	return ok
}

// Argument returns which argument of a function of the C library, counted from 1, is an
// object of a kind at which a thread waits within it; 0 if none is.
func Argument(name string, kind Kind) int {
	switch f, _ := functionOf(name); {
	case f.kind == Cond && kind == Mutex:
		return 2 // taken again
	case f.kind == Unknown || f.kind == Thread || f.kind != kind:
		return 0
	}
	return 1
}

// In returns what a call waits for whose object is not known, from the function of the C
// library that made it. Words near the stack pointer sp are on the caller's own stack:
// musl has threads wait there that share a condition or a barrier.
func In(name string, c Call, m Memory, sp uint64) Wait {
	f, ok := functionOf(name)
	if !ok {
		return Wait{}
	}
	w := Wait{Kind: f.kind, Read: f.read}
	if c.Addr-sp < ownStack {
		return w
	}
	switch f.kind {
	case Mutex:
		w.Object = c.Addr
	case Semaphore:
		w.Object = c.Addr
	case Barrier:
		if glibcBarrier(c, m) {
			w.Object = c.Addr - 4
		}
	case Cond:
		w.Object = c.Addr - condOffset(c.Addr, m)
	case RWLock:
		w.Object = c.Addr - rwOffset(c, f.read)
		w.Readers = readers(c, m, w.Object)
	}
	return w
}

// rwOffset returns the offset in a read-write lock of the word on which a thread sleeps.
// Musl has one such word. In glibc's lock readers that let writers go first sleep on
// __readers, in which a bit is set while they do.
func rwOffset(c Call, read bool) uint64 {
	switch {
	case !c.bits, read && c.Value&glibcReadersSleep != 0:
		return 0
	case !read && c.Addr%8 == 4:
		return glibcWriters
	}
	return glibcPhase
}

// glibcBarrier takes the word for __current_round of a barrier: behind it stand how
// many threads it is for, and whether processes share it.
func glibcBarrier(c Call, m Memory) bool {
	count, ok := m.word(c.Addr + 4)
	shared, ok2 := m.word(c.Addr + 8)
	return ok && ok2 && count > 0 && count < maxTID && shared&^flagPrivate == 0
}

// ownStack is how far above the stack pointer a word is taken to be on the stack.
const ownStack = 1 << 14

// condOffset returns the offset in a condition of glibc of the word on which a thread
// waits, one of the two of __g_signals. Before glibc 2.41 these were at 40, behind
// __g_refs, which counts the waiting threads; since then there is no __g_refs and they are
// 8 bytes nearer.
func condOffset(word uint64, m Memory) uint64 {
	second := word % 8 // 0 or 4: the first of them is aligned to 8
	if refs, ok := m.word(word - 24); ok && refs>>1 == 0 {
		return 32 + second
	}
	return 40 + second
}
