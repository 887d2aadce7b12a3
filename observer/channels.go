package observer

import (
	"fmt"
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Messages between threads, through pipes, sockets, eventfds, timers and futexes. Of a
// call there is a record when it is entered and one when it has returned; the bytes go
// in or out somewhere between. So where in the channel's stream of bytes a send begins,
// and a receive ends, is known within bounds, and the events carry the bounds that draw
// too many edges rather than too few:
//
//   - A Send begins no earlier than behind the bytes of all sends that had returned
//     when it was entered.
//   - A Receive ends no later than the bytes of all receives that have returned reach,
//     and of those that are under way, at their most.
//
// A receive then comes after each send that may begin before its end. This counts
// bytes where all who receive are seen: of a pipe that the program made under
// observation, as long as it has no children. Elsewhere a receive comes after every
// send before it.
//
// A channel has room for so many bytes only; a send beyond waits for a receive. One
// that goes beyond the least room that any channel has is followed by a Sent, which
// comes after the receives that may begin so far before its end.
//
// channels_test.go holds this together with a simulation of a pipe.

// channelKey names a channel: not by the process, since several may have it. A futex
// is an address, which means something in one process alone.
type channelKey struct {
	object uint64
	kind   bpf.ChannelKind
	tgid   uint32
}

// channels are those of a run.
type channels struct {
	known   map[channelKey]*channel
	rest    *channel // of all beyond maxChannels
	inexact bool     // somebody who is not seen may receive, or has sent before
}

// maxChannels bounds the channels that are told apart. Those beyond are one.
const maxChannels = 1 << 12

// channel is what a channel has passed on so far.
type channel struct {
	id    event.ObjectID
	kind  bpf.ChannelKind
	exact bool // all who receive are seen
	tight bool

	sent, received uint64 // bytes, of calls that have returned
	sends          uint64 // that have returned
	sending        []moving
	receiving      []moving

	events   uint64    // Receive and Receiving
	openings []opening // oldest first; only where bytes are counted
	opened   uint64    // events that every Sent knows from now on
}

// moving is a call under way.
type moving struct {
	thread *thread
	bytes  uint64 // at most
	begin  uint64 // of a receive: its bytes are not before
	told   bool   // of a receive: there is an event for it
}

// opening is a receive that makes room: which event it is, and where its bytes begin
// at the earliest.
type opening struct{ event, begin uint64 }

// The least room that a channel has: so many bytes, and where each send takes room of
// its own, so many sends. A pipe has two pages at least. Of what has less BPF tells
// (bpf.ChannelTight); a datagram socket of AF_UNIX holds ten messages.
const (
	roomBytes = 4096
	roomSends = 8
)

func newChannels(attached bool) channels {
	return channels{known: map[channelKey]*channel{}, inexact: attached}
}

// open says that the channels there are have become another's too, who is not seen.
func (cs *channels) open() {
	cs.inexact = true
	for _, c := range cs.known {
		c.exact = false
	}
}

// leave ends what a thread that is gone had under way. How much of it was done nobody
// knows.
func (cs *channels) leave(t *thread) {
	for _, c := range cs.known {
		c.leave(t)
	}
	if cs.rest != nil {
		cs.rest.leave(t)
	}
}

func (c *channel) leave(t *thread) {
	_, received := take(&c.receiving, t)
	_, sent := take(&c.sending, t)
	if received || sent {
		c.exact = false
	}
}

func (cs *channels) remember(needed *event.Names) {
	for _, c := range cs.known {
		needed.Object(c.id)
	}
	if cs.rest != nil {
		needed.Object(cs.rest.id)
	}
}

// add adds without running over.
func add(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// message serves a record of a call that sends or receives.
func (o *Observer) message(t *thread, r *bpf.Record) {
	kind := bpf.ChannelKind(r.Result) &^ bpf.ChannelTight
	switch {
	case kind == bpf.ChannelUnseen:
		o.channels.open()
		return
	case kind < 0 || int(kind) >= len(channelNames):
		return
	}
	if kind == bpf.ChannelFutex && !o.ownFutex(t, r) {
		return
	}
	c := o.channel(t, r, kind)
	switch leave := r.Flags&bpf.RecLeave != 0; {
	case bpf.Op(r.Op) == bpf.OpSend && leave:
		o.sent(t, r, c)
	case bpf.Op(r.Op) == bpf.OpSend:
		o.sends(t, r, c)
	case leave:
		o.received(t, r, c)
	default:
		c.receiving = append(c.receiving, moving{thread: t, bytes: r.Value, begin: c.received})
	}
}

// ownFutex reports whether a futex call is the program's own, and on nothing that is
// observed.
func (o *Observer) ownFutex(t *thread, r *bpf.Record) bool {
	return o.opts.Futex != nil && t.process.objects[r.Object] == nil && o.opts.Futex(r.Tgid, r.Extra, r.Value)
}

// channel returns the channel of a record.
func (o *Observer) channel(t *thread, r *bpf.Record, kind bpf.ChannelKind) *channel {
	cs, key := &o.channels, channelKey{object: r.Object, kind: kind}
	if kind == bpf.ChannelFutex {
		key.tgid = r.Tgid
	}
	c := cs.known[key]
	switch {
	case c != nil:
	case len(cs.known) < maxChannels:
		c = o.newChannel(t, r, kind)
		c.exact = kind == bpf.ChannelPipe && !cs.inexact
		cs.known[key] = c
	default:
		if cs.rest == nil {
			cs.rest = o.newChannel(t, r, bpf.ChannelSocket)
			cs.rest.tight = true
		}
		c = cs.rest
	}
	c.tight = c.tight || bpf.ChannelKind(r.Result)&bpf.ChannelTight != 0
	return c
}

func (o *Observer) newChannel(t *thread, r *bpf.Record, kind bpf.ChannelKind) *channel {
	obj := run.Object{Addr: r.Object, TGID: t.process.id, Kind: event.KindChannel, Name: channelNames[kind], First: event.StackID(r.Stack), FirstThread: t.id}
	if kind == bpf.ChannelPipe {
		obj.Name = fmt.Sprintf("pipe:[%d]", r.Object)
	}
	return &channel{id: o.names.addObject(obj), kind: kind}
}

// channelNames are how reports call channels; a futex is called by its variable.
var channelNames = [...]string{
	bpf.ChannelUnseen: "", bpf.ChannelPipe: "pipe", bpf.ChannelFIFO: "FIFO", bpf.ChannelSocket: "socket", bpf.ChannelEventfd: "eventfd",
	bpf.ChannelTimerfd: "timerfd", bpf.ChannelFutex: "",
}

// position makes the event of a message; its value only where bytes are counted.
func (o *Observer) position(t *thread, r *bpf.Record, op event.Op, c *channel, at uint64) {
	e := o.begin(t, r, op)
	e.Object, e.Kind = c.id, event.KindChannel
	if c.exact && at != math.MaxUint64 {
		e.Value, e.Flags = at, event.HasValue
	}
}

func (o *Observer) sends(t *thread, r *bpf.Record, c *channel) {
	c.sending = append(c.sending, moving{thread: t, bytes: r.Value})
	o.position(t, r, event.Send, c, c.sent)
	o.send()
}

func (o *Observer) sent(t *thread, r *bpf.Record, c *channel) {
	take(&c.sending, t)
	if r.Flags&bpf.RecFailed != 0 {
		return
	}
	bytes := r.Value
	if c.kind == bpf.ChannelFutex || c.kind == bpf.ChannelTimerfd {
		bytes = 0
	}
	end := add(c.sent, bytes)
	for _, x := range c.sending {
		end = add(end, x.bytes)
	}
	c.sent = add(c.sent, bytes)
	c.sends++
	if bytes > 0 && c.full(end) {
		o.roomMade(t, r, c, end)
	}
}

// full reports whether a send that ends there may have waited for room.
func (c *channel) full(end uint64) bool {
	switch c.kind {
	case bpf.ChannelPipe, bpf.ChannelFIFO:
		return c.tight || end > roomBytes
	case bpf.ChannelSocket:
		return c.tight || end > roomBytes || c.sends > roomSends
	}
	return false
}

// roomMade tells that a send has returned that ends there at the latest.
func (o *Observer) roomMade(t *thread, r *bpf.Record, c *channel, end uint64) {
	o.tellReceiving(c, t)
	counted := c.exact && !c.tight
	if counted && c.knownBy(end) == 0 {
		return
	}
	e := o.begin(t, r, event.Sent)
	e.Object, e.Kind = c.id, event.KindChannel
	if counted {
		e.Value, e.Flags = c.knownBy(end), event.HasValue
	}
	o.send()
}

// knownBy counts the events, from the first on, that come before the return of a send
// that ends there: the receives of what lies before the room.
func (c *channel) knownBy(end uint64) uint64 {
	past := 0
	for past < len(c.openings) && c.sent > roomBytes && c.openings[past].begin < c.sent-roomBytes {
		c.opened = max(c.opened, c.openings[past].event)
		past++
	}
	c.openings = slices.Delete(c.openings, 0, past)
	n := c.opened
	for _, x := range c.openings {
		if x.begin < end-roomBytes {
			n = max(n, x.event)
		}
	}
	return n
}

// opens remembers the event of a receive that is its first.
func (c *channel) opens(m moving) {
	c.events++
	if !c.exact || m.told {
		return
	}
	c.openings = append(c.openings, opening{c.events, m.begin})
	if len(c.openings) > maxOpenings {
		c.opened = max(c.opened, c.openings[0].event)
		c.openings = slices.Delete(c.openings, 0, 1)
	}
}

// maxOpenings bounds the receives that are told apart.
const maxOpenings = 1 << 10

// received serves the return of a receive. What was nothing, the end of the stream,
// comes after all that was sent.
func (o *Observer) received(t *thread, r *bpf.Record, c *channel) {
	m, _ := take(&c.receiving, t)
	if r.Flags&bpf.RecFailed != 0 {
		if int64(r.Value) == -nothingThere && c.kind != bpf.ChannelFutex {
			o.tellReceiving(c, t)
			e := o.begin(t, r, event.ReceiveFailed)
			e.Object, e.Kind = c.id, event.KindChannel
			o.send()
		}
		return
	}
	o.tellReceiving(c, t)
	c.opens(m)
	end := uint64(math.MaxUint64)
	if c.kind != bpf.ChannelFutex && r.Value != 0 {
		c.received = add(c.received, r.Value)
		end = c.received
		for _, x := range c.receiving {
			end = add(end, x.bytes)
		}
	}
	o.position(t, r, event.Receive, c, end)
	o.send()
}

// nothingThere is EAGAIN.
const nothingThere = 11

// tellReceiving makes events of the receives under way: they may have had their bytes
// before those of t, or made room. Their threads have done nothing since they were
// entered, so the events are as good as if they had been made then.
func (o *Observer) tellReceiving(c *channel, t *thread) {
	for i := range c.receiving {
		x := &c.receiving[i]
		if x.told || x.thread == t {
			continue
		}
		c.opens(*x)
		x.told = true
		e := o.begin(x.thread, nil, event.Receiving)
		e.Object, e.Kind, e.Flags = c.id, event.KindChannel, event.Inferred
		o.send()
	}
}

// take removes the call that a thread has under way.
func take(calls *[]moving, t *thread) (m moving, known bool) {
	i := slices.IndexFunc(*calls, func(m moving) bool { return m.thread == t })
	if i < 0 {
		return m, false
	}
	m = (*calls)[i]
	*calls = slices.Delete(*calls, i, i+1)
	return m, true
}
