package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file handles accesses that synchronise. A load is ordered after the store that it
// saw, so the observer must find that store. But an access is recorded a moment after it
// happened, and the records of two threads may stand in the wrong order. The values decide:
// a load, or the load of a read-modify-write, that did not see the last recorded store saw
// one that is not recorded yet. The thread of that store does nothing else before its
// record, so the store is the next record of some other thread. The observer waits for it:
// it keeps back the record of the load and all later records. When the store arrives, it is
// handled first, and the kept records follow in their own order. If the store does not
// arrive in time, the load has no source, and no witness may execute it. While a process has had only
// one thread, that thread made the store itself, by code without a probe.
//
// A load may also have seen a store before the last one: then its own record is late, and
// the later stores happened after it (event.Late).
//
// If several stores wrote the value that a load saw, the last recorded one counts as its
// source. The load may have seen another; but a run in which that one does not happen, and
// the load sees the same value, is as possible, so no false prediction follows.
//
// If the value of the last store was not recorded, the first load that cannot be late shows it.

// Sync describes an access that synchronises: which values its record has, and the initial
// value of the variable.
type Sync struct {
	How        bpf.Values
	Delta      uint64 // what the instruction adds to the variable
	Width      uint8  // bytes
	Initial    uint64
	HasInitial bool // Initial is known
	// Store means that the access is an exchange whose old value the thread does not use, and so a
	// store. The old value only shows which store came before it.
	Store bool
	// Whole, if not 0, is the number of bytes that the access touches: the variable is only the Width bytes
	// from byte From on.
	Whole, From uint8
	// Test is what the thread uses of the value that it read. Adds means that the access adds a number that does
	// not depend on what it read.
	Test Test
	Adds bool
}

// Test says what a thread uses of a value that it read.
type Test struct {
	Known bool   // it uses no more than whether the value equals Value
	Left  bool   // the value is the one that the access left, not the one that it read
	Value uint64 // of the whole access
}

// uses returns the flags that say what the thread uses of the values of an access.
func (s *Sync) uses(op event.Op, read, wrote optional) (flags event.Flags) {
	limit := s.truncate(optional{value: ^uint64(0)}).value
	value := s.truncate(optional{value: s.Test.Value}).value
	if op == event.Update {
		if s.Whole > 0 || !read.known || !wrote.known {
			return 0
		}
		added := (wrote.value - read.value) & limit
		switch {
		case s.Adds && added == 1:
			flags = event.Increments
		case s.Adds && added == limit:
			flags = event.Decrements
		}
		if !s.Test.Left {
			value = (value + added) & limit
		}
	}
	switch {
	case s.Test.Known && value == 0:
		flags |= event.OnlyZero
	case s.Test.Known && value == 1:
		flags |= event.OnlyOne
	}
	return flags
}

// optional is a value that may be unknown.
type optional struct {
	value uint64
	known bool
}

// values returns the values that the access of a record read and wrote.
func (s *Sync) values(r *bpf.Record) (read, wrote optional) {
	v := optional{r.Value, r.Flags&bpf.RecValue != 0}
	switch bpf.Op(r.Op) {
	case bpf.OpRead:
		return s.truncate(v), optional{}
	case bpf.OpWrite:
		return optional{}, s.truncate(v)
	}
	switch s.How {
	case bpf.ValuesBoth:
		read, wrote = optional{r.Extra, true}, v
	case bpf.ValuesOld:
		read = optional{r.Extra, true}
	case bpf.ValuesAdded:
		read, wrote = optional{r.Extra, true}, optional{r.Extra + s.Delta, true}
	case bpf.ValuesAddedReg:
		read, wrote = optional{r.Extra, true}, optional{r.Extra + r.Value, v.known}
	case bpf.ValuesResult:
		read, wrote = optional{r.Value - s.Delta, v.known}, v
	case bpf.ValuesResultReg:
		read, wrote = optional{r.Value - r.Extra, v.known}, v
	case bpf.ValuesResultLess:
		read, wrote = optional{r.Value + r.Extra, v.known}, v
	default:
		wrote = v
	}
	return s.truncate(read), s.truncate(wrote)
}

// truncate truncates a value to the width of the variable.
func (s *Sync) truncate(m optional) optional {
	if s.Whole > 0 {
		m.value >>= 8 * s.From
	}
	if s.Width < 8 {
		m.value &= 1<<(8*s.Width) - 1
	}
	return m
}

