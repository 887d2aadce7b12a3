package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLibraryCalls checks that what library functions access for the program is one side of a race, and that the
// finding names them; that locks, conditions and messages order it, and that nothing is recorded which may not have
// been accessed. The report of the trace is the same.
func TestLibraryCalls(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "librarycalls.c", "-O2", "-g", "-pthread")
	for way, by := range map[string]string{
		"copied": "memcpy", "source": "memcpy", "cleared": "memset", "moved": "memmove", "first": "strcpy", "printed": "snprintf",
		"measured": "strlen", "large": "memset", "received": "read", "filed": "fread", "sent": "write", "stacked": "memcpy",
		"lined": "fgets", "scanned": "sscanf", "sorted": "qsort", "timed": "clock_gettime", "unscanned": "", "failed": "",
		"locked": "", "handed": "", "piped": "", "blocked": "", "beside": "", "short": "", "private": "", "closed": "",
	} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
			want := ""
			if by != "" {
				want = "predicted race of struct message.text[]"
			}
			if got := r.summary(); !strings.HasPrefix(got, want) || len(r.Findings) != min(1, len(want)) {
				t.Errorf("findings: %q, want %q (notes: %q)", got, want, r.Run.Notes)
			}
			if by != "" && len(r.Findings) > 0 && !strings.Contains(r.Findings[0].Message, " by "+by+" of ") {
				t.Errorf("the finding does not name %s: %s", by, r.Findings[0].Message)
			}
			const cut = "1 call of library functions that access much memory, as memcpy: only what they accessed first was looked at"
			if slices.Contains(r.Run.Notes, cut) != (way == "large") {
				t.Errorf("notes: %q", r.Run.Notes)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}

// TestLibraryTexts checks that the texts and the buffers of vectors that library functions access are one side of a race
// beyond their first byte, and no further than they go. The report of the trace is the same.
func TestLibraryTexts(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "whole_texts.c", "-O2", "-g", "-pthread")
	for way, by := range map[string]string{
		"copied": "write by strcpy", "source": "read by strcpy", "appended": "write by strcat", "bounded": "write by strncat", "printed": "read by fprintf",
		"formatted": "read by sprintf", "scanned": "write by sscanf", "lined": "write by fgets", "gathered": "read by writev", "scattered": "write by readv",
		"sent": "read by sendmsg", "received": "write by recvmsg", "tree": "write by tsearch",
		"behind": "", "before": "", "precise": "", "short": "", "unopened": "", "locked": "", "looked": "",
	} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
			if got := r.summary(); len(r.Findings) != min(1, len(by)) || by != "" && !strings.HasPrefix(got, "predicted race of ") {
				t.Errorf("findings: %q, want %q (notes: %q)", got, by, r.Run.Notes)
			}
			if by != "" && len(r.Findings) > 0 && !strings.HasPrefix(strings.ToLower(r.Findings[0].Message), by) {
				t.Errorf("the finding does not begin with %q: %s", by, r.Findings[0].Message)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}

// TestClosedNumber checks that the close of a descriptor races with its use by another thread, unless something orders the
// two, or the number is another file's. The report of the trace is the same.
func TestClosedNumber(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "closed_number.c", "-O1", "-g", "-pthread")
	for way, by := range map[string]string{
		"exchanged": "read by write", "waited": "read by recv", "vector": "read by writev", "locked": "", "replaced": "", "reopened": "", "standard": "", "twice": "",
	} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--record", trace, "--", program, way)
			if by == "" && len(r.Findings) > 0 || by != "" && (len(r.Findings) != 1 || !strings.HasPrefix(strings.ToLower(r.Findings[0].Message), by+" of 'descriptor ")) {
				t.Errorf("findings: %q, want %q", r.summary(), by)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}

// TestLibraryCallsBuilt checks that calls of library functions are seen however the program is linked.
func TestLibraryCallsBuilt(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, flags := range [][]string{{"-fno-plt"}, {"-static"}, {"-no-pie"}, {"-D_FORTIFY_SOURCE=2"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			program := build(t, "gcc", "librarycalls.c", append([]string{"-O2", "-g", "-pthread"}, flags...)...)
			for way, by := range map[string]string{"copied": "memcpy", "moved": "memmove", "received": "read", "printed": "snprintf", "locked": "", "blocked": ""} {
				_, r := reported(t, "exec", "--watch-shared=all", "--", program, way)
				if by == "" && len(r.Findings) > 0 || by != "" && (len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Message, " by "+by+" of ")) {
					t.Errorf("%s: findings: %q, want one of %q (notes: %q)", way, r.summary(), by, r.Run.Notes)
				}
			}
		})
	}
}

// TestLibraryOwnState checks that functions of the C library which share data of its own race by that; that a lock guards it,
// and that functions that only read it do not. The report of the trace is the same.
func TestLibraryOwnState(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "own_state.c", "-O1", "-g", "-pthread")
	for way, state := range map[string]string{
		"environment": "the environment", "zone": "the environment", "strtok": "the state of strtok", "drand48": "the state of drand48",
		"hsearch": "the table of hsearch", "setlocale": "the locale", "locked": "", "read": "",
	} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--record", trace, "--", program, way)
			if state == "" && len(r.Findings) > 0 || state != "" && (len(r.Findings) == 0 || !slices.Contains(r.Findings[0].Objects, state)) {
				t.Errorf("findings: %q, want a race of %q", r.summary(), state)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}

// TestLibraryOwnMemory checks that the memory to which the result of localtime and its kind points counts as written by each
// call; that a lock guards it, and that there is none if the call fails.
func TestLibraryOwnMemory(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "own_memory.c", "-O1", "-g", "-pthread")
	for way, by := range map[string]string{"localtime": "localtime", "ctime": "ctime", "locked": "", "copied": "", "failed": ""} {
		t.Run(way, func(t *testing.T) {
			_, r := reported(t, "exec", "--", program, way)
			for i := range r.Findings {
				if m := r.Findings[i].Message; by == "" || !strings.Contains(m, " by "+by+" ") {
					t.Errorf("found: %s", m)
				}
			}
			if by != "" && len(r.Findings) == 0 {
				t.Errorf("no race of what %s writes (notes: %q)", by, r.Run.Notes)
			}
		})
	}
}

// TestNamedBehindPointers checks that accesses of static variables by their names and by library functions are of
// the same variables, whoever comes first, and that what is beside them is not. The report of the trace is the same.
func TestNamedBehindPointers(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "named_behind.c", "-O1", "-g", "-pthread")
	for way, want := range map[string]string{
		"cleared": "counts.second", "filled": "counts.second", "element": "slots[3]", "byte": "counts+0x9",
		"locked": "", "joined": "", "halves": "", "bytes": "", "alone": "",
	} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
			if got := r.summary(); len(r.Findings) != min(1, len(want)) || want != "" && !strings.HasPrefix(got, "predicted race of "+want) {
				t.Errorf("findings: %q, want one of %q (notes: %q)", got, want, r.Run.Notes)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}
