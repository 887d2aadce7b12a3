package bpf

import (
	"cmp"
	"math/bits"
	"slices"
)

// The rules by which an access or a call becomes a record, as docs/watch-shared.md and the comments
// of the headers state them. rules_test.go compares the BPF programs with this model.

const (
	several  = ^uint32(0) // in place of a thread: several threads
	tries    = 8          // places at which a word of the table may be
	factor   = 0x9e3779b97f4a7c15
	slots    = 1 << 13
	redZone  = 128
	maxStack = 1 << 30
	maxFreed = 16  // words of which the accesses are recorded when their memory is freed
	maxRange = 512 // words of a range that are looked at
	maxSent  = 128 // of these, words that are recorded
)

// model is what the rules remember of all threads, words, variables and locks.
type model struct {
	now     uint64
	crowded bool // a process has had a second thread
	joined  bool // a word was accessed by a name and through a pointer, by different threads
	mixed   bool // plain code has accessed a word of atomic code
	own     uint64
	full    uint64
	enough  uint32

	sites     map[uint32]Site
	threads   map[uint32]*thread  // by the last 13 bits of their IDs: the others have no place
	tables    [WordTables][]*word // nil: not there
	newest    int
	variables map[uint32]*variable
	siteHits  map[uint32]uint64  // of the probes of variables, by the first site of each
	far       map[frame]*pending // calls that had no place near their thread

	out   []Record // of the operation at hand
	tally string   // what it reads of a variable
}

func newModel(wordBits int, enough uint32) *model {
	return &model{
		enough: enough, sites: map[uint32]Site{}, threads: map[uint32]*thread{}, tables: [WordTables][]*word{make([]*word, 1<<wordBits)},
		variables: map[uint32]*variable{}, siteHits: map[uint32]uint64{}, far: map[frame]*pending{},
	}
}

// where is a thread, or a place of it in a process.
type where struct{ tgid, tid uint32 }

// thread is what is remembered of one that has a place.
type thread struct {
	tid     uint32
	records int // of it
	outs    int // of these, from which another thread could learn: writes and synchronisation
	reads   [8]*reading
	waits   []waited // its last records, if they only say that it waits
	lowest  uint64   // address of its stack that it has accessed
	last    uint64   // probe of a shared variable that it has hit last
	held    [32]int
	calls   [4]*pending
}

// thread returns what is remembered of a thread; nil if another one has its place.
func (m *model) thread(tid uint32) *thread {
	t := m.threads[tid%slots]
	if t == nil {
		t = &thread{tid: tid}
		m.threads[tid%slots] = t
	}
	if t.tid != tid {
		return nil
	}
	return t
}

// ordered notes that a record of a thread may order what it accesses.
func (m *model) ordered(tid uint32) {
	if t := m.thread(tid); t != nil {
		t.records++
		t.outs++
	}
}

// record adds a record of a thread.
func (m *model) record(at where, r Record) {
	r.Kind, r.Tid, r.Tgid = RecordEvent, at.tid, at.tgid
	m.out = append(m.out, r)
}

// word is eight bytes of a process.
type word struct {
	tgid          uint32
	addr          uint64
	owner, named  uint32 // the one thread that has accessed it through pointers, by a name; 0: none; several
	writes, reads [2]*past
	atomic        uint8 // its bytes that atomic code has accessed
	last          *accessed
}

// past is what the one thread that uses a word has done last with one half of it.
type past struct {
	when  uint64
	site  uint32
	from  int32
	bytes uint8
}

// accessed is the last access of a word by which another one may be redundant, or not.
type accessed struct {
	tid     uint32
	thread  *thread // nil: no access is redundant by it
	records int     // of the thread, with this one
	bytes   uint8
	writes  bool
}

// word finds a word in one of the tables. With create, it is made at the first of its places that is free, in the newest one
// if there is one; nil if there is none.
func (m *model) word(tgid uint32, addr uint64, create bool) *word {
	at := addr >> 3 << 3
	for i := range m.tables {
		table := m.tables[(m.newest+len(m.tables)-i)%len(m.tables)]
		for _, place := range placesOf(tgid, at, table) {
			if w := table[place]; w != nil && w.tgid == tgid && w.addr == at {
				return w
			}
		}
	}
	if !create {
		return nil
	}
	for i := range m.tables {
		table := m.tables[(m.newest+len(m.tables)-i)%len(m.tables)]
		for _, place := range placesOf(tgid, at, table) {
			if table[place] == nil {
				table[place] = &word{tgid: tgid, addr: at}
				return table[place]
			}
		}
	}
	m.full++
	return nil
}

