package finding

// Rule is the name of a rule of the threads' interface that a misuse breaks, as reports spell
// it. Scripts and suppressions rely on the names: new ones are added, none is ever changed.
type Rule string

// The rules. docs/misuse.md says what each means and what to do.
const (
	// Relock: a thread locks a lock again that it holds. The call fails for an
	// error-checking mutex, and blocks forever for a normal one.
	Relock Rule = "relock"
	// UnlockNotHeld: a lock is unlocked that no thread holds.
	UnlockNotHeld Rule = "unlock-not-held"
	// UnlockByOther: a thread unlocks a lock that another thread holds.
	UnlockByOther Rule = "unlock-by-other"
	// DestroyHeld: a lock is destroyed while a thread holds it.
	DestroyHeld Rule = "destroy-held"
	// DestroyUnordered: a lock or a condition is destroyed, and nothing in the run orders that after another thread's
	// last use of it.
	DestroyUnordered Rule = "destroy-unordered"
	// DestroyTwice: an object is destroyed that was destroyed before and not initialised again.
	DestroyTwice Rule = "destroy-twice"
	// FreeHeld: the memory that a lock is in is freed while a thread holds the lock.
	FreeHeld Rule = "free-held"
	// DestroyWaited: a condition or a barrier is destroyed while a thread waits on it.
	DestroyWaited Rule = "destroy-waited"
	// ReinitHeld: a lock is initialised again while a thread holds it.
	ReinitHeld Rule = "reinit-held"
	// ReinitWaited: a condition or a barrier is initialised again while a thread waits on it.
	ReinitWaited Rule = "reinit-waited"
	// OverwrittenWaited: the memory of a condition is overwritten while a thread waits on it.
	OverwrittenWaited Rule = "overwritten-waited"
	// UseDestroyed: an object is used that was destroyed and not initialised again.
	UseDestroyed Rule = "use-destroyed"
	// WaitNotHeld: a thread waits on a condition with a mutex that it does not hold.
	WaitNotHeld Rule = "wait-not-held"
	// WaitTwoMutexes: threads wait on one condition with two mutexes at the same time.
	WaitTwoMutexes Rule = "wait-two-mutexes"
	// UnlockInconsistent: a robust mutex whose last owner died while holding it is unlocked
	// without having been made consistent: no thread can lock it any more.
	UnlockInconsistent Rule = "unlock-inconsistent"
	// ExitHolding: a thread ends while it holds a lock that is not robust.
	ExitHolding Rule = "exit-holding"
	// JoinDetached: a detached thread is joined.
	JoinDetached Rule = "join-detached"
	// JoinTwice: a thread is joined that was joined before, or that another thread is
	// joining.
	JoinTwice Rule = "join-twice"
	// JoinSelf: a thread joins itself.
	JoinSelf Rule = "join-self"
	// DetachTwice: a thread is detached that was detached or joined before.
	DetachTwice Rule = "detach-twice"
	// NeverJoined: a thread has ended, and was neither joined nor detached before the process
	// ended.
	NeverJoined Rule = "never-joined"
)

// Rules returns all rules, in the order of docs/misuse.md.
func Rules() []Rule {
	return []Rule{
		UnlockNotHeld, UnlockByOther, Relock, DestroyHeld, FreeHeld, DestroyWaited, DestroyUnordered, DestroyTwice, ReinitHeld, ReinitWaited, OverwrittenWaited, UseDestroyed, WaitNotHeld, WaitTwoMutexes,
		UnlockInconsistent, ExitHolding, JoinDetached, JoinTwice, JoinSelf, DetachTwice, NeverJoined,
	}
}
