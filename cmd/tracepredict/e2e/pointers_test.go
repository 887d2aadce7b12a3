package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPointers checks that the first access of memory is part of a race, wherever the memory lies, though
// it is recorded only when a second thread comes; that a lock prevents the finding, and that
// neighbouring bytes are not one variable. The report of the trace is the same.
func TestPointers(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "pointers.c", "-O1", "-g", "-pthread")
	for way, races := range map[string]int{"queue": 1, "locked": 0, "stack": 1, "mapping": 1, "halves": 0} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
			if got := r.summary(); strings.Count(got, "predicted race of ") != races || len(r.Findings) != races {
				t.Errorf("findings: %q, want %d predicted races (notes: %q)", got, races, r.Run.Notes)
			}
			if name := "struct queue.head"; way == "queue" && !strings.Contains(r.summary(), name) {
				t.Errorf("the finding does not name %s: %s", name, r.summary())
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}

// TestByNameAndPointer checks that a static variable is one that threads share if one accesses it by its name and
// another one through a pointer, whichever comes first; that locks and joins order these, and that neighbouring
// members are not one variable. The report of the trace is the same, which counts the threads.
func TestByNameAndPointer(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		program := build(t, "gcc", "joined.c", level, "-g", "-pthread")
		for way, want := range map[string]string{"first": "job.count", "second": "job.count", "both": "job.count", "halves": "job.half", "published": "job.ready"} {
			t.Run(way+level, func(t *testing.T) {
				trace := filepath.Join(t.TempDir(), "run.trace")
				status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
				if got := r.summary(); !slices.Contains([]string{"observed race of " + want, "predicted race of " + want}, got) {
					t.Errorf("findings: %q, want one race of %s (notes: %q)", got, want, r.Run.Notes)
				}
				if w := watchedIn(t, r)[want]; w.Threads < 2 || w.Use != "unguarded" {
					t.Errorf("%s: %+v", want, w)
				}
				if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
					t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
				}
				if _, r := reported(t, "exec", "--watch-shared=all", "--confidence", "potential", "--", program, way, "right"); r.summary() != "" {
					t.Errorf("the twin without the defect has findings: %q", r.summary())
				}
			})
		}
	}
}

// TestFreed checks that a call that frees, unmaps or moves memory is one side of a race with another thread's access,
// unless something orders them. The report of the trace is the same.
func TestFreed(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "freed.c", "-O1", "-g", "-pthread")
	const race = " race of struct job.parts"
	for way, want := range map[string]string{"late": "predicted" + race, "grown": "predicted" + race, "shared": "potential" + race, "unmapped": "predicted" + race, "waited": "", "joined": "", "counted": "", "untouched": ""} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
			if got := r.summary(); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("findings: %q, want %q (notes: %q)", got, want, r.Run.Notes)
			}
			if len(r.Findings) > 0 && !strings.Contains(r.Findings[0].Message, "free in main") && !strings.Contains(r.Findings[0].Message, "free in drop") {
				t.Errorf("the finding does not name the free: %s", r.Findings[0].Message)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}

// TestBudgetWithoutSymbols checks that functions without names are told apart.
func TestBudgetWithoutSymbols(t *testing.T) {
	needBPF(t)
	t.Parallel()
	_, r := reported(t, "exec", "--watch-shared=all", "--budget", "2x", "--", build(t, "gcc", "budget.c", "-O1", "-s", "-pthread"), "300000")
	said := r.Run.Pointers.Sampled
	if len(said) == 0 || len(said) >= r.Run.Pointers.Functions || !strings.Contains(said[0], "+0x") {
		t.Errorf("sampled: %q of %d (notes: %q)", said, r.Run.Pointers.Functions, r.Run.Notes)
	}
}

// TestBuiltins checks that accesses of atomic built-ins, which look like any other, are no races more certain than
// likely where a loop waits for the value, and none where an atomic instruction accesses the same memory. What
// such accesses do not order stays a race.
func TestBuiltins(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "builtins.c", "-O1", "-g", "-pthread")
	for way, want := range map[string]string{
		"acquire": "likely race of struct mail.sent", "sequential": "", "late": "likely race of struct mail.letter", "divided": "predicted race of struct mail.count",
	} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
			if got := r.summary(); !strings.HasPrefix(got, want) || want == "" && got != "" || len(r.Findings) > 1 {
				t.Errorf("findings: %q, want %q (notes: %q)", got, want, r.Run.Notes)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}

// TestSplitDebugInformation checks that accesses of atomic types through pointers make no race that is more certain than
// likely where what names them is in a .dwo file, and none where it is in the program.
func TestSplitDebugInformation(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for flags, split := range map[string]bool{"-g": false, "-gdwarf-5 -gsplit-dwarf": true, "-gdwarf-4 -gsplit-dwarf": true} {
		t.Run(flags, func(t *testing.T) {
			program := build(t, "g++", "mail_split.cc", append(strings.Fields(flags), "-O2", "-std=c++20", "-pthread")...)
			_, r := reported(t, "exec", "--watch-shared=all", "--", program)
			if !split && len(r.Findings) > 0 {
				t.Errorf("findings: %q", r.summary())
			}
			for i := range r.Findings {
				if f := &r.Findings[i]; f.Confidence != "likely" && f.Confidence != "potential" {
					t.Errorf("%s: %s (%s)", f.Confidence, f.Message, f.Reason)
				}
			}
		})
	}
}

