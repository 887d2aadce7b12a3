package observer

import "github.com/tracepredict/tracepredict/bpf"

// This file handles what the C library gives out again after it was given back, without a system call.
// Whoever gets it does so after it was given back: a table by such numbers needs no lock.

// threadKey handles the creation or deletion of a key of thread-specific data, which is a number.
func (o *Observer) threadKey(t *thread, r *bpf.Record) {
	key := channelKey{object: r.Object, kind: channelThreadKey, tgid: t.process.id}
	if bpf.Op(r.Op) == bpf.OpKeyDelete {
		if t.process.living > 1 { // else all other threads begin after it
			o.emitSendOn(t, r, key)
		}
		return
	}
	if r.Flags&bpf.RecFailed != 0 || r.Value == 0 {
		return
	}
	key.object = r.Value - 1
	o.emitReceiveFrom(t, r, key)
}
