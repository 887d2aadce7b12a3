package e2e

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestProgramThatTraces checks that a program may trace what it forks, in every way there is, although --follow traces
// it too, that the child is observed all the same, and that a note says what is lost by that.
func TestProgramThatTraces(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the tracer makes way on x86-64 alone")
	}
	needBPF(t)
	t.Parallel()
	const leaves = "from then on exec has not traced that one"
	for _, c := range []struct {
		how    string
		status int
		found  []string
		note   string
	}{
		{"plain", 30, []string{twistFound}, ""},
		{"me", 30, []string{twistFound}, "asked ptrace to be traced by its parent (PTRACE_TRACEME), and " + leaves},
		{"seize", 30, []string{twistFound}, "asked ptrace to trace process "},
		{"attach", 30, []string{twistFound}, "asked ptrace to trace process "},
		{"exec", 30, nil, "asked ptrace to be traced by its parent (PTRACE_TRACEME), and " + leaves},
		{"self", 66, []string{twistFound}, "asked ptrace to be traced by its parent (PTRACE_TRACEME), which failed with EPERM"},
	} {
		t.Run(c.how, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report.json")
			tool := startTool(t, childOptions{}, "exec", "--follow", "--watch-shared=off", "--format", "json", "--output", report, "--", processFixture(t, "traces.c"), c.how)
			tool.want(c.status)
			r := readReport(t, report)
			if c.found != nil { // what a process executes that is not traced is observed late
				wantFound(t, r, c.found...)
			}
			notes := strings.Join(r.Run.Notes, "\n")
			if c.note == "" && strings.Contains(notes, "asked ptrace") || !strings.Contains(notes, c.note) {
				t.Errorf("the notes lack %q: %s", c.note, notes)
			}
			if text := tool.err.String(); strings.Contains(text, "not permitted") || strings.Contains(text, "cont: ") {
				t.Errorf("a call of ptrace failed: %s", text)
			}
		})
	}
}
