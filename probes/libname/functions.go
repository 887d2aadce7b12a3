package libname

import (
	"slices"
	"strings"
)

// onObjects are the public functions of glibc, musl and libgomp that operate on an object of synchronisation,
// without those on attributes.
var onObjects = words(`
pthread_barrier_destroy pthread_barrier_init pthread_barrier_wait
pthread_cond_broadcast pthread_cond_clockwait pthread_cond_destroy pthread_cond_init pthread_cond_signal
pthread_cond_timedwait pthread_cond_wait
pthread_mutex_clocklock pthread_mutex_consistent pthread_mutex_consistent_np pthread_mutex_destroy
pthread_mutex_getprioceiling pthread_mutex_init pthread_mutex_lock pthread_mutex_setprioceiling
pthread_mutex_timedlock pthread_mutex_trylock pthread_mutex_unlock
pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock pthread_rwlock_destroy pthread_rwlock_init
pthread_rwlock_rdlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock
pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_rwlock_wrlock
pthread_spin_destroy pthread_spin_init pthread_spin_lock pthread_spin_trylock pthread_spin_unlock
sem_clockwait sem_close sem_destroy sem_getvalue sem_init sem_post sem_timedwait sem_trywait sem_wait
mtx_destroy mtx_init mtx_lock mtx_timedlock mtx_trylock mtx_unlock
cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_timedwait cnd_wait
omp_destroy_lock omp_init_lock omp_init_lock_with_hint omp_set_lock omp_test_lock omp_unset_lock
omp_destroy_nest_lock omp_init_nest_lock omp_init_nest_lock_with_hint omp_set_nest_lock omp_test_nest_lock omp_unset_nest_lock
GOMP_critical_name_start GOMP_critical_name_end`)

// onThreads are the other functions of threads that may be on a stack: they start, end or wait for
// threads, call the program's code, or are interpreters' functions of the table.
var onThreads = words(`
pthread_atfork pthread_cancel pthread_clockjoin_np pthread_create pthread_detach pthread_exit
pthread_getspecific pthread_join pthread_key_create pthread_key_delete pthread_kill pthread_once pthread_self
pthread_setcancelstate pthread_setcanceltype pthread_setspecific pthread_sigmask pthread_sigqueue
pthread_testcancel pthread_timedjoin_np pthread_tryjoin_np pthread_yield sem_open sem_unlink
thrd_create thrd_current thrd_detach thrd_equal thrd_exit thrd_join thrd_sleep thrd_yield call_once
tss_create tss_delete tss_get tss_set
flockfile _IO_flockfile ftrylockfile _IO_ftrylockfile funlockfile _IO_funlockfile
PyEval_ReleaseThread PyEval_SaveThread caml_enter_blocking_section caml_release_runtime_system
start_thread clone clone3 exit _start _start_c __libc_unwind_link_get`)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// OnObject reports whether the C library, or libgomp, has a function of this name that operates on the object of
// synchronisation that its first argument points to, and keeps no address. Underscores at the
// beginning do not count.
func OnObject(function string) bool { return onObjects[strings.TrimLeft(function, "_")] }

// reserved are the beginnings of names that only the C and C++ libraries may define (C11, 7.1.3;
// C++20, 16.4.5.3), and those of the functions of OpenMP, GLib and Qt that the table has.
var reserved = []string{
	"GOMP_", "omp_", "g_mutex_", "__pthread_", "___pthread_", "__gthread_", "__cxa_guard_", "__clone", "__libc_start", "std::",
	"_ZN6QMutex", "_ZN14QReadWriteLock", "QMutex::", "QReadWriteLock::",
}

// OfThreads reports whether the C and C++ libraries, libgomp, GLib, Qt or an interpreter have a function of this name that synchronises,
// starts or ends threads or the program.
func OfThreads(function string) bool {
	return onObjects[function] || onThreads[function] ||
		slices.ContainsFunc(reserved, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}
