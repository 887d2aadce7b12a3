package finding

// Rule names a rule of the threads' interface that a misuse breaks, as reports spell
// it. Scripts and suppressions rely on the names: they are added to, never changed.
type Rule string

// The rules.
const (
	// Relock: a thread locks a mutex that it holds and that is not recursive. An
	// error-checking one refuses; a normal one waits for ever.
	Relock Rule = "relock"
	// UnlockNotHeld: a lock is unlocked that nobody holds.
	UnlockNotHeld Rule = "unlock-not-held"
	// UnlockByOther: a lock is unlocked by another thread than the one that holds it.
	UnlockByOther Rule = "unlock-by-other"
	// DestroyHeld: a lock is destroyed while a thread holds it.
	DestroyHeld Rule = "destroy-held"
)