// placesOf returns the places of a table where a word may be: eight, that a hash of its line of 64 bytes says.
func placesOf(tgid uint32, at uint64, table []*word) (places []int) {
	if len(table) == 0 {
		return nil
	}
	line := at>>6<<23 | uint64(tgid)&(1<<20-1)
	line = (line ^ line>>32) * factor
	line = (line ^ line>>29) * 0xbf58476d1ce4e5b9
	first, step := line>>(64-bits.Len(uint(len(table)))+1)^at>>3&7, line&0xffff<<4+8
	for i := range uint64(tries) {
		places = append(places, int((first+i*step)%uint64(len(table))))
	}
	return places
}

// useTable makes a table the newest, and empty if it is fresh, or not there yet.
func (m *model) useTable(table int, fresh bool) {
	if m.tables[table] == nil || fresh {
		m.tables[table] = make([]*word, len(m.tables[0]))
	}
	m.newest = table
}

// share makes a word that of several threads, and records what the one that used it alone did.
func (m *model) share(w *word) {
	if w.owner == several {
		return
	}
	owner := w.owner
	w.owner = several
	if owner != 0 {
		m.pasts(w, owner)
	}
}

// pasts records what one thread did with a word before.
func (m *model) pasts(w *word, owner uint32) {
	for _, kind := range []struct {
		op     Op
		halves [2]*past
	}{{OpWrite, w.writes}, {OpRead, w.reads}} {
		for i, p := range kind.halves {
			if p == nil || i == 1 && p == kind.halves[0] {
				continue
			}
			m.record(where{w.tgid, owner}, Record{Op: uint8(kind.op), Flags: RecPast, Site: p.site, Result: p.from, Object: w.addr, Extra: uint64(p.bytes), Value: p.when})
		}
	}
}

// access is an access of a word through a pointer.
type access struct {
	where
	index uint32
	site  Site
	at    uint64 // its first byte
	bytes uint8  // of the word
	sp    uint64
	value uint64
	extra uint64

	whole bool  // the instruction accesses no other word
	from  int32 // of a range
	again bool  // another word of the range was recorded
}

// pointer handles an access of one word through a pointer. It reports whether that was recorded as one
// of data.
func (m *model) pointer(a access) bool {
	t := m.thread(a.tid)
	if t != nil && a.at >= a.sp-redZone && (t.lowest == 0 || a.at < t.lowest) {
		t.lowest = a.at
	}
	w := m.word(a.tgid, a.at, true)
	if w == nil {
		return false
	}
	if a.whole && (a.site.Flags&SiteOrders != 0 || w.atomic&a.bytes != 0) {
		m.atomic(w, t, a)
		return false
	}
	return m.data(w, t, a)
}

// atomic records an access of memory that atomic code accesses.
func (m *model) atomic(w *word, t *thread, a access) {
	if a.site.Flags&SiteOrders == 0 {
		m.mixed = true
	}
	m.meets(w, a.tid)
	m.share(w)
	w.atomic |= a.bytes
	if w.last == nil || w.last.tid != a.tid {
		w.last = &accessed{tid: a.tid}
	}
	r := Record{Op: a.site.Op, Flags: RecOrders, Site: a.index, Stack: stackOf(a.index), Object: a.at, Sp: a.sp, Extra: a.extra}
	r.value(a.site, a.value)
	same := waited{site: a.index, extra: a.extra, value: r.Value}
	if Op(a.site.Op) == OpRead {
		same.extra = a.at
	}
	if t.repeats(a.site, same) {
		return
	}
	m.ordered(a.tid)
	m.record(a.where, r)
}

// value sets the value of an access, where its site says which register has it.
func (r *Record) value(site Site, v uint64) {
	if Operand(site.Access.ValueFrom) == FromNowhere {
		return
	}
	r.Flags |= RecValue
	if site.Access.Width < 8 {
		v &= 1<<(8*site.Access.Width) - 1
	}
	r.Value = v
}

// stackOf returns the call stack that rules.c has for a site.
func stackOf(site uint32) uint32 { return 1000 + site }

// meets notes that a thread accesses through a pointer what another one accesses by a name, if so.
func (m *model) meets(w *word, tid uint32) bool {
	if w.named == 0 || w.named == tid {
		return false
	}
	m.joined = true
	return true
}

