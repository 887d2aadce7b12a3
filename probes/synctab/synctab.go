// Package synctab is the table of synchronisation calls: which functions synchronise, what each
// does and where its operands are. The operations are data, not code: the calls that tracepredict
// knows by itself are in builtin.toml, and a user adds a library's locks with a few lines of the
// same format.
//
// Its input is TOML texts and, for a match, the names of a symbol; its output is entries. The
// package knows no ELF file, no probe and no process. A table is safe for concurrent use once made.
package synctab

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
)

// Kind is the kind of object that a call acts on.
type Kind uint8

// The kinds, with their names in tables.
const (
	KindNone      Kind = iota
	KindMutex          // "mutex"
	KindRWLock         // "rwlock"
	KindSpin           // "spinlock"
	KindCond           // "condition"
	KindBarrier        // "barrier"
	KindSemaphore      // "semaphore"
	KindOnce           // "once"
	KindThread         // "thread"
)

var kindNames = [...]string{"none", "mutex", "rwlock", "spinlock", "condition", "barrier", "semaphore", "once", "thread"}

// String returns the kind's name as tables spell it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// parseKind returns the kind with a name; "none" is not accepted.
func parseKind(name string) (Kind, bool) {
	i := slices.Index(kindNames[1:], name)
	return Kind(i + 1), i >= 0
}

// MaxArgument is the greatest argument number that an entry may have: as many arguments are passed
// in registers on every supported architecture.
const MaxArgument = 6

// maxKindAt bounds Entry.KindAt, in bytes: no lock is that large.
const maxKindAt = 4096

// Entry is one row of the table: functions of the same operation.
type Entry struct {
	// Names are linkage names, or demangled names without parameters.
	Names []string
	Op    bpf.Op // OpNone: the row removes its names from the table
	Kind  Kind
	// Object and Second are argument numbers from 1 to MaxArgument; Second is 0 if there is none.
	// Second is the mutex of a wait, the initial value (semaphore) or number of threads (barrier) of
	// an init, or the start routine of a create.
	Object, Second int
	// ObjectAt, if not "", is a function of the same file whose address stands for the object, which is
	// no argument. Object is then 0, as it is of an operation that acts on no object.
	ObjectAt string
	// Library, if not "", is the library whose functions the row means, as in DT_SONAME without version.
	// Without one, a built-in row means the C library's, and another one those of every file, as AnyLibrary does.
	Library string
	// Shared, for an init, is the number of the argument that is not 0 if other processes may use
	// the object, and may initialise it too; 0 if there is none.
	Shared int
	// KindAt is the offset in bytes, in a read-write lock, of the 4 bytes that say whether it
	// prefers readers or writers, as in glibc's locks (event.Acquire); 0 if there are none.
	KindAt int
	// Success says for which returned values the operation has had its effect.
	Success bpf.Success
	// Try marks a call that does not wait, Timed one that waits for a limited time.
	Try, Timed bool
	// Unwinds marks a call whose frame can be unwound (a cancellation point, a call that throws
	// or runs the user's code), so that its return address must not be replaced: its return
	// instructions are probed instead.
	Unwinds bool
	// Builtin marks a row that ships with tracepredict.
	Builtin bool
	// Source is the row's position, as file:line.
	Source string
}

// AnyLibrary, as Entry.Library, means every file's functions.
const AnyLibrary = "*"

// Table maps names of functions to entries. The zero Table is empty.
type Table struct {
	entries   []Entry
	linkage   map[string]int // name as linked → index into entries
	demangled map[string]int // demangled name without spaces → index
	// tails are the last components of the names in demangled, as mangled names contain them, for
	// NeedsDemangling.
	tails []string
}

//go:embed builtin.toml
var builtin []byte

// Builtin returns the table of the calls of glibc, musl and libgomp. An error means that the built-in text is
// invalid.
func Builtin() (Table, error) {
	entries, err := parse(bytes.NewReader(builtin), "builtin.toml")
	if err != nil {
		return Table{}, fmt.Errorf("read the built-in table: %w", err)
	}
	for i := range entries {
		entries[i].Builtin = true
	}
	return newTable(entries), nil
}

// Lists reports whether the table has a row for a function, by its linkage name. The row may be one
// without an operation.
func (t Table) Lists(linkage string) bool {
	_, ok := t.linkage[linkage]
	return ok
}

// Merge returns a table in which the rows of user take precedence over those of t for the names
// that both have. A row of user without an operation removes its names.
func (t Table) Merge(user Table) Table {
	return newTable(slices.Concat(user.entries, t.entries))
}

func newTable(entries []Entry) Table {
	t := Table{entries: entries, linkage: map[string]int{}, demangled: map[string]int{}}
	for i, e := range entries {
		for _, name := range e.Names {
			if _, taken := t.linkage[name]; !taken {
				t.linkage[name] = i
			}
			// The built-in names are C names: a C++ function that is called sem_wait is not the C
			// library's.
			if !e.Builtin {
				t.addDemangled(name, i)
			}
		}
	}
	slices.Sort(t.tails)
	t.tails = slices.Compact(t.tails)
	return t
}

func (t *Table) addDemangled(name string, i int) {
	key := withoutSpaces(name)
	if _, taken := t.demangled[key]; taken {
		return
	}
	t.demangled[key] = i
	t.tails = append(t.tails, mangledTail(key))
}
