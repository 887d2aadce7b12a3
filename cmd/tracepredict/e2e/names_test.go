package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// addresses differ between runs.
var addresses = regexp.MustCompile(`0x[0-9a-f]+`)

// lockNames returns the names of the locks in the findings of a report.
func lockNames(r jsonReport) []string {
	var out []string
	for _, f := range r.Findings {
		names := slices.Clone(f.Objects)
		for i := range names {
			names[i] = addresses.ReplaceAllString(names[i], "0x")
		}
		slices.Sort(names)
		out = append(out, strings.Join(names, ", "))
	}
	slices.Sort(out)
	return out
}

// TestLocksAreCalledAsInTheSource checks that locks have the names of the source's
// variables and types, live and in the trace, however the program was compiled.
func TestLocksAreCalledAsInTheSource(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, tt := range []struct {
		compiler, source string
		want             []string
	}{
		{"gcc", "named.c", []string{
			"0x (mutex initialised in main at named.c:67), mine on the stack of main (0x)",
			"server.per_cpu[2].lock, ticket.guard (0x)",
			"struct account.mu (0x), struct account.mu (0x)",
		}},
		{"g++", "named.cc", []string{
			"bank::Account.mu_ (0x), bank::Account.rw (0x)",
			"bank::Account.mu_ (0x), bank::Queue<int>.lock_ (0x)",
		}},
	} {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(tt.source+level, func(t *testing.T) {
				trace := filepath.Join(t.TempDir(), "trace")
				_, live := reported(t, "exec", "--watch-shared=off", "--record", trace, "--", build(t, tt.compiler, tt.source, "-g", level, "-pthread"))
				_, again := reported(t, "analyze", trace)
				for _, r := range []jsonReport{live, again} {
					if got := lockNames(r); !slices.Equal(got, tt.want) {
						t.Errorf("locks are called\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
					}
				}
			})
		}
	}
}

// TestLockClasses checks that a cycle of lock classes is found although no two threads
// acquired the same locks, live and in a trace, and only on request.
func TestLockClasses(t *testing.T) {
	needBPF(t)
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace")
	program := example(t, "classes")
	_, without := reported(t, "exec", "--watch-shared=off", "--record", trace, "--", program)
	wantSummary(t, without, "")
	_, live := reported(t, "exec", "--watch-shared=off", "--lock-classes", "--", program)
	_, again := reported(t, "analyze", "--lock-classes", trace)
	for _, r := range []jsonReport{live, again} {
		want := []string{"struct account.mu (0x), struct ledger.lock (0x)"}
		if got := lockNames(r); !slices.Equal(got, want) || r.Findings[0].Confidence != "potential" {
			t.Fatalf("findings: %+v", r.Findings)
		}
		if f := r.Findings[0]; !slices.Equal(f.Classes, []string{"struct account.mu", "struct ledger.lock"}) || f.Fingerprint != live.Findings[0].Fingerprint {
			t.Errorf("classes %q, fingerprint %s", f.Classes, f.Fingerprint)
		}
	}
}

// TestLocksInArraysOfTheHeap checks that a lock found by an index in an array on the
// heap is named as a member of the type of the elements.
func TestLocksInArraysOfTheHeap(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for level, slot := range map[string]string{
		"-O0": "0x (mutex first seen in both at jobs.c:26)", // the index is added before the offset of the array in the structure
		"-O1": "struct table.slots[].guard (0x)",
		"-O2": "struct table.slots[].guard (0x)",
	} {
		_, r := reported(t, "exec", "--watch-shared=off", "--", build(t, "gcc", "jobs.c", "-g", level, "-pthread"))
		pair := []string{slot, "struct shard.lock (0x)"}
		slices.Sort(pair)
		want := []string{strings.Join(pair, ", "), "struct job.mu (0x), struct job.mu (0x)"}
		slices.Sort(want)
		if got := lockNames(r); !slices.Equal(got, want) {
			t.Errorf("compiled by %s locks are called\n%s\nwant\n%s", level, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
