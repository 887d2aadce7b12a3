package observer

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file handles semaphores of System V. Each has a channel for its value going up and one for its going down, and a set
// has two more for the calls that are about several of its semaphores: these send on all, and a call that waits receives
// from its own and from those. The values are counted where they were set under observation, since a semaphore that is 1
// and whose user gives it back is a lock (event.Takes).

// semaphoreName identifies a semaphore: its set, and one more than its number.
type semaphoreName struct{ set, number uint64 }

// semaphoreKey returns the channel of a semaphore's value that goes up (1) or down (2). Number 0 stands for several.
func semaphoreKey(r *bpf.Record, way, number uint64) channelKey {
	return channelKey{object: r.Object, kind: bpf.ChannelSemaphore, owner: way | number<<2}
}

// ways calls f for each way in which a call changes values, or for which it waited.
func ways(r *bpf.Record, f func(way uint64)) {
	for way := uint64(1); way <= 2; way++ {
		if r.Value&way != 0 {
			f(way)
		}
	}
}

// semaphoreSent handles a call that changes values.
func (ms *messages) semaphoreSent(t *thread, r *bpf.Record) {
	number, gives := r.Token()&bpf.SemOne, ms.counts(r, false)
	ways(r, func(way uint64) {
		if number == 0 {
			ms.semaphoresOf(r, way, func(key channelKey) { ms.emitSendOn(t, r, key) })
		}
		c := ms.channelAt(t, r, semaphoreKey(r, way, number))
		ms.position(t, r, event.Send, c, 0)
		if gives && way == 1 {
			ms.ev.Flags |= event.Takes
		}
		ms.send()
	})
}

// semaphoreReceived handles a call that has waited for values.
func (ms *messages) semaphoreReceived(t *thread, r *bpf.Record) {
	number, takes := r.Token()&bpf.SemOne, ms.counts(r, true)
	ways(r, func(way uint64) {
		if number == 0 {
			ms.semaphoresOf(r, way, func(key channelKey) { ms.emitReceiveFrom(t, r, key) })
			ms.emitReceiveFrom(t, r, semaphoreKey(r, way, 0))
			return
		}
		ms.emitReceiveFrom(t, r, semaphoreKey(r, way, 0))
		if c := ms.known[semaphoreKey(r, way, number)]; c != nil && takes {
			c.addReceive(channelCall{})
			ms.position(t, r, event.Receive, c, allSent)
			ms.ev.Flags |= event.Takes
			ms.send()
			return
		}
		ms.emitReceiveFrom(t, r, semaphoreKey(r, way, number))
	})
}

// semaphoresOf calls f with the channels of the semaphores of a set that have some, by their numbers.
func (ms *messages) semaphoresOf(r *bpf.Record, way uint64, f func(channelKey)) {
	var numbers []uint64
	for name := range ms.notices.semaphores {
		if name.set == r.Object && ms.has(semaphoreKey(r, way, name.number)) {
			numbers = append(numbers, name.number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		f(semaphoreKey(r, way, number))
	}
}

// counts counts the value of a semaphore. It reports whether a call takes the only unit of it, or gives one where there is
// none.
func (ms *messages) counts(r *bpf.Record, taken bool) bool {
	n, extra := &ms.notices, r.Token()
	if extra&bpf.SemOne == 0 {
		maps.DeleteFunc(n.values, func(name semaphoreName, _ int64) bool { return name.set == r.Object })
		return false
	}
	name, by := semaphoreName{r.Object, extra & bpf.SemOne}, int64(extra>>bpf.SemBy&0xffff)
	if n.semaphores == nil {
		n.semaphores, n.values = map[semaphoreName]bool{}, map[semaphoreName]int64{}
	}
	if !n.semaphores[name] && len(n.semaphores) < maxSemaphores {
		n.semaphores[name] = true
	}
	value, known := n.values[name]
	switch {
	case extra>>bpf.SemSet&1 != 0:
		if n.semaphores[name] {
			n.values[name] = by
		}
		return false
	case !known, taken && r.Value&1 == 0, !taken && r.Value&1 == 0:
		return false // zero is waited for, or the call is about to wait
	case taken:
		value -= by
	default:
		value += by
	}
	if n.values[name] = value; value < 0 || ms.inexact {
		delete(n.values, name) // somebody else has changed it
		return false
	}
	return by == 1 && (taken && value == 0 || !taken && value == 1) && extra>>bpf.SemOnce&1 == 0
}

// maxSemaphores bounds the semaphores of System V that are told apart.
const maxSemaphores = 1 << 10
