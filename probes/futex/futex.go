// Package futex finds what a thread that sleeps in the futex system call waits for: from the call's
// arguments, and from the memory of the object that contains the futex word, in the layouts of
// glibc and musl. Its input is the arguments and a memory function, its output a Wait; it knows no
// process. Memory may hold anything: the result is Unknown where no layout fits.
//
// Layouts are those of glibc 2.25 to 2.42 (sysdeps/nptl, struct pthread_mutex_s and similar) and of
// musl 1.1 and 1.2 (src/internal/pthread_impl.h), 64 bits, little-endian.
package futex

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Call is a wait by futex(2).
type Call struct {
	Addr    uint64
	Value   uint32 // the value of the word that the call expects
	Timed   bool   // the wait has a time limit
	Private bool   // only threads of the process can wake the thread
	PI      bool   // the wait is for a lock with priority inheritance
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

// Decode decodes the arguments of futex(2); ok is false if the call is no wait.
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

// Kind is the kind of object at which a thread waits.
type Kind uint8

// The kinds.
const (
	Unknown Kind = iota
	Mutex
	RWLock
	Cond
	Semaphore
	Barrier
	Thread // a join: the wait is for the thread's end
	Spin   // a spin lock, for which no thread waits in futex(2)
)

// Wait is what a thread waits for.
type Wait struct {
	Kind   Kind
	Object uint64 // address of the object; 0 if unknown
	Read   bool   // for an RWLock: the thread waits to read
	// Owner is the thread that must act: the mutex's owner, the writer that holds the RWLock, or the
	// Thread itself, by the kernel's thread ID in the process's own namespace; 0 if the object does
	// not record it.
	Owner uint32
	// Readers is the number of threads that hold the RWLock for reading. The lock does not record
	// which they are.
	Readers int
}

// Memory is access to the process's memory and to what else is known of the process.
type Memory struct {
	// Read fills b; false if it cannot be read.
	Read func(addr uint64, b []byte) bool
	// KindAt returns the kind of the object at an address; false if none is known there.
	KindAt func(addr uint64) (Kind, bool)
	// HasThread reports whether a thread of the process has this id in its namespace.
	HasThread func(tid uint32) bool
	// Registers are those of the thread that waits, in any order: they may hold the address of what it waits for.
	Registers []uint64
	// Stack is that thread's stack pointer.
	Stack uint64
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

// offsets holds the offsets of futex words within objects, glibc's and musl's.
var offsets = map[Kind][]uint64{
	Mutex:     {0, 4},
	RWLock:    {8, 12, 0},
	Cond:      {40, 44, 32, 36, 0, 4, 8},
	Semaphore: {0},
	Barrier:   {4, 0, 8, 12, 16},
}

var kinds = [...]Kind{Mutex, Semaphore, RWLock, Cond, Barrier}

// WaitOf returns what a call waits for; its Kind is Unknown if that cannot be found.
func WaitOf(c Call, m Memory) Wait {
	if now, ok := m.word(c.Addr); !ok || now != c.Value && !c.PI {
		return Wait{} // the thread is about to wake up
	}
	if w, ok := join(c, m); ok {
		return w
	}
	for _, kind := range kinds {
		for _, off := range offsets[kind] {
			if k, ok := m.KindAt(c.Addr - off); ok && k == kind {
				return knownWait(c, m, kind, c.Addr-off)
			}
		}
	}
	for _, find := range []func(Call, Memory) (Wait, bool){glibcMutex, muslMutex, glibcRWLock, glibcParked} {
		if w, ok := find(c, m); ok {
			return w
		}
	}
	return Wait{}
}

// knownWait returns the wait for a known object, completed from the object's memory.
func knownWait(c Call, m Memory, kind Kind, at uint64) Wait {
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

// readers returns the number of threads that hold a lock for reading. In glibc's lock it is the
// bits of the first word from bit 3 on, unless bit 0 is set: then it is a writer's turn. In musl's
// lock it is the low 31 bits, unless all of them are set: then a writer holds the lock.
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
	tidMask = 0x3fffffff // the bits of the owner's thread ID in a futex word
	waiters = 0x80000000
)

// mutexOwner returns the owner of a mutex; 0 if unknown. glibc's futex word is at the beginning of
// the mutex, musl's is 4 bytes after it.
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
	return 0 // musl's normal mutex does not record its owner
}

// Offsets in glibc's objects.
const (
	glibcOwner   = 8
	glibcUsers   = 12 // __nusers
	glibcList    = 24 // list pointers of robust mutexes
	glibcKind    = 16
	glibcPhase   = 8  // __wrphase_futex
	glibcWriters = 12 // __writers_futex
	glibcWriter  = 24 // __cur_writer
	// glibcReadersSleep is the flag PTHREAD_RWLOCK_RWAITING of __readers, which the other futex
	// words never have.
	glibcReadersSleep = 4
	// glibcFrames bounds the stack of glibc's functions below pthread_mutex_lock.
	glibcFrames = 1024
	// glibcKinds are the bits of __kind: type, robust, PI, PP, shared, elision.
	glibcKinds   = 0x3 | 0x10 | glibcInherit | glibcProtect | 0x80 | 0x100 | 0x200
	glibcInherit = 0x20
	glibcProtect = 0x40
	glibcCeiling = 0xfff80000 // the bits of a word of a glibcProtect mutex that hold its ceiling
	// muslType are the bits of _m_type that hold the type: 0 is normal.
	muslType  = 15
	muslTypes = 15 | 0x80 | 8
	// muslWriter is the value of a lock's word that is held for writing.
	muslWriter = 1<<31 - 1
	muslBusy   = 16 // EBUSY, in a normal mutex
)

// glibcMutex returns the wait for the glibc mutex around the futex word, for an object that is not
// known; false if its words do not look like one.
func glibcMutex(c Call, m Memory) (Wait, bool) {
	owner, ok := m.word(c.Addr + glibcOwner)
	kind, ok2 := m.word(c.Addr + glibcKind)
	if !ok || !ok2 || c.bits && !c.Timed || kind&^glibcKinds != 0 || !m.HasThread(owner) && !looksPlain(c, m, owner, kind) {
		return Wait{}, false
	}
	now, _ := m.word(c.Addr)
	value := c.Value
	if kind&glibcProtect != 0 {
		value &^= glibcCeiling
	}
	if !c.PI && value != 2 && value != owner|waiters || c.PI && now&tidMask != owner {
		return Wait{}, false
	}
	return Wait{Kind: Mutex, Object: c.Addr, Owner: owner}, true
}

// glibcParked returns the wait for a glibc mutex with priority inheritance, for a thread to which the kernel refused it
// because it would close a cycle of waits: glibc lets such a thread sleep for ever, at a word 0 of its own stack. The
// mutex is one whose address, or that of its kind, a register still holds, or what glibc's functions have saved on the
// stack, and that a living thread owns.
func glibcParked(c Call, m Memory) (Wait, bool) {
	if c.PI || c.Timed || c.Value != 0 || c.Addr-m.Stack >= glibcFrames {
		return Wait{}, false
	}
	pointers := slices.Clone(m.Registers)
	var stack [glibcFrames]byte
	if m.Read(m.Stack&^7, stack[:]) {
		for i := 0; i < len(stack); i += 8 {
			pointers = append(pointers, binary.LittleEndian.Uint64(stack[i:]))
		}
	}
	for _, p := range pointers {
		for _, at := range []uint64{p, p - glibcKind} {
			if owner, ok := m.inherited(at); ok {
				return Wait{Kind: Mutex, Object: at, Owner: owner}, true
			}
		}
	}
	return Wait{}, false
}

// inherited returns the owner of a glibc mutex with priority inheritance that a living thread owns; false if the words at
// an address do not look like one.
func (m Memory) inherited(at uint64) (owner uint32, ok bool) {
	var words [glibcKind + 4]byte
	if at == 0 || !m.Read(at, words[:]) {
		return 0, false
	}
	now, kind := binary.LittleEndian.Uint32(words[:]), binary.LittleEndian.Uint32(words[glibcKind:])
	owner = binary.LittleEndian.Uint32(words[glibcOwner:]) & tidMask
	return owner, kind&glibcInherit != 0 && kind&^glibcKinds == 0 && now&tidMask == owner && m.HasThread(owner)
}

// looksPlain reports whether all words look like those of a plain mutex: then its owner may be a
// thread that has ended.
func looksPlain(c Call, m Memory, owner, kind uint32) bool {
	users, ok := m.word(c.Addr + glibcUsers)
	prev, ok2 := m.wide(c.Addr + glibcList)
	next, ok3 := m.wide(c.Addr + glibcList + 8)
	return ok && ok2 && ok3 && owner != 0 && owner < maxTID && kind&^(0x3|0x100|0x200) == 0 &&
		users > 0 && users < maxTID && prev == 0 && next == 0
}

// muslMutex returns the wait for the musl mutex around the futex word; false if its words do not
// look like one.
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
		return w, m.HasThread(owner)
	}
}

