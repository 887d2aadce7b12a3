package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// addressNotes matches the addresses in a summary.
var addressNotes = regexp.MustCompile(` \(0x[0-9a-f]+\)`)

// TestRustMutexes checks that the mutexes of Rust's standard library, whose code is inlined, are known as locks:
// held on the heap in opposite orders they may deadlock, even if threads waited for them, found them
// poisoned, or release them in another order; and not if the order is the same, a third one is held around, or one
// is only tried. Where what a mutex guards decides, and may be the mutex that is acquired next, a deadlock is
// potential, and none where that is seen. The report of the trace is the same.
func TestRustMutexes(t *testing.T) {
	needBPF(t)
	t.Parallel()
	const deadlock = " deadlock of std::sync::Mutex, std::sync::Mutex"
	rustLocks(t, "process/mutexes.rs", []rustRun{
		{"opposite", "off", "predicted" + deadlock},
		{"same", "off", ""},
		{"gate", "off", ""},
		{"back-off", "off", ""},
		{"contended", "off", "predicted" + deadlock},
		{"crossed", "off", "predicted" + deadlock},
		{"poisoned", "off", "potential" + deadlock},
		{"decides", "off", "potential" + deadlock},
		{"owned", "off", "potential" + deadlock},
		{"owned", "all", ""},
		{"same", "all", ""},
		{"back-off", "all", ""},
	})
}

// TestRustRWLocks checks that the read-write locks of that library are known as such: threads that read one and write
// another may deadlock in opposite orders, as do those that write both, or wait for them; those that read both, or that
// give up if they cannot write, do not. Readers wait behind waiting writers.
func TestRustRWLocks(t *testing.T) {
	needBPF(t)
	t.Parallel()
	const deadlock = "predicted deadlock of std::sync::RwLock"
	rustLocks(t, "process/rwlocks.rs", []rustRun{
		{"opposite", "off", deadlock + ", std::sync::RwLock"},
		{"same", "off", ""},
		{"writes", "off", deadlock + ", std::sync::RwLock"},
		{"reads", "off", ""},
		{"tries", "off", ""},
		{"contended", "off", deadlock + ", std::sync::RwLock"},
		{"behind-writer", "off", "potential deadlock of std::sync::RwLock, std::sync::RwLock"}, // its section is moved
		{"behind-reader", "off", ""},
		{"opposite", "all", deadlock + ", std::sync::RwLock"},
		{"same", "all", ""},
	})
}

// rustRun is a run of a program of Rust: how, whether what threads share is watched, and what is found.
type rustRun struct{ mode, shared, want string }

// rustLocks runs a program of Rust in several ways. The reports of the traces must be the same.
func rustLocks(t *testing.T, source string, runs []rustRun) {
	program := corpus(t, "rustc", source, []string{"-O"})
	for _, c := range runs {
		t.Run(c.mode+" "+c.shared, func(t *testing.T) {
			dir := t.TempDir()
			file, live, again := filepath.Join(dir, "trace"), filepath.Join(dir, "live.json"), filepath.Join(dir, "again.json")
			status, level := 66, "likely"
			if c.want == "" {
				status = 0
			} else if strings.HasPrefix(c.want, "potential") {
				level = "potential"
			}
			startTool(t, childOptions{}, "exec", "--watch-shared="+c.shared, "--confidence", level, "--fail-on", level, "--record", file, "--format", "json", "--output", live, "--", program, c.mode).want(status)
			if got := addressNotes.ReplaceAllString(readReport(t, live).summary(), ""); got != c.want {
				t.Errorf("findings: %q, want %q", got, c.want)
			}
			startTool(t, childOptions{}, "analyze", "--confidence", level, "--fail-on", level, "--format", "json", "--output", again, file).want(status)
			wantSameFile(t, live, again)
		})
	}
}
