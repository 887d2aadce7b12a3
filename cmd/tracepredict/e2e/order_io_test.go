package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// handOvers are the ways in which messages.c passes its variable to another thread.
var handOvers = []string{"pipe", "vector", "socketpair", "datagram", "packet", "tcp", "eventfd", "timer", "end", "futex", "room", "forked",
	"replaced", "range", "refused", "spliced", "terminal", "nested", "counted", "pending"}

// TestOrderIO checks that a variable that was passed by a message is in no race,
// however it was passed, also when the trace is analysed.
func TestOrderIO(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "messages.c", "-O2", "-pthread", "-lutil")
	for _, how := range handOvers {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.trace")
			status, live := reported(t, "exec", "--order=io", "--watch", "shared", "--record", file, "--", program, how)
			if status != 0 || len(live.Findings) != 0 {
				t.Errorf("exit status %d, found %v", status, live.Findings)
			}
			if _, again := reported(t, "analyze", file); len(again.Findings) != 0 {
				t.Errorf("of the trace: %v", again.Findings)
			}
		})
	}
}

// TestWithoutOrderIO checks that messages are observed where the program can make channels, and
// that, with --order none, accesses that only they order are a likely race.
func TestWithoutOrderIO(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "run.trace")
	_, with := reported(t, "exec", "--watch", "letter", "--watch", "stamp", "--record", file, "--", example(t, "pipe"))
	_, again := reported(t, "analyze", file)
	if diff := cmp.Diff(with.Findings, again.Findings); diff != "" {
		t.Errorf("live (-), of the trace (+):\n%s", diff)
	}
	if len(with.Findings) != 1 || with.Findings[0].Objects[0] != "stamp" || with.Findings[0].Confidence == "likely" {
		t.Errorf("found %v, want a race of stamp", with.Findings)
	}
	_, without := reported(t, "exec", "--order", "none", "--watch", "letter", "--watch", "stamp", "--", example(t, "pipe"))
	var racy []string
	for _, f := range without.Findings {
		racy = append(racy, f.Objects...)
		if f.Confidence != "likely" || !strings.Contains(f.Reason, "(--order none)") {
			t.Errorf("%s: %s", f, f.Reason)
		}
	}
	slices.Sort(racy)
	if diff := cmp.Diff([]string{"letter", "stamp"}, racy); diff != "" {
		t.Errorf("with --order none expected (-), found (+):\n%s", diff)
	}
}

// TestDescriptorsInATable lets threads that make no channel keep data by the numbers of their files: in no race, unless
// they write after they have closed one.
func TestDescriptorsInATable(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "numbers.c", "-O2", "-g", "-pthread")
	if status, r := reported(t, "exec", "--", program); status != 0 || len(r.Findings) != 0 {
		t.Errorf("closed last: exit status %d, found %v", status, r.Findings)
	}
	if _, r := reported(t, "exec", "--confidence=potential", "--", program, "late"); len(r.Findings) == 0 {
		t.Error("written after it was closed: found nothing")
	}
	_, r := reported(t, "exec", "--order=none", "--", program)
	for _, f := range r.Findings {
		if f.Confidence != "likely" || !strings.Contains(f.Reason, "may be given numbers of descriptors that another thread has closed") {
			t.Errorf("without messages: %s: %s", f, f.Reason)
		}
	}
	if len(r.Findings) == 0 {
		t.Error("without messages: found nothing")
	}
}

// TestAnswerFromOutside has a process that is not observed answer one thread what another has sent it: the
// race is potential, since that process passes on what it was sent, and none if the process is observed.
func TestAnswerFromOutside(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "messages.c", "-O2", "-pthread", "-lutil")
	_, alone := reported(t, "exec", "--watch", "shared", "--", program, "answered")
	for _, f := range alone.Findings {
		if f.Confidence != "potential" || !strings.Contains(f.Reason, "probably ended its wait (a receive from a process that is not observed)") {
			t.Errorf("%s: %s", f, f.Reason)
		}
	}
	if len(alone.Findings) != 1 {
		t.Errorf("found %v, want a race of shared", alone.Findings)
	}
	if _, followed := reported(t, "exec", "--follow", "--watch", "shared", "--", program, "answered"); len(followed.Findings) != 0 {
		t.Errorf("with --follow found %v", followed.Findings)
	}
}

// TestOrderIOAttached lets threads pass variables that run already when the observation
// begins, the first of them in a call that was under way.
func TestOrderIOAttached(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, how := range []string{"pipe", "socketpair", "futex"} {
		t.Run(how, func(t *testing.T) {
			c := startChild(t, childOptions{}, build(t, "gcc", "messages.c", "-O2", "-pthread", "-lutil"), how, "later")
			tool, report := attachTo(t, c.pid(), "--order=io", "--watch", "shared")
			c.send("x")
			c.want(0)
			tool.want(0)
			if r := readReport(t, report); len(r.Findings) != 0 || r.Run.Events == 0 {
				t.Errorf("%d events, found %v", r.Run.Events, r.Findings)
			}
		})
	}
}
