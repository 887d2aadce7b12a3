package between

import (
	"slices"
	"strings"
)

// endsPath reports whether a function never returns to its caller. An exception that it throws is
// followed in walker.throws.
func endsPath(name string) bool {
	return throws(name) || slices.Contains([]string{
		"abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail", "__assert_perror_fail", "__stack_chk_fail", "__fortify_fail",
		"pthread_exit", "thrd_exit", "_ZSt9terminatev", "__clang_call_terminate", "longjmp", "siglongjmp", "_longjmp", "__longjmp_chk",
	}, name)
}

// throws reports whether a function throws an exception whenever it is called.
func throws(name string) bool {
	return strings.HasPrefix(name, "_ZSt") && strings.Contains(name, "__throw_") ||
		slices.Contains([]string{"__cxa_throw", "__cxa_rethrow", "_Unwind_Resume", "_Unwind_RaiseException"}, name)
}

// readsNothing reports whether a function of the C or C++ library reads no memory that another
// thread may write, and has no effect on which the caller depends.
func readsNothing(name string) bool {
	return slices.Contains([]string{"pthread_self", "thrd_current", "__errno_location", "__tls_get_addr", "sched_yield"}, name)
}

// wraps returns the function of the C library whose call is all that a function of the C++ library does; "" if it is
// none of these.
func wraps(name string) string {
	switch name {
	case "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE":
		return "pthread_cond_wait"
	case "_ZNSt18condition_variable10notify_allEv":
		return "pthread_cond_broadcast"
	case "_ZNSt18condition_variable10notify_oneEv":
		return "pthread_cond_signal"
	}
	return ""
}

// waitsWithin reports whether a function of the C++ library does nothing but wait on a condition.
func waitsWithin(name string) bool { return wraps(name) == "pthread_cond_wait" }

// keepsNothing returns the number of leading arguments of a function of the C or C++ library that
// may be addresses; it keeps none of them when it returns, except as copies and pthread_create say.
// -1: any number. ok is false for a function that is not known.
func keepsNothing(name string) (n int, ok bool) {
	if synchronises(name) {
		return 6, true
	}
	if s, ok := strings.CutSuffix(name, "_chk"); ok {
		name = strings.TrimPrefix(s, "__")
	}
	if strings.HasPrefix(name, "__isoc") {
		name = name[strings.LastIndex(name, "_")+1:]
	}
	for n, names := range keepers {
		if slices.Contains(names, name) {
			return n, true
		}
	}
	return 0, endsPath(name) || readsNothing(name)
}

// keepers are the functions of keepsNothing by the number of leading arguments that may be
// addresses.
var keepers = [...][]string{
	0: {"rand", "random", "getpid", "gettid", "fork", "sleep", "usleep", "putchar", "close", "malloc", "calloc", "_Znwm", "_Znam",
		"__cxa_end_catch", "__cxa_allocate_exception", "clock", "abs", "isatty", "getppid"},
	1: {"free", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "strlen", "puts", "perror", "atoi", "atol", "atoll", "atof", "time", "rand_r", "fflush", "fclose", "__cxa_begin_catch", "memset", "realloc", "pipe", "getenv"},
	2: {"nanosleep", "thrd_sleep", "clock_gettime", "gettimeofday", "fputs", "fputc", "putc", "strcmp", "strcpy", "strcat", "strncpy", "strncmp", "memcmp", "read", "write",
		"memcpy", "memmove", "mempcpy", "strchr", "strrchr", "strstr", "bzero", "clock_getres", "open", "stat", "fstat", "pread", "pwrite", "poll"},
	4: {"fwrite", "fread", "clock_nanosleep", "strtol", "strtoul", "strtoll", "strtoull", "strtod", "fgets", "select"},
	6: {"printf", "fprintf", "sprintf", "snprintf", "dprintf", "scanf", "sscanf", "fscanf", "vsnprintf"},
}

