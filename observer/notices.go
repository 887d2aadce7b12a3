package observer

import (
	"cmp"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file handles what orders threads through the kernel without bytes: signals and
// timers, readiness of descriptors, connections, semaphores of System V, locks of files,
// the end of child processes. Each has a channel. The call that has an effect on other threads
// makes a Send, recorded before the effect. The call, or the signal handler, that shows the effect
// makes a Receive, recorded after it, which comes after every earlier Send on that channel.
//
//   - A signal for a thread and one for its process are two channels. The thread that a signal
//     reaches receives from both. The signals of a timer come after all calls that set a timer
//     of the process.
//   - A descriptor in an epoll set has a channel of its own, on which epoll_ctl sends. The thread
//     to which epoll_wait reports it as ready receives from that, and as if by poll.
//   - A thread to which a descriptor is reported as ready has received nothing, but comes after
//     the sends without which it would not be ready.
//   - The number of a descriptor has a channel: to close it sends, and the call that returns the number
//     again receives.
//   - A lock of a file has a channel for each of its owners: to unlock sends on the owner's, and
//     to lock receives from those of all others.

// notices is what the observer knows of such channels besides the channels themselves.
type notices struct {
	interests map[interest][]channelKey // the own channels of the descriptors in epoll sets
	owners    map[uint64][]uint64       // of locks, by file
	ends      []channelKey              // of the processes that have ended last
	children  map[uint32]*childEnds     // by the kernel's ID of the parent
	struck    map[uint32]run.Cause      // who first sent a signal to a process that is not observed
	// semaphores are those of System V that were used, and values their values, where these are known.
	semaphores map[semaphoreName]bool
	values     map[semaphoreName]int64
}

// strikes records that a signal was sent to a process that is not observed.
func (n *notices) strikes(process uint32, cause run.Cause) {
	if n.struck == nil {
		n.struck = map[uint32]run.Cause{}
	}
	if _, known := n.struck[process]; !known && len(n.struck) < maxStruck {
		n.struck[process] = cause
	}
}

// interest identifies a descriptor in an epoll set, or all those that have the same data.
type interest struct{ set, data uint64 }

// The bounds of notices. Beyond them, a Receive comes after more than it needs to.
const (
	maxInterests = 1 << 12
	maxSameData  = 64 // descriptors of an epoll set with the same data
	maxOwners    = 64
	maxStruck    = 1 << 10
)

// The channels that no record names: the death of who holds a mutex, requests to cancel a thread, keys of
// thread-specific data, and room for another connection.
const (
	channelDeath bpf.ChannelKind = bpf.ChannelDescriptor + 1 + iota
	channelCancel
	channelThreadKey
	channelRoom
)

// forThread is added to the Object of a channel of signals for one thread.
const forThread = 1 << 16

// isNotice reports whether a record of a kind of channel is of no bytes that are moved.
func isNotice(r *bpf.Record, kind bpf.ChannelKind) bool {
	return kind >= bpf.ChannelSignal && kind != bpf.ChannelQueue || bpf.ChannelKind(r.Result)&bpf.ChannelReady != 0 ||
		kind == bpf.ChannelQueue && r.Object == bpf.AnyQueue
}

// notice handles the record of a notice, or of readiness.
func (ms *messages) notice(t *thread, r *bpf.Record, kind bpf.ChannelKind) {
	ready := bpf.ChannelKind(r.Result)&bpf.ChannelReady != 0
	switch sends, leave := bpf.Op(r.Op) == bpf.OpSend, r.Flags&bpf.RecLeave != 0; {
	case leave && r.Flags&bpf.RecFailed != 0:
	case leave && ready && kind != bpf.ChannelEpoll, leave && !sends && kind == bpf.ChannelQueue:
		ms.ready(t, r, channelKey{object: r.Object, kind: kind | bpf.ChannelKind(r.Result)&bpf.ChannelFar})
	case sends && !leave:
		ms.noticeSent(t, r, kind)
	case leave && !sends:
		ms.noticeReceived(t, r, kind)
	}
}

// noticeSent handles a call that has an effect on other threads.
func (ms *messages) noticeSent(t *thread, r *bpf.Record, kind bpf.ChannelKind) {
	switch key := (channelKey{object: r.Object, kind: kind}); kind {
	case bpf.ChannelSignal:
		if key.tgid = uint32(r.Value >> 32); key.tgid == 0 {
			ms.notifiesOutside(t)
			return
		}
		if !ms.observes(key.tgid) { // a child that is not observed
			ms.notifiesOutside(t)
			ms.notices.strikes(key.tgid, run.Cause{Thread: t.id, Until: ms.stats.Events, Name: "kill(2)"})
		}
		if tid := uint32(r.Value); tid != 0 {
			key.object, key.tgid = key.object|forThread, tid
		}
		ms.emitSendOn(t, r, key)
	case bpf.ChannelTimer:
		key.tgid = r.Tgid
		ms.emitSendOn(t, r, key)
	case bpf.ChannelEpoll:
		ms.interested(t, r, bpf.ChannelKind(r.Result)>>bpf.ChannelOfFD)
	case bpf.ChannelSemaphore:
		ms.semaphoreSent(t, r)
	case bpf.ChannelFileLock:
		ms.emitSendOn(t, r, ms.lockKey(r))
	case bpf.ChannelListener:
		ms.emitSendOn(t, r, key)
	case bpf.ChannelDescriptor:
		ms.emitSendOn(t, r, numberKey(r))
	}
}

// noticeReceived handles a call, or a signal, that shows the effect of another thread's call.
func (ms *messages) noticeReceived(t *thread, r *bpf.Record, kind bpf.ChannelKind) {
	switch key := (channelKey{object: r.Object, kind: kind}); kind {
	case bpf.ChannelSignal:
		ms.signalled(t, r)
	case bpf.ChannelEpoll:
		ms.polled(t, r)
	case bpf.ChannelSemaphore:
		ms.semaphoreReceived(t, r)
	case bpf.ChannelFileLock:
		own := ms.lockKey(r)
		for _, owner := range ms.notices.owners[r.Object] {
			if owner != own.owner {
				ms.emitReceiveFrom(t, r, channelKey{object: r.Object, kind: kind, owner: owner})
			}
		}
	case bpf.ChannelChild:
		ms.reaped(t, r)
	case bpf.ChannelListener:
		ms.emitReceiveFrom(t, r, key)
		if t.woken != nil && accepts(t.woken.Call) {
			ms.emitReceiveFrom(t, r, roomKey(t))
		}
		if c := ms.known[key]; (c == nil || c.pending == 0) && bpf.ChannelKind(r.Result)&bpf.ChannelFar == 0 {
			ms.fromOutside(t, bpf.ChannelSocket, nil, 0, false)
		}
	case bpf.ChannelDescriptor:
		ms.emitReceiveFrom(t, r, numberKey(r))
	case bpf.ChannelDoubt:
		ms.doubt(t, bpf.Doubt(r.Object))
	}
}

// accepts reports whether a system call accepts a connection.
func accepts(call uint32) bool { return call == unix.SYS_ACCEPT || call == unix.SYS_ACCEPT4 }

// roomKey returns the channel on which an accept sends that makes room for the connection of a thread which waits for it.
func roomKey(waits *thread) channelKey {
	return channelKey{object: uint64(waits.tid), kind: channelRoom, tgid: waits.process.id}
}

// makesRoom handles that an accept by t wakes a thread that waits in connect, since the listener had no room: the
// connect returns after what t did before.
func (ms *messages) makesRoom(t *thread, r *bpf.Record, waits *thread) {
	ms.emitSendOn(t, r, roomKey(waits))
}

// maxNumbers bounds the numbers of descriptors that have channels of their own.
const maxNumbers = 1 << 10

// numberKey returns the channel of a number of a descriptor.
func numberKey(r *bpf.Record) channelKey {
	return channelKey{object: min(r.Object, maxNumbers), kind: bpf.ChannelDescriptor, tgid: r.Tgid}
}

// lockKey returns the channel of the owner of a lock of a file.
func (ms *messages) lockKey(r *bpf.Record) channelKey {
	key := channelKey{object: r.Object, kind: bpf.ChannelFileLock, owner: r.Value}
	owners := ms.notices.owners[r.Object]
	switch {
	case slices.Contains(owners, r.Value):
	case len(owners) < maxOwners:
		if ms.notices.owners == nil {
			ms.notices.owners = map[uint64][]uint64{}
		}
		ms.notices.owners[r.Object] = append(owners, r.Value)
	default:
		key.owner = owners[0]
	}
	return key
}

// emitSendOn sends a Send on a channel.
func (ms *messages) emitSendOn(t *thread, r *bpf.Record, key channelKey) {
	c := ms.channelAt(t, r, key)
	c.pending++
	ms.position(t, r, event.Send, c, 0)
	ms.send()
}

// emitReceiveFrom sends a Receive from a channel, if anything was sent on it.
func (ms *messages) emitReceiveFrom(t *thread, r *bpf.Record, key channelKey) {
	c := ms.known[key]
	if c == nil {
		if c = ms.overflow; c == nil {
			return
		}
	}
	ms.receiveAll(t, r, c)
}

// signalled handles a signal that has come to a thread: its handler is about to run, or a wait
// for it has returned. If no observed thread has sent it, nor a timer, who did so is not known.
func (ms *messages) signalled(t *thread, r *bpf.Record) {
	sent := r.Value != bpf.FromTimer && ms.receiveSignals(t, r, r.Object)
	if timers := (channelKey{object: 1, kind: bpf.ChannelTimer, tgid: r.Tgid}); r.Value != 0 && ms.has(timers) {
		ms.emitReceiveFrom(t, r, timers)
		sent = true
	}
	if r.Object == signalChild && ms.receiveChildEnds(t, r) {
		sent = true
	}
	if !sent && r.Object != bpf.AnySignal {
		ms.doubt(t, doubtSignal)
	}
}

// receiveSignals sends a Receive from each channel of a signal, or of any signal, that is for the
// thread or its process. It reports whether such a signal was pending.
func (ms *messages) receiveSignals(t *thread, r *bpf.Record, signal uint64) (pending bool) {
	if signal == bpf.AnySignal {
		ms.emitReceiveFromAll(t, r, func(k channelKey) bool {
			return k.kind == bpf.ChannelSignal && (k.tgid == r.Tgid && k.object < forThread || k.tgid == r.Tid && k.object > forThread) ||
				k.kind == bpf.ChannelTimer && k.tgid == r.Tgid
		})
		return true
	}
	for _, key := range []channelKey{
		{object: signal | forThread, kind: bpf.ChannelSignal, tgid: r.Tid},
		{object: signal, kind: bpf.ChannelSignal, tgid: r.Tgid},
	} {
		c := ms.known[key]
		if c == nil {
			continue
		}
		ms.emitReceiveFrom(t, r, key)
		if c.pending == 0 {
			continue
		}
		if pending = true; signal < firstQueued {
			c.pending = 0
		} else {
			c.pending--
		}
	}
	return pending
}

// firstQueued is the first signal that comes as often as it was sent; others come once if they are
// sent again before they came.
const firstQueued = 32

// emitReceiveFromAll sends a Receive from each of the channels that match.
func (ms *messages) emitReceiveFromAll(t *thread, r *bpf.Record, match func(channelKey) bool) {
	var keys []channelKey
	for key := range maps.Keys(ms.known) {
		if match(key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b channelKey) int {
		return cmp.Compare(ms.known[a].id, ms.known[b].id)
	})
	for _, key := range keys {
		ms.emitReceiveFrom(t, r, key)
	}
}

// ready handles a call that says that there is something to receive from a channel, or room in it.
func (ms *messages) ready(t *thread, r *bpf.Record, key channelKey) {
	far, ended := key.kind&bpf.ChannelFar, r.Ended() != 0
	key.kind &^= bpf.ChannelFar
	if ms.readyOfMany(t, r, key) {
		return
	}
	c := ms.known[key]
	if bpf.Op(r.Op) == bpf.OpReceive {
		defer ms.fromOutside(t, key.kind|far, c, 1, ended)
	}
	if c == nil {
		return
	}
	if bpf.Op(r.Op) == bpf.OpSend {
		if c.mayHaveWaited(add(c.sent, 1)) {
			ms.emitSent(t, r, c, add(c.sent, 1))
		}
		return
	}
	ms.emitReceiving(c, t)
	c.addReceive(channelCall{reported: true})
	end := add(c.received, 1)
	for _, x := range c.receiving {
		end = add(end, x.bytes)
	}
	if ended {
		end = allSent
		ms.receiveEnds(t, r)
	}
	ms.relayed(t, r, c, 0)
	ms.position(t, r, event.Receive, c, end)
	ms.send()
}

// readyOfMany handles the readiness of a descriptor that stands for several channels, or for none.
// It reports whether the descriptor is such a one.
func (ms *messages) readyOfMany(t *thread, r *bpf.Record, key channelKey) bool {
	switch {
	case bpf.Op(r.Op) == bpf.OpSend:
		return key.kind >= bpf.ChannelSignal && key.kind != bpf.ChannelQueue
	case key.kind == bpf.ChannelSignal:
		ms.receiveSignals(t, r, bpf.AnySignal)
	case key.kind == bpf.ChannelQueue && key.object == bpf.AnyQueue:
		ms.emitReceiveFromAll(t, r, func(k channelKey) bool { return k.kind == bpf.ChannelQueue })
	case key.kind == bpf.ChannelDoubt:
		ms.doubt(t, bpf.Doubt(key.object))
	case key.kind == bpf.ChannelEpoll:
		ms.polledAny(t, r, key.object, 0)
	default:
		return false
	}
	return true
}

// interested handles a call of epoll_ctl. Kind is that of the descriptor's own channel.
func (ms *messages) interested(t *thread, r *bpf.Record, kind bpf.ChannelKind) {
	at, own := interest{r.Object, r.Value}, channelKey{object: r.Channel(), kind: kind &^ bpf.ChannelTight}
	if ms.notices.interests == nil {
		ms.notices.interests = map[interest][]channelKey{}
	}
	all, known := ms.notices.interests[at]
	if (known || len(ms.notices.interests) < maxInterests) && len(all) < maxSameData && !slices.Contains(all, own) {
		ms.notices.interests[at] = append(all, own)
	}
	ms.emitSendOn(t, r, interestKey(at))
}

func interestKey(at interest) channelKey {
	return channelKey{object: at.set, kind: bpf.ChannelEpoll, owner: at.data}
}

// polled handles a descriptor that epoll_wait has returned as ready.
func (ms *messages) polled(t *thread, r *bpf.Record) {
	if bpf.ChannelKind(r.Result)&bpf.ChannelReady != 0 {
		ms.polledAny(t, r, r.Object, 0)
		return
	}
	at := interest{r.Object, r.Value}
	if all := ms.notices.interests[at]; len(all) == 0 || len(all) == maxSameData {
		ms.doubt(t, bpf.DoubtPoll)
	}
	ms.interestReady(t, r, at, 0)
}

// maxNested bounds how deep epoll sets are in epoll sets, as the kernel does.
const maxNested = 5

// interestReady handles that a descriptor in an epoll set is ready, itself nested in so many others.
func (ms *messages) interestReady(t *thread, r *bpf.Record, at interest, depth int) {
	ms.emitReceiveFrom(t, r, interestKey(at))
	for _, key := range ms.notices.interests[at] {
		switch {
		case key.kind == bpf.ChannelUnseen:
		case key.kind != bpf.ChannelEpoll:
			ms.ready(t, r, key)
		case depth < maxNested:
			ms.polledAny(t, r, key.object, depth+1)
		}
	}
}

// polledAny handles that any descriptor of an epoll set may be ready.
func (ms *messages) polledAny(t *thread, r *bpf.Record, set uint64, depth int) {
	var all []interest
	for at := range maps.Keys(ms.notices.interests) {
		if at.set == set {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b interest) int { return cmp.Compare(a.data, b.data) })
	for _, at := range all {
		ms.interestReady(t, r, at, depth)
	}
}

// reaped handles a wait that has returned since a child process has ended. The child was forked
// before. If it is not observed, it is not known what made it end, unless a signal did that an
// observed thread has sent.
func (ms *messages) reaped(t *thread, r *bpf.Record) {
	if r.Object == 0 { // any
		ms.receiveEnds(t, r)
	}
	key := channelKey{object: r.Object, kind: bpf.ChannelChild}
	known := ms.has(key)
	ms.emitReceiveFrom(t, r, key)
	if known && ms.follow {
		return
	}
	killed := channelKey{object: r.Value, kind: bpf.ChannelSignal, tgid: uint32(r.Object)}
	if r.Value == 0 || !ms.has(killed) {
		if struck, ok := ms.notices.struck[uint32(r.Object)]; ok && t.woken == nil && r.Value == bpf.AnyStatus {
			t.woken = &struck
		}
		ms.doubt(t, doubtChild)
		return
	}
	ms.emitReceiveFrom(t, r, killed)
}

// maxEnds bounds the ends of processes that may be what ended a channel.
const maxEnds = 16

// receiveEnds sends a Receive from the end of each of the last observed processes that have ended, which
// closed what these had open.
func (ms *messages) receiveEnds(t *thread, r *bpf.Record) {
	for _, key := range ms.notices.ends {
		ms.emitReceiveFrom(t, r, key)
	}
}

// emitProcessEnd sends, before the last thread of a forked process ends, the Send for who waits for that
// process, and the one for whom its parent's SIGCHLD reaches.
func (ms *messages) emitProcessEnd(t *thread, r *bpf.Record) {
	own := bpf.Record{Time: ms.now, Tid: t.tid, Tgid: t.process.id, Object: uint64(t.process.id)}
	if r != nil {
		own.Time = r.Time
	}
	key := channelKey{object: own.Object, kind: bpf.ChannelChild}
	ms.emitSendOn(t, &own, key)
	ms.notices.ends = withEnd(ms.notices.ends, key)
	ms.childEnded(t.process.parent, key)
}

// childEnds are the ends of the last children of a process.
type childEnds struct {
	keys []channelKey
	due  int // number of ends for which no SIGCHLD has reached a thread
}

// childEnded adds the end of a child of a process.
func (ms *messages) childEnded(parent uint32, key channelKey) {
	c := ms.notices.children[parent]
	if c == nil {
		c = &childEnds{}
		if ms.notices.children == nil {
			ms.notices.children = map[uint32]*childEnds{}
		}
		ms.notices.children[parent] = c
	}
	c.due++
	c.keys = withEnd(c.keys, key)
}

// withEnd adds the end of a process to the last maxEnds.
func withEnd(ends []channelKey, key channelKey) []channelKey {
	if slices.Contains(ends, key) {
		return ends
	}
	if len(ends) == maxEnds {
		ends = slices.Delete(ends, 0, 1)
	}
	return append(ends, key)
}

// receiveChildEnds sends a Receive from the end of each of the last children of the process of t, whose
// SIGCHLD has reached t. It reports whether such a signal was pending.
func (ms *messages) receiveChildEnds(t *thread, r *bpf.Record) bool {
	c := ms.notices.children[t.process.id]
	if c == nil || c.due == 0 {
		return false
	}
	c.due--
	for _, key := range c.keys {
		ms.emitReceiveFrom(t, r, key)
	}
	return true
}

// signalChild is SIGCHLD, which the kernel sends when a child ends.
const signalChild = 17

// emitForked sends the Send of a thread that forks a process which is not observed, for who waits for
// that process.
func (ms *messages) emitForked(t *thread, r *bpf.Record) {
	own := bpf.Record{Time: r.Time, Tid: t.tid, Tgid: t.process.id, Object: r.Object}
	ms.emitSendOn(t, &own, channelKey{object: r.Object, kind: bpf.ChannelChild})
}
