package order

import (
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// maxMessages bounds the sends, and the receives, of a channel that are kept one by one. Older
// ones are merged into one set, which may add edges but drops none.
const maxMessages = 256

// channel holds the sends and receives of a channel from which later edges may lead. The bytes of
// a channel are numbered from its beginning.
type channel struct {
	sends    queue
	from     []uint64 // for each of sends.kept: the number of its first byte; 0 also if unknown
	receives queue    // Receive and Receiving

	received Ref // the same receives, as one set
	failed   Ref // receives that found nothing
}

// queue holds the sends of a channel, or its receives. The edges to a later event lead from the
// oldest of them, up to a number that the later event determines.
type queue struct {
	past      Ref    // the oldest events, merged: an edge leads from all of them or none
	pastCount uint64 // number of events in past
	kept      []Ref  // the other events, each a set of its own, oldest first
}

// message draws the edges into an event of a channel, and records it.
func (m *Matcher) message(c *channel, e *event.Event) {
	switch e.Op {
	case event.Send:
		m.edge(c.failed, FailureToSend)
	case event.Receive:
		m.edge(c.received, ReceiveToReceive)
	case event.ReceiveFailed:
		m.edge(c.received, ReceiveToFailure)
	}
	if m.wants(SendToReceive) {
		m.transfer(c, e)
	}
	if m.wants(ReceiveToReceive) {
		switch e.Op {
		case event.Receive, event.Receiving:
			m.add(&c.received)
		case event.ReceiveFailed:
			m.add(&c.failed)
		}
	}
}

// transfer draws the edges between sends and receives into an event, and records it.
func (m *Matcher) transfer(c *channel, e *event.Event) {
	valued := e.Flags&event.HasValue != 0
	switch e.Op {
	case event.Send:
		m.send(c, e.Value, valued)
	case event.Sent:
		m.sent(&c.receives, e.Value, valued)
	case event.Receive:
		n := 0
		for n < len(c.from) && (!valued || c.from[n] < e.Value) {
			n++
		}
		c.from = slices.Delete(c.from, 0, n)
		m.consume(&c.sends, n, SendToReceive)
		m.keep(&c.receives)
	case event.Receiving:
		m.keep(&c.receives)
	}
}

// send records a send. If the position of its bytes is not known, any later receive may have
// received them, so all earlier sends are merged into past and its position is 0.
func (m *Matcher) send(c *channel, from uint64, valued bool) {
	if !valued {
		m.mergeOldest(&c.sends, len(c.sends.kept))
		c.from, from = c.from[:0], 0
	}
	m.keep(&c.sends)
	c.from = append(c.from, from)
	c.from = slices.Delete(c.from, 0, len(c.from)-len(c.sends.kept))
}

// sent draws the edges from the receives that made room for a send: the first n of the channel, or
// all so far if n is not known.
func (m *Matcher) sent(receives *queue, n uint64, known bool) {
	if !known {
		n = math.MaxUint64
	}
	if n > receives.pastCount {
		m.consume(receives, int(min(n-receives.pastCount, uint64(len(receives.kept)))), ReceiveToSent)
	} else if n > 0 {
		m.consume(receives, 0, ReceiveToSent)
	}
}

// keep adds the current event to a queue.
func (m *Matcher) keep(q *queue) {
	if len(q.kept) == maxMessages {
		m.mergeOldest(q, 1)
	}
	q.kept = append(q.kept, m.set())
}

// consume draws the edges from past and from the n oldest events in kept, and merges these n into
// past.
func (m *Matcher) consume(q *queue, n int, r Relation) {
	m.edge(q.past, r)
	for _, from := range q.kept[:n] {
		m.edge(from, r)
	}
	m.mergeOldest(q, n)
}

// mergeOldest merges the n oldest events in kept into past.
func (m *Matcher) mergeOldest(q *queue, n int) {
	for i := range q.kept[:n] {
		m.merge(&q.past, q.kept[i])
		m.release(&q.kept[i])
	}
	q.kept = slices.Delete(q.kept, 0, n)
	q.pastCount += uint64(n)
}
