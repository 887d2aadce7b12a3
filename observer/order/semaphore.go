package order

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

const (
	// maxPosts bounds the posts that are kept until they are matched with a wait.
	maxPosts = 1 << 12
	// maxWaiters bounds the threads that are known to have waited.
	maxWaiters = 32
)

// semaphore matches post j with wait v+j, v being the initial value.
type semaphore struct {
	counted     bool             // v is known
	mixed       bool             // more than one thread has posted, or one that had waited
	initialLeft uint64           // number of waits to come that need no post: the rest of v
	poster      event.ThreadID   // of the last post; 0: there is none
	posts       []Ref            // oldest first
	matched     int              // number of posts, at the head of posts, that have been matched
	posted      Ref              // all posts, while v is unknown
	waiters     []event.ThreadID // the first maxWaiters threads that have waited
	last        Ref              // the last wait
	waits       Ref              // all waits
	failed      Ref              // failed attempts since the last post
}

// Counted reports whether the object is a semaphore whose value is known.
func (o *Object) Counted() bool { return o.semaphore != nil && o.semaphore.counted }

// SinglePoster reports whether the object is a semaphore to which only one thread has posted so far, one
// that had not waited for it before.
func (o *Object) SinglePoster() bool { return o.semaphore != nil && !o.semaphore.mixed }

// Uncount makes the value of a semaphore unknown from now on.
func (o *Object) Uncount() {
	if o.semaphore != nil {
		o.semaphore.counted = false
	}
}

// relation returns the row of the table for a post and its wait.
func (s *semaphore) relation() Relation {
	switch {
	case !s.counted:
		return PostToUncountedWait
	case s.mixed:
		return AnyPostToWait
	}
	return PostToWait
}

// post draws the edges from the failed attempts before a post, and records the post.
func (m *Matcher) post(s *semaphore, thread event.ThreadID) {
	m.edge(s.failed, FailureToPost)
	m.release(&s.failed)
	s.mixed = s.mixed || s.poster != 0 && s.poster != thread || slices.Contains(s.waiters, thread)
	s.poster = thread
	if !s.counted && m.wants(EarlierPostToUncountedWait) {
		m.add(&s.posted)
	}
	if !m.wants(s.relation()) {
		m.dropPosts(s)
		return
	}
	if len(s.posts)-s.matched == maxPosts {
		m.overflow(s)
	}
	s.posts = append(s.posts, m.set())
}

// overflow discards the oldest post. The wait that it lets through then has no edge. Where the
// analysis wants Kept, that wait is matched with a later post instead: that requires more
// posts than are needed, never fewer.
func (m *Matcher) overflow(s *semaphore) {
	m.dropOldest(s)
	m.match.Unexplained = true
	if m.want&Kept == 0 {
		s.initialLeft++
	}
}

// dropOldest removes the oldest post from those that wait for a match. The list moves to the
// front of its memory only once half of it is matched, so that a removal costs amortised O(1).
func (m *Matcher) dropOldest(s *semaphore) {
	m.release(&s.posts[s.matched])
	s.matched++
	if 2*s.matched >= len(s.posts) {
		s.posts = append(s.posts[:0], s.posts[s.matched:]...)
		s.matched = 0
	}
}

// dropPosts removes all posts.
func (m *Matcher) dropPosts(s *semaphore) {
	for i := range s.posts {
		m.release(&s.posts[i])
	}
	s.posts, s.matched = s.posts[:0], 0
}

// semWait draws the edge from the post that let a wait through, and records the wait.
func (m *Matcher) semWait(s *semaphore, thread event.ThreadID) {
	if len(s.waiters) < maxWaiters && !slices.Contains(s.waiters, thread) {
		s.waiters = append(s.waiters, thread)
	}
	switch {
	case s.initialLeft > 0:
		s.initialLeft--
	case len(s.posts) > s.matched:
		m.edge(s.posts[s.matched], s.relation())
		m.dropOldest(s)
	default:
		m.match.Unexplained = true
	}
	if !s.counted {
		m.edge(s.posted, EarlierPostToUncountedWait)
	}
	if m.wants(WaitToFailure) {
		m.replace(&s.last)
	}
	if m.wants(EarlierWaitToFailure) {
		m.add(&s.waits)
	}
}

// fail draws the edges from earlier waits to a failed attempt, and records the attempt.
func (m *Matcher) fail(s *semaphore) {
	m.edge(s.last, WaitToFailure)
	m.edge(s.waits, EarlierWaitToFailure)
	if m.wants(FailureToPost) {
		m.add(&s.failed)
	}
}
