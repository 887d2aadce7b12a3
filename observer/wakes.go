package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file handles who woke a thread that slept in a system call, where the call only shows that
// something has happened (doubt): a child has ended, a file has changed, a process that is not
// observed has answered. If an observed thread woke it, by a call of its own, or woke a process
// that then woke it, what that thread did before probably comes before what the call's thread does next:
// in another schedule the call might be ended by something else.

// recentWakes bounds the wake-ups of processes that are not observed from which a thread may learn.
const recentWakes = 1 << 10

// wake is a wake-up by an observed thread.
type wake struct {
	number uint64 // 0: none
	cause  run.Cause
}

// ofWake reports whether a record is that of a wake-up. Its thread may be in the middle of an operation
// that has several records, since an interrupt wakes threads too.
func ofWake(r *bpf.Record) bool {
	switch bpf.Op(r.Op) {
	case bpf.OpSend, bpf.OpReceive:
		return bpf.ChannelKind(r.Result)&(1<<bpf.ChannelOfFD-1) == bpf.ChannelWake
	}
	return false
}

// woke handles the record of a wake-up: by t or, as a receive, of t. It returns the observed thread that t has woken.
func (ca *causes) woke(t *thread, r *bpf.Record) (woken *thread) {
	w := &ca.wakes[r.Object%recentWakes]
	if bpf.Op(r.Op) == bpf.OpReceive {
		t.woken = nil
		if r.Object != 0 && w.number == r.Object && w.cause.Thread != t.id {
			cause := w.cause
			t.woken = &cause
		}
		return nil
	}
	cause := run.Cause{Thread: t.id, Until: ca.stats.Events, Call: uint32(r.Value)}
	if u := ca.threads.live[uint32(r.Woken())]; r.Woken() != 0 && u != nil {
		u.woken = &cause
		return u
	}
	*w = wake{r.Object, cause}
	return nil
}

// sleepsOn reports whether a record of a thread may have been made at the return of a system call, so
// that what has woken the thread before may be what ended the call.
func sleepsOn(r *bpf.Record) bool {
	return bpf.Op(r.Op) == bpf.OpReceive && r.Flags&bpf.RecLeave != 0
}
