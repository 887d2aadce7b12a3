package probes

import (
	"maps"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// withoutRuntime removes the code of the C library, and of C++'s, in a static program, as these
// libraries are left out where they are files of their own: what they synchronise besides the calls
// of the table orders nothing that the program may rely on.
func (b *builder) withoutRuntime(u *elf.Unseen) {
	if !b.plan.File.Static() {
		return
	}
	u.Sites = slices.DeleteFunc(u.Sites, func(s elf.UnseenSite) bool { return b.ofRuntime(s.Func) })
	u.Unknown = slices.DeleteFunc(u.Unknown, b.ofRuntime)
	u.Hints = slices.DeleteFunc(u.Hints, func(h elf.Hint) bool { return b.ofRuntime(h.Func) })
}

// ofRuntime reports whether a function of a static program belongs to the C or the C++ library.
func (b *builder) ofRuntime(fn elf.Range) bool {
	if b.runtime == nil {
		b.runtime, b.cpp = map[uint64]bool{}, b.cppLibrary()
	}
	own, known := b.runtime[fn.Lo]
	if !known {
		own = b.clib().Owns(fn.Lo, b.sourceFile) || b.cpp(fn.Lo)
		b.runtime[fn.Lo] = own
	}
	return own
}

// cppLibrary returns a function that reports whether the function that begins at an address belongs
// to the C++ library in a static program. An instance of a template of namespace std may be the
// program's own code. So it counts only if it has no debug information, although main has some.
func (b *builder) cppLibrary() func(addr uint64) bool {
	names, debug := map[uint64]string{}, false
	for _, s := range b.plan.File.Symbols() {
		if s.Kind != elf.Func {
			continue
		}
		names[s.Addr] = s.Name
		debug = debug || s.Name == "main" && b.sourceFile(s.Addr) != ""
	}
	return func(addr uint64) bool { return debug && ofStd(names[addr]) && b.sourceFile(addr) == "" }
}

// ofStd reports whether a mangled name is that of a function in the namespaces of the C++ library.
func ofStd(mangled string) bool {
	rest, ok := strings.CutPrefix(mangled, "_Z")
	if !ok {
		return false
	}
	nested, ok := strings.CutPrefix(rest, "N")
	if !ok {
		return strings.HasPrefix(rest, "St")
	}
	nested = strings.TrimLeft(nested, "rVK") // the qualifiers of methods
	for _, space := range []string{"St", "Ss", "Sb", "Sa", "Si", "So", "Sd", "9__gnu_cxx", "10__cxxabiv1"} {
		if strings.HasPrefix(nested, space) {
			return true
		}
	}
	return false
}

// withRuntime is a static program in which the functions of the C and the C++ library count as
// imports: loops call them as those of another program call the functions of libraries.
type withRuntime struct {
	*elf.File
	targets map[uint64]string
}

// PLTTargets returns the names of imports by the addresses that are called.
func (f withRuntime) PLTTargets() map[uint64]string { return f.targets }

// importing returns the file with the libraries in it as imports.
func (b *builder) importing() withRuntime {
	f := withRuntime{b.plan.File, maps.Clone(b.plan.File.PLTTargets())}
	if f.targets == nil {
		f.targets = map[uint64]string{}
	}
	for _, s := range b.plan.File.Symbols() {
		if s.Kind != elf.Func || s.Addr == 0 || !b.ofRuntime(elf.Range{Lo: s.Addr}) {
			continue
		}
		if old := f.targets[s.Addr]; old == "" || publicName(s.Name, old) {
			f.targets[s.Addr] = s.Name
		}
	}
	return f
}

// publicName reports whether a name of a function is more public than another one of it: nanosleep
// than __nanosleep.
func publicName(name, old string) bool {
	if a, b := strings.HasPrefix(name, "_"), strings.HasPrefix(old, "_"); a != b {
		return b
	}
	return len(name) < len(old)
}
