package bpf

// LockUse is what a site is for that accesses the word of a lock whose code is inlined. A plan says it and the observer
// asks for it; the programs in the kernel do not.
type LockUse uint8

// The uses.
const (
	LockNone     LockUse = iota // it is no access of a lock, as far as is known
	LockAcquires                // an attempt to acquire, which is repeated until it succeeds
	LockTries                   // one that is not repeated
	LockReleases
	LockKeeps // it looks at the state, and may add to it that threads wait
)

var lockUses = [...]string{"", "acquire", "try to acquire", "release", "look at"}

// String returns the use in words.
func (u LockUse) String() string {
	if int(u) < len(lockUses) {
		return lockUses[u]
	}
	return "unknown"
}
