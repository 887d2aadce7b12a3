package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// hangsFixture comes to a stop in the way that its argument says.
func hangsFixture(t testing.TB, compiler string) string {
	t.Helper()
	return build(t, compiler, "hang/hangs.c", "-O2", "-pthread")
}

// hung are the ways to hang, and what is found.
var hung = []struct{ kind, found, sentence string }{
	{"abba", "observed deadlock of a, b", "block each other for ever: "},
	{"ring", "observed deadlock of a, b, c", "T2, T3 and T4 block each other for ever: "},
	{"write", "observed deadlock of a, table", "waits for 'table'"},
	{"read", "observed deadlock of a, table", "waits to read 'table'"},
	{"join", "observed deadlock of a", "T1 holds 'a' and waits for T2 to end"},
	{"relock", "observed misuse of a", "T2 locks 'a' again"},
	{"orphan", "observed deadlock of a", "the thread that held it has ended"},
	{"lost", "observed deadlock of news", "T2 signalled 'news'"},
	{"items", "observed deadlock of items, items", "nobody is left to wake them"},
	{"barrier", "observed deadlock of met, met", "waits at 'met'"},
}

// A program that hangs is told of while it hangs, and ended where that is asked for;
// a trace of the run gives the same report.
func TestHangWhileObserved(t *testing.T) {
	needBPF(t)
	program := hangsFixture(t, "gcc")
	for _, c := range hung {
		t.Run(c.kind, func(t *testing.T) {
			dir := t.TempDir()
			report, trace := filepath.Join(dir, "report.json"), filepath.Join(dir, "trace")
			tool := startTool(t, childOptions{}, "exec", "--on-hang=kill", "--format", "json", "--output", report, "--record", trace, "--", program, c.kind)
			tool.want(128 + int(unix.SIGKILL))
			r := readReport(t, report)
			wantSummary(t, r, c.found)
			told := strings.Join(strings.Fields(tool.err.String()), " ")
			if !strings.HasPrefix(told, "tracepredict: the program hangs: ") || !strings.Contains(told, c.sentence) {
				t.Errorf("told: %s", told)
			}
			_, again := reported(t, "analyze", trace)
			wantSummary(t, again, c.found)
			if len(again.Findings) == 1 && len(r.Findings) == 1 && again.Findings[0].Fingerprint != r.Findings[0].Fingerprint {
				t.Error("the trace gives another finding")
			}
		})
	}
}

// Two threads hang while the first goes on, and the program ends as it likes.
func TestHangOfSomeThreads(t *testing.T) {
	needBPF(t)
	report := filepath.Join(t.TempDir(), "report.json")
	tool := startTool(t, childOptions{}, "exec", "--format", "json", "--output", report, "--", hangsFixture(t, "gcc"), "part")
	poll(t, "word of the hang", func() bool {
		tool.tell("go on")
		return strings.Contains(tool.err.String(), "block each other for ever")
	})
	tool.in.Close()
	tool.want(66)
	wantSummary(t, readReport(t, report), "observed deadlock of a, b")
}

// Threads of which one gives up in an hour are told of, and not killed.
func TestHangThatEndsByItself(t *testing.T) {
	needBPF(t)
	report := filepath.Join(t.TempDir(), "report.json")
	tool := startTool(t, childOptions{}, "exec", "--on-hang=kill", "--format", "json", "--output", report, "--", hangsFixture(t, "gcc"), "limit")
	poll(t, "word of the wait", func() bool { return strings.Contains(tool.err.String(), "until one gives up") })
	tool.signal(unix.SIGTERM)
	tool.want(128 + int(unix.SIGTERM))
	wantSummary(t, readReport(t, report), "observed deadlock of a, b")
}

// attach to a process that has hung before tells of it at once, and to one that idles
// tells nothing.
func TestHangBefore(t *testing.T) {
	needBPF(t)
	program := hangsFixture(t, "gcc")
	for _, c := range hung {
		switch c.kind {
		case "lost", "barrier", "write": // what was signalled, and who reads, is written nowhere
			c.sentence = "nobody is left to wake them"
		}
		t.Run(c.kind, func(t *testing.T) {
			child := startChild(t, childOptions{}, program, c.kind)
			pid := lineNumber(t, child, "ready ")
			tool := startTool(t, childOptions{}, "attach", "-p", strconv.Itoa(pid), "--on-hang=kill")
			tool.want(66)
			child.want(128 + int(unix.SIGKILL))
			if told := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(told, "tracepredict: the program hangs: ") || !strings.Contains(told, c.sentence) {
				t.Errorf("told: %s", told)
			}
		})
	}
}
