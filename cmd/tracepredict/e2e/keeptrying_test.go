package e2e

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeepTrying checks threads that hold a lock and try another one until they have it, while a second thread nests the two
// the other way round; and innocent ones, which let go of the first lock, give up, are told to, or tell others.
func TestKeepTrying(t *testing.T) {
	needBPF(t)
	t.Parallel()
	locks := map[string]string{"spinlock": "spin", "standard": "plain"}
	for level, found := range map[string][]string{
		"-O0": {"spins", "called"},
		"-O2": {"sleeps", "spins", "called", "fails", "spinlock", "standard"},
	} {
		program := build(t, "gcc", "keeptrying.c", level, "-g", "-pthread")
		for _, how := range found {
			lock := cmp.Or(locks[how], "page")
			t.Run(how+level, func(t *testing.T) {
				trace := filepath.Join(t.TempDir(), "trace")
				status, r := reported(t, "exec", "--record", trace, "--", program, how)
				found := "likely deadlock of " + strings.Join(sorted(lock, "tree"), ", ")
				wantSummary(t, r, found)
				if status != 66 || !strings.Contains(r.Findings[0].Message, "T2 holds 'tree' and tries again and again to lock '"+lock+"' at keeptrying.c:") {
					t.Errorf("status %d, %q", status, r.Findings[0].Message)
				}
				_, again := reported(t, "analyze", trace)
				wantSummary(t, again, found)
			})
		}
	}
	program := build(t, "gcc", "keeptrying.c", "-O1", "-g", "-pthread")
	for _, how := range []string{"backs_off", "counts", "once", "stops", "works"} {
		t.Run(how, func(t *testing.T) { wantInnocent(t, program, how) })
	}
}

// TestKeepTryingCPP is the same with the locks of C++.
func TestKeepTryingCPP(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for level, found := range map[string][]string{
		"-O0": {"mutex", "shared"}, // sleep_for and std::unique_lock are too much code there
		"-O2": {"mutex", "shared", "sleeps", "unique"},
	} {
		program := build(t, "g++", "keeptrying.cc", level, "-g", "-pthread")
		for _, how := range found {
			t.Run(how+level, func(t *testing.T) {
				status, r := reported(t, "exec", "--", program, how)
				if status != 66 || len(r.Findings) != 1 || r.Findings[0].Confidence != "likely" || !strings.Contains(r.Findings[0].Message, "tries again and again to ") {
					t.Errorf("status %d, %q", status, r.Findings)
				}
			})
		}
		for _, how := range []string{"limited", "both"} {
			t.Run(how+level, func(t *testing.T) { wantInnocent(t, program, how) })
		}
	}
}

// wantInnocent checks that nothing is found in a run of a program.
func wantInnocent(t *testing.T, program, how string) {
	t.Helper()
	status, r := reported(t, "exec", "--", program, how)
	wantSummary(t, r, "")
	if status != 0 {
		t.Errorf("%s: status %d", how, status)
	}
}

func sorted(a, b string) []string {
	if b < a {
		a, b = b, a
	}
	return []string{a, b}
}