// TestProbesTogether checks that an access of data and one that synchronises are recorded in their order, though
// their probes are at the same instruction.
func TestProbesTogether(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct{ flag, want string }{{"-DEARLY", ""}, {"-DLATE", "predicted race of struct game.data"}} {
		t.Run(c.flag, func(t *testing.T) {
			_, r := reported(t, "exec", "--watch-shared=all", "--", build(t, "gcc", "turns.c", "-O1", "-g", "-pthread", c.flag))
			if got := r.summary(); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("findings: %q, want %q (notes: %q)", got, c.want, r.Run.Notes)
			}
		})
	}
}

// TestBudget checks that hot code is observed in samples, that the report says so, and that a race in code that
// is executed once is found all the same. Without a budget, all is observed. The report of the trace is the same.
func TestBudget(t *testing.T) {
	needBPF(t)
	program := build(t, "gcc", "budget.c", "-O1", "-g", "-pthread")
	for _, c := range []struct {
		budget, often string
		sampled       bool
	}{{"2x", "300000", true}, {"none", "30000", false}} {
		t.Run(c.budget, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--budget", c.budget, "--record", trace, "--", program, c.often)
			if got := r.summary(); !strings.HasPrefix(got, "predicted race of struct counts.both") || len(r.Findings) != 1 {
				t.Errorf("findings: %q (notes: %q)", got, r.Run.Notes)
			}
			says := strings.Contains(strings.Join(r.Run.Notes, "\n"), "were observed in samples, to keep the budget")
			if said := r.Run.Pointers.Sampled; slices.Contains(said, "busy") != c.sampled || slices.Contains(said, "once") || says != c.sampled {
				t.Errorf("sampled: %q of %d, notes: %q", said, r.Run.Pointers.Functions, r.Run.Notes)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}

// TestManySites checks which code is observed of a program with more accesses than there is room for: what is near
// locks, though it comes last, and 60,000 accesses that come before it. The notes say how much is not observed, and
// where that may order threads, nothing is more than likely.
func TestManySites(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "manysites.c", "-O1", "-fno-toplevel-reorder", "-g", "-pthread")
	const race = " race of struct counts.both"
	for way, want := range map[string]string{"racing": "predicted" + race, "mixed": "likely" + race, "locked": ""} {
		t.Run(way, func(t *testing.T) {
			_, r := reported(t, "exec", "--watch-shared=all", "--", program, way)
			if got := r.summary(); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("findings: %q, want %q", got, want)
			}
			notes := strings.Join(r.Run.Notes, "\n")
			for _, note := range []string{"accesses through pointers in 1 function of ", " are not seen (199000 in all)"} {
				if !strings.Contains(notes, note) {
					t.Errorf("no %q in the notes: %q", note, notes)
				}
			}
		})
	}
}

// TestPointersReused checks that what a thread did in memory that has ended does not race with what
// another thread does where that memory was.
func TestPointersReused(t *testing.T) {
	needBPF(t)
	program := build(t, "gcc", "pointers.c", "-O1", "-g", "-pthread")
	t.Setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0") // threads share free blocks
	for _, way := range []string{"reused", "resized", "unmapped"} {
		t.Run(way, func(t *testing.T) {
			c := startTool(t, childOptions{}, "exec", "--watch-shared=all", "--confidence", "potential", "--", program, way)
			status := c.wait()
			if out := c.out.String() + c.err.String(); status != 0 || !strings.Contains(out, "no findings") {
				t.Errorf("exit status %d, want no findings:\n%s", status, out)
			} else if !strings.Contains(out, "same block") {
				t.Skip("the allocator gave the second thread another block")
			}
		})
	}
}

// TestArgumentsOfAtomics checks that plain memory is known as such though compilers say that the instruction that loads
// it belongs to an atomic operation; and that a loop by which they change an atomic word is atomic.
func TestArgumentsOfAtomics(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O1", "-O2"} {
		program := build(t, "g++", "arguments.cc", level, "-g", "-pthread", "-std=c++17")
		for way, want := range map[string]string{"heap": "predicted race of config.level", "named": "predicted race of level", "stored": "predicted race of level", "locked": "", "bits": ""} {
			t.Run(level+" "+way, func(t *testing.T) {
				_, r := reported(t, "exec", "--watch-shared=all", "--", program, way)
				if got := r.summary(); !strings.HasPrefix(got, want) || want == "" && got != "" {
					t.Errorf("findings: %q, want %q (notes: %q)", got, want, r.Run.Notes)
				}
			})
		}
	}
}

// TestHalves checks that of two neighbouring numbers in one word, both of which one thread has used, each can be part of
// a race when another thread comes.
func TestHalves(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "halves.c", "-O1", "-g", "-pthread")
	for way, want := range map[string]string{"first": "predicted race of struct pair.first", "second": "predicted race of struct pair.second", "beside": ""} {
		t.Run(way, func(t *testing.T) {
			_, r := reported(t, "exec", "--watch-shared=all", "--", program, way)
			if got := r.summary(); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("findings: %q, want %q (notes: %q)", got, want, r.Run.Notes)
			}
		})
	}
}
