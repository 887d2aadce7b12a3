package e2e

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader/journal"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// journalsOf returns the journals that name a process, in the folder of this user. A test that runs beside this one
// may write others, and remove those of processes that are gone.
func journalsOf(t testing.TB, pid int) []journal.Journal {
	t.Helper()
	folder, err := journal.Open(journal.DefaultFolder(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	boot, err := procfs.Boot()
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := folder.Read(boot)
	var all []journal.Journal
	for _, e := range entries {
		if slices.ContainsFunc(e.Targets, func(id procfs.Identity) bool { return id.PID == pid }) {
			all = append(all, e.Journal)
		}
		e.Close()
	}
	return all
}

// keepJournal writes a journal of a process that has ended, about a function of a program. It returns its path.
func keepJournal(t *testing.T, a *loadertest.Asked, build string, f loadertest.Function) string {
	t.Helper()
	folder, err := journal.Open(journal.DefaultFolder(), true)
	if err != nil {
		t.Fatal(err)
	}
	folder.Close()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	boot, err := procfs.Boot()
	target, err2 := procfs.IdentityOf(a.PID)
	maps, err3 := procfs.Maps(a.PID)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(maps, func(m procfs.Mapping) bool { return m.Lo <= f.Addr && f.Addr < m.Hi })
	id := maps[i].File
	text := fmt.Sprintf("tracepredict journal 1\nboot %s\nowner %d 1\ntarget %d %d\nfile %d:%d %d %s %q\nat %x=%x\n",
		boot, dead.Process.Pid, target.PID, target.Start, id.Major, id.Minor, id.Inode, build, a.Path, f.Offset, f.Original)
	path := filepath.Join(journal.DefaultFolder(), fmt.Sprintf("%d-1-0", dead.Process.Pid))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) })
	return path
}

// buildIdentifier returns that of a file.
func buildIdentifier(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", note[16:])
}

// repair runs the command, and returns what it printed.
func repair(t *testing.T, status int, args ...string) string {
	t.Helper()
	c := startTool(t, childOptions{}, append([]string{"repair"}, args...)...)
	c.want(status)
	return c.out.String() + c.err.String()
}

// TestRepair checks that the command removes a breakpoint that a killed tool has left, and no other.
func TestRepair(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gcc")
	a := loadertest.StartAsked(t)
	pid := fmt.Sprint(a.PID)
	a.Leak(a.Answer)
	a.Leak(a.Other) // as a debugger does
	wantText := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}
	wantText(repair(t, 0, "-p", pid), "No journal of a tracepredict that was killed names process "+pid, "nothing was changed")
	path := keepJournal(t, a, "00", a.Answer)
	wantText(repair(t, 125, "-p", pid), "  left: asked+", "the file has another build identifier", "1 breakpoint is left in process "+pid)
	os.Remove(path)
	path = keepJournal(t, a, buildIdentifier(t, a.Path), a.Answer)
	wantText(repair(t, 0, "--dry-run", "-p", pid), "  would be removed: asked+", "1 breakpoint would be removed, 0 left")
	if a.First(a.Answer) != 0xcc {
		t.Error("--dry-run has removed it")
	}
	wantText(repair(t, 0, "-p", pid), "was killed while it observed process "+pid, fmt.Sprintf("  removed: asked+%#x", a.Answer.Offset), "1 breakpoint removed, 0 left; at 0 other places")
	if a.First(a.Answer) != a.Answer.Original || a.First(a.Other) != 0xcc {
		t.Errorf("the functions begin with %#x and %#x", a.First(a.Answer), a.First(a.Other))
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal: %v", err)
	}
	a.Mend(a.Other)
	a.WantAnswers()
}

// TestJournalOfAKilledTool checks that all probes stand in the journal, that it stays when the tool is killed, and that
// the next start removes it.
func TestJournalOfAKilledTool(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := processFixture(t, "steady.c")
	server := startChild(t, childOptions{}, program)
	pid := lineNumber(t, server, "pid ")
	tool := startTool(t, childOptions{}, "attach", "--watch-shared=all", "-p", fmt.Sprint(pid))
	poll(t, "the observation", func() bool { return tool.err.has("tracepredict: observing ") || tool.hasEnded() })
	kept := journalsOf(t, pid)
	if len(kept) != 1 || kept[0].Owner.PID != tool.pid() {
		t.Fatalf("journals: %+v", kept)
	}
	probes := 0
	eachProbeLink(t, func(_ link.ID, m *link.UprobeMultiInfo) {
		if p, ok := m.Pid(); !ok || int(p) != pid {
			return
		}
		offsets, _ := m.Offsets()
		for _, o := range offsets {
			probes++
			if !inJournal(&kept[0], m.File, o.Offset) {
				t.Errorf("a probe at %s+%#x is not in the journal", m.File, o.Offset)
			}
		}
	})
	if probes == 0 {
		t.Error("there are no probes")
	}
	tool.signal(unix.SIGKILL)
	tool.want(128 + int(unix.SIGKILL))
	wantLeftAlone(t, pid)
	if kept := journalsOf(t, pid); len(kept) != 1 {
		t.Errorf("journals after the kill: %+v", kept)
	}
	tool = startTool(t, childOptions{}, "attach", "-p", fmt.Sprint(pid))
	poll(t, "the observation", func() bool { return tool.err.has("tracepredict: observing ") || tool.hasEnded() })
	if kept := journalsOf(t, pid); len(kept) != 1 || kept[0].Owner.PID != tool.pid() {
		t.Errorf("journals of the next start: %+v", kept)
	}
	tool.signal(unix.SIGINT)
	tool.want(0)
	if kept := journalsOf(t, pid); len(kept) > 0 {
		t.Errorf("journals at the end: %+v", kept)
	}
	wantRight(server, "check")
	server.send("quit")
	server.want(0)
}