// glibcRWLock returns the wait for the glibc read-write lock around the futex word, if a living
// thread holds it for writing.
func glibcRWLock(c Call, m Memory) (Wait, bool) {
	if !c.bits {
		return Wait{}, false
	}
	for _, off := range []uint64{glibcPhase, glibcWriters} {
		at := c.Addr - off
		if writer, ok := m.word(at + glibcWriter); ok && m.HasThread(writer) {
			read, _ := glibcRW(c, m, at)
			return Wait{Kind: RWLock, Object: at, Read: read, Owner: writer}, true
		}
	}
	return Wait{}, false
}

// glibcRW returns whether the thread waits to read, and which thread holds the lock for writing.
// Readers wait at __wrphase_futex for the end of a write phase, whose low bit is set, or at
// __readers behind writers that go first.
func glibcRW(c Call, m Memory, at uint64) (read bool, writer uint32) {
	if !c.bits {
		return false, 0 // musl's lock records neither
	}
	read = c.Addr == at || c.Addr == at+glibcPhase && c.Value&1 != 0
	if writer, _ = m.word(at + glibcWriter); !m.HasThread(writer) {
		writer = 0
	}
	return read, writer
}

// descriptor holds offsets in a thread descriptor, in bytes: of the word at which a join waits, of
// the thread's ID, and of the descriptor's own address (noSelf: it has none).
type descriptor struct{ word, tid, self uint64 }

