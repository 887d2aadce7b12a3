package elf

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

var run = elftest.Run

// build compiles a file of testdata and returns the program's path.
func build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	return elftest.Build(t, compiler, filepath.Join("testdata", source), flags...)
}

func open(t testing.TB, path string) *File {
	t.Helper()
	return openWith(t, path, Options{})
}

func openWith(t testing.TB, path string, opts Options) *File {
	t.Helper()
	f, err := OpenWith(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// variant is a way to build a fixture.
type variant struct {
	name, compiler, source string
	flags                  []string
	static, pie            bool
}

func variants() []variant {
	return []variant{
		{"pie", "gcc", "sample.c", []string{"-pie", "-fPIE"}, false, true},
		{"no-pie", "gcc", "sample.c", []string{"-no-pie"}, false, false},
		{"static", "gcc", "sample.c", []string{"-static"}, true, false},
		{"static-pie", "gcc", "sample.c", []string{"-static-pie", "-fPIE"}, true, true},
		{"cet", "gcc", "sample.c", []string{"-fcf-protection=full", "-Wl,-z,ibtplt"}, false, true},
		{"lazy", "gcc", "sample.c", []string{"-Wl,-z,lazy"}, false, true},
		{"no-plt", "gcc", "sample.c", []string{"-fno-plt"}, false, true},
		{"sysv-hash", "gcc", "sample.c", []string{"-Wl,--hash-style=sysv"}, false, true},
		{"gnu-hash", "gcc", "sample.c", []string{"-Wl,--hash-style=gnu"}, false, true},
		{"stripped", "gcc", "sample.c", []string{"-s"}, false, true},
		{"c++", "g++", "sample.cc", []string{"-g"}, false, true},
		{"c++-static", "g++", "sample.cc", []string{"-static"}, true, false},
		{"musl", "musl-gcc", "sample.c", []string{"-static"}, true, false},
		{"musl-dynamic", "musl-gcc", "sample.c", nil, false, true},
	}
}

func eachVariant(t *testing.T, test func(t *testing.T, v variant, path string)) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			testtool.Need(t, v.compiler)
			test(t, v, build(t, v.compiler, v.source, v.flags...))
		})
	}
}

// systemLibrary returns the path of glibc.
func systemLibrary(t testing.TB) string {
	t.Helper()
	for _, p := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skip("no glibc found in the usual places")
	return ""
}