// The bounds of the wait for a store, whose thread may be preempted between the store and
// its record.
const (
	maxWaitTime    = 100_000_000 // ns
	maxWaitRecords = 1 << 12     // records kept back
	maxLateTime    = 50_000      // ns, if the load may also have seen an earlier store
	maxFirstTime   = 10_000_000  // ns, if the load may also have seen an initial value that is not known
	// maxUnexplained is the number of loads of one variable whose store did not arrive,
	// after which its loads no longer wait: code without a probe stores to the variable.
	maxUnexplained = 8
)

// synchronised handles an access that synchronises.
func (vs *variables) synchronised(t *thread, v *variable, info *SiteInfo, r *bpf.Record) {
	read, wrote := info.Sync.values(r)
	if info.Lock == bpf.LockReleases && info.Kind == event.KindRWLock && !wrote.known {
		wrote = afterRelease(read)
	}
	op := accessOps[bpf.Op(r.Op)-bpf.OpRead]
	if op == event.Update && read.known && read == wrote && !info.Sync.Store {
		op = event.Read // an exchange that wrote the old value again, as of a thread that waits for a lock
	}
	if v.sync == nil {
		v.sync = &history{}
	}
	var flags event.Flags
	if op != event.Write {
		var postpone bool
		if flags, postpone = vs.source(t, v, op, info, read, r); postpone {
			return
		}
	}
	own := info.Flags
	if info.Sync.Store {
		op, flags = event.Write, 0
	}
	if vs.inlined.lockAccess(t, v, info.Lock, wordAccess{op, flags, read, wrote, r}) {
		v.recordStore(t, op, flags, wrote, r.Time)
		return
	}
	if v.unsourced && op != event.Write && flags == 0 {
		vs.stats.Contradicted++
		flags = event.NoSource
	}
	if op != event.Update && bpf.Op(r.Op) != bpf.OpRead {
		own &^= event.ResultUnused
	}
	if accessOps[bpf.Op(r.Op)-bpf.OpRead] == op && !info.Sync.Store {
		own |= info.Sync.uses(op, read, wrote)
	}
	e := vs.begin(t, r, op)
	e.Object, e.Kind, e.Flags = v.id, v.kind, own|flags|info.attempt(op, read, wrote)
	shown := wrote
	if op == event.Read {
		shown = read
	}
	if shown.known {
		e.Value = shown.value
		e.Flags |= event.HasValue
	}
	v.unsourced = v.unsourced && op == event.Read
	v.recordStore(t, op, flags, wrote, r.Time)
	vs.send()
}

// attempt returns the flags of the event that say that an access changes the variable from 0, or tries to.
func (s *SiteInfo) attempt(op event.Op, read, wrote optional) event.Flags {
	switch {
	case op == event.Read && s.Traceless:
		return event.Repeated
	case op != event.Update || s.Sync.How != bpf.ValuesBoth || s.Flags&(event.Atomic|event.ResultUnused) != event.Atomic:
	case !read.known || read.value != 0 || !wrote.known || wrote.value == 0:
	case s.Repeats:
		return event.Takes | event.Repeated
	default:
		return event.Takes
	}
	return 0
}

// source returns the flags of the event that describe the store whose value the access saw
// (0, Late, NoSource), and whether the record must wait for that store.
func (vs *variables) source(t *thread, v *variable, op event.Op, info *SiteInfo, read optional, r *bpf.Record) (flags event.Flags, postpone bool) {
	h := v.sync
	switch {
	case read.known && v.divided:
		v.divided, v.last.value, v.last.known = false, read.value, true
		vs.stats.Contradicted++ // which store it saw is not in the variable's history
		return event.NoSource, false
	case read.known && v.last.known && v.last.value == read.value:
		return 0, false
	case read.known && !v.last.known && h.stores == 0:
		if t.process.crowded && !vs.backlog.noWait { // it may also have seen a store that is about to be recorded
			vs.backlog.await(r, read, maxFirstTime)
			return 0, true
		}
		v.last.value, v.last.known = read.value, true // the initial value
		return 0, false
	case read.known && v.last.known && !vs.attached && !t.process.crowded && !t.lostEvents:
		vs.ownStore(t, v, info, read, r)
		return 0, false
	case op == event.Read && read.known && h.mayBeLate(t.id, read):
		if !vs.backlog.noWait { // it may also have seen a store of the same value that is about to be recorded
			vs.backlog.await(r, read, maxLateTime)
			return 0, true
		}
		return event.Late, false
	case op == event.Read && read.known && v.last.known && h.mayBeInitial(t.id) && vs.backlog.readsAgain(r, v.last.value):
		h.replaced[0] = read
		return event.Late, false
	case read.known && !v.last.known:
		v.last.value, v.last.known = read.value, true // what the last store wrote is seen here first
		return 0, false
	case !read.known && op == event.Update && (info.orderless() || !vs.attached && !t.process.crowded && !t.lostEvents):
		return 0, false // what the only thread of its process read, it has stored itself
	case read.known && v.last.known && !vs.backlog.noWait && h.unexplained < maxUnexplained:
		vs.backlog.await(r, read, maxWaitTime)
		return 0, true
	}
	vs.stats.Contradicted++
	if h.unexplained == maxUnexplained {
		return event.NoSource, false
	}
	h.unexplained++
	return event.NoSource | event.Late, false
}

