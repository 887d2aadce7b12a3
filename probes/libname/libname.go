// Package libname recognises run-time libraries by the names of their files, and knows what their functions do by
// the names of these: functions.toml is the one table of that, which packages ask that look at code.
//
// Its input is text, its output yes or no. Names are compared whole, apart from a library's version:
// librte_ring.so is not librt. A file that is called like a library is taken for it; whose code a
// function of that name is, is for others to find.
package libname

import (
	"path"
	"slices"
	"strings"
)

// language are the run-time libraries of C and C++, with their parts, by their names without
// version. The dynamic loaders are among them: musl's is its C library.
var language = []string{
	"libc", "libpthread", "libstdc++", "libc++", "libc++abi", "libgcc_s",
	"libc.musl-x86_64", "libc.musl-aarch64", "ld-musl-x86_64", "ld-musl-aarch64",
}

// loaders are glibc's dynamic loaders: ld-2.31.so is what ld-linux-x86-64.so.2 was a link to until
// version 2.34.
var loaders = []string{"ld", "ld-linux", "ld-linux-x86-64", "ld-linux-aarch64", "ld-linux-aarch64_be"}

// cpp are the libraries of C++.
var cpp = []string{"libstdc++", "libc++"}

// sanitizers are the run-time libraries of compilers' sanitizers, which interpose functions of the C
// library.
var sanitizers = []string{"libasan", "libhwasan", "liblsan", "libtsan", "libubsan"}

// others are the rest of the C library, libraries of compilers, and allocators.
var others = []string{
	"libm", "librt", "libdl", "libatomic", "libgomp",
	"libjemalloc", "libmimalloc", "libmimalloc-secure", "libmimalloc-debug",
	"libtcmalloc", "libtcmalloc_debug", "libtcmalloc_minimal", "libtcmalloc_minimal_debug", "libtcmalloc_and_profiler",
}

// Runtime reports whether a path is that of a C or C++ run-time library, of a sanitizer or of an
// allocator. The synchronisation in these libraries implements the calls that are observed, or
// orders nothing that a program may rely on.
func Runtime(file string) bool {
	return Language(file) || slices.Contains(others, Stem(file))
}

// Language reports whether a path is that of a run-time library of C or C++, of a sanitizer, or of a
// dynamic loader: one whose functions stand between the program and what it calls.
func Language(file string) bool {
	stem := Stem(file)
	return slices.Contains(loaders, stem) || slices.Contains(language, stem) || slices.Contains(sanitizers, stem)
}

// Loader reports whether a path is that of a dynamic loader. It returns false for musl's, which is
// the C library itself, whose functions the program calls.
func Loader(file string) bool { return slices.Contains(loaders, Stem(file)) }

// CPlusPlus reports whether a path is that of a library of C++.
func CPlusPlus(file string) bool { return slices.Contains(cpp, Stem(file)) }

// Stem returns the file name of a library without its version: libc for libc.so.6, libc-2.31.so and
// libc.so. It returns "" for a file that is not called like a library.
func Stem(file string) string {
	base := path.Base(file)
	name, version, ok := strings.Cut(base, ".so")
	if !ok || version != "" && (version[0] != '.' || !isVersion(version[1:])) {
		return ""
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 && strings.Contains(name[i:], ".") && isVersion(name[i+1:]) {
		name = name[:i]
	}
	return name
}

// isVersion reports whether a text consists of numbers with dots between them.
func isVersion(s string) bool {
	for _, part := range strings.Split(s, ".") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}
