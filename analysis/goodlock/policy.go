package goodlock

import (
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Policy is whom a read-write lock prefers while readers hold it and a writer waits.
type Policy uint8

// The policies. POSIX leaves it open; glibc's default, PTHREAD_RWLOCK_PREFER_READER_NP, and
// musl let further readers in, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP does not.
const (
	AsMade           Policy = iota // each lock as its kind says, and those of which none is known let readers in
	ReaderPreferring               // all let readers in
	WriterPreferring               // a reader waits behind a writer that waits, at all
)

// madeAs remembers that readers of a lock wait behind writers, where it is of such a kind.
func (a *Analysis) madeAs(e *event.Event) {
	if a.opts.Policy == AsMade && e.Kind == event.KindRWLock && e.Value == event.PreferWriterNonrecursive {
		a.queueing[e.Object] = true
	}
}

// prefersWriters reports whether a reader of the lock waits behind a writer that waits.
func (a *Analysis) prefersWriters(lock event.ObjectID) bool {
	return a.opts.Policy == WriterPreferring || a.queueing[lock]
}

// queues reports whether readers may wait behind the acquisition although its thread
// holds nothing that they want.
func (a *Analysis) queues(e *event.Event) bool {
	return e.Op == event.Acquire && e.Kind == event.KindRWLock && a.prefersWriters(e.Object)
}

// acquireAgain takes a read lock inside itself for a nesting where a writer may come
// between: the reader then waits behind a writer that waits for the reader.
func (a *Analysis) acquireAgain(t *thread, e *event.Event) {
	if e.Flags&(event.Try|event.Inferred) != 0 || !a.prefersWriters(e.Object) {
		return
	}
	held := t.locks.Held
	t.locks.Held = append(held, locks.Held{Member: locks.MemberOf(e.Object, true), Place: e.Stack, Seq: e.Seq})
	a.wanted(t, e)
	t.locks.Held = held
	t.placed = min(t.placed, len(held))
}

const (
	policyReason = "a reader of this ring waits behind a writer, as --rwlock-policy writer has all read-write locks do; schedules are made for those that do not"
	madeReason   = "a reader of this ring waits behind a writer: the lock was made with PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, as its memory said when it was first taken; schedules are made for locks that prefer readers"
)

// queueReason says why a reader of a cycle waits behind a writer.
func (a *Analysis) queueReason() string {
	if a.opts.Policy == WriterPreferring {
		return policyReason
	}
	return madeReason
}
