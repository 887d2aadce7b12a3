package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// notices are the arguments of notices.c: the ways in which a thread affects another one without a message.
var notices = []string{"handler", "sigwait", "signalfd", "timer", "poll", "select", "epoll", "added", "accept", "room", "semop", "msgrcv", "mq", "flock", "record",
	"owner", "stream", "cancel", "killed"}

// TestNotices checks that a variable which one thread wrote before the call for which another waits is in
// no race, and that one which it wrote afterwards is, also when the trace is analysed.
func TestNotices(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "notices.c", "-O1", "-g", "-pthread")
	for _, how := range notices {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.trace")
			_, live := reported(t, "exec", "--order=io", "--watch", "before", "--watch", "after", "--record", file, "--", program, how)
			if len(live.Findings) != 1 || live.Findings[0].Objects[0] != "after" || live.Findings[0].Confidence == "likely" {
				t.Errorf("found %v, want a race of after", live.Findings)
			}
			_, again := reported(t, "analyze", file)
			if diff := cmp.Diff(live.Findings, again.Findings); diff != "" {
				t.Errorf("live (-), of the trace (+):\n%s", diff)
			}
		})
	}
}

// TestForkedAndWaited checks that what a thread did before it forked a process comes before the return of
// the wait for that process, and that what it did later is in doubt, since the process is not observed.
func TestForkedAndWaited(t *testing.T) {
	needBPF(t)
	t.Parallel()
	_, report := reported(t, "exec", "--order=io", "--watch", "before", "--watch", "after", "--", build(t, "gcc", "notices.c", "-O1", "-g", "-pthread"), "spawned")
	wantSummary(t, report, "likely race of after")
	if got := report.Findings[0].Reason; !strings.Contains(got, "a wait for a child process that is not observed") {
		t.Errorf("the reason is %q", got)
	}
}

// TestUnseenPost checks that a race is likely at most if a thread was let through a semaphore by a post of
// a process that is not observed, and that there is none if the post was at another address of it.
func TestUnseenPost(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "notices.c", "-O1", "-g", "-pthread")
	_, report := reported(t, "exec", "--watch", "before", "--", program, "elsewhere")
	if len(report.Findings) != 1 || report.Findings[0].Confidence != "likely" || !strings.Contains(report.Findings[0].Reason, "a wait for a semaphore, which no recorded post let through") {
		t.Errorf("posted by another process: found %v", report.Findings)
	}
	_, report = reported(t, "exec", "--watch", "before", "--", program, "twice")
	if len(report.Findings) != 0 {
		t.Errorf("posted at another address: found %v", report.Findings)
	}
}

// TestAttachedInWait attaches to a program whose thread waits for a condition, or for a signal: that the
// wait returned is recorded, or what it may order is in doubt.
func TestAttachedInWait(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, how := range []string{"condition", "sigwait", "semop", "twice"} {
		t.Run(how, func(t *testing.T) {
			c := startChild(t, childOptions{}, build(t, "gcc", "notices.c", "-O1", "-g", "-pthread"), how, "later")
			tool, report := attachTo(t, c.pid(), "--order=io", "--watch", "before", "--watch", "after")
			c.send("x")
			c.want(0)
			tool.want(66) // for after
			for _, f := range readReport(t, report).Findings {
				if f.Objects[0] == "before" && f.Confidence != "likely" {
					t.Errorf("%s: %s", f, f.Confidence)
				}
			}
		})
	}
}
