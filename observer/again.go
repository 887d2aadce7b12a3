package observer

import "github.com/tracepredict/tracepredict/bpf"

// This file handles keys of thread-specific data, which are small numbers. pthread_key_create returns a number again
// after pthread_key_delete: what a thread did before it deleted a key comes before what another
// thread does with the same key. So a table whose index is such a key needs no lock.

// threadKey handles the creation or deletion of a key of thread-specific data, which is a number.
func (ms *messages) threadKey(t *thread, r *bpf.Record) {
	key := channelKey{object: r.Object, kind: channelThreadKey, tgid: t.process.id}
	if bpf.Op(r.Op) == bpf.OpKeyDelete {
		if t.process.living > 1 { // else all other threads begin after it
			ms.emitSendOn(t, r, key)
		}
		return
	}
	if r.Flags&bpf.RecFailed != 0 || r.Value == 0 {
		return
	}
	key.object = r.Value - 1
	ms.emitReceiveFrom(t, r, key)
}
