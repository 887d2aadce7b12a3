package e2e

import (
	"path/filepath"
	"regexp"
	"testing"
)

// addressNotes matches the addresses in a summary.
var addressNotes = regexp.MustCompile(` \(0x[0-9a-f]+\)`)

// TestRustMutexes checks that the mutexes of Rust's standard library, whose code is inlined, are known as locks:
// held on the heap in opposite orders they may deadlock, even if threads waited for them, found them
// poisoned, or release them in another order; and not if the order is the same, a third one is held around, or one
// is only tried. Where what a mutex guards decides, and may be the mutex that is acquired next, a deadlock is no
// more than likely, and none where that is seen. The report of the trace is the same.
func TestRustMutexes(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := corpus(t, "rustc", "process/mutexes.rs", []string{"-O"})
	const deadlock = " deadlock of std::sync::Mutex, std::sync::Mutex"
	for _, c := range []struct{ mode, shared, want string }{
		{"opposite", "off", "predicted" + deadlock},
		{"same", "off", ""},
		{"gate", "off", ""},
		{"back-off", "off", ""},
		{"contended", "off", "predicted" + deadlock},
		{"crossed", "off", "predicted" + deadlock},
		{"poisoned", "off", "likely" + deadlock},
		{"decides", "off", "likely" + deadlock},
		{"owned", "off", "likely" + deadlock},
		{"owned", "all", ""},
		{"same", "all", ""},
		{"back-off", "all", ""},
	} {
		t.Run(c.mode+" "+c.shared, func(t *testing.T) {
			dir := t.TempDir()
			file, live, again := filepath.Join(dir, "trace"), filepath.Join(dir, "live.json"), filepath.Join(dir, "again.json")
			status := 66
			if c.want == "" {
				status = 0
			}
			startTool(t, childOptions{}, "exec", "--watch-shared="+c.shared, "--confidence", "likely", "--fail-on", "likely", "--record", file, "--format", "json", "--output", live, "--", program, c.mode).want(status)
			if got := addressNotes.ReplaceAllString(readReport(t, live).summary(), ""); got != c.want {
				t.Errorf("findings: %q, want %q", got, c.want)
			}
			startTool(t, childOptions{}, "analyze", "--confidence", "likely", "--fail-on", "likely", "--format", "json", "--output", again, file).want(status)
			wantSameFile(t, live, again)
		})
	}
}
