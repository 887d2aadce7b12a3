// Package clib decides which functions of a file are the C library's.
//
// A program may have a function of its own that is called mtx_lock or sem_wait, with another meaning
// or as a wrapper, and a library may put itself before the C library's. The input is an open binary,
// the name and address of a function and, if there is debug information, source files; the output is
// whether the function is the C library's, and if not, why. The evidence is, for a shared file, its
// name and what it exports; for a static program, which contains a C library, source files, names
// that C reserves for its library, and the order in which linkers put files.
package clib

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// starts are the functions of C libraries that call main, which every program with such a library
// needs (glibc and musl, uClibc, Bionic).
var starts = []string{"__libc_start_main", "__uClibc_main", "__libc_init"}

// Library is the C library in a file. It is safe for concurrent use.
type Library struct {
	file  *elf.File
	whole bool   // the file is the C library, or a part of it
	start uint64 // address of the function that calls main, in a static program; 0: the file contains no C library
	// newGlibc reports that the program contains glibc of version 2.34 or later.
	newGlibc bool
	other    string // what Foreign returns for all functions of a file without C library

	once sync.Once
	code uint64 // the lowest address of the library's code in a static program
}

// Of returns the C library in a file.
func Of(f *elf.File) *Library {
	l := &Library{file: f, whole: isLibrary(f), other: "defined in " + path.Base(f.Name()) + ", which is not the C library"}
	if l.whole || !f.Static() {
		return l
	}
	for _, name := range starts {
		for _, s := range f.Lookup(name) {
			if s.Kind == elf.Func && l.start == 0 {
				l.start = s.Addr
			}
		}
	}
	l.newGlibc = len(f.Lookup("__libc_start_main_impl")) > 0
	return l
}

// isLibrary reports whether a file is the C library, or a part of one. Musl's may have no name
// (DT_SONAME); it needs no other file.
func isLibrary(f *elf.File) bool {
	name := f.SOName()
	if libname.Stem(name) == "libpthread" {
		return true
	}
	return (libname.Language(name) || name == "" && f.Static()) && slices.ContainsFunc(starts, func(start string) bool { return exports(f, start) })
}

func exports(f *elf.File, name string) bool {
	return slices.ContainsFunc(f.Lookup(name), func(s elf.Symbol) bool { return s.Dynamic && !s.Local && s.Kind == elf.Func })
}

// Foreign returns why a function is not the C library's, as words that describe it; "" if it is the
// C library's. source returns the source file of the function that begins at an address,
// "" if it is not known; it may be nil.
func (l *Library) Foreign(name string, addr uint64, source func(uint64) string) string {
	switch {
	case l.whole:
		return ""
	case l.start == 0:
		return l.other
	}
	if source != nil {
		if known, own := l.compiledElsewhere(source(addr), source); known {
			return own
		}
	}
	switch {
	case l.hasReservedAlias(name, addr):
		return ""
	case l.aliased(name):
		return "without the second name that glibc gives its own"
	case addr < l.lowest():
		return "in the program's own code, before the C library's"
	}
	return ""
}

// startUp are functions beside those of starts with which a C library's code may begin in a static
// program: the start-up code needs them first. No program has functions of these names.
var startUp = []string{"__libc_start_call_main", "__libc_init_first", "libc_start_main_stage2", "__init_libc"}

// certain returns the address from which on all code is the C library's. Unlike lowest it does not
// rely on the beginnings of names.
func (l *Library) certain() uint64 {
	from := l.start
	for _, name := range startUp {
		for _, s := range l.file.Lookup(name) {
			if s.Kind == elf.Func && s.Addr > l.file.Entry() {
				from = min(from, s.Addr)
			}
		}
	}
	return from
}

// Owns reports whether the code of the function that begins at an address is certain to be the C
// library's, whatever its name. source is that of Foreign.
func (l *Library) Owns(addr uint64, source func(uint64) string) bool {
	if l.whole || l.start == 0 {
		return l.whole
	}
	if source != nil {
		if known, own := l.compiledElsewhere(source(addr), source); known {
			return own == ""
		}
	}
	return addr >= l.certain() || addr < l.file.Entry() && l.rarelyExecuted(addr)
}

