package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeakCheck checks that a report says that LeakSanitizer cannot work in a program that is traced,
// where a program has it, and that it works under attach's rules: without the note it succeeds.
func TestLeakCheck(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "none.c"), []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := command(t, "gcc", "-fsanitize=address", "-o", filepath.Join(dir, "none"), filepath.Join(dir, "none.c")).Run(); err != nil {
		t.Skipf("gcc has no AddressSanitizer: %v", err)
	}
	program := build(t, "gcc", "process/racer.c", "-O2", "-pthread", "-fsanitize=address")
	for _, c := range []struct {
		program string
		options string
		note    bool
	}{{program, "ASAN_OPTIONS=", true}, {program, "ASAN_OPTIONS=detect_leaks=0", false}, {processFixture(t, "racer.c"), "ASAN_OPTIONS=", false}} {
		tool := startTool(t, childOptions{Env: []string{c.options}}, "exec", "--watch-shared=off", "--", c.program)
		status := tool.wait()
		text := strings.Join(strings.Fields(tool.err.String()), " ")
		failed := strings.Contains(text, "LeakSanitizer has encountered a fatal error")
		if noted := strings.Contains(text, "looks for memory leaks at its end (LeakSanitizer"); noted != c.note || failed != c.note || status == 0 == failed {
			t.Errorf("%s %s: status %d, noted %v, failed %v: %s", c.options, c.program, status, noted, failed, text)
		}
	}
}
