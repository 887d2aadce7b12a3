package causality

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// barrier is the rounds that not everybody has left. A round takes no more arrivals
// once it is full or somebody has departed.
type barrier struct {
	size     uint64 // 0: unknown
	rounds   []round
	last     Clock // all arrivals
	previous Clock // those before the last round
}

type round struct {
	clock   Clock
	inside  []event.ThreadID
	arrived uint64
	closed  bool
}

// gather opens a round where the last one takes no more arrivals, and puts the arrival
// of t behind those of earlier rounds.
func (o *object) gather(t *thread) {
	if o.barrier == nil {
		o.barrier = &barrier{}
	}
	b := o.barrier
	if n := len(b.rounds); n == 0 || b.rounds[n-1].closed {
		b.previous.join(b.last)
		b.rounds = pushed(b.rounds)
		r := &b.rounds[len(b.rounds)-1]
		*r = round{clock: r.clock[:0], inside: r.inside[:0]}
	}
	t.join(b.previous)
}

func (o *object) arrive(t *thread, id event.ThreadID) {
	b := o.barrier
	r := &b.rounds[len(b.rounds)-1]
	b.last.join(t.clock)
	r.clock.join(t.clock)
	r.inside = append(r.inside, id)
	r.arrived++
	r.closed = r.arrived == b.size
}

func (o *object) depart(t *thread, id event.ThreadID) {
	if o.barrier == nil {
		return
	}
	rounds := o.barrier.rounds
	for i := range rounds {
		r := &rounds[i]
		at := slices.Index(r.inside, id)
		if at < 0 {
			continue
		}
		t.join(r.clock)
		r.closed = true
		if r.inside = slices.Delete(r.inside, at, at+1); len(r.inside) == 0 {
			o.barrier.rounds = taken(rounds, i)
		}
		return
	}
}

// maxPosts bounds the posts that are remembered until a wait takes them.
const maxPosts = 1024

// semaphore matches post j with wait v+j, v being the initial value.
type semaphore struct {
	credit uint64  // waits that need no post: what is left of v
	posts  []Clock // not yet taken, oldest first
	last   Clock   // of the last wait that was let through
	failed Clock   // failures since the last post
}

func (s *semaphore) before(t *thread, op event.Op) {
	if s == nil {
		return
	}
	switch op {
	case event.SemPost:
		t.join(s.failed)
	case event.SemFailed:
		t.join(s.last)
	case event.SemWait:
		if s.credit == 0 && len(s.posts) > 0 {
			t.join(s.posts[0])
		}
	}
}

// after is false where the semaphore can no longer be followed.
func (s *semaphore) after(t *thread, op event.Op) bool {
	switch op {
	case event.SemPost:
		s.failed = s.failed[:0]
		s.posts = pushed(s.posts)
		s.posts[len(s.posts)-1].set(t.clock)
		return len(s.posts) < maxPosts
	case event.SemFailed:
		s.failed.join(t.clock)
	case event.SemWait:
		s.last.set(t.clock)
		switch {
		case s.credit > 0:
			s.credit--
		case len(s.posts) > 0:
			s.posts = taken(s.posts, 0)
		default:
			return false // a post was not seen
		}
	}
	return true
}

// pushed lengthens s by one and keeps what its spare capacity holds, so that buffers
// are used again.
func pushed[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}

// taken is s without element i, which it keeps in its spare capacity.
func taken[T any](s []T, i int) []T {
	x := s[i]
	copy(s[i:], s[i+1:])
	s[len(s)-1] = x
	return s[:len(s)-1]
}
