package observer

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file handles threads that ask: whether a file is there, how long it is, whether a
// descriptor is open. An answer that another thread's call has changed may decide what a thread does, which is a doubt. When a
// loop is left that waits by asking, the cause is probably the first change, by another thread,
// of what it asked for between its last two answers by the same call: the first of these had not let it go
// on. If there is only one, it is the first change at all since there were several threads. The first change makes
// the weakest order: a later one may have been what the loop waited for, too.

// The bounds of what is known of changes. Beyond them, no cause is found.
const (
	maxAsked   = 1 << 12 // things that were changed
	maxChanges = 1 << 5  // changes of one thing that are kept, the last ones
	maxAskers  = 1 << 6  // threads that have asked for one thing
)

// change is a change of something that threads may ask for.
type change struct {
	at    uint64 // its number among all changes and answers
	cause run.Cause
}

// answers are the numbers of the last answer that a thread has got, and of the one before if it was given by
// the same system call; 0: none.
type answers struct{ previous, last, call uint64 }

// asked is what is known of something that threads ask for.
type asked struct {
	changes []change
	dropped uint64 // number of the last change that is not kept; 0: none
	answers map[event.ThreadID]answers
}

// causes finds what probably ended a wait of a thread, where the call that waited only shows that it has ended.
type causes struct {
	*core
	threads *threadTable
	wakes   [recentWakes]wake
	asks    asks
}

// asks is what the observer knows of all that threads ask for, by the keys in records.
type asks struct {
	count uint64 // changes and answers so far
	known map[uint64]*asked
}

// asked handles the record of a change, or of an answer.
func (ca *causes) asked(t *thread, r *bpf.Record) {
	ca.asks.count++
	a := ca.asks.known[r.Object]
	if a == nil {
		if len(ca.asks.known) == maxAsked {
			return
		}
		if ca.asks.known == nil {
			ca.asks.known = map[uint64]*asked{}
		}
		a = &asked{answers: map[event.ThreadID]answers{}}
		ca.asks.known[r.Object] = a
	}
	if bpf.Op(r.Op) == bpf.OpReceive {
		a.answered(t.id, ca.asks.count, r.Value)
		if decides(r.Object) && a.cause(t.id) != nil {
			ca.doubtOf(t, doubtAsked, nil)
		}
		return
	}
	if ca.names.lastThread < 2 {
		return
	}
	a.changed(change{ca.asks.count, run.Cause{Thread: t.id, Until: ca.stats.Events, Call: uint32(r.Value), Asked: true}})
}

// decides reports whether an answer about what has a key may decide alone what a thread does: whether something is there, and
// not what it has in it, or whether a descriptor is open, whose number means another file soon.
func decides(key uint64) bool {
	switch bpf.AskedKind(key & 7) {
	case bpf.AskedPath, bpf.AskedPort, bpf.AskedName:
		return true
	}
	return false
}

// changed records a change.
func (a *asked) changed(c change) {
	if len(a.changes) == maxChanges {
		a.dropped = a.changes[0].at
		a.changes = slices.Delete(a.changes, 0, 1)
	}
	a.changes = append(a.changes, c)
}

// answered records an answer that a thread has got by a system call.
func (a *asked) answered(t event.ThreadID, number, call uint64) {
	before, ok := a.answers[t]
	if !ok && len(a.answers) == maxAskers {
		return
	}
	now := answers{last: number, call: call}
	if before.call == call {
		now.previous = before.last
	}
	a.answers[t] = now
}

// askedCause returns what probably let thread t leave a loop that asked for what has one of the keys; nil if it is
// not known.
func (ca *causes) askedCause(t *thread, keys ...uint64) *run.Cause {
	for _, key := range keys {
		a := ca.asks.known[key]
		if a == nil {
			continue
		}
		if c := a.cause(t.id); c != nil {
			return c
		}
	}
	return nil
}

func (a *asked) cause(t event.ThreadID) *run.Cause {
	got := a.answers[t]
	if got.previous < a.dropped {
		return nil
	}
	for _, c := range a.changes {
		if c.at > got.previous && c.at < got.last && c.cause.Thread != t {
			cause := c.cause
			return &cause
		}
	}
	return nil
}
