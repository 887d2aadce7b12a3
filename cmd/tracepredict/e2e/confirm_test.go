package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// confirmed is what a report says of the finding that was tried.
type confirmed struct {
	Kind         string `json:"kind"`
	Confirmation *struct {
		Confirmed  bool
		Try, Tries int
		Reason     string
	} `json:"confirmation"`
}

// confirm runs the tool with --confirm and returns the deadlocks of its report.
func confirm(t *testing.T, program string, args ...string) (found []confirmed) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	all := append([]string{"exec", "--confirm", "--analysis-time=none", "--fail-on=never", "--format", "json", "--output", report, "--", program}, args...)
	startTool(t, childOptions{Stdin: nothing(t)}, all...).want(0)
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Findings []confirmed }
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Kind == "deadlock" {
			found = append(found, f)
		}
	}
	return found
}

// nothing returns /dev/null, which a try can have again.
func nothing(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestConfirm: what happened in no run is made to happen, each time; what cannot happen is neither found nor confirmed.
func TestConfirm(t *testing.T) {
	needBPF(t)
	for _, name := range []string{"shop", "errand", "bank"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := example(t, name)
			for range 10 {
				found := confirm(t, program)
				if len(found) != 1 || found[0].Confirmation == nil || !found[0].Confirmation.Confirmed || found[0].Confirmation.Try > 5 {
					t.Fatalf("deadlocks: %s", printed(t, found))
				}
			}
		})
	}
	t.Run("gate", func(t *testing.T) {
		t.Parallel()
		if found := confirm(t, example(t, "gate")); len(found) != 0 {
			t.Errorf("deadlocks: %s", printed(t, found))
		}
	})
}

func printed(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestConfirmNeedsInput: with a pipe as standard input nothing is tried, and the report says why.
func TestConfirmNeedsInput(t *testing.T) {
	needBPF(t)
	t.Parallel()
	tool := startTool(t, childOptions{}, "exec", "--confirm", "--analysis-time=none", "--fail-on=never", "--", example(t, "shop"))
	tool.want(0)
	if text := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(text, "not confirmed: standard input is neither /dev/null nor a file") {
		t.Errorf("printed: %s", text)
	}
}

// TestKilledWhileTrying: when the tool is killed, nothing of its tries is left.
func TestKilledWhileTrying(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := copied(t, example(t, "shop"))
	tool := startTool(t, childOptions{Stdin: nothing(t)}, "exec", "--confirm", "--analysis-time=none", "--", program)
	poll(t, "a try of "+program, func() bool {
		return tool.err.has("tracepredict: running the program again") && len(running(program)) > 0 || tool.hasEnded()
	})
	if tool.hasEnded() {
		t.Fatal("it ended before it could be killed")
	}
	if err := unix.Kill(tool.observer(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	poll(t, "the end of all tries", func() bool { return len(running(program)) == 0 })
}

// copied returns a copy of a program, which nobody else runs.
func copied(t *testing.T, program string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "copied")
	if err := os.WriteFile(name, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// running returns the processes that run a program.
func running(program string) (found []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == program {
			found = append(found, link)
		}
	}
	return found
}