// data handles an access of data. It reports whether it was recorded: not if the thread is the only one
// that uses the word, nor if it is redundant.
func (m *model) data(w *word, t *thread, a access) bool {
	writes := Op(a.site.Op) != OpRead
	if !m.meets(w, a.tid) && (w.owner == 0 || w.owner == a.tid) {
		w.owner = a.tid
		m.own++
		p := &past{m.now, a.index, a.from, a.bytes}
		kind := &w.reads
		if writes {
			kind = &w.writes
		}
		for half, mask := range []uint8{0x0f, 0xf0} {
			if a.bytes&mask != 0 {
				kind[half] = p
			}
		}
		return false
	}
	m.share(w)
	if l := w.last; t != nil && l != nil && l.thread == t && l.records == t.records && a.bytes&^l.bytes == 0 && (l.writes || !writes) {
		return false
	}
	w.last = &accessed{tid: a.tid}
	if t != nil {
		if !a.again {
			t.records++
			if writes {
				t.outs++
			}
		}
		t.waits = nil
		w.last = &accessed{a.tid, t, t.records, a.bytes, writes}
	}
	m.record(a.where, Record{Op: a.site.Op, Site: a.index, Stack: stackOf(a.index), Result: a.from, Object: w.addr, Extra: uint64(a.bytes), Sp: a.sp})
	return true
}

// bytesOf returns the bytes of the word at an address that lie before end.
func bytesOf(at, end uint64) (bytes uint8) {
	for b := at; b < end && b < at>>3<<3+8; b++ {
		bytes |= 1 << (b & 7)
	}
	return bytes
}

// spans handles an access of some bytes through a pointer, which may lie in several words.
func (m *model) spans(a access) {
	if !m.crowded {
		return
	}
	end := a.at + uint64(a.site.Access.Span)
	a.whole = end <= a.at>>3<<3+8
	for a.at < end {
		a.bytes = bytesOf(a.at, end)
		m.pointer(a)
		a.at = a.at>>3<<3 + 8
	}
}

// ranges handles the access of a range of memory by a library function.
func (m *model) ranges(a access, size uint64) {
	if !m.crowded || a.at == 0 {
		return
	}
	begin, end, sent := a.at, a.at+size, 0
	for range maxRange {
		if a.at >= end || sent == maxSent {
			return
		}
		a.bytes = bytesOf(a.at, end)
		a.from = int32(a.at>>3<<3 - begin)
		a.again = sent > 0
		if m.pointer(a) {
			sent++
		}
		a.at = a.at>>3<<3 + 8
	}
}

// names notes that a thread accesses at most eight bytes by the name of a variable.
func (m *model) names(at where, addr uint64, size int) {
	if !m.crowded || size == 0 || size > 8 {
		return
	}
	for _, a := range slices.Compact([]uint64{addr >> 3 << 3, (addr + uint64(size) - 1) >> 3 << 3}) {
		w := m.word(at.tgid, a, true)
		if w == nil {
			continue
		}
		switch w.named {
		case 0, at.tid:
			w.named = at.tid
		default:
			w.named = several
		}
		w.last = &accessed{tid: at.tid}
		if w.owner != 0 && w.owner != at.tid {
			m.joined = true
			m.share(w)
		}
	}
}

// pointedSince reports whether a word that has been accessed by a name was last accessed by another thread,
// where threads have met so.
func (m *model) pointedSince(at where, addr uint64) bool {
	if !m.joined {
		return false
	}
	w := m.word(at.tgid, addr, false)
	return w != nil && w.named != 0 && (w.last == nil || w.last.tid != at.tid)
}

// forget removes the words of a process in memory that ends. If a thread frees it, what one other thread alone
// did there is recorded of a few words. It returns of how many.
func (m *model) forget(tgid uint32, begin, end uint64, by uint32) (sent int) {
	var ended []*word
	for _, table := range m.tables {
		for i, w := range table {
			if w != nil && w.tgid == tgid && w.addr >= begin>>3<<3 && w.addr < end {
				ended = append(ended, w)
				table[i] = nil
			}
		}
	}
	if (end-begin)>>12 <= uint64(len(m.tables[0])) { // else it is the table that is searched
		slices.SortFunc(ended, func(a, b *word) int { return cmp.Compare(a.addr, b.addr) })
	}
	for _, w := range ended {
		if by == 0 || w.owner == 0 || w.owner == several || w.owner == by || sent == maxFreed {
			continue
		}
		sent++
		m.pasts(w, w.owner)
	}
	return sent
}

