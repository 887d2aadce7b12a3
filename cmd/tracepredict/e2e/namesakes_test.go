package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnThreads checks that a program's own C11 threads, which wrap POSIX threads, make each event
// once, whatever C library there is.
func TestOwnThreads(t *testing.T) { expectLogs(t, "tinycthread.c") }

// TestNamesakes checks that functions of a program that only have the names of the C library's make
// no event.
func TestNamesakes(t *testing.T) { expectLogs(t, "namesakes.c") }

// TestInterposed checks that calls are seen once, where the C library performs them, if a library
// interposes functions and hands their calls on.
func TestInterposed(t *testing.T) {
	library := build(t, "gcc", "interpose.c", "-shared", "-fPIC", "-O2", "-pthread")
	for _, source := range []string{"mutex.c", "sem.c", "cond.c", "join.c"} {
		t.Run(source, func(t *testing.T) {
			program := build(t, "gcc", source, "-pthread")
			eachSites(t, func(t *testing.T, opts options) {
				t.Setenv("LD_PRELOAD", library)
				observe(t, program, opts).expectLog(t)
			})
		})
	}
	t.Run("LeakSanitizer", func(t *testing.T) {
		t.Setenv("LSAN_OPTIONS", "detect_leaks=0") // it would trace a process that is traced
		observe(t, build(t, "gcc", "mutex.c", "-pthread", "-fsanitize=leak"), options{}).expectLog(t)
	})
}

// TestFindingsOfNamesakes checks that functions of a program that count and are called like those
// that lock make no finding, and that wrappers of POSIX threads with the same names make the finding
// that the same program with the C library's functions makes.
func TestFindingsOfNamesakes(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"-static"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			summary := func(flag string) string {
				_, r := reported(t, "exec", "--watch-shared=off", "--", processFixture(t, "ordered.c", append(flags, flag)...))
				return r.summary()
			}
			if got := summary("-DCOUNTS"); got != "" {
				t.Errorf("functions that count: %s", got)
			}
			library := summary("-DLIBRARY")
			if got := summary("-DWRAPS"); got != library || !strings.Contains(got, "deadlock of a, b") {
				t.Errorf("wrappers: %s; the C library: %s", got, library)
			}
		})
	}
}

// TestSitesOfNamesakes checks that the command sites names the functions that are not the C
// library's, each reason in one line, and that a table of the user makes one of them a site.
func TestSitesOfNamesakes(t *testing.T) {
	t.Parallel()
	program := processFixture(t, "ordered.c", "-DCOUNTS")
	out := startTool(t, childOptions{}, "sites", program)
	out.wait()
	const want = ", which is not the C library: mtx_lock, mtx_unlock; a file for --sync can say what they do\n"
	if text := out.out.String(); strings.Count(text, "note: not observed, defined in ") != 1 || !strings.Contains(text, want) {
		t.Errorf("sites:\n%s", text)
	}
	own := writeTable(t, "[[call]]\nname = \"mtx_lock\"\noperation = \"acquire\"\nkind = \"spinlock\"\n")
	out = startTool(t, childOptions{}, "sites", "--sync", own, program)
	out.wait()
	if text := out.out.String(); !strings.Contains(text, "acquire spinlock") || !strings.Contains(text, ": mtx_unlock; a file") {
		t.Errorf("sites --sync:\n%s", text)
	}
}

// TestLibrariesOfLongerNames checks that a library whose name begins like that of a run-time library
// is not taken for one: the synchronisation in it may order accesses, so that no race of them is
// certain.
func TestLibrariesOfLongerNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"librte_ring.so.23", "libdlist.so", "ld-tool.so", "libc-client.so.2", "libring.so"} {
		t.Run(name, func(t *testing.T) {
			library := filepath.Join(t.TempDir(), name)
			if err := compile("gcc", "testdata/process/ringlib.c", library, []string{"-shared", "-fPIC", "-O2"}); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(t.TempDir(), "ringuser")
			if err := compile("gcc", "testdata/process/ringuser.c", program, []string{"-O2", "-pthread", library}); err != nil {
				t.Fatal(err)
			}
			_, r := reported(t, "exec", "--watch", "parcel", "--", program)
			if got := r.summary(); strings.Contains(got, "observed") || strings.Contains(got, "predicted") {
				t.Errorf("findings: %s", got)
			}
		})
	}
}
