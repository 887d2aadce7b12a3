package e2e

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// atTheEnd returns the tool's text without the lines that it prints while the program
// runs.
func atTheEnd(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "tracepredict: deadlock predicted: ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestDeadlockIsReportedWhileTheProgramRuns checks that a deadlock is reported while
// the server runs on, and is in the report too.
func TestDeadlockIsReportedWhileTheProgramRuns(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid)
	server.ask("twist")
	poll(t, "the deadlock", func() bool {
		return tool.err.has("tracepredict: deadlock predicted: T5 and T6 can block each other for ever: T5 holds 'left_lock' and waits for 'right_lock'") || tool.hasEnded()
	})
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantSummary(t, readReport(t, report), twistFound)
	server.want(0)
}