// freed handles memory that ends.
func (m *model) freed(tgid uint32, addr, size uint64, by uint32) int {
	if !m.crowded || addr == 0 || size == 0 {
		return 0
	}
	return m.forget(tgid, addr, addr+size, by)
}

// exits handles the end of a thread; live is how many others its process has, pointer its thread pointer.
func (m *model) exits(at where, live int, pointer uint64) {
	m.ordered(at.tid)
	m.record(at, Record{Op: uint8(OpExit), Object: uint64(at.tid)})
	t := m.thread(at.tid)
	if t != nil && m.crowded && t.lowest != 0 && t.lowest < pointer && pointer-t.lowest < maxStack {
		m.forget(at.tgid, t.lowest, pointer, 0)
	}
	if live == 0 {
		m.forget(at.tgid, 0, ^uint64(0), 0)
	}
	if t != nil {
		delete(m.threads, at.tid%slots)
	}
}

// executes handles that a process executes another program.
func (m *model) executes(at where) {
	m.ordered(at.tid)
	m.record(at, Record{Op: uint8(OpExec), Object: uint64(at.tid)})
	m.forget(at.tgid, 0, ^uint64(0), 0)
}

// variable is one that the user did not name.
type variable struct {
	limit       uint64 // of the hits of a site from which on it is not watched there; 0: there is none
	hits, crowd uint64 // accesses, and those since there is a second thread
	owner       uint32 // the first thread
	shared      uint32 // 1: another thread has accessed it
	recorded    uint32 // accesses of an array
	changes     int    // writes that were recorded, and what else makes a read worth a record
	last        *thread
	records     int  // of last, with its last recorded access of the variable
	wrote       bool // that access
	skipped     bool // a write after that was not recorded
}

// reading is what a thread has read of one of the variables with equal last three bits.
type reading struct {
	variable      uint32
	changes, outs int
	value         uint64
}

// sharedAccess is an access of a variable that the user did not name.
type sharedAccess struct {
	where
	cookie uint64
	index  uint32
	site   Site
	object uint64
	value  uint64
	sp     uint64
}

func (m *model) variable(index uint32) *variable {
	v := m.variables[index]
	if v == nil {
		v = &variable{}
		m.variables[index] = v
	}
	return v
}

// replaced reports whether a hit is that of a link which a newer one replaces, whose probe has had it.
func (t *thread) replaced(cookie uint64) bool {
	if t == nil {
		return false
	}
	if t.last == cookie+CookieGeneration {
		t.last = 0
		return true
	}
	t.last = cookie
	return false
}

// counts counts an access of a variable.
func (m *model) counts(a sharedAccess) *variable {
	v := m.variable(a.site.Access.Watched)
	v.hits++
	if m.crowded {
		v.crowd++
	}
	if v.owner == 0 {
		v.owner = a.tid
	}
	if v.owner != a.tid && v.shared == 0 {
		v.shared = 1
		v.changes++ // the next access of the owner is recorded
	}
	return v
}

// unnamed handles an access of a variable that the user did not name.
func (m *model) unnamed(a sharedAccess) {
	t := m.thread(a.tid)
	if t.replaced(a.cookie) {
		return
	}
	m.siteHits[a.index]++
	if v := m.variable(a.site.Access.Watched); v.limit != 0 && m.siteHits[a.index] > v.limit {
		return
	}
	v := m.counts(a)
	if Reach(a.site.Access.Reach) == ReachSharedArray {
		m.arrayElement(v, t, a)
		return
	}
	r := Record{Op: a.site.Op, Site: a.index, Stack: stackOf(a.index), Object: a.object, Sp: a.sp}
	r.value(a.site, a.value)
	orders := a.site.Flags&SiteOrders != 0
	if !orders && m.redundant(v, t, a, &r) {
		return
	}
	if t != nil {
		t.waits = nil
	}
	if orders {
		m.ordered(a.tid)
	} else {
		m.names(a.where, a.object, int(a.site.Access.Width))
	}
	m.record(a.where, r)
}

