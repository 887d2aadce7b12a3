package clock

import "github.com/tracepredict/tracepredict/observer/event"

// maxPosts bounds the posts that are remembered until a wait takes them. Beyond
// it the oldest is forgotten, and the wait that it let through gets no edge.
const maxPosts = 1024

// semaphore matches post j with wait v+j, v being the initial value.
type semaphore struct {
	known  bool   // v is
	credit uint64 // waits that need no post: what is left of v
	posts  []mark // not yet taken, oldest first
	poster event.ThreadID
	mixed  bool // more than one thread has posted

	last   mark  // the last wait that was let through
	failed clock // failures since the last post
}

func (m *Must) semPost(t *thread, o *object, id event.ThreadID) {
	s := o.semaphore()
	s.failed = s.failed[:0]
	if s.poster != 0 && s.poster != id {
		s.mixed = true
	}
	s.poster = id
	if !s.known || (s.mixed && !m.sync) {
		s.posts = s.posts[:0]
		return
	}
	if len(s.posts) == maxPosts {
		s.posts = remove(s.posts, 0)
		s.credit++
	}
	var k *mark
	s.posts, k = push(s.posts)
	k.set(t)
}

// semWait draws post j → wait v+j: a must while one thread alone posts, for whoever
// waits then needs that very post.
func (m *Must) semWait(t *thread, o *object) {
	if o == nil || o.sem == nil || !o.sem.known {
		return
	}
	s := o.sem
	switch {
	case s.credit > 0:
		s.credit--
	case len(s.posts) > 0:
		if m.sync || !s.mixed {
			t.join(&s.posts[0])
		}
		s.posts = remove(s.posts, 0)
	}
}

// settle remembers a wait or a failure for the observed order.
func (s *semaphore) settle(t *thread, op event.Op) {
	if op == event.SemFailed {
		s.failed.join(t.clock)
		return
	}
	s.last.set(t)
}

// lock is what the observed order knows of a lock: a write lock is a write, a
// read lock and its unlock are reads of the lock variable.
type lock struct {
	write     mark  // last exclusive release
	reads     clock // shared releases since
	taken     clock // acquires that hold it
	failed    clock // failed attempts since it was taken
	exclusive bool
}

// acquire draws, in the observed order, unlock → lock and holder's lock → failure.
func (m *Must) acquire(t *thread, o *object, op event.Op) {
	if !m.sync || o == nil || o.lock == nil {
		return
	}
	l := o.lock
	if op == event.AcquireFailed {
		t.joinClock(l.taken)
		return
	}
	t.join(&l.write)
	if op == event.Acquire {
		t.joinClock(l.reads)
	}
}

// passed remembers what a thread did to the lock.
func (l *lock) passed(t *thread, e *event.Event) {
	switch e.Op {
	case event.AcquireFailed:
		l.failed.join(t.clock)
	case event.Acquire:
		l.exclusive = true
		l.reads, l.failed = l.reads[:0], l.failed[:0]
		l.taken.copy(t.clock)
	case event.AcquireRead:
		l.exclusive = false
		l.taken.join(t.clock)
	case event.Release:
		l.released(t)
	}
}

func (l *lock) released(t *thread) {
	if !l.exclusive {
		l.reads.join(t.clock)
		return
	}
	l.exclusive = false
	l.write.set(t)
	l.taken, l.failed = l.taken[:0], l.failed[:0]
}
