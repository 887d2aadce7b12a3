package between

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/libname"
)

// endsPath reports whether a function never returns to its caller. An exception that it throws is
// followed in walker.throws.
func endsPath(name string) bool {
	return throws(name) || libname.Is(name, libname.NoReturn)
}

// throws reports whether a function throws an exception whenever it is called.
func throws(name string) bool {
	return strings.HasPrefix(name, "_ZSt") && strings.Contains(name, "__throw_") || libname.Is(name, libname.Throws)
}

// readsNothing reports whether a function of the C or C++ library reads no memory that another
// thread may write, and has no effect on which the caller depends.
func readsNothing(name string) bool { return libname.Is(name, libname.Pure) }

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
	name = libname.Plain(name)
	if strings.HasPrefix(name, "__isoc") {
		name = name[strings.LastIndex(name, "_")+1:]
	}
	if n := libname.Addresses(name); n >= 0 {
		return n, true
	}
	return 0, endsPath(name) || readsNothing(name)
}

// synchronises reports whether a function, by its name, operates on an object of synchronisation, or
// on a thread, and keeps no address.
func synchronises(name string) bool {
	return libname.BeginsAs(strings.TrimLeft(name, "_"), libname.Synchronises)
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
	return libname.Is(strings.TrimLeft(name, "_"), libname.Succeeds)
}

// writesNothing reports whether a function of the C library writes no memory that its caller may read.
func writesNothing(name string) bool {
	return libname.Is(name, libname.Pure|libname.WritesNothing)
}

// frees reports whether a function of the C or C++ library only ends the life of the memory that its first argument
// points to.
func frees(name string) bool { return libname.Is(name, libname.Frees) }

// tellsTime reports whether a function of the C++ library returns what a clock says, and does nothing else.
func tellsTime(name string) bool { return libname.Is(name, libname.TellsTime) }

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
	return libname.Is(strings.TrimLeft(name, "_"), libname.Relocks)
}

// allocates reports whether a function of the C or C++ library returns memory that nobody uses.
func allocates(name string) bool { return libname.Is(name, libname.Allocates) }
