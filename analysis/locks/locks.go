// Package locks computes which locks each thread holds. The lockset analysis, the lock-order
// analysis and the analysis of observed races share this state, so that it is computed once per
// event.
//
// The input is each event of a run, in trace order. The output is, for each thread, the locks that
// it holds, in order of acquisition, each with the call stack of its acquire. A lock that a thread
// acquires again while holding it keeps its first acquire. The end of a thread, or its join,
// releases all its locks.
//
// An analysis that gets a Table from its caller only reads it; the caller passes each event to the
// Table before the analyses. An analysis that gets none has a Table of its own.
//
// An event costs O(locks held) at worst and allocates nothing in the steady state. Memory is
// bounded by the number of live threads and of the locks that they hold.
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

// Held is a lock that a thread holds.
type Held struct {
	Member
	Stack event.StackID // call stack of the acquire
	Seq   uint64        // of the acquire; identifies the critical section
}

// Thread records the locks that one thread holds.
type Thread struct {
	ID      event.ThreadID
	Held    []Held // in order of acquisition
	Changes uint32 // number of changes of Held
	// Same is the number of leading elements of Held, from the outermost lock on, that the latest
	// change left as they were: what an analysis has computed of these locks is still valid.
	Same int
	// Again reports whether the latest acquire was of a lock that the thread already held.
	Again bool
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
	if t.Again = t.Find(e.Object) >= 0; t.Again {
		return
	}
	t.Same = len(t.Held)
	t.Held = append(t.Held, Held{MemberOf(e.Object, e.Op == event.AcquireRead), e.Stack, e.Seq})
	t.Changes++
}

// Release updates the state for a release by the thread.
func (t *Thread) Release(lock event.ObjectID) {
	i := t.Find(lock)
	if i < 0 {
		return
	}
	last := len(t.Held) - 1
	if i < last {
		copy(t.Held[i:], t.Held[i+1:])
	}
	t.Held = t.Held[:last]
	t.Same = i
	t.Changes++
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
	case event.End:
		l.end(e.Thread)
	case event.Join:
		l.end(e.Peer)
	}
}

// Remember adds the threads and the locks that they hold.
func (l *Table) Remember(n *event.Names) {
	for id, t := range l.threads {
		n.Thread(id)
		for _, h := range t.Held {
			n.Object(h.Lock())
		}
	}
}

func (l *Table) end(id event.ThreadID) {
	t := l.threads[id]
	if t == nil {
		return
	}
	t.Held, t.Same = nil, 0
	t.Changes++
	delete(l.threads, id)
	if entry := &l.cache[id%cached]; *entry == t {
		*entry = nil
	}
}
