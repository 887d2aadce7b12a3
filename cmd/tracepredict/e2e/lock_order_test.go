package e2e

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProgressTellsOfNewNestings(t *testing.T) {
	needBPF(t)
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--progress")
	server.ask("twist")
	poll(t, "two nestings", func() bool { return tool.err.has("tracepredict: new nesting of locks (2)") || tool.over() })
	server.ask("twist") // nothing new
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantSummary(t, readReport(t, report), twistFound)
	text := tool.err.String()
	for _, want := range []string{"T5 left_first takes 'right_lock' in left_first at twist.h:21 while it holds 'left_lock' from twist.h:20", "takes 'left_lock' in"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "new nesting of locks"); n != 2 {
		t.Errorf("%d nestings, want 2:\n%s", n, text)
	}
	server.want(0)
}

func TestAttachUntilItSettles(t *testing.T) {
	needBPF(t)
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--settle", "10ms")
	tool.want(0)
	if notes := strings.Join(readReport(t, report).Run.Notes, "\n"); !strings.Contains(notes, "no new nesting of locks for 10ms (--settle)") {
		t.Errorf("notes: %s", notes)
	}
	wantLeftAlone(t, pid)
	server.ask("twist")
	server.want(0)
}