func inJournal(j *journal.Journal, path string, offset uint64) bool {
	for _, f := range j.Files {
		if f.Path == path && slices.ContainsFunc(f.Probes, func(p journal.Probe) bool { return p.Offset == offset }) {
			return true
		}
	}
	return false
}

// controlGroup returns the folder of a control group of the test's own, all of whose processes can be killed at once.
func controlGroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[2] != "cgroup2" {
			continue
		}
		dir := filepath.Join(fields[1], fmt.Sprintf("tracepredict-test-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("no control group can be made: %v", err)
		}
		t.Cleanup(func() {
			poll(t, "the control group to be empty", func() bool { return os.Remove(dir) == nil })
		})
		return dir
	}
	t.Skip("no control groups (cgroup2) are mounted")
	return ""
}

// TestKilledControlGroup checks that a program is as before after everything of the tool was killed at once while it
// removed its probes, and a repair. The kernel leaves breakpoints in some rounds, in others not.
func TestKilledControlGroup(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gcc")
	atMost(t, 5*time.Minute, "12 times thousands of probes are put in and removed")
	dir, random, removed := controlGroup(t), seed(t), 0
	a := loadertest.StartAsked(t)
	for range killRounds() / 16 {
		tool := startTool(t, childOptions{}, "attach", "--on", "call s*", "-p", fmt.Sprint(a.PID)) // many probes
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(tool.pid())), 0); err != nil {
			t.Fatal(err)
		}
		poll(t, "the observation", func() bool { return tool.err.has("tracepredict: observing ") || tool.hasEnded() })
		tool.signal(unix.SIGINT)
		<-time.After(time.Duration(random.Int64N(int64(150 * time.Millisecond))))
		if err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		tool.wait()
		poll(t, "the end of all of the tool", func() bool {
			left, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			return err == nil && len(left) == 0
		})
		removed += strings.Count(repair(t, 0, "-p", fmt.Sprint(a.PID)), "\n  removed: ")
		wantLeftAlone(t, a.PID)
		a.WantAnswers()
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("breakpoints that the kernel had left: %d", removed)
}

// TestJournalsGoWithTheRun checks that a run leaves no journal, whoever's the program is.
func TestJournalsGoWithTheRun(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
	}{
		{"its own user", []string{"exec"}}, {"another user", []string{"exec", "--user", "nobody"}}, {"children", []string{"exec", "--follow"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool := startTool(t, childOptions{}, append(c.args, "--", processFixture(t, "steady.c"))...)
			pid := lineNumber(t, tool, "pid ")
			kept := journalsOf(t, pid)
			if len(kept) != 1 || kept[0].Owner.PID != tool.observer() || len(kept[0].Files) == 0 {
				t.Fatalf("journals: %+v", kept)
			}
			tool.send("quit")
			tool.want(0)
			left, err := filepath.Glob(fmt.Sprintf("%s/%d-*", journal.DefaultFolder(), kept[0].Owner.PID))
			if err != nil || len(left) > 0 {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}

// TestJournalOfAnotherUsersProcess checks that attach removes its journal although it uses files with the rights of the
// process.
func TestJournalOfAnotherUsersProcess(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "setpriv")
	server := startChild(t, childOptions{}, "setpriv", "--reuid=nobody", "--clear-groups", processFixture(t, "steady.c"))
	pid := lineNumber(t, server, "pid ")
	tool := startTool(t, childOptions{}, "attach", "-p", fmt.Sprint(pid))
	poll(t, "the observation", func() bool { return tool.err.has("tracepredict: observing ") || tool.hasEnded() })
	tool.signal(unix.SIGINT)
	tool.want(0)
	left, err := filepath.Glob(fmt.Sprintf("%s/%d-*", journal.DefaultFolder(), tool.pid()))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	server.send("quit")
	server.want(0)
}
