// Package locks computes which locks each thread holds. The analyses of locksets, of the lock
// order, of observed races and of misuse share this state, so that it is computed once per event.
//
// The input is each event of a run, in trace order. The output is, for each thread, the locks that
// it holds, in order of acquisition, each with its acquire. A lock that a thread acquires again
// while holding it keeps its first acquire. The end of a thread, or its join, releases all its
// locks.
//
// An analysis that gets a Table from its caller only reads it; the caller passes each event to the
// Table before the analyses. An analysis that gets none has a Table of its own.
//
// An event costs O(locks held) at worst and allocates nothing in the steady state. Only a release
// by a thread that does not hold the lock costs O(threads). Memory is bounded by the number of live
// threads and of the locks that they hold.
package locks

import "github.com/tracepredict/tracepredict/observer/event"

// Member is a lock with the mode that it is held or requested in. The even number is the
// exclusive mode, so that a set of plain locks is a set of exclusive members.
type Member uint64

// MemberOf returns the member for a lock in a mode.
func MemberOf(lock event.ObjectID, shared bool) Member {
	m := Member(lock) << 1
	if shared {
		m |= 1
	}
	return m
}

// Lock returns the lock.
func (m Member) Lock() event.ObjectID { return event.ObjectID(m >> 1) }

// Shared reports whether the mode is that of a reader.
func (m Member) Shared() bool { return m&1 != 0 }

// Conflicts reports whether two threads cannot hold m and o at one time.
func (m Member) Conflicts(o Member) bool {
	return m.Lock() == o.Lock() && !(m.Shared() && o.Shared())
}

// Held is a lock that a thread holds. Its size, half a cache line, matters: most events of a run
// are acquires.
type Held struct {
	Member
	Seq             uint64        // of the acquire; identifies the critical section
	Time            uint64        // of the acquire
	Stack           event.StackID // call stack of the acquire
	Flags           event.Flags   // of the acquire
	ReleasedByOther bool          // a thread that does not hold the lock has released it
}

// Thread records the locks that one thread holds.
type Thread struct {
	ID      event.ThreadID
	Changes uint32 // number of changes of Held
	Held    []Held // in order of acquisition
	// Same is the number of leading elements of Held, from the outermost lock on, that the latest
	// change left as they were: what an analysis has computed of these locks is still valid.
	Same int
	// Unchanged reports whether the latest acquire or release left Held as it was: it was an
	// acquire of a lock that the thread already held, or a release of one that it did not hold.
	Unchanged bool
	// filter has the bit of each held lock, by the low bits of its ID, and perhaps those of locks
	// released since none was held. Most acquires need no search for the lock because of it.
	filter uint64
}

// Find returns the index in Held of a lock, or -1.
func (t *Thread) Find(lock event.ObjectID) int {
	for i := len(t.Held) - 1; i >= 0; i-- {
		if t.Held[i].Lock() == lock {
			return i
		}
	}
	return -1
}

// Acquire updates the state for an acquire by the thread.
func (t *Thread) Acquire(e *event.Event) {
	bit := uint64(1) << (e.Object % 64)
	if t.filter&bit != 0 && t.Find(e.Object) >= 0 {
		t.Unchanged = true
		return
	}
	t.Unchanged, t.Same = false, len(t.Held)
	t.Changes++
	t.filter |= bit
	t.Held = append(t.Held, Held{
		Member: MemberOf(e.Object, e.Op == event.AcquireRead), Seq: e.Seq, Time: e.Time, Stack: e.Stack, Flags: e.Flags,
	})
}

// Release updates the state for a release by the thread.
func (t *Thread) Release(lock event.ObjectID) {
	i := t.Find(lock)
	if i < 0 {
		t.Unchanged = true
		return
	}
	t.Unchanged, t.Same = false, i
	t.Changes++
	last := len(t.Held) - 1
	if i < last {
		t.moveToEnd(i)
	}
	t.Held = t.Held[:last]
	filter := t.filter
	if last == 0 {
		filter = 0
	}
	t.filter = filter
}

// moveToEnd makes an element of Held the last one, where Released finds it after its removal.
func (t *Thread) moveToEnd(i int) {
	h := t.Held[i]
	n := copy(t.Held[i:], t.Held[i+1:])
	t.Held[i+n] = h
}

// Released returns the acquire of the lock that the thread's latest event, a release, has
// released; nil if the thread did not hold the lock. It is valid until the next event.
func (t *Thread) Released() *Held {
	if t.Unchanged {
		return nil
	}
	n := len(t.Held)
	return &t.Held[:n+1][n]
}

// cached is the number of entries of the direct-mapped cache of threads.
const cached = 64

// Table records the locks that all threads hold. Create it with New. It is not safe for concurrent
// use.
type Table struct {
	threads map[event.ThreadID]*Thread
	cache   [cached]*Thread // direct-mapped, by the low bits of the ID
}

// New returns a table without threads, for the beginning of a run.
func New() *Table { return &Table{threads: map[event.ThreadID]*Thread{}} }

// Thread returns the state of a thread. It is valid, and updated, until the thread ends.
func (l *Table) Thread(id event.ThreadID) *Thread {
	if t := l.cache[id%cached]; t != nil && t.ID == id {
		return t
	}
	return l.lookup(id)
}

// lookup returns the state of a thread that is not in the cache, and puts it there.
func (l *Table) lookup(id event.ThreadID) *Thread {
	t := l.threads[id]
	if t == nil {
		t = &Thread{ID: id}
		l.threads[id] = t
	}
	l.cache[id%cached] = t
	return t
}

// Event processes the next event of the run.
func (l *Table) Event(e *event.Event) {
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		l.Thread(e.Thread).Acquire(e)
	case event.Release:
		l.Thread(e.Thread).Release(e.Object)
	case event.ReleaseUnheld:
		if e.Flags&event.InCondWait == 0 {
			l.releasedByOther(e.Object)
		}
	case event.End:
		l.end(e.Thread)
	case event.Join:
		l.end(e.Peer)
	}
}

// Holder returns a thread that holds a lock, and the acquire; nil if there is none. Of several
// readers it is the one whose acquire is the oldest.
func (l *Table) Holder(lock event.ObjectID) (holder *Thread, found *Held) {
	for _, t := range l.threads {
		if i := t.Find(lock); i >= 0 && (found == nil || t.Held[i].Seq < found.Seq) {
			holder, found = t, &t.Held[i]
		}
	}
	return holder, found
}

func (l *Table) releasedByOther(lock event.ObjectID) {
	if _, h := l.Holder(lock); h != nil {
		h.ReleasedByOther = true
	}
}

// Remember adds the threads and the locks that they hold.
func (l *Table) Remember(n *event.Names) {
	for id, t := range l.threads {
		n.AddThread(id)
		for _, h := range t.Held {
			n.AddObject(h.Lock())
		}
	}
}

func (l *Table) end(id event.ThreadID) {
	t := l.threads[id]
	if t == nil {
		return
	}
	t.Held, t.Same, t.filter = nil, 0, 0
	t.Changes++
	delete(l.threads, id)
	if entry := &l.cache[id%cached]; *entry == t {
		*entry = nil
	}
}