// redundant reports whether an access of a variable says nothing new.
func (m *model) redundant(v *variable, t *thread, a sharedAccess, r *Record) bool {
	writes := Op(a.site.Op) != OpRead
	if m.pointedSince(a.where, a.object) {
		v.shared = 1
		v.last = nil
		v.changes++
	}
	if t != nil && !writes && t.knows(v, a.site.Access.Watched, r.Value) {
		return true
	}
	if t != nil && v.last == t && v.wrote && v.records == t.records {
		v.skipped = v.skipped || writes
		return true
	}
	if v.skipped || v.limit != 0 {
		r.Flags |= RecSkipped
	}
	v.skipped = false
	if writes {
		v.changes++
	}
	v.last, v.wrote = t, writes
	if t != nil {
		t.records++
		if writes {
			t.outs++
		}
		v.records = t.records
	}
	return false
}

// knows reports whether the thread has read this already, and nobody has written it since, and nothing was
// recorded of the thread from which another one could learn of that; else it remembers what it reads.
func (t *thread) knows(v *variable, index uint32, value uint64) bool {
	now := reading{index, v.changes, t.outs, value}
	known := &t.reads[index%8]
	if *known != nil && **known == now {
		return true
	}
	*known = &now
	return false
}

// arrayElement handles an access of an element that an index selects: a number of these are recorded once there
// are several threads.
func (m *model) arrayElement(v *variable, t *thread, a sharedAccess) {
	by := a.object - uint64(a.site.Access.Home)
	if !m.crowded || m.enough != 0 && v.recorded >= m.enough && v.limit == 0 {
		return
	}
	v.recorded++
	if t != nil {
		t.waits = nil
	}
	r := Record{Op: a.site.Op, Site: a.index, Stack: stackOf(a.index), Object: a.object, Sp: a.sp, Extra: by}
	r.value(a.site, a.value)
	if v.limit != 0 {
		r.Flags |= RecSkipped
	}
	m.names(a.where, a.object, int(a.site.Access.Width))
	m.ordered(a.tid)
	m.record(a.where, r)
}

// waited is what a record says that a thread makes again and again while it waits.
type waited struct {
	site         uint32
	extra, value uint64
}

// repeats reports whether an access says again what one of the last four records of the thread said, with nothing
// else recorded between; else it remembers it.
func (t *thread) repeats(site Site, w waited) bool {
	if t == nil {
		return false
	}
	if site.Flags&SiteSpin == 0 || Op(site.Op) != OpRead && w.value != w.extra {
		t.waits = nil
		return false
	}
	for _, old := range t.waits {
		if old == w {
			return true
		}
		if old.site == w.site && old.extra == w.extra {
			t.waits = nil // the value is another one: the thread goes on
			break
		}
	}
	if len(t.waits) == 4 {
		t.waits = nil
	}
	t.waits = append(t.waits, w)
	return false
}

// named handles an access of a variable that the user named, or of an atomic one.
func (m *model) named(a sharedAccess, extra uint64) {
	t := m.thread(a.tid)
	r := Record{Op: a.site.Op, Site: a.index, Stack: stackOf(a.index), Object: a.object, Sp: a.sp, Extra: extra}
	r.value(a.site, a.value)
	if t.repeats(a.site, waited{a.index, extra, r.Value}) {
		return
	}
	m.names(a.where, a.object, int(a.site.Access.Width))
	m.ordered(a.tid)
	m.record(a.where, r)
}

// frame is a call of a function by a thread, which the stack pointer at its entry tells from others.
type frame struct {
	tid uint32
	sp  uint64
}

// pending is a call whose return is to be recorded.
type pending struct {
	sp, object, second, entered uint64
	index                       uint32
	site                        Site
}

// holds returns the number of locks that a thread holds, of those with a lock's hash.
func (t *thread) holds(lock uint64) *int { return &t.held[lock*factor>>59] }

// mostHeld is as many as are counted: then it is not known how many there are.
const mostHeld = 255

// acquires counts a lock that a thread has acquired, unless the lock's last owner died with it.
func (t *thread) acquires(site Site, lock uint64, result int32) {
	if op := Op(site.Op); t == nil || op != OpAcquire && op != OpAcquireRead || Success(site.Sync().Success) == SuccessZero && result != 0 {
		return
	}
	if n := t.holds(lock); *n < mostHeld {
		*n++
	}
}

// releases counts a lock that a thread releases. It reports whether the thread may hold it.
func (t *thread) releases(lock uint64) bool {
	if t == nil {
		return true
	}
	n := t.holds(lock)
	may := *n > 0
	if may && *n < mostHeld {
		*n--
	}
	return may
}

