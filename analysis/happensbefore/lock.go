package happensbefore

import "github.com/tracepredict/tracepredict/observer/event"

// lock is what is known of a mutex, spin lock or rwlock.
type lock struct {
	init      *mark
	write     mark  // last exclusive release
	reads     marks // shared releases since
	taken     marks // acquires that hold it
	failed    marks // failed attempts since it was taken
	exclusive bool
}

func (a *Analysis) lockEvent(t *thread, e *event.Event) {
	c := &a.clocks
	l := a.locks.known(e.Object)
	if l == nil {
		l = a.locks.get(e.Object)
		l.init = a.inits[e.Object]
	}
	if l.init != nil {
		t.joinAt(c, l.init)
	}
	switch e.Op {
	case event.Acquire:
		t.joinAt(c, &l.write)
		t.joinAll(c, l.reads)
		l.reads.drop(c)
		l.failed.drop(c)
		l.exclusive = true
		l.taken.only(c, t)
		t.take(e)
	case event.AcquireRead:
		t.joinAt(c, &l.write)
		l.exclusive = false
		l.taken.set(c, t)
		t.take(e)
	case event.AcquireFailed:
		t.joinAll(c, l.taken)
		l.failed.set(c, t)
	case event.Release:
		t.joinAll(c, l.failed)
		l.release(c, t)
		t.give(e.Object)
	}
	t.tick()
}

func (l *lock) release(c *pool, t *thread) {
	if !l.exclusive {
		l.reads.cover(c, t)
		return
	}
	l.exclusive = false
	l.write.set(c, t)
	l.taken.drop(c)
	l.failed.drop(c)
}

func (l *lock) destroy(c *pool, t *thread, guessed bool) {
	for _, ks := range []*marks{&l.reads, &l.taken, &l.failed} {
		if !guessed {
			t.joinAll(c, *ks)
		}
		ks.drop(c)
	}
	if !guessed {
		t.joinAt(c, &l.write)
	}
	l.write.drop(c)
}

// only remembers the present event of t alone.
func (ks *marks) only(c *pool, t *thread) {
	if len(*ks) != 1 {
		ks.drop(c)
		*ks = append(*ks, mark{})
	}
	(*ks)[0].set(c, t)
}

// take and give keep account of the locks that a thread holds.
func (t *thread) take(e *event.Event) {
	if t.find(e.Object) < 0 {
		t.held = append(t.held, heldLock{e.Object, e.Place})
		t.changes++
	}
}

func (t *thread) give(lock event.ObjectID) {
	if i := t.find(lock); i >= 0 {
		t.held = append(t.held[:i], t.held[i+1:]...)
		t.changes++
	}
}

func (t *thread) find(lock event.ObjectID) int {
	for i := len(t.held) - 1; i >= 0; i-- {
		if t.held[i].lock == lock {
			return i
		}
	}
	return -1
}
