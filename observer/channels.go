package observer

import (
	"fmt"
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file handles messages between threads through pipes, sockets, eventfds, timers and
// futexes. A call has one record at its entry and one at its return; its bytes move at some
// time between the two. So the position in the channel's stream of bytes at which a send
// begins, and at which a receive ends, is known only within bounds. The events carry the
// bounds that cause too many happens-before edges rather than too few:
//
//   - A Send begins, at the earliest, behind the bytes of all sends that had returned
//     when it was entered.
//   - A Receive ends, at the latest, behind the bytes of all receives that have returned
//     and the largest possible number of bytes of those that have not.
//
// A receive then happens after each send that may begin before its end. Bytes are counted
// only if all receivers are observed: for a pipe that the program made under
// observation, as long as it has no unobserved child processes. In any other channel a
// receive happens after every earlier send.
//
// A channel has room for a limited number of bytes; a send beyond that waits for a receive.
// A send that may exceed the smallest room of any channel is followed by a Sent event. The
// Sent happens after each receive that may begin more than that room before its end.
//
// channels_test.go compares this with a simulation of a pipe.

// channelKey identifies a channel. It has no process, because several may share the
// channel; only a futex, which is an address, belongs to one process.
type channelKey struct {
	object uint64
	kind   bpf.ChannelKind
	tgid   uint32 // of a futex or of signals, the process or the thread; else 0
	owner  uint64 // distinguishes the channels of one object; see notices.go
}

// messages handles what goes from thread to thread through the kernel: bytes, and notices (notices.go).
type messages struct {
	*core
	channels
	notices  notices
	follow   bool                                      // Options.Follow
	futex    func(tgid uint32, ip, caller uint64) bool // Options.Futex
	observes func(tgid uint32) bool                    // reports whether a process is observed
}

func newMessages(c *core, opts *Options, observes func(tgid uint32) bool) messages {
	return messages{
		core: c, channels: newChannels(opts.Attached), follow: opts.Follow, futex: opts.Futex, observes: observes,
	}
}

// threadMessages is what messages knows of a thread.
type threadMessages struct {
	receiving       *channel // of its current call; nil: none
	outside         int      // channels and others of channels.outside of which it is the only sender
	notifiedOutside bool     // it has made a process that is not observed, or sent it a signal
}

// channels are the channels of a run.
type channels struct {
	known    map[channelKey]*channel
	overflow *channel // stands for all channels beyond maxChannels; nil if there are none
	inexact  bool     // an unobserved process or call may receive, or may have sent before
	outside  int      // how often something was sent that no observed thread has received; see outside.go
}

// maxChannels bounds the channels that are distinguished. All others share one channel.
const maxChannels = 1 << 12

// channel is the state of a channel.
type channel struct {
	id    event.ObjectID
	kind  bpf.ChannelKind
	exact bool // all receivers are observed, so that bytes are counted
	tight bool // bpf.ChannelTight was seen: a send may wait for room at any fill level

	outside outside
	pending uint64 // of a signal: how often it was sent and has not come

	sent, received uint64 // bytes of the calls that have returned
	sends          uint64 // number of sends that have returned
	sending        []channelCall
	receiving      []channelCall

	events   uint64         // number of Receive and Receiving events
	receives []receiveEvent // oldest first; only where bytes are counted
	ordered  uint64         // number of the last event that happens before every Sent from now on
}

// channelCall is a send or receive that has not returned.
type channelCall struct {
	thread   *thread
	bytes    uint64   // largest number of bytes that it may move
	begin    uint64   // the earliest position of its bytes in the stream
	reported bool     // of a receive: a Receiving event was made for it
	from     *channel // of a send: where the call itself receives what it sends (splice); else nil
}

// receiveEvent is the first event of a receive: its number among the events of the channel, from 1,
// and the earliest position of the received bytes in the stream.
type receiveEvent struct{ event, begin uint64 }

// The smallest room of a channel, in bytes and, where each send takes room of its own, in
// sends. A pipe has at least two pages. BPF marks channels with less room
// (bpf.ChannelTight); a datagram socket of AF_UNIX holds ten messages.
const (
	roomBytes = 4096
	roomSends = 8
)

func newChannels(attached bool) channels {
	return channels{known: map[channelKey]*channel{}, inexact: attached}
}

// has reports whether a channel was used.
func (cs *channels) has(key channelKey) bool { return cs.known[key] != nil }

// setInexact records that an unobserved process or call may use all channels from now on.
func (cs *channels) setInexact() {
	cs.inexact = true
	for _, c := range cs.known {
		c.exact = false
	}
}

// leave removes the calls of an ended thread that have not returned. It is unknown how many
// bytes they moved.
func (cs *channels) leave(t *thread) {
	for _, c := range cs.known {
		c.leave(t)
	}
	if cs.overflow != nil {
		cs.overflow.leave(t)
	}
}

func (c *channel) leave(t *thread) {
	_, received := removeCall(&c.receiving, t)
	send, sent := removeCall(&c.sending, t)
	if sent {
		c.sent = add(c.sent, send.bytes)
	}
	if received || sent {
		c.exact = false
	}
}

func (cs *channels) remember(needed *event.Names) {
	for _, c := range cs.known {
		needed.AddObject(c.id)
	}
	if cs.overflow != nil {
		needed.AddObject(cs.overflow.id)
	}
}

// add returns a+b, or the largest uint64 if the sum overflows.
func add(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// channelKind returns the kind of channel of a record.
func channelKind(r *bpf.Record) bpf.ChannelKind {
	return bpf.ChannelKind(r.Result) & (1<<bpf.ChannelOfFD - 1) &^ (bpf.ChannelTight | bpf.ChannelReady | bpf.ChannelFar)
}

// message handles the record of a call that sends or receives.
func (ms *messages) message(t *thread, r *bpf.Record, kind bpf.ChannelKind) {
	switch {
	case kind == bpf.ChannelUnseen:
		ms.setInexact()
		return
	case int(kind) >= len(channelNames):
		return
	case isNotice(r, kind):
		ms.notice(t, r, kind)
		return
	}
	if kind == bpf.ChannelFutex && !ms.ownFutex(t, r) {
		return
	}
	c := ms.channel(t, r, kind)
	switch leave := r.Flags&bpf.RecLeave != 0; {
	case bpf.Op(r.Op) == bpf.OpSend && leave:
		ms.sent(t, r, c)
	case bpf.Op(r.Op) == bpf.OpSend:
		ms.sends(t, r, c)
	case leave:
		ms.received(t, r, c)
	default:
		t.receiving = c
		c.receiving = append(c.receiving, channelCall{thread: t, bytes: r.Value, begin: c.received})
	}
}

// ownFutex reports whether a futex call was made by the program's own code, on a word that
// is not at the address of an observed object.
func (ms *messages) ownFutex(t *thread, r *bpf.Record) bool {
	return ms.futex != nil && t.process.objects[r.Object] == nil && ms.futex(r.Tgid, r.Ip(), r.Value)
}

// channel returns the channel of a record.
func (ms *messages) channel(t *thread, r *bpf.Record, kind bpf.ChannelKind) *channel {
	key := channelKey{object: r.Object, kind: kind}
	if kind == bpf.ChannelFutex {
		key.tgid = r.Tgid
	}
	c := ms.channelAt(t, r, key)
	c.tight = c.tight || bpf.ChannelKind(r.Result)&bpf.ChannelTight != 0
	return c
}

// channelAt returns the channel with a key, and makes it at a record if there is none.
func (ms *messages) channelAt(t *thread, r *bpf.Record, key channelKey) *channel {
	cs := &ms.channels
	if c := cs.known[key]; c != nil {
		return c
	}
	if len(cs.known) < maxChannels {
		c := ms.newChannel(t, r, key.kind)
		c.exact = key.kind == bpf.ChannelPipe && !cs.inexact
		cs.known[key] = c
		return c
	}
	if cs.overflow == nil {
		cs.overflow = ms.newChannel(t, r, bpf.ChannelSocket)
		cs.overflow.tight = true
	}
	return cs.overflow
}

func (ms *messages) newChannel(t *thread, r *bpf.Record, kind bpf.ChannelKind) *channel {
	obj := run.Object{Addr: r.Object, TGID: t.process.id, Kind: event.KindChannel, Name: channelNames[kind], First: event.StackID(r.Stack), FirstThread: t.id}
	switch kind {
	case bpf.ChannelPipe:
		obj.Name = fmt.Sprintf("pipe:[%d]", r.Object)
	case bpf.ChannelSignal:
		obj.Name = fmt.Sprintf("signal %d", r.Object)
	case bpf.ChannelEventfd:
		obj.Name = fmt.Sprintf("eventfd %d", int64(r.Token()>>bpf.EventfdNumber)-1)
	case bpf.ChannelSemaphore:
		if number := r.Token() & bpf.SemOne; number != 0 {
			obj.Name = fmt.Sprintf("semaphore %d of set %d", number-1, r.Object-1)
		}
	}
	return &channel{id: ms.names.addObject(obj), kind: kind}
}

// channelNames are the names of channels in reports. A futex has the name of its variable.
var channelNames = [...]string{
	bpf.ChannelUnseen: "", bpf.ChannelPipe: "pipe", bpf.ChannelFIFO: "FIFO", bpf.ChannelSocket: "socket", bpf.ChannelEventfd: "eventfd",
	bpf.ChannelTimerfd: "timerfd", bpf.ChannelFutex: "", bpf.ChannelTerminal: "terminal", bpf.ChannelSignal: "signal", bpf.ChannelTimer: "timers", bpf.ChannelEpoll: "epoll",
	bpf.ChannelListener: "listener", bpf.ChannelQueue: "message queue", bpf.ChannelSemaphore: "semaphore set", bpf.ChannelFileLock: "file lock",
	bpf.ChannelChild: "child process", bpf.ChannelDoubt: "", bpf.ChannelWake: "", bpf.ChannelAsked: "", bpf.ChannelDescriptor: "descriptor", channelDeath: "owner's death", channelCancel: "cancellation",
	channelThreadKey: "key", channelRoom: "room of a listener",
}

// position prepares the event of a message at a position of the stream. The event has a
// value only if bytes are counted.
func (ms *messages) position(t *thread, r *bpf.Record, op event.Op, c *channel, at uint64) {
	e := ms.begin(t, r, op)
	e.Object, e.Kind = c.id, event.KindChannel
	if c.exact && at != math.MaxUint64 {
		e.Value, e.Flags = at, event.HasValue
	}
}

func (ms *messages) sends(t *thread, r *bpf.Record, c *channel) {
	from := t.receiving
	if from == c {
		from = nil
	}
	ms.markOutside(t, r, c)
	c.sending = append(c.sending, channelCall{thread: t, bytes: r.Value, begin: c.sent, from: from})
	ms.position(t, r, event.Send, c, c.sent)
	ms.markToken(r, c)
	ms.send()
}

// markToken marks the event of a call that takes the only unit of an eventfd, or gives one where there is none. Where others
// may give or take too, nothing is known of that.
func (ms *messages) markToken(r *bpf.Record, c *channel) {
	if c.kind == bpf.ChannelEventfd && r.Token()&bpf.EventfdToken != 0 && !ms.inexact {
		ms.ev.Flags |= event.Takes
	}
}

func (ms *messages) sent(t *thread, r *bpf.Record, c *channel) {
	m, _ := removeCall(&c.sending, t)
	if r.Flags&bpf.RecFailed != 0 {
		return
	}
	if m.from != nil { // now it comes after what it received
		ms.position(t, r, event.Send, c, m.begin)
		ms.send()
	}
	bytes := r.Value
	switch c.kind {
	case bpf.ChannelFutex, bpf.ChannelTimerfd:
		bytes = 0
	case bpf.ChannelQueue: // messages are counted
		bytes = 1
	}
	end := add(c.sent, bytes)
	for _, x := range c.sending {
		end = add(end, x.bytes)
	}
	c.sent = add(c.sent, bytes)
	c.sends++
	if bytes > 0 && c.mayHaveWaited(end) {
		ms.emitSent(t, r, c, end)
	}
}

// mayHaveWaited reports whether a send that ends at position end may have waited for room.
func (c *channel) mayHaveWaited(end uint64) bool {
	switch c.kind {
	case bpf.ChannelPipe, bpf.ChannelFIFO:
		return c.tight || end > roomBytes
	case bpf.ChannelSocket, bpf.ChannelQueue:
		return c.tight || end > roomBytes || c.sends > roomSends
	}
	return false
}

// emitSent sends the Sent event of a send that has returned and ends at position end at the
// latest. It sends none if bytes are counted and no receive needs to happen before.
func (ms *messages) emitSent(t *thread, r *bpf.Record, c *channel, end uint64) {
	ms.emitReceiving(c, t)
	counted := c.exact && !c.tight
	if counted && c.knownBy(end) == 0 {
		return
	}
	e := ms.begin(t, r, event.Sent)
	e.Object, e.Kind = c.id, event.KindChannel
	if counted {
		e.Value, e.Flags = c.knownBy(end), event.HasValue
	}
	ms.send()
}

// knownBy returns the number of first Receive and Receiving events of the channel that
// happen before the return of a send that ends at position end: up to the last receive
// that may begin more than roomBytes before end. If less than that was sent, a send that waited did
// so for some other reason, such as what the kernel adds to each message, and all receives count.
func (c *channel) knownBy(end uint64) uint64 {
	past := 0
	for past < len(c.receives) && c.sent > roomBytes && c.receives[past].begin < c.sent-roomBytes {
		c.ordered = max(c.ordered, c.receives[past].event)
		past++
	}
	c.receives = slices.Delete(c.receives, 0, past)
	n := c.ordered
	for _, x := range c.receives {
		if end < roomBytes || x.begin < end-roomBytes {
			n = max(n, x.event)
		}
	}
	return n
}

// addReceive counts the event of a receive, and adds a receiveEvent if it is the first event of
// that receive. Beyond maxReceives it discards the oldest receiveEvent, whose event then happens
// before every later Sent.
func (c *channel) addReceive(m channelCall) {
	c.events++
	if !c.exact || m.reported {
		return
	}
	c.receives = append(c.receives, receiveEvent{c.events, m.begin})
	if len(c.receives) > maxReceives {
		c.ordered = max(c.ordered, c.receives[0].event)
		c.receives = slices.Delete(c.receives, 0, 1)
	}
}

// maxReceives bounds the receives that are distinguished in a channel.
const maxReceives = 1 << 10

// received handles the return of a receive. A receive of 0 bytes is the end of the stream,
// and happens after all sends.
func (ms *messages) received(t *thread, r *bpf.Record, c *channel) {
	t.receiving = nil
	m, _ := removeCall(&c.receiving, t)
	failed := r.Flags&bpf.RecFailed != 0
	if failed && !endedBy(c.kind, -int64(r.Value)) {
		if int64(r.Value) == -errAgain && c.kind != bpf.ChannelFutex {
			ms.emitReceiving(c, t)
			e := ms.begin(t, r, event.ReceiveFailed)
			e.Object, e.Kind = c.id, event.KindChannel
			ms.send()
		}
		return
	}
	ms.emitReceiving(c, t)
	c.addReceive(m)
	end := uint64(math.MaxUint64)
	stopped := failed || r.Value == 0
	if c.kind != bpf.ChannelFutex && !stopped {
		c.received = add(c.received, r.Value)
		end = c.received
		for _, x := range c.receiving {
			end = add(end, x.bytes)
		}
	}
	ms.position(t, r, event.Receive, c, end)
	ms.markToken(r, c)
	ms.send()
	if stopped {
		ms.receiveEnds(t, r)
	}
	ms.relayed(t, r, c, 0)
	ms.fromOutside(t, c.kind|bpf.ChannelKind(r.Result)&bpf.ChannelFar, c, 0, stopped)
}

// allSent is the end of a receive that comes after all sends.
const allSent = math.MaxUint64

// Errors of receives.
const (
	errIO      = 5   // EIO: the other end of a terminal was closed
	errAgain   = 11  // EAGAIN
	errPipe    = 32  // EPIPE: the other end was closed
	errRemoved = 43  // EIDRM: the queue was removed, which ended the wait
	errReset   = 104 // ECONNRESET: the other end was closed, with data that it had not received
)

// endedBy reports whether an error of a receive says that the other end is closed, or the channel removed.
func endedBy(kind bpf.ChannelKind, err int64) bool {
	switch kind {
	case bpf.ChannelQueue:
		return err == errRemoved
	case bpf.ChannelTerminal:
		return err == errIO
	case bpf.ChannelFutex:
		return false
	}
	return err == errPipe || err == errReset
}

// emitReceiving sends a Receiving event for each receive of other threads than t that has
// not returned: it may have received its bytes before t did, or have made room. Its
// thread has done nothing since it entered the call, so the event has the clock that it
// would have had at the entry.
func (ms *messages) emitReceiving(c *channel, t *thread) {
	for i := range c.receiving {
		x := &c.receiving[i]
		if x.reported || x.thread == t {
			continue
		}
		c.addReceive(*x)
		x.reported = true
		e := ms.begin(x.thread, nil, event.Receiving)
		e.Object, e.Kind, e.Flags = c.id, event.KindChannel, event.Inferred
		ms.send()
	}
}

// removeCall removes and returns the call of a thread that has not returned; known is false
// if there is none.
func removeCall(calls *[]channelCall, t *thread) (m channelCall, known bool) {
	i := slices.IndexFunc(*calls, func(m channelCall) bool { return m.thread == t })
	if i < 0 {
		return m, false
	}
	m = (*calls)[i]
	*calls = slices.Delete(*calls, i, i+1)
	return m, true
}
