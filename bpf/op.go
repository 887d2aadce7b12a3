package bpf

// String returns the operation's name, as tables of calls and plans spell it.
func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return "unknown"
}

// ParseOp returns the operation with a name.
func ParseOp(name string) (Op, bool) {
	for i, n := range opNames {
		if n == name {
			return Op(i), true
		}
	}
	return OpNone, false
}

// What glibc writes into an object that it destroys, and where a condition variable counts the
// threads that wait; marked of sync.h.
const (
	CondShared     = 1 << 0     // bit of a condition variable's word: other processes use it too
	CondDestroyed  = 1 << 2     // another one
	WaitersShift   = 3          // the bits from here on are the number of threads that wait
	MutexDestroyed = 0xffffffff // word of a mutex
)
