package event

// Attempt is what a blocked thread waits for, encoded in the Value of a Blocked.
type Attempt struct {
	// Op is what the thread attempts: Acquire, AcquireRead, Wait, SemWait,
	// BarrierArrive, or Join of Peer.
	Op Op
	// Following is the number of threads of the same hang whose Blocked is still to come. The
	// events of a hang follow each other, each thread's Holds before its Blocked.
	Following int
	// Cycle reports that each thread of the hang waits for the one whose Blocked comes next, and
	// the last for the first. Otherwise all threads of the process wait, or one waits for a lock
	// whose holder has ended.
	Cycle bool
	// Handlers reports that a signal handler of the program might end the wait.
	Handlers bool
	// Readers is the number of threads that hold the requested read-write lock for reading,
	// as read from its memory, where these threads are not known; at most 65535.
	Readers int
}

// The layout of a Value: the operation in the lowest 8 bits, two flags, and the lowest bits of the
// two numbers.
const (
	attemptCycle     = 1 << 8
	attemptHandlers  = 1 << 9
	attemptFollowing = 16 // 32 bits
	attemptReaders   = 48
)

// maxReaders is the largest number of readers that a Value can hold.
const maxReaders = 1<<16 - 1

// Value returns the attempt encoded as the Value of a Blocked.
func (a Attempt) Value() uint64 {
	v := uint64(min(a.Readers, maxReaders))<<attemptReaders | uint64(a.Following)<<attemptFollowing | uint64(a.Op)
	if a.Cycle {
		v |= attemptCycle
	}
	if a.Handlers {
		v |= attemptHandlers
	}
	return v
}

// Attempt decodes the Value of a Blocked.
func (e *Event) Attempt() Attempt {
	return Attempt{
		Op: Op(e.Value), Following: int(e.Value >> attemptFollowing & (1<<32 - 1)),
		Readers: int(e.Value >> attemptReaders), Cycle: e.Value&attemptCycle != 0, Handlers: e.Value&attemptHandlers != 0,
	}
}
