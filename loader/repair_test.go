package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader/journal"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// leakTest is a program with leaked breakpoints, and the folder of journals about it.
type leakTest struct {
	*loadertest.Asked
	t      *testing.T
	folder string
	target procfs.Identity
	gone   procfs.Identity // a process that has ended
	file   journal.File    // the program's, without probes
}

func newLeakTest(t *testing.T) *leakTest {
	t.Helper()
	loadertest.NeedBPF(t)
	testtool.Need(t, "gcc")
	l := &leakTest{Asked: loadertest.StartAsked(t), t: t, folder: filepath.Join(t.TempDir(), "journals")}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	l.gone = procfs.Identity{PID: dead.Process.Pid, Start: 1}
	var err error
	if l.target, err = procfs.IdentityOf(l.PID); err != nil {
		t.Fatal(err)
	}
	maps, err := procfs.Maps(l.PID)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(maps, func(m procfs.Mapping) bool { return m.Lo <= l.Answer.Addr && l.Answer.Addr < m.Hi })
	bin, err := elf.Open(l.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer bin.Close()
	l.file = journal.File{ID: maps[i].File, Build: bin.BuildID(), Path: l.Path}
	if l.file.Build == "" {
		t.Fatal("the program has no build identifier")
	}
	return l
}

// at returns the program's file with probes at functions.
func (l *leakTest) at(functions ...loadertest.Function) journal.File {
	f := l.file
	for _, fn := range functions {
		f.Probes = append(f.Probes, journal.Probe{Offset: fn.Offset, Original: fn.Original})
	}
	return f
}

// keep writes a journal of an owner about a target.
func (l *leakTest) keep(owner, target procfs.Identity, f journal.File) {
	l.t.Helper()
	boot, err := procfs.Boot()
	if err == nil {
		err = os.MkdirAll(l.folder, 0o700)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "tracepredict journal 1\nboot %s\nowner %d %d\ntarget %d %d\n", boot, owner.PID, owner.Start, target.PID, target.Start)
	fmt.Fprintf(&text, "file %d:%d %d %s %q\nat", f.ID.Major, f.ID.Minor, f.ID.Inode, f.Build, f.Path)
	for _, p := range f.Probes {
		fmt.Fprintf(&text, " %x=%x", p.Offset, p.Original)
	}
	text.WriteByte('\n')
	name := fmt.Sprintf("%d-%d-0", owner.PID, owner.Start)
	if err := os.WriteFile(filepath.Join(l.folder, name), []byte(text.String()), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// kept returns how many journals there are.
func (l *leakTest) kept() int {
	l.t.Helper()
	entries, err := os.ReadDir(l.folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.t.Fatal(err)
	}
	return len(entries)
}

func (l *leakTest) repair(dryRun bool) Repaired {
	l.t.Helper()
	out, err := Repair(l.PID, RepairOptions{Journal: l.folder, DryRun: dryRun})
	if err != nil {
		l.t.Fatal(err)
	}
	if out.Unread != nil {
		l.t.Error(out.Unread)
	}
	return out
}

// wantLeft checks that the breakpoint at Answer is left for a reason, and puts the program right.
func (l *leakTest) wantLeft(out Repaired, why string, journals int) {
	l.t.Helper()
	if len(out.Restored) > 0 || l.First(l.Answer) != breakpoint {
		l.t.Errorf("the breakpoint was removed: %+v", out)
	}
	switch {
	case why == "" && len(out.Left) == 0:
	case why != "" && len(out.Left) == 1 && strings.Contains(out.Left[0].Why, why) && out.Left[0].Addr == l.Answer.Addr:
	default:
		l.t.Errorf("left: %+v, want %q", out.Left, why)
	}
	if got := l.kept(); got != journals {
		l.t.Errorf("%d journals are left, want %d", got, journals)
	}
	l.Mend(l.Answer)
	l.WantAnswers()
}

// TestRepair: what stands in a journal of an owner that is gone is removed, and nothing else.
func TestRepair(t *testing.T) {
	l := newLeakTest(t)
	l.keep(l.gone, l.target, l.at(l.Answer))
	l.Leak(l.Answer)
	l.Leak(l.Other) // no journal names it
	if out := l.repair(true); len(out.Restored) != 1 || l.First(l.Answer) != breakpoint || l.kept() != 1 {
		t.Errorf("dry run: %+v", out)
	}
	out := l.repair(false)
	if len(out.Restored) != 1 || len(out.Left) > 0 || out.Journals != 1 || out.Places != 1 || out.Restored[0].Offset != l.Answer.Offset || out.Restored[0].Path != l.Path {
		t.Errorf("%+v", out)
	}
	if l.First(l.Answer) != l.Answer.Original || l.First(l.Other) != breakpoint {
		t.Errorf("the functions begin with %#x and %#x", l.First(l.Answer), l.First(l.Other))
	}
	if l.kept() > 0 {
		t.Error("the journal is left")
	}
	if out := l.repair(false); out.Journals != 0 || len(out.Restored)+len(out.Left) > 0 || l.First(l.Other) != breakpoint {
		t.Errorf("without a journal: %+v", out)
	}
	l.Mend(l.Other)
	l.WantAnswers()
}

// TestRepairOfNothing: a journal that names no breakpoint is removed, and the code stays as it is.
func TestRepairOfNothing(t *testing.T) {
	l := newLeakTest(t)
	l.keep(l.gone, l.target, l.at(l.Answer, l.Other))
	if out := l.repair(false); len(out.Restored)+len(out.Left) > 0 || out.Places != 2 || l.kept() > 0 {
		t.Errorf("%+v, %d journals are left", out, l.kept())
	}
	l.WantAnswers()
}

// TestRepairLeavesAlone: a breakpoint that is not known to be of an owner that is gone stays.
func TestRepairLeavesAlone(t *testing.T) {
	own, err := procfs.IdentityOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	another := func(f journal.File, edit func(*journal.File)) journal.File {
		f.Probes = slices.Clone(f.Probes)
		edit(&f)
		return f
	}
	for _, c := range []struct {
		name     string
		keep     func(l *leakTest)
		why      string
		journals int
	}{
		{"no journal", func(*leakTest) {}, "", 0},
		{"the owner lives", func(l *leakTest) { l.keep(own, l.target, l.at(l.Answer)) }, "", 1},
		{"another place", func(l *leakTest) { l.keep(l.gone, l.target, l.at(l.Other)) }, "", 0},
		{"the process began at another time", func(l *leakTest) {
			l.keep(l.gone, procfs.Identity{PID: l.PID, Start: l.target.Start + 1}, l.at(l.Answer))
		}, "", 0},
		{"another process", func(l *leakTest) { l.keep(l.gone, own, l.at(l.Answer)) }, "", 1},
		{"an owner that lives names it too", func(l *leakTest) {
			l.keep(l.gone, l.target, l.at(l.Answer))
			l.keep(own, l.target, l.at(l.Other, l.Answer))
		}, fmt.Sprintf("(process %d) observes the process", own.PID), 2},
		{"another build identifier", func(l *leakTest) {
			l.keep(l.gone, l.target, another(l.at(l.Answer), func(f *journal.File) { f.Build = "aa" }))
		}, "another build identifier", 1},
		{"another byte", func(l *leakTest) {
			l.keep(l.gone, l.target, another(l.at(l.Answer), func(f *journal.File) { f.Probes[0].Original++ }))
		}, "when it was probed", 1},
		{"another file", func(l *leakTest) {
			l.keep(l.gone, l.target, another(l.at(l.Answer), func(f *journal.File) { f.ID.Inode++ }))
		}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLeakTest(t)
			c.keep(l)
			l.Leak(l.Answer)
			l.wantLeft(l.repair(false), c.why, c.journals)
		})
	}
}

// TestRepairBesideATracer: where a debugger may have put the breakpoint, it stays.
func TestRepairBesideATracer(t *testing.T) {
	l := newLeakTest(t)
	l.keep(l.gone, l.target, l.at(l.Answer))
	l.Leak(l.Answer)
	seized, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the thread that seizes is the tracer, and ends with this goroutine
		seized <- unix.PtraceSeize(l.PID)
		<-done
	}()
	if err := <-seized; err != nil {
		t.Fatal(err)
	}
	out := l.repair(false)
	close(done)
	l.wantLeft(out, "traces the process", 1)
}

// TestRepairBesideAProbe: a breakpoint of a tool without a journal, which the kernel knows, stays.
func TestRepairBesideAProbe(t *testing.T) {
	l := newLeakTest(t)
	l.keep(l.gone, l.target, l.at(l.Answer, l.Other))
	probe := attachProbe(t, l.Path, l.PID, l.Answer.Offset)
	l.Leak(l.Other)
	out := l.repair(false)
	if len(out.Restored) != 1 || out.Restored[0].Addr != l.Other.Addr {
		t.Errorf("%+v", out)
	}
	if len(out.Left) != 1 || out.Left[0].Addr != l.Answer.Addr || !strings.Contains(out.Left[0].Why, "another tool") || l.First(l.Answer) != breakpoint {
		t.Errorf("%+v", out)
	}
	l.WantAnswers()
	if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
	if out := l.repair(false); len(out.Left) > 0 || l.kept() > 0 || l.First(l.Answer) != l.Answer.Original {
		t.Errorf("without the probe: %+v", out)
	}
	l.WantAnswers()
}

// TestRepairWithoutAFolder: where journals may be and cannot be read, that is an error; where none was kept, it is none.
func TestRepairWithoutAFolder(t *testing.T) {
	l := newLeakTest(t)
	if out := l.repair(false); out.Journals > 0 || out.Program != l.Path {
		t.Errorf("%+v", out)
	}
	l.keep(l.gone, l.target, l.at(l.Answer))
	if err := os.Chmod(l.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := Repair(l.PID, RepairOptions{Journal: l.folder}); err == nil || !strings.Contains(err.Error(), "with mode 0700") {
		t.Errorf("%+v, %v", out, err)
	}
	l.WantAnswers()
}

// TestAttachRepairs: the start of an observation removes what stands in a journal, keeps one of its own while it lasts,
// and removes it at the end.
func TestAttachRepairs(t *testing.T) {
	l := newLeakTest(t)
	l.keep(l.gone, l.target, l.at(l.Answer))
	l.Leak(l.Answer)
	var during []string
	notes, err := observeShortly(t, l.PID, l.folder, func() {
		entries, _ := os.ReadDir(l.folder)
		for _, e := range entries {
			during = append(during, e.Name())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(during) != 1 || !strings.HasPrefix(during[0], fmt.Sprintf("%d-", os.Getpid())) {
		t.Errorf("journals during the observation: %q", during)
	}
	if l.kept() > 0 {
		t.Error("a journal is left")
	}
	if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "1 breakpoint that a killed tracepredict had left") }) {
		t.Errorf("notes: %q", notes)
	}
	if l.First(l.Answer) != l.Answer.Original {
		t.Errorf("the function begins with %#x", l.First(l.Answer))
	}
	l.WantAnswers()
}

// TestAttachWithoutAFolder: where no journal can be kept, the observation goes on, and a verbose note says so.
func TestAttachWithoutAFolder(t *testing.T) {
	l := newLeakTest(t)
	if err := os.WriteFile(l.folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	notes, err := observeShortly(t, l.PID, l.folder, func() {})
	if err != nil || !slices.ContainsFunc(notes, func(n string) bool {
		return strings.Contains(n, "no complete journal is kept") && strings.Contains(n, unix.ENOTDIR.Error())
	}) {
		t.Errorf("notes: %q, %v", notes, err)
	}
	l.WantAnswers()
}

// attachProbe attaches a probe as another tool does.
func attachProbe(t *testing.T, path string, pid int, offset uint64) link.Link {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "another", Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	file, err := link.OpenExecutable(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := file.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: []uint64{offset}, PID: uint32(pid)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ignored is a Handler that does nothing.
type ignored struct{}

func (ignored) Record(*bpf.Record)     {}
func (ignored) Call(*bpf.CallRecord)   {}
func (ignored) Stack(*bpf.StackRecord) {}
func (ignored) Idle()                  {}

// observeShortly attaches to a process, calls during when the probes are in, and detaches. It returns the notes.
func observeShortly(t *testing.T, pid int, folder string, during func()) (notes []string, err error) {
	t.Helper()
	table, err := synctab.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	opts := Options{Plan: probes.Options{Table: table}, Handler: ignored{}, Journal: folder, Verbose: true}
	_, err = Attach(ctx, pid, opts, nil, func(s *Session) {
		during()
		notes = s.Notes()
		end()
	})
	return notes, err
}