// ownStore sends the store, which was not recorded, that a load of the only thread that its process has had
// saw: the thread's own.
func (vs *variables) ownStore(t *thread, v *variable, info *SiteInfo, saw optional, r *bpf.Record) {
	v.use, v.unsourced = wordAtomic, false
	e := vs.begin(t, r, event.Write)
	e.Object, e.Kind, e.Stack, e.Value = v.id, v.kind, 0, saw.value
	e.Flags = info.Flags&event.Atomic | event.Inferred | event.HasValue
	v.recordStore(t, event.Write, 0, saw, r.Time)
	vs.send()
}

// orderless reports whether it need not be known which store came before an update at the site: the
// update makes its thread do nothing else, or it is not atomic and orders nothing.
func (s *SiteInfo) orderless() bool {
	return s.Flags&event.ResultUnused != 0 || s.Flags&event.Atomic == 0
}

// recordStore adds a store to the history of the variable, or records that t has seen the
// last one.
func (v *variable) recordStore(t *thread, op event.Op, flags event.Flags, wrote optional, time uint64) {
	h := v.sync
	if op == event.Read {
		if flags == 0 {
			h.saw(t.id)
		}
		return
	}
	v.divided = false
	h.replaced[h.stores%recentStores] = optional{v.last.value, v.last.known}
	h.stores++
	h.saw(t.id)
	v.last = write{time: time, value: wrote.value, thread: t.id, known: wrote.known}
}

// recentStores is the number of stores, and of threads that saw them, that are kept. A load
// is recognised as late only if one of these stores replaced the value that it saw.
const recentStores = 8

// history has the last stores to a variable that synchronises.
type history struct {
	stores   uint64                 // number of recorded stores
	replaced [recentStores]optional // replaced[i%recentStores] is the value that store i replaced
	seen     [recentStores]struct {
		thread event.ThreadID
		stores uint64 // value of history.stores when the thread last saw the last store
	}
	next        int // index in seen that the next new thread overwrites
	unexplained int // number of loads whose store did not arrive
}

// saw records that the thread has seen the last store.
func (h *history) saw(t event.ThreadID) {
	for i := range h.seen {
		if h.seen[i].thread == t {
			h.seen[i].stores = h.stores
			return
		}
	}
	h.seen[h.next].thread, h.seen[h.next].stores = t, h.stores
	h.next = (h.next + 1) % recentStores
}

// lastSeen returns the number of the last of the recorded stores that the thread saw; 0 if it saw none.
func (h *history) lastSeen(t event.ThreadID) uint64 {
	since := uint64(0)
	for i := range h.seen {
		if h.seen[i].thread == t {
			since = h.seen[i].stores
		}
	}
	return since
}

// mayBeInitial reports whether the thread may have read the initial value, which is not known: it saw none of the
// recorded stores.
func (h *history) mayBeInitial(t event.ThreadID) bool {
	return h.stores > 0 && h.stores <= recentStores && !h.replaced[0].known && h.lastSeen(t) == 0
}

// mayBeLate reports whether the thread may have read a value before one of the recent stores
// replaced it, of those recorded since the thread last saw the last store.
func (h *history) mayBeLate(t event.ThreadID, read optional) bool {
	for n, since := h.stores, h.lastSeen(t); n > since && h.stores-n < recentStores; n-- {
		if h.replaced[(n-1)%recentStores] == read {
			return true
		}
	}
	return false
}
