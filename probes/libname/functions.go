package libname

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// functionsFile is the table of what functions do. Packages that look at code ask it, so that a function is described
// once.
//
//go:embed functions.toml
var functionsFile string

// row is what is known of a function; facts that are not known are -1.
type row struct {
	is        Class
	arguments int8
	addresses int8
}

// prefix has the classes of the functions whose names begin with it.
type prefix struct {
	name string
	is   Class
}

type functionTable struct {
	rows     map[string]row
	prefixes []prefix // sorted by name
}

// functions returns the table. A table with a fault is one of the build, which a test finds.
var functions = sync.OnceValue(func() functionTable {
	t, err := parseFunctions(functionsFile)
	if err != nil {
		panic(err)
	}
	return t
})

// parseFunctions returns the table of a text. The error names what has a fault.
func parseFunctions(text string) (functionTable, error) {
	var f struct {
		Functions map[string]struct {
			Is                   []string
			Arguments, Addresses *int8
		}
		Prefixes map[string][]string
	}
	meta, err := toml.Decode(text, &f)
	if err != nil {
		return functionTable{}, fmt.Errorf("functions.toml: %w", err)
	}
	if keys := meta.Undecoded(); len(keys) > 0 {
		return functionTable{}, fmt.Errorf("functions.toml: %s has no meaning", keys[0])
	}
	t := functionTable{rows: make(map[string]row, len(f.Functions))}
	for name, in := range f.Functions {
		r := row{arguments: -1, addresses: -1}
		if r.is, err = classesOf(name, in.Is); err != nil {
			return functionTable{}, err
		}
		for _, fact := range []struct {
			from *int8
			to   *int8
		}{{in.Arguments, &r.arguments}, {in.Addresses, &r.addresses}} {
			switch {
			case fact.from == nil:
			case *fact.from < 0 || *fact.from > maxArguments:
				return functionTable{}, fmt.Errorf("functions.toml: %s: %d is no number of arguments: from 0 to %d", name, *fact.from, maxArguments)
			default:
				*fact.to = *fact.from
			}
		}
		t.rows[name] = r
	}
	for name, is := range f.Prefixes {
		c, err := classesOf(name, is)
		if err != nil {
			return functionTable{}, err
		}
		t.prefixes = append(t.prefixes, prefix{name, c})
	}
	slices.SortFunc(t.prefixes, func(a, b prefix) int { return strings.Compare(a.name, b.name) })
	return t, nil
}

// maxArguments bounds Arguments and Addresses: as many arguments are passed in registers on every supported
// architecture.
const maxArguments = 6

func classesOf(name string, words []string) (c Class, err error) {
	for _, w := range words {
		i := slices.Index(classNames[:], w)
		if i < 0 {
			return 0, fmt.Errorf("functions.toml: %s: %s is no class: it is one of %s", name, w, strings.Join(classNames[:], ", "))
		}
		c |= 1 << i
	}
	return c, nil
}

// Is reports whether the row of a function has one of the classes. It is false for a function without a row.
func Is(function string, c Class) bool { return functions().rows[function].is&c != 0 }

// BeginsAs reports whether the name of a function begins like those of one of the classes.
func BeginsAs(function string, c Class) bool {
	return slices.ContainsFunc(functions().prefixes, func(p prefix) bool { return p.is&c != 0 && strings.HasPrefix(function, p.name) })
}

// Arguments returns how many arguments a function takes at most; -1 if the table does not say it.
func Arguments(function string) int {
	if r, ok := functions().rows[function]; ok {
		return int(r.arguments)
	}
	return -1
}

// Addresses returns how many of its first arguments may be addresses, of which the function keeps none when it returns;
// -1 if the table does not say it.
func Addresses(function string) int {
	if r, ok := functions().rows[function]; ok {
		return int(r.addresses)
	}
	return -1
}

// With returns the functions whose rows have one of the classes, sorted.
func With(c Class) []string {
	var names []string
	for name, r := range functions().rows {
		if r.is&c != 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Plain returns the name of a function without the prefix and the suffix of fortified functions: memcpy for
// __memcpy_chk.
func Plain(function string) string {
	if s, ok := strings.CutSuffix(function, "_chk"); ok {
		return strings.TrimPrefix(s, "__")
	}
	return function
}

// innerNames begin the names that glibc's own source and versions of its symbols have for functions of streams.
var innerNames = []string{"IO_", "new_", "isoc99_", "isoc23_"}

// CallsBackLocked reports whether the C library has a function of this name, as it is called on a call stack, that may
// call functions of the program while it holds a lock of the library's own.
func CallsBackLocked(function string) bool {
	name := strings.TrimLeft(Plain(function), "_")
	for _, p := range innerNames {
		name = strings.TrimPrefix(name, p)
	}
	return Is(name, LocksCallbacks)
}

// OnObject reports whether the C library, or libgomp, has a function of this name that operates on the object of
// synchronisation that its first argument points to, and keeps no address. Underscores at the
// beginning do not count.
func OnObject(function string) bool { return Is(strings.TrimLeft(function, "_"), Object) }

// OfThreads reports whether the C and C++ libraries, libgomp, GLib, Qt or an interpreter have a function of this name
// that synchronises, starts or ends threads or the program.
func OfThreads(function string) bool {
	return Is(function, Object|Threads) || BeginsAs(function, Threads)
}
