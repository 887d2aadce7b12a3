package event

// Attempt is what the Value of a Blocked says.
type Attempt struct {
	// Op is what the thread attempts: Acquire, AcquireRead, Wait, SemWait,
	// BarrierArrive, or Join of Peer.
	Op Op
	// Following is how many threads of the same hang follow: their events stand one
	// behind the other, each thread's Holds before its Blocked, and 0 ends them.
	Following int
	// Cycle: each waits for the one that follows, the last for the first. Else all
	// threads of the process wait, or one waits for a lock whose holder has ended.
	Cycle bool
	// Handlers: a signal handler of the program might end the wait.
	Handlers bool
	// Readers: of a read-write lock that is waited for, how many threads have it for
	// reading by what stands in it, where it is not known which; at most 65535.
	Readers int
}

// The bits of a Value; the operation is below them.
const (
	attemptRing      = 1 << 8
	attemptHandlers  = 1 << 9
	attemptFollowing = 16 // 32 bits
	attemptReaders   = 48
)

const maxReaders = 1<<16 - 1

// Value makes the Value of a Blocked.
func (a Attempt) Value() uint64 {
	v := uint64(min(a.Readers, maxReaders))<<attemptReaders | uint64(a.Following)<<attemptFollowing | uint64(a.Op)
	if a.Cycle {
		v |= attemptRing
	}
	if a.Handlers {
		v |= attemptHandlers
	}
	return v
}

// Attempt takes apart the Value of a Blocked.
func (e *Event) Attempt() Attempt {
	return Attempt{
		Op: Op(e.Value), Following: int(e.Value >> attemptFollowing & (1<<32 - 1)),
		Readers: int(e.Value >> attemptReaders), Cycle: e.Value&attemptRing != 0, Handlers: e.Value&attemptHandlers != 0,
	}
}
