package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// needOpenMP skips the test if gcc cannot build programs with OpenMP.
func needOpenMP(t *testing.T) {
	t.Helper()
	testtool.Need(t, "gcc")
	source := filepath.Join(t.TempDir(), "main.c")
	if err := os.WriteFile(source, []byte("#include <omp.h>\nint main(void) { return omp_get_level(); }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "gcc", "-fopenmp", "-o", source+".out", source).CombinedOutput(); err != nil {
		t.Skipf("gcc cannot build with -fopenmp: %v\n%s", err, out)
	}
}

// openMPWays has the ways of openmp.c, with the findings that each may have.
var openMPWays = map[string][]string{
	"critical": {"observed race of sum", "predicted race of sum"},
	"swapped":  {"predicted race of sum"},
	"region":   {"observed race of struct cell.value", "predicted race of struct cell.value"},
	"loop":     {"observed race of struct cell.value", "predicted race of struct cell.value"},
	"dynamic":  {"observed race of ", "predicted race of "},
	"ordered":  {"observed race of struct cell.value", "predicted race of struct cell.value"},
	"copied":   {"observed race of struct cell.value", "predicted race of struct cell.value"},
	"sections": {"observed race of ", "predicted race of "},
	"locks":    {"predicted deadlock of one, two", "predicted deadlock of two, one"},
	"nested":   {"observed race of struct cell.value", "predicted race of struct cell.value"},
	"masters":  {"observed race of struct cell.value", "predicted race of struct cell.value"},
}

// hasPrefix reports whether a text begins with one of the prefixes.
func hasPrefix(text string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// TestOpenMP checks that the constructs of OpenMP order and exclude the threads of libgomp, and no more than they do:
// each defect is found, and its twin has no finding. The report of the trace is the same.
func TestOpenMP(t *testing.T) {
	needBPF(t)
	needOpenMP(t)
	t.Setenv("OMP_NUM_THREADS", "2")
	t.Setenv("OMP_DYNAMIC", "false")
	program := build(t, "gcc", "openmp.c", "-O1", "-g", "-pthread", "-fopenmp")
	for way, want := range openMPWays {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
			if got := r.summary(); !hasPrefix(got, want) {
				t.Errorf("findings: %q, want one of %q first (notes: %q)", got, want, r.Run.Notes)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
			if _, r := reported(t, "exec", "--watch-shared=all", "--confidence", "potential", "--", program, way, "right"); r.summary() != "" {
				t.Errorf("the twin without the defect has findings: %q (notes: %q)", r.summary(), r.Run.Notes)
			}
		})
	}
}

// TestOpenMPStatic checks the same of a static variable that is watched by name. What else a critical section
// contains is not recorded then, so that it may decide what follows.
func TestOpenMPStatic(t *testing.T) {
	needBPF(t)
	t.Parallel()
	needOpenMP(t)
	program := build(t, "gcc", "openmp.c", "-O2", "-g", "-pthread", "-fopenmp")
	for way, want := range map[string][]string{"critical": openMPWays["critical"], "swapped": {"potential race of sum", "predicted race of sum"}} {
		t.Run(way, func(t *testing.T) {
			if _, r := reported(t, "exec", "--watch-shared=off", "--watch", "sum", "--", program, way); !hasPrefix(r.summary(), want) {
				t.Errorf("findings: %q (notes: %q)", r.summary(), r.Run.Notes)
			}
			if _, r := reported(t, "exec", "--watch-shared=off", "--watch", "sum", "--confidence", "potential", "--", program, way, "right"); r.summary() != "" {
				t.Errorf("the twin without the defect has findings: %q (notes: %q)", r.summary(), r.Run.Notes)
			}
		})
	}
}

// TestOpenMPTasks checks that tasks, whose order the calls of libgomp do not show, lead to nothing more certain than
// likely, and that the doubt is named.
func TestOpenMPTasks(t *testing.T) {
	needBPF(t)
	t.Parallel()
	needOpenMP(t)
	program := build(t, "gcc", "openmp.c", "-O1", "-g", "-pthread", "-fopenmp")
	for _, args := range [][]string{{"task"}, {"task", "right"}} {
		_, r := reported(t, append([]string{"exec", "--watch-shared=all", "--", program}, args...)...)
		if got := r.summary(); strings.Contains(got, "observed") || strings.Contains(got, "predicted") {
			t.Errorf("%q: findings: %q", args, got)
		}
		if notes := strings.Join(r.Run.Notes, "\n"); !strings.Contains(notes, "call of GOMP_task in task") {
			t.Errorf("%q: no note names the task: %q", args, notes)
		}
	}
}
