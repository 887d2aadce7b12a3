package clock

import (
	"math"

	"github.com/tracepredict/tracepredict/observer/event"
)

// channel is what may still matter of the messages of a channel. A receive comes after
// the sends that may begin before its end, also those whose bytes others have had: it
// could not have had its own otherwise. Likewise a send that waited for room comes after
// the receives that made it.
type channel struct {
	sends    passed
	from     []uint64 // of the sends that are kept: no byte of them is before
	receives passed
}

// passed is events of a channel, oldest first, of which a later event knows the first
// so many.
type passed struct {
	past clock // of those that are not kept: whoever knows any, knows these
	gone uint64
	kept []mark
}

// maxPassed bounds the events that are kept. Older ones are known with any then: more
// edges, never fewer.
const maxPassed = 256

func (p *passed) add(t *thread) {
	if len(p.kept) == maxPassed {
		p.pass(1)
	}
	var k *mark
	p.kept, k = push(p.kept)
	k.set(t)
}

// pass keeps the n oldest no longer; the buffers behind are used again.
func (p *passed) pass(n int) {
	for i := range p.kept[:n] {
		p.past.join(p.kept[i].clock)
	}
	for i := n; i < len(p.kept); i++ {
		p.kept[i-n], p.kept[i] = p.kept[i], p.kept[i-n]
	}
	p.kept = p.kept[:len(p.kept)-n]
	p.gone += uint64(n)
}

// know draws the edges from the n oldest that are kept, which then are known with any.
func (p *passed) know(t *thread, n int) {
	p.pass(n)
	t.joinClock(p.past)
}

func (o *object) messages() *channel {
	if o.channel == nil {
		o.channel = &channel{}
	}
	return o.channel
}

// send keeps a send. One whose position is not known may be what any receive has.
func (c *channel) send(t *thread, e *event.Event) {
	from := e.Value
	if e.Flags&event.HasValue == 0 {
		c.sends.pass(len(c.sends.kept))
		c.from, from = c.from[:0], 0
	}
	c.sends.add(t)
	c.from = append(c.from, from)
	c.from = c.from[:copy(c.from, c.from[len(c.from)-len(c.sends.kept):])]
}

// receive draws the edges from the sends that a receive may have received from.
func (o *object) receive(t *thread, e *event.Event) {
	if o == nil || o.channel == nil {
		return
	}
	c, n := o.channel, 0
	for n < len(c.from) && (e.Flags&event.HasValue == 0 || c.from[n] < e.Value) {
		n++
	}
	c.from = c.from[:copy(c.from, c.from[n:])]
	c.sends.know(t, n)
}

// sent draws the edges from the receives that made room.
func (o *object) sent(t *thread, e *event.Event) {
	if o == nil || o.channel == nil {
		return
	}
	p, want := &o.channel.receives, uint64(math.MaxUint64)
	if e.Flags&event.HasValue != 0 {
		want = e.Value
	}
	if want > p.gone {
		p.know(t, int(min(want-p.gone, uint64(len(p.kept)))))
	} else if want > 0 {
		p.know(t, 0)
	}
}