const noSelf = ^uint64(0)

var glibcThread = map[insn.Arch]descriptor{insn.AMD64: {0x2d0, 0x2d0, 0x10}, insn.ARM64: {0xd0, 0xd0, noSelf}}
var muslThread = map[insn.Arch]descriptor{insn.AMD64: {56, 48, 0}, insn.ARM64: {40, 32, 0}}

// muslJoinable is DT_JOINABLE.
const muslJoinable = 2

// join returns the wait for the end of the living thread whose descriptor contains the futex word;
// false if it is none.
func join(c Call, m Memory) (Wait, bool) {
	d, ok := muslThread[m.Arch]
	if !c.Private {
		d, ok = glibcThread[m.Arch]
	} else if c.Value != muslJoinable {
		return Wait{}, false
	}
	at := c.Addr - d.word
	tid, read := m.word(at + d.tid)
	if !ok || !read || c.PI || !m.HasThread(tid) {
		return Wait{}, false
	}
	if self, ok := m.wide(at + d.self); d.self != noSelf && (!ok || self != at) {
		return Wait{}, false
	}
	return Wait{Kind: Thread, Owner: tid}, true
}

// function says what a function of the C library waits for.
type function struct {
	kind Kind
	read bool
}

// functions are the functions in which a thread may sleep in futex(2).
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

// functionOf returns the function with any of its names: inside the C library these begin with
// underscores.
func functionOf(name string) (function, bool) {
	f, ok := functions[strings.TrimLeft(name, "_")]
	return f, ok
}

// Waits reports whether WaitIn has an entry for a function.
func Waits(name string) bool {
	_, ok := functionOf(name)
	return ok
}

// Argument returns the number, counted from 1, of the argument of a C library function that points
// to an object of a kind at which a thread waits in the function; 0 if there is none.
func Argument(name string, kind Kind) int {
	switch f, _ := functionOf(name); {
	case f.kind == Cond && kind == Mutex:
		return 2 // the mutex is acquired again after the wait
	case f.kind == Unknown || f.kind == Thread || f.kind != kind:
		return 0
	}
	return 1
}

// WaitIn returns what a call waits for whose object is not known, from the function of the C
// library that made the call. Words near the stack pointer sp are on the thread's own stack and
// belong to no object: in musl, threads that share a condition or a barrier wait there.
func WaitIn(name string, c Call, m Memory, sp uint64) Wait {
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

// rwOffset returns the offset in a read-write lock of the word at which a thread sleeps. musl has
// one such word. In glibc's lock, readers that let writers go first sleep at __readers, which has a
// bit set while they do.
func rwOffset(c Call, read bool) uint64 {
	switch {
	case !c.bits, read && c.Value&glibcReadersSleep != 0:
		return 0
	case !read && c.Addr%8 == 4:
		return glibcWriters
	}
	return glibcPhase
}

// glibcBarrier reports whether the futex word may be __current_round of a barrier: it is followed
// by the barrier's number of threads, and by whether processes share it.
func glibcBarrier(c Call, m Memory) bool {
	count, ok := m.word(c.Addr + 4)
	shared, ok2 := m.word(c.Addr + 8)
	return ok && ok2 && count > 0 && count < maxTID && shared&^flagPrivate == 0
}

// ownStack is the distance above the stack pointer, in bytes, up to which a word counts as part of
// the stack.
const ownStack = 1 << 14

// condOffset returns the offset in a glibc condition variable of the word at which a thread waits,
// one of the two of __g_signals. Before glibc 2.41 these were at 40, after __g_refs, which counts
// the waiting threads; since then there is no __g_refs and they are 8 bytes nearer to the
// beginning.
func condOffset(word uint64, m Memory) uint64 {
	second := word % 8 // 0 or 4, because the first of the two is aligned to 8
	if refs, ok := m.word(word - 24); ok && refs>>1 == 0 {
		return 32 + second
	}
	return 40 + second
}
