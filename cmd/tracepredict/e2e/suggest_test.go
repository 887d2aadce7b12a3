package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSuggestScope: the lock of the board, found in a run of the innocent twin, makes a scope that the other program violates.
func TestSuggestScope(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	const events = "thread reader = start *_reader\nevent read  = call board_read by reader\nevent write = call board_write\n"
	if err := os.WriteFile(file("events.tps"), []byte(events), 0o666); err != nil {
		t.Fatal(err)
	}
	startTool(t, childOptions{}, "exec", "--watch-shared=off", "--on", "call board_read", "--on", "call board_write", "--record", file("board.trace"), "--", example(t, "board_read")).want(0)
	tool := startTool(t, childOptions{}, "suggest-scope", "--spec", file("events.tps"), "-o", file("scope.tps"), file("board.trace"))
	tool.want(0)
	if text := tool.out.String(); !strings.Contains(text, "acquire board_lock") {
		t.Errorf("suggest-scope says %s", text)
	}
	block, err := os.ReadFile(file("scope.tps"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(block), "check always (some_read -> all_read)\n") || !strings.Contains(string(block), "board_lock) {") {
		t.Errorf("the scope is\n%s", block)
	}
	if err := os.WriteFile(file("whole.tps"), append([]byte(events), block...), 0o666); err != nil {
		t.Fatal(err)
	}
	check := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--spec", file("whole.tps"), "--", example(t, "board"))
	check.want(66)
	if text := strings.Join(strings.Fields(check.err.String()), " "); !strings.Contains(text, "always (some_read -> all_read) is false") {
		t.Errorf("exec says %s", text)
	}
}

// TestScopeInAScope: the notice that one reader skips is found by the verdict of the inner scope; its twin reads all.
func TestScopeInAScope(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for program, status := range map[string]int{"board": 66, "board_read": 0} {
		tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--spec", "../../../examples/board/notices.tps", "--", example(t, program))
		tool.want(status)
		text := strings.Join(strings.Fields(tool.err.String()), " ")
		if found := strings.Contains(text, "a notice was not read by all"); found != (status != 0) {
			t.Errorf("%s: exec says %s", program, text)
		}
	}
}
