package run

import (
	"regexp"
	"strings"

	"github.com/tracepredict/tracepredict/observer/event"
)

// FutexWait is waits in the kernel for a futex that have one thread, word, call stack and waker, summed up.
type FutexWait struct {
	Kind   FutexKind
	Thread event.ThreadID // 0: several, or unknown
	Word   uint64         // its address; 0: several
	Name   string         // of the variable that the word is in; "" if it is unknown
	Stack  event.StackID  // of the waits
	Waker  event.StackID  // of the call that woke the thread; 0: unknown, or nobody did
	Waits  int64
	Time   int64 // ns
}

// FutexKind is what a thread waits for.
type FutexKind string

// The kinds.
const (
	FutexLock      FutexKind = "lock"
	FutexCondition FutexKind = "condition"
	FutexSemaphore FutexKind = "semaphore"
	FutexBarrier   FutexKind = "barrier"
	FutexJoin      FutexKind = "join"
	FutexOther     FutexKind = "other"
)

// futexKinds has, by kind, the functions that wait: of the C library, of OpenMP's, and of those of Rust and of crates that
// are used for its locks. The names are without leading underscores.
var futexKinds = []struct {
	kind      FutexKind
	functions *regexp.Regexp
}{
	{FutexCondition, regexp.MustCompile(`^(pthread_cond_\w*wait|cnd_\w*wait)$|^std::condition_variable|[cC]ondvar.*::wait`)},
	{FutexSemaphore, regexp.MustCompile(`^(new_)?sem_\w*wait\w*$`)},
	{FutexBarrier, regexp.MustCompile(`^pthread_barrier_wait$|^go?mp_(team_)?barrier_wait|^GOMP_barrier`)},
	{FutexJoin, regexp.MustCompile(`^pthread_\w*join\w*$|^thrd_join$`)},
	{FutexLock, regexp.MustCompile(`^(pthread_mutex_(timed|clock|cond_)?lock\w*|pthread_rwlock_(timed|clock)?(rd|wr)lock\w*|mtx_(timed)?lock|lll_lock_wait\w*|cxa_guard_acquire|pthread_once|call_once)$` +
		`|^(omp_set_\w*lock|gomp_mutex_lock_slow|GOMP_critical_\w*start)$|(Mutex|RwLock|RawLock).*::(lock|read|write)\w*$|::lock_(slow|contended|shared_slow|exclusive_slow)$`)},
}

// FutexKindOf returns what a thread waits for that a function makes wait; "" if that does not show in its name.
func FutexKindOf(function string) FutexKind {
	name, _, _ := strings.Cut(strings.TrimLeft(function, "_"), "@") // its version
	name, _, _ = strings.Cut(name, ".")                             // .constprop.0 and the like
	for _, k := range futexKinds {
		if k.functions.MatchString(name) {
			return k.kind
		}
	}
	return ""
}
