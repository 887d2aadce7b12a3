package run

import "testing"

// TestFutexKindOf checks what functions wait for, and that others do not show it.
func TestFutexKindOf(t *testing.T) {
	for function, want := range map[string]FutexKind{
		"pthread_mutex_lock": FutexLock, "___pthread_mutex_lock": FutexLock, "pthread_mutex_timedlock": FutexLock, "__lll_lock_wait_private": FutexLock,
		"__pthread_rwlock_wrlock": FutexLock, "pthread_mutex_lock@@GLIBC_2.2.5": FutexLock, "std::sys::sync::mutex::futex::Mutex::lock_contended": FutexLock,
		"parking_lot::raw_mutex::RawMutex::lock_slow": FutexLock, "gomp_mutex_lock_slow": FutexLock,
		"pthread_cond_timedwait": FutexCondition, "___pthread_cond_wait": FutexCondition, "std::condition_variable::wait": FutexCondition,
		"std::sys::sync::condvar::futex::Condvar::wait": FutexCondition,
		"sem_wait": FutexSemaphore, "__new_sem_wait_slow64.constprop.0": FutexSemaphore, "__new_sem_wait": FutexSemaphore, "sem_clockwait": FutexSemaphore,
		"pthread_barrier_wait": FutexBarrier, "gomp_team_barrier_wait_end": FutexBarrier,
		"pthread_join": FutexJoin, "__pthread_clockjoin_ex": FutexJoin, "thrd_join": FutexJoin,
		"": "", "main": "", "syscall": "", "pthread_mutex_unlock": "", "sem_post": "", "pthread_cond_signal": "", "wait": "", "my_pthread_join": "",
	} {
		if got := FutexKindOf(function); got != want {
			t.Errorf("%q waits for %q, want %q", function, got, want)
		}
	}
}