// succeeds reports whether an operation had its effect, by what its function has returned.
func succeeds(rule Success, result int64) bool {
	const ownerDead, serialThread = 130, -1
	switch rule {
	case SuccessZero:
		return int32(result) == 0 || int32(result) == ownerDead
	case SuccessNonzero:
		return result != 0
	case SuccessBarrier:
		return int32(result) == 0 || int32(result) == serialThread
	case SuccessTrue8:
		return uint8(result) != 0
	}
	return true
}

// remember keeps a call, in place of one with the same frame: four with their thread.
func (m *model) remember(t *thread, tid uint32, p *pending) {
	if t != nil {
		for i, c := range t.calls {
			if c != nil && c.sp == p.sp {
				t.calls[i] = p
				return
			}
		}
		for i, c := range t.calls {
			if c == nil {
				t.calls[i] = p
				return
			}
		}
	}
	m.far[frame{tid, p.sp}] = p
}

// recall returns the call with a frame, and forgets it if it ends; nil if there is none.
func (m *model) recall(t *thread, tid uint32, sp uint64, ends bool) *pending {
	if t != nil {
		for i, c := range t.calls {
			if c != nil && c.sp == sp {
				if ends {
					t.calls[i] = nil
				}
				return c
			}
		}
	}
	p := m.far[frame{tid, sp}]
	if ends {
		delete(m.far, frame{tid, sp})
	}
	return p
}

// call is a hit of a probe of a function that synchronises.
type call struct {
	where
	index              uint32
	site               Site
	sp, object, second uint64
}

// within reports whether a call is made by another one that is under way, close to it on the stack, on the same
// object: one whose frame is never unwound, or a wait for a semaphore.
func (t *thread) within(c call) bool {
	const frames = 512
	return t != nil && slices.ContainsFunc(t.calls[:], func(p *pending) bool {
		return p != nil && p.object == c.object && p.sp > c.sp && p.sp-c.sp <= frames && (p.site.Flags&SiteLeaf != 0 || Op(p.site.Op) == OpSemWait)
	})
}

// enters handles the entry of a function.
func (m *model) enters(c call) {
	t := m.thread(c.tid)
	if t != nil {
		t.waits = nil
	}
	stack := stackOf(c.index)
	if action := Action(c.site.Action); action != ActionEmit {
		if p := m.recall(t, c.tid, c.sp, false); p != nil && p.object == c.object && p.index != c.index || t.within(c) {
			return
		}
		p := &pending{sp: c.sp, object: c.object, second: c.second, index: c.index, site: c.site}
		if Op(c.site.Op) == OpJoin {
			p.entered = m.now
		}
		m.remember(t, c.tid, p)
		if action == ActionSave {
			return
		}
	} else if c.site.Flags&SiteNoStack != 0 && t.releases(c.object) {
		stack = 0
	}
	m.ordered(c.tid)
	m.record(c.where, Record{Op: c.site.Op, Site: c.index, Stack: stack, Object: c.object, Value: c.second, Sp: c.sp})
}

// returned handles the return of a function.
func (m *model) returned(at where, sp uint64, result int64) {
	t := m.thread(at.tid)
	p := m.recall(t, at.tid, sp, true)
	if p == nil {
		return
	}
	m.left(call{at, p.index, p.site, sp, p.object, p.second}, t, p.entered, result)
}

// left records what an operation has done.
func (m *model) left(c call, t *thread, entered uint64, result int64) {
	flags := uint8(RecLeave)
	if succeeds(Success(c.site.Sync().Success), result) {
		t.acquires(c.site, c.object, int32(result))
	} else {
		flags |= RecFailed
	}
	m.ordered(c.tid)
	m.record(c.where, Record{Op: c.site.Op, Flags: flags, Site: c.index, Stack: stackOf(c.index), Object: c.object, Value: c.second, Extra: entered, Sp: c.sp, Result: int32(result)})
}

// outcome handles an instruction at which it is certain what a function has done.
func (m *model) outcome(c call, result int64) {
	t := m.thread(c.tid)
	if t != nil {
		t.waits = nil
		for i, p := range t.calls {
			if p == nil || p.sp != c.sp || p.object != c.object {
				continue
			}
			if p.site.Sync().Function != c.site.Sync().Function {
				return // another function has jumped to this one, and is recorded when that returns
			}
			t.calls[i] = nil // an earlier call that was abandoned
			break
		}
	}
	if t.within(c) {
		return
	}
	m.left(c, t, 0, result)
}