// synchronises reports whether a function, by its name, operates on an object of synchronisation, or
// on a thread, and keeps no address.
func synchronises(name string) bool {
	name = strings.TrimLeft(name, "_")
	return slices.ContainsFunc([]string{
		"pthread_mutex_", "pthread_cond_", "pthread_rwlock_", "pthread_spin_", "pthread_barrier_", "sem_", "mtx_", "cnd_",
		"pthread_create", "pthread_join", "pthread_detach", "thrd_create", "thrd_join", "thrd_detach",
		"ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", "ZNSt18condition_variable10notify_", "ZNSt6thread4joinEv",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// locks reports whether a function that synchronises only operates on an object of synchronisation.
func locks(name string) bool {
	return synchronises(name) && !strings.Contains(name, "create") && !strings.Contains(name, "join")
}

// operands returns the number of arguments that a synchronisation function takes, at most.
func operands(name string) int {
	name = strings.TrimLeft(name, "_")
	if slices.Contains([]string{"pthread_mutex_timedlock", "pthread_mutex_clocklock"}, name) {
		return 3
	}
	for _, s := range []string{"timed", "clock", "cond_wait", "cnd_wait", "_init", "create", "join", "exit", "once"} {
		if strings.Contains(name, s) {
			return 6
		}
	}
	switch {
	case synchronises(name), frees(name):
		return 1
	case allocates(name):
		return 2
	}
	return 6
}

// acquires reports whether a function that synchronises acquires something, or waits.
func acquires(name string) bool {
	name = strings.TrimLeft(name, "_")
	return locks(name) && !strings.Contains(name, "unlock") && (strings.Contains(name, "lock") && !strings.Contains(name, "_init") && !strings.Contains(name, "destroy") || strings.Contains(name, "wait"))
}

// releases reports whether a function that synchronises changes no memory but that of its object, and does not wait.
func releases(name string) bool {
	name = strings.TrimLeft(name, "_")
	return locks(name) && (strings.Contains(name, "unlock") || name == "pthread_spin_init" /* which glibc has at the same address */ || strings.Contains(name, "post") || strings.Contains(name, "signal") || strings.Contains(name, "broadcast") || strings.Contains(name, "notify"))
}

// alwaysSucceeds reports whether a function that has acquired something returns 0, by its name.
func alwaysSucceeds(name string) bool {
	return slices.Contains([]string{"pthread_mutex_lock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_spin_lock", "mtx_lock"}, strings.TrimLeft(name, "_"))
}

// writesNothing reports whether a function of the C library writes no memory that its caller may read.
func writesNothing(name string) bool {
	return readsNothing(name) || slices.Contains([]string{"puts", "putchar", "printf", "sleep", "usleep", "write", "strlen", "strcmp", "strncmp", "memcmp", "free", "rand", "random"}, name)
}

// frees reports whether a function of the C or C++ library only ends the life of the memory that its first argument
// points to.
func frees(name string) bool {
	return slices.Contains([]string{"free", "_ZdlPv", "_ZdlPvm", "_ZdaPv"}, name)
}

// tellsTime reports whether a function of the C++ library returns what a clock says, and does nothing else.
func tellsTime(name string) bool {
	return slices.Contains([]string{"_ZNSt6chrono3_V212steady_clock3nowEv", "_ZNSt6chrono3_V212system_clock3nowEv"}, name)
}

// storesTime returns the number of the argument that points to where a function of the C library stores what a clock
// says, which is all that it does; -1 if it is none of these.
func storesTime(name string) int {
	switch name {
	case "clock_gettime":
		return 1
	case "gettimeofday":
		return 0
	}
	return -1
}

// holdsAgain reports whether a function locks or unlocks a mutex. The thread may own it then already, and still after
// that; then the call makes no event, and has no effect but on the mutex.
func holdsAgain(name string) bool {
	return slices.Contains([]string{"pthread_mutex_lock", "pthread_mutex_unlock", "mtx_lock", "mtx_unlock"}, strings.TrimLeft(name, "_"))
}

// allocates reports whether a function of the C or C++ library returns memory that nobody uses.
func allocates(name string) bool {
	return slices.Contains([]string{"malloc", "calloc", "aligned_alloc", "_Znwm", "_Znam", "_ZnwmSt11align_val_t"}, name)
}
