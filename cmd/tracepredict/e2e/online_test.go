package e2e

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// atTheEnd is what the tool says without the lines that it says while the program runs.
func atTheEnd(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "tracepredict: deadlock predicted: ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestDeadlockIsToldWhileTheProgramRuns: the server goes on, and the report has it too.
func TestDeadlockIsToldWhileTheProgramRuns(t *testing.T) {
	needBPF(t)
	server, pid := startServer(t)
	tool, report := attachTo(t, pid)
	server.ask("twist")
	poll(t, "the deadlock", func() bool {
		return tool.err.has("tracepredict: deadlock predicted: T5 and T6 can block each other for ever: T5 holds 'left_lock' and waits for 'right_lock'") || tool.over()
	})
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantSummary(t, readReport(t, report), twistFound)
	server.want(0)
}
