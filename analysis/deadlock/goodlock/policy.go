package goodlock

import (
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Policy determines whether a read-write lock lets further readers in while readers hold it and a
// writer waits.
type Policy uint8

// The policies. POSIX leaves this open. glibc's default, PTHREAD_RWLOCK_PREFER_READER_NP, and musl
// let further readers in; PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP does not.
const (
	ByLockKind       Policy = iota // by the kind of each lock; locks of unknown kind let readers in
	ReaderPreferring               // all locks let readers in
	WriterPreferring               // of all locks, readers wait behind a waiting writer
)

// recordKind records the lock of an acquire that recorded the lock's kind, if that kind makes
// readers wait behind waiting writers.
func (a *Analysis) recordKind(e *event.Event) {
	if a.opts.Policy == ByLockKind && e.Kind == event.KindRWLock && e.Value == event.PreferWriterNonrecursive {
		a.writerPreferring[e.Object] = true
	}
}

// prefersWriters reports whether a reader of the lock waits behind a waiting writer.
func (a *Analysis) prefersWriters(lock event.ObjectID) bool {
	return a.opts.Policy == WriterPreferring || a.writerPreferring[lock]
}

// mayBlockReaders reports whether readers may wait behind this acquire even though its thread holds
// nothing that they request.
func (a *Analysis) mayBlockReaders(e *event.Event) bool {
	return e.Op == event.Acquire && e.Kind == event.KindRWLock && a.prefersWriters(e.Object)
}

// acquireAgain records an edge for a read lock that the thread acquires again while it holds it,
// if readers of the lock wait behind writers. If a writer requests the lock in between, the reader
// waits behind that writer, which waits for the reader.
func (a *Analysis) acquireAgain(t *thread, e *event.Event) {
	if e.Flags&(event.Try|event.Inferred) != 0 || !a.prefersWriters(e.Object) {
		return
	}
	held := t.locks.Held
	t.locks.Held = append(held, locks.Held{Member: locks.MemberOf(e.Object, true), Stack: e.Stack, Seq: e.Seq})
	a.addRequest(t, e)
	t.locks.Held = held
	t.validNodes = min(t.validNodes, len(held))
}

// queueReason returns the reason why a reader of a cycle waits behind a writer.
func (a *Analysis) queueReason() reason.What {
	if a.opts.Policy == WriterPreferring {
		return reason.ReaderByPolicy
	}
	return reason.ReaderByKind
}
