package lockout

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// The bounds of chains.
const (
	maxChain  = 4  // requests of a chain
	maxChains = 16 // chains of one join that are followed
)

// join is a join, with what its thread holds then.
type join struct {
	event.Event
	held []request
}

// chain is a search for the chains of requests that lead from what the thread of a join holds to the thread to join: each
// is by another thread, for something that the thread of the one before it holds at its request.
type chain struct {
	s        *search
	join     *join
	from     request // what the joining thread holds
	requests []request
	followed int
}

// behindOthers adds the candidates for a join whose thread holds what the joined thread requests only by way of others.
func (s *search) behindOthers(j *join) {
	c := chain{s: s, join: j}
	for _, c.from = range j.held {
		c.follow(c.from.object, c.from.shared)
	}
}

// follow follows the chains whose next request is for an object, of which a thread holds a part if shared.
func (c *chain) follow(object event.ObjectID, shared bool) {
	for _, r := range c.next(object, shared) {
		if c.followed >= maxChains {
			return
		}
		c.requests = append(c.requests, r)
		switch {
		case r.thread == c.join.Peer:
			c.followed++
			c.end()
		case len(c.requests) < maxChain:
			for _, w := range r.within {
				c.follow(w.object, false)
			}
		}
		c.requests = c.requests[:len(c.requests)-1]
	}
}

// next returns the requests by which a chain may go on: of each thread that has none in it, at each call stack, the
// last one before the join and the first one after it.
func (c *chain) next(object event.ObjectID, shared bool) []request {
	matches := func(r request) bool {
		return r.thread != c.join.Thread && !(r.shared && shared) && (r.thread == c.join.Peer || len(r.within) > 0) &&
			!slices.ContainsFunc(c.requests, func(o request) bool { return o.thread == r.thread })
	}
	all := c.s.requests[object]
	out := lastOf(all, c.join.Seq, matches)
	for _, r := range all {
		if r.seq > c.join.Seq && matches(r) && !slices.ContainsFunc(out, func(o request) bool { return o.seq > c.join.Seq && r.isLike(o) }) {
			out = append(out, r)
		}
	}
	return out
}

// end adds the candidate of a chain that has come to the thread to join. One of a single request is added at the join.
func (c *chain) end() {
	if len(c.requests) < 2 {
		return
	}
	var later []uint64
	for _, r := range c.requests {
		later = append(later, r.seq)
	}
	c.s.add(&c.join.Event, c.from, c.requests[len(c.requests)-1], Candidate{Later: later})
}
