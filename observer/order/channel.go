package order

import (
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// maxMessages bounds the sends, and the receives, that are kept of a channel. Older ones are
// known with any then: more edges, never fewer.
const maxMessages = 256

// channel is what may still matter of the messages of a channel.
type channel struct {
	sends    queue
	from     []uint64 // of the sends that are kept: no byte of them is before
	receives queue

	received Ref // who received, or may have
	failed   Ref // who found nothing to receive
}

// queue is events of a channel, oldest first, of which a later event knows the first so
// many.
type queue struct {
	past Ref // those that are not kept: whoever knows any of them knows all
	gone uint64
	kept []Ref
}

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

// transfer keeps sends and receives, and draws the edges between them.
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
		m.know(&c.sends, n, SendToReceive)
		m.keep(&c.receives)
	case event.Receiving:
		m.keep(&c.receives)
	}
}

// send keeps a send. One whose position is not known may be what any receive has.
func (m *Matcher) send(c *channel, from uint64, valued bool) {
	if !valued {
		m.pass(&c.sends, len(c.sends.kept))
		c.from, from = c.from[:0], 0
	}
	m.keep(&c.sends)
	c.from = append(c.from, from)
	c.from = slices.Delete(c.from, 0, len(c.from)-len(c.sends.kept))
}

// sent draws the edges from the receives that made room, the first so many or all.
func (m *Matcher) sent(q *queue, first uint64, valued bool) {
	if !valued {
		first = math.MaxUint64
	}
	if first > q.gone {
		m.know(q, int(min(first-q.gone, uint64(len(q.kept)))), ReceiveToSent)
	} else if first > 0 {
		m.know(q, 0, ReceiveToSent)
	}
}

// keep adds the event at hand to a queue.
func (m *Matcher) keep(q *queue) {
	if len(q.kept) == maxMessages {
		m.pass(q, 1)
	}
	q.kept = append(q.kept, m.set())
}

// know draws the edges from the n oldest that are kept, which then are known with any.
func (m *Matcher) know(q *queue, n int, r Relation) {
	m.edge(q.past, r)
	for _, from := range q.kept[:n] {
		m.edge(from, r)
	}
	m.pass(q, n)
}

// pass keeps the n oldest no longer.
func (m *Matcher) pass(q *queue, n int) {
	for i := range q.kept[:n] {
		m.merge(&q.past, q.kept[i])
		m.release(&q.kept[i])
	}
	q.kept = slices.Delete(q.kept, 0, n)
	q.gone += uint64(n)
}
