package happensbefore

import "github.com/tracepredict/tracepredict/observer/event"

// lock is the state of a mutex, spin lock or rwlock. The fields that a mutex needs are in one
// cache line of the processor.
type lock struct {
	init       *mark  // nil: not observed
	used       uint64 // Seq of the latest event
	write      mark   // the last exclusive release
	holder     mark   // the acquire, while the lock is held exclusively
	exclusive  bool   // it is held exclusively
	otherMarks bool   // reads, readers or failed may have events
	evicted    bool   // it may have been used before Shrink evicted it
	reads      marks  // shared releases since the last exclusive acquire
	readers    marks  // acquires of the critical sections that hold it shared
	failed     marks  // failed attempts since it was last acquired
}

func (a *Analysis) lockEvent(t *thread, e *event.Event) {
	c := &a.clocks
	l := a.locks.known(e.Object)
	if l == nil {
		l = a.locks.get(e.Object)
		l.init, l.evicted = a.inits[e.Object], a.floor.mayHave(e.Object)
	}
	l.used = e.Seq
	if l.evicted {
		a.joinFloor(t)
	}
	if l.init != nil {
		t.joinAt(c, l.init)
	}
	switch e.Op {
	case event.Acquire:
		t.joinAt(c, &l.write)
		if l.otherMarks {
			l.acquireExclusive(c, t)
		}
		l.exclusive = true
		l.holder.set(c, t)
		a.acquire(t, e)
	case event.AcquireRead:
		t.joinAt(c, &l.write)
		l.exclusive, l.otherMarks = false, true
		l.readers.set(c, t)
		a.acquire(t, e)
	case event.AcquireFailed:
		t.joinAt(c, &l.holder)
		t.joinAll(c, l.readers)
		l.failed.set(c, t)
		l.otherMarks = true
	case event.Release:
		t.joinAll(c, l.failed)
		l.release(c, t)
		if a.ownLocks {
			t.held.Release(e.Object)
		}
	}
	t.tick()
}

func (a *Analysis) acquire(t *thread, e *event.Event) {
	if a.ownLocks {
		t.held.Acquire(e)
	}
}

// acquireExclusive draws the edges to an exclusive acquire from the shared releases since the last
// exclusive one. Later events come after these by way of the acquire, so the marks are dropped.
func (l *lock) acquireExclusive(c *pool, t *thread) {
	t.joinAll(c, l.reads)
	l.reads.drop(c)
	l.failed.drop(c)
	l.readers.drop(c)
	l.otherMarks = false
}

func (l *lock) release(c *pool, t *thread) {
	if !l.exclusive {
		l.reads.cover(c, t)
		l.otherMarks = true
		return
	}
	l.exclusive = false
	l.write.set(c, t)
	l.holder.drop(c)
	if l.otherMarks {
		l.readers.drop(c)
		l.failed.drop(c)
	}
}

func (l *lock) destroy(c *pool, t *thread, inferred bool) {
	for _, ks := range []*marks{&l.reads, &l.readers, &l.failed} {
		if !inferred {
			t.joinAll(c, *ks)
		}
		ks.drop(c)
	}
	for _, k := range []*mark{&l.write, &l.holder} {
		if !inferred {
			t.joinAt(c, k)
		}
		k.drop(c)
	}
}