// rarelyExecuted reports whether a function before the entry, where linkers put what is rarely
// executed, is a part of one of the library's, or is abort, which C reserves for its library. In a static program that is
// loaded anywhere (-static-pie), linkers make the library's functions local; a program's own abort would be a second one.
func (l *Library) rarelyExecuted(addr uint64) bool {
	for _, s := range l.symbolsAt(addr) {
		if s.Name == "abort" && (!s.Local || len(l.file.Lookup(s.Name)) == 1) {
			return true
		}
		whole, part := strings.CutSuffix(s.Name, ".cold")
		if !part {
			continue
		}
		all := l.file.Lookup(whole)
		owned := func(s elf.Symbol) bool { return s.Addr >= l.certain() }
		return len(all) > 0 && !slices.ContainsFunc(all, func(s elf.Symbol) bool { return !owned(s) })
	}
	return false
}

// aliased reports whether the library is glibc of version 2.34 or later, which has a reserved name
// too for each of its functions of such a name.
func (l *Library) aliased(name string) bool {
	return l.newGlibc && (name == "call_once" || slices.ContainsFunc([]string{"sem_", "mtx_", "cnd_", "thrd_"}, func(family string) bool { return strings.HasPrefix(name, family) }))
}

// compiledElsewhere decides by the source file of a function, and that of the library's function
// that calls main. The library may have been built without debug information. If it has some, its
// sources are in the folder that contains the folder of that function's file, as glibc's
// csu/libc-start.c and nptl, and musl's src/env and src/thread.
func (l *Library) compiledElsewhere(file string, source func(uint64) string) (known bool, why string) {
	if file == "" {
		return false, ""
	}
	if start := source(l.start); start != "" {
		root := path.Dir(path.Dir(path.Clean(start)))
		switch {
		case root == "/" || root == "." || strings.HasPrefix(root, ".."):
			return false, ""
		case strings.HasPrefix(path.Clean(file), root+"/"):
			return true, ""
		}
	}
	return true, fmt.Sprintf("compiled from %s, apart from the C library", path.Base(file))
}

// hasReservedAlias reports whether the function has a name that C reserves for its library: glibc's
// sem_wait is also called __new_sem_wait.
func (l *Library) hasReservedAlias(name string, addr uint64) bool {
	plain := strings.TrimLeft(name, "_")
	return slices.ContainsFunc(l.symbolsAt(addr), func(s elf.Symbol) bool {
		return strings.HasPrefix(s.Name, "__") && strings.Contains(s.Name, plain)
	})
}

// symbolsAt returns the symbols with an address.
func (l *Library) symbolsAt(addr uint64) []elf.Symbol {
	symbols := l.file.Symbols()
	first, _ := slices.BinarySearchFunc(symbols, addr, func(s elf.Symbol, a uint64) int { return cmp.Compare(s.Addr, a) })
	end := first
	for end < len(symbols) && symbols[end].Addr == addr {
		end++
	}
	return symbols[first:end]
}

// landmarks are the beginnings of names of functions that only a C library has.
var landmarks = []string{"__libc_", "__nptl_", "__pthread_", "__stdio_", "__init_libc", "__uClibc_", "__lll_", "__futex_", "_IO_"}

// lowest returns the address at which the library's code begins in a static program. Linkers put
// the files of a program in the order in which they are named: start-up code with the entry, the
// program's, archives of libraries, the C library's. Before the entry are parts of functions that
// are rarely executed, from all files.
func (l *Library) lowest() uint64 {
	l.once.Do(func() {
		l.code = l.start
		for _, s := range l.file.Symbols() {
			if s.Kind != elf.Func || s.Addr <= l.file.Entry() || s.Addr >= l.code || strings.Contains(s.Name, ".") {
				continue
			}
			if slices.ContainsFunc(landmarks, func(p string) bool { return strings.HasPrefix(s.Name, p) }) {
				l.code = s.Addr
				return // the symbols are sorted by address
			}
		}
	})
	return l.code
}
