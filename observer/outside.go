package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file handles messages through processes that are not observed: a filter on two pipes, a server
// on this machine. If one thread sends to such a process, what another thread then receives from
// such a process may be its answer. The receive is a doubt, if
//
//   - what it received no observed thread has sent,
//   - another thread has sent something since there were two threads that no observed thread has
//     received: data, the end of a channel, a signal to such a process, or such a process itself,
//   - and the other end is neither on another machine nor a client, which may ask what it likes
//     (bpf.ChannelFar).
//
// What goes to standard output and standard error counts as no message: nobody there is expected to
// answer. So a receive is no doubt in a server whose clients are on other machines, nor in a program
// that only reads its input and prints.

// outside counts what was sent and that no observed thread has received.
type outside struct {
	sender *thread // nil: nothing
	many   bool    // several threads have sent it
}

// markOutside records that t sends on a channel.
func (ms *messages) markOutside(t *thread, r *bpf.Record, c *channel) {
	switch c.kind {
	case bpf.ChannelPipe, bpf.ChannelFIFO, bpf.ChannelSocket, bpf.ChannelTerminal, bpf.ChannelEventfd:
	default:
		return
	}
	if ms.names.lastThread < 2 || bpf.ChannelKind(r.Result)&bpf.ChannelFar != 0 {
		return
	}
	switch out := &c.outside; {
	case out.sender == nil:
		*out = outside{sender: t}
		t.outside++
		ms.channels.outside++
	case out.sender != t && !out.many:
		out.sender.outside--
		out.many = true
	}
}

// unmarkOutside records that an observed thread has received from a channel.
func (ms *messages) unmarkOutside(c *channel) {
	if c.outside.sender == nil {
		return
	}
	if !c.outside.many {
		c.outside.sender.outside--
	}
	ms.channels.outside--
	c.outside = outside{}
}

// notifiesOutside records that t makes a process that is not observed, or sends it a signal.
func (ms *messages) notifiesOutside(t *thread) {
	if ms.names.lastThread < 2 || t.notifiedOutside {
		return
	}
	t.notifiedOutside = true
	t.outside++
	ms.channels.outside++
}

// counted reports whether what is sent and received on a channel is counted in bytes that are received once.
func counted(kind bpf.ChannelKind) bool { return kind == bpf.ChannelPipe || kind == bpf.ChannelFIFO }

// fromOutside handles that t has received from a channel, or knows that it can: that more bytes are in
// the channel, or with end that no more will come. C is nil if no observed thread has used the channel.
func (ms *messages) fromOutside(t *thread, kind bpf.ChannelKind, c *channel, more uint64, end bool) {
	if c != nil && (end || !counted(kind) || add(c.received, more) >= c.sent) {
		ms.unmarkOutside(c)
	}
	if ms.channels.outside > t.outside && ms.sentOutside(kind, c, more, end) {
		ms.doubt(t, doubtOutside)
	}
}

// sentOutside reports whether no observed thread has sent what was received.
func (ms *messages) sentOutside(kind bpf.ChannelKind, c *channel, more uint64, end bool) bool {
	unsent := c == nil || c.sends == 0 && len(c.sending) == 0
	switch kind {
	case bpf.ChannelPipe, bpf.ChannelFIFO:
		return unsent || end && ms.stats.Children > 0 || !end && add(c.received, more) > c.mayHaveSent()
	case bpf.ChannelSocket, bpf.ChannelTerminal:
		return unsent || end && ms.stats.Children > 0
	case bpf.ChannelEventfd:
		return unsent && ms.stats.Children > 0
	}
	return false
}

// mayHaveSent returns how many bytes observed threads have sent at most.
func (c *channel) mayHaveSent() uint64 {
	n := c.sent
	for _, x := range c.sending {
		n = add(n, x.bytes)
	}
	return n
}

// maxRelays bounds the calls under way that can move data on to one receive.
const maxRelays = 8

// relayed handles that t has received from a channel into which calls under way move what they receive
// from others (splice): it may be from there already.
func (ms *messages) relayed(t *thread, r *bpf.Record, c *channel, depth int) {
	if depth == maxRelays {
		return
	}
	for _, x := range c.sending {
		if x.from != nil && x.thread != t {
			ms.receiveAll(t, r, x.from)
			ms.relayed(t, r, x.from, depth+1)
		}
	}
}

// receiveAll sends a Receive of all that was sent on a channel.
func (ms *messages) receiveAll(t *thread, r *bpf.Record, c *channel) {
	c.addReceive(channelCall{reported: true})
	ms.position(t, r, event.Receive, c, allSent)
	ms.send()
}
