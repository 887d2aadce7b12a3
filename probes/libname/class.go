package libname

// Class is a set of things that functions are or do, whoever calls them.
type Class uint64

// The classes, with their names in functions.toml.
const (
	// Object, "on-object": it operates on the object of synchronisation that its first argument points to, and keeps
	// no address.
	Object Class = 1 << iota
	// Threads, "of-threads": it is another function of threads that may be on a stack: it starts, ends or waits for
	// threads, calls the program's code, or is an interpreter's that the table of calls has.
	Threads
	// Idles, "idles": it sleeps, or lets other threads run, and changes no memory but what its arguments point to.
	Idles
	// Yields, "yields": it does nothing but sleep or let other threads run.
	Yields
	// LimitedWait, "limited-wait": it waits with a time limit, so that a loop may ask again when it returns.
	LimitedWait
	// Harmless, "harmless": loops that wait call it, and it changes no memory of the program.
	Harmless
	// Unshared, "unshared": no other thread changes its result, apart from that of memory: it computes, looks at the
	// clock, or changes what its arguments point to.
	Unshared
	// ReadsOnly, "reads-only": it writes nothing where its arguments point.
	ReadsOnly
	// Observed, "observed": it returns when, or because, another thread has done something, and of that there are
	// records. A function that may read a file is none.
	Observed
	// EndsProgram, "ends-program": it never returns, and ends the program.
	EndsProgram
	// NoReturn, "no-return": it never returns to its caller.
	NoReturn
	// Throws, "throws": it throws an exception whenever it is called.
	Throws
	// Pure, "pure": it reads no memory that another thread may write, and has no effect on which its caller depends.
	Pure
	// WritesNothing, "writes-nothing": it writes no memory that its caller may read.
	WritesNothing
	// Frees, "frees": it only ends the life of the memory that its first argument points to.
	Frees
	// Allocates, "allocates": it returns memory that nobody uses.
	Allocates
	// TellsTime, "tells-time": it returns what a clock says, and does nothing else.
	TellsTime
	// Relocks, "relocks": it locks or unlocks a mutex, which the thread may own then already, and still after that.
	Relocks
	// Succeeds, "succeeds": it returns 0 when it has acquired something, unless a mutex is robust.
	Succeeds
	// Fills, "fills": it only writes the memory that its first argument points to, returns that argument, and does
	// nothing that depends on other memory but what it copies.
	Fills
	// MakesChannel, "makes-channel": without such a function no thread makes a channel, or is told anything by it.
	// Those that hardly any program does without (fcntl, poll) are none: their calls have probes of their own.
	MakesChannel
	// MakesDescriptor, "makes-descriptor": it returns a descriptor, and makes no channel.
	MakesDescriptor
	// KernelWait, "kernel-wait": it waits for what another thread or process does, or asks whether it has happened,
	// by other means than those of the table of calls: the end of a child, a signal, a descriptor, a message.
	KernelWait
	// KernelWake, "kernel-wake": it wakes, interrupts or excludes other threads by other means than those of the table
	// of calls: a signal, a timer, a connection, a message, the lock of a file, a semaphore of System V.
	KernelWake
	// StartsThread, "starts-thread": a file that starts threads imports such a function.
	StartsThread
	// WaitsForChild, "waits-for-child": it waits for the end of a child process.
	WaitsForChild
	// Closes, "closes": it closes descriptors.
	Closes
	// Asks, "asks": it asks the kernel whether something is there, or has a name, which other threads may change.
	Asks
	// Synchronises, "synchronises": it operates on an object of synchronisation, or on a thread, and keeps no address.
	Synchronises
	// Orders, "orders": it synchronises threads by atomics or futexes: libatomic's, those that libstdc++ and libc++ keep
	// out of line for futures and atomic waits, and libgomp's.
	Orders
	// CreatesThreads, "creates-threads": it creates threads, and is not in the table of calls.
	CreatesThreads
	// LocksCallbacks, "locks-callbacks": it may call functions of the program, as those of a stream that fopencookie
	// makes, while it holds a lock of the C library's own.
	LocksCallbacks
)

// classNames are the names of the classes in functions.toml, in their order.
var classNames = [...]string{
	"on-object", "of-threads", "idles", "yields", "limited-wait", "harmless", "unshared", "reads-only", "observed",
	"ends-program", "no-return", "throws", "pure", "writes-nothing", "frees", "allocates", "tells-time", "relocks", "succeeds", "fills",
	"makes-channel", "makes-descriptor", "kernel-wait", "kernel-wake", "starts-thread", "waits-for-child", "closes", "asks",
	"synchronises", "orders", "creates-threads", "locks-callbacks",
}
