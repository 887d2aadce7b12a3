package e2e

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// hangsFixture builds the program that hangs in the way that its argument selects.
func hangsFixture(t testing.TB, compiler string) string {
	t.Helper()
	return build(t, compiler, "hang/hangs.c", "-O2", "-pthread")
}

// hangKinds are the ways to hang, each with the expected finding.
var hangKinds = []struct{ kind, found, sentence string }{
	{"abba", "observed deadlock of a, b", "block each other for ever: "},
	{"heap", "observed deadlock of struct account.mu, struct account.mu", "T2 holds 'struct account.mu' at "},
	{"ring", "observed deadlock of a, b, c", "T2, T3 and T4 block each other for ever: "},
	{"write", "observed deadlock of a, table", "waits for 'table'"},
	{"read", "observed deadlock of a, table", "waits to read 'table'"},
	{"join", "observed deadlock of a", "T1 holds 'a' and waits for T2 to end"},
	{"relock", "observed misuse of a", "T2 locks 'a' again"},
	{"orphan", "observed deadlock of a; observed misuse of a", "the thread that held it has ended"},
	{"lost", "observed deadlock of news", "T2 signalled 'news'"},
	{"items", "observed deadlock of items, items", "nobody is left to wake them"},
	{"barrier", "observed deadlock of met, met", "waits at 'met'"},
}

// TestHangWhileObserved checks that a hang is reported while the program hangs, that
// the program is ended if that is requested, and that the report of a trace of
// the run is the same.
func TestHangWhileObserved(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := hangsFixture(t, "gcc")
	for _, c := range hangKinds {
		t.Run(c.kind, func(t *testing.T) { wantHang(t, program, c.kind, c.found, c.sentence) })
	}
}

func wantHang(t *testing.T, program, kind, found, sentence string) {
	dir := t.TempDir()
	report, trace := filepath.Join(dir, "report.json"), filepath.Join(dir, "trace")
	tool := startTool(t, childOptions{}, "exec", "--on-hang=kill", "--format", "json", "--output", report, "--record", trace, "--", program, kind)
	tool.want(128 + int(unix.SIGKILL))
	r := readReport(t, report)
	wantHangSummary(t, r, found)
	printed := strings.Join(strings.Fields(tool.err.String()), " ")
	if !strings.HasPrefix(printed, "tracepredict: the program hangs: ") || !strings.Contains(printed, sentence) {
		t.Errorf("told: %s", printed)
	}
	_, again := reported(t, "analyze", trace)
	wantHangSummary(t, again, found)
	if len(again.Findings) == 1 && len(r.Findings) == 1 && again.Findings[0].Fingerprint != r.Findings[0].Fingerprint {
		t.Error("the trace gives another finding")
	}
}

// wantHangSummary is wantSummary without the addresses of objects on the heap.
func wantHangSummary(t *testing.T, r jsonReport, found string) {
	t.Helper()
	if got := heapAddress.ReplaceAllString(r.summary(), ""); got != found {
		t.Errorf("findings: %q, want %q", got, found)
	}
}

var heapAddress = regexp.MustCompile(` \(0x[0-9a-f]+\)`)

// TestHangOfSomeThreads lets two threads hang while the first one continues, and the
// program end normally.
func TestHangOfSomeThreads(t *testing.T) {
	needBPF(t)
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	tool := startTool(t, childOptions{}, "exec", "--format", "json", "--output", report, "--", hangsFixture(t, "gcc"), "part")
	poll(t, "word of the hang", func() bool {
		tool.send("go on")
		return strings.Contains(tool.err.String(), "block each other for ever")
	})
	tool.in.Close()
	tool.want(66)
	wantSummary(t, readReport(t, report), "observed deadlock of a, b")
}

// TestHangOfAChild checks that with --follow the process that hangs is named, and is
// the one that is ended.
func TestHangOfAChild(t *testing.T) {
	needBPF(t)
	t.Parallel()
	tool := startTool(t, childOptions{}, "exec", "--follow", "--on-hang=kill", "--output", os.DevNull, "--", "/bin/sh", "-c", hangsFixture(t, "gcc")+" abba; exit 7")
	pid := lineNumber(t, tool, "ready ")
	tool.want(7)
	printed := strings.Join(strings.Fields(tool.err.String()), " ")
	for _, want := range []string{fmt.Sprintf("(pid %d)", pid), fmt.Sprintf("tracepredict: ending process %d with SIGKILL, as --on-hang kill says", pid)} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in: %s", want, printed)
		}
	}
}

// TestHangThatEndsByItself checks that threads, one of which has a time limit of an
// hour, are reported and not killed.
func TestHangThatEndsByItself(t *testing.T) {
	needBPF(t)
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	tool := startTool(t, childOptions{}, "exec", "--on-hang=kill", "--format", "json", "--output", report, "--", hangsFixture(t, "gcc"), "limit")
	poll(t, "word of the wait", func() bool { return strings.Contains(tool.err.String(), "until one gives up") })
	tool.signal(unix.SIGTERM)
	tool.want(128 + int(unix.SIGTERM))
	wantSummary(t, readReport(t, report), "observed deadlock of a, b")
}

// TestHangThatGoesOn checks that a hang that is seen and then goes on, since the handler of a signal
// ends it, is withdrawn, live and in the report of the recorded run.
func TestHangThatGoesOn(t *testing.T) {
	needBPF(t)
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "run.trace")
	tool := startTool(t, childOptions{}, "exec", "--confidence", "potential", "--fail-on", "potential", "--record", trace, "--", hangsFixture(t, "gcc"), "woken")
	pid := lineNumber(t, tool, "ready ")
	poll(t, "word of the hang", func() bool { return strings.Contains(tool.err.String(), "nobody is left to wake") })
	if err := unix.Kill(pid, unix.SIGALRM); err != nil {
		t.Fatal(err)
	}
	tool.want(0)
	const note = "1 hang was seen whose threads went on later"
	for _, want := range []string{"no findings in ", note, "tracepredict: the threads of this hang went on, so it is none: "} {
		if !strings.Contains(tool.err.String(), want) {
			t.Errorf("%q is not in\n%s", want, tool.err.String())
		}
	}
	again := startTool(t, childOptions{}, "analyze", "--confidence", "potential", "--fail-on", "potential", trace)
	again.want(0)
	if !strings.Contains(again.err.String(), note) {
		t.Errorf("analyze says\n%s", again.err.String())
	}
}

// TestHangBefore checks that attach reports at once that a process hangs already.
func TestHangBefore(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := hangsFixture(t, "gcc")
	for _, c := range hangKinds {
		switch c.kind {
		case "lost", "write": // the signals sent before, and the readers of a lock, are recorded nowhere
			c.sentence = "nobody is left to wake them"
		}
		t.Run(c.kind, func(t *testing.T) { wantHungBefore(t, program, c.kind, c.sentence) })
	}
}

func wantHungBefore(t *testing.T, program, kind, sentence string) {
	child := startChild(t, childOptions{}, program, kind)
	pid := lineNumber(t, child, "ready ")
	tool := startTool(t, childOptions{}, "attach", "-p", strconv.Itoa(pid), "--on-hang=kill")
	tool.want(66)
	child.want(128 + int(unix.SIGKILL))
	printed := strings.Join(strings.Fields(tool.err.String()), " ")
	if !strings.Contains(printed, "tracepredict: the program hangs: ") || !strings.Contains(printed, sentence) {
		t.Errorf("told: %s", printed)
	}
	if kind == "heap" && (!strings.Contains(printed, "T2 clerk T3 auditor") || !strings.Contains(printed, "waits for struct account.mu in")) {
		t.Errorf("threads or locks without names: %s", printed)
	}
}

// TestHangBeforeWithMusl is TestHangBefore for musl, whose default mutexes do not
// record their owner, whose threads do not wait at the condition itself, and which has
// no call frame information.
func TestHangBeforeWithMusl(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := hangsFixture(t, "musl-gcc")
	for kind, sentence := range map[string]string{
		"abba":  "T2 waits for 'b' at hangs.c:32, while T3 waits for 'a' at hangs.c:38",
		"heap":  "T2 waits for 'struct account.mu' at 0x",
		"lost":  "T2 waits to be woken at hangs.c:144",
		"items": "T3 waits for 'items' at hangs.c:149",
	} {
		t.Run(kind, func(t *testing.T) { wantHungBefore(t, program, kind, sentence) })
	}
}

func TestHangWhileObservedWithMusl(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := hangsFixture(t, "musl-gcc")
	for _, c := range hangKinds {
		switch c.kind {
		case "abba", "write", "relock", "lost":
			t.Run(c.kind, func(t *testing.T) { wantHang(t, program, c.kind, c.found, c.sentence) })
		}
	}
}

// TestIdleIsNoHang checks that threads that idle while another one could wake them are
// no hang, and neither are all threads if a signal handler might wake one.
func TestIdleIsNoHang(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, kind := range []string{"idle", "handled"} {
		t.Run(kind, func(t *testing.T) {
			child := startChild(t, childOptions{}, hangsFixture(t, "gcc"), kind)
			pid := lineNumber(t, child, "ready ")
			tool := startTool(t, childOptions{}, "attach", "-p", strconv.Itoa(pid), "--duration", "1500ms", "--on-hang=kill")
			tool.want(0)
			if strings.Contains(tool.err.String(), "the program ") {
				t.Errorf("told: %s", tool.err.String())
			}
			child.signal(unix.SIGKILL)
			child.want(128 + int(unix.SIGKILL))
		})
	}
}

// TestHangCommand checks that hang lists at once what each thread of a process is
// doing, however the program was built, and does not disturb the threads.
func TestHangCommand(t *testing.T) {
	needBPF(t)
	t.Parallel()
	static := func(t *testing.T) string { return build(t, "gcc", "hang/hangs.c", "-O2", "-pthread", "-static") }
	stripped := func(t *testing.T) string { return build(t, "gcc", "hang/hangs.c", "-O2", "-pthread", "-s") }
	cpp := func(t *testing.T) string { return build(t, "g++", "hang/hangs.cc", "-O1", "-std=c++20", "-pthread") }
	glibc := func(t *testing.T) string { return hangsFixture(t, "gcc") }
	musl := func(t *testing.T) string { return hangsFixture(t, "musl-gcc") }
	for _, c := range []struct {
		name, kind string
		program    func(*testing.T) string
		status     int
		want       []string
	}{
		{"heap", "heap", glibc, 66, []string{"a hang in", "2 wait for locks", "T2 holds 'struct account.mu' at 0x", "T2 clerk: waits for 'struct account.mu' at 0x", ", which T3 holds", "T1 main thread: waits for T2 to end"}},
		{"static", "heap", static, 66, []string{"T2 holds 'struct account.mu' at 0x", "T3 auditor: waits for 'struct account.mu'"}},
		{"stripped", "heap", stripped, 66, []string{"a hang in", "T2 holds the mutex first seen in ", " and waits for "}},
		{"stripped, in a variable", "abba", stripped, 66, []string{"pthread-s+0x", "T2 holds 'gcc", " (mutex)"}},
		{"musl", "heap", musl, 66, []string{"T2 clerk: waits for 'struct account.mu' at 0x"}},
		{"C++", "mutex", cpp, 66, []string{"T2 holds 'shop::Desk.mu' at 0x", "shop::swap"}},
		{"C++ shared", "shared", cpp, 66, []string{"block each other", "waits to read 'shop::Table.mu' at 0x", "holds 'shop::Desk.mu' at 0x"}},
		{"readers", "write", glibc, 66, []string{"waits for 'table', which one reader holds (which thread, memory does not keep)"}},
		{"readers of musl", "write", musl, 66, []string{"which one reader holds"}},
		{"idle", "idle", glibc, 0, []string{"no hang in", "no thread waits for a lock; 3 threads: 1 in read(2)", "T1 main thread: is in read(2)", "T2 executive: waits on 'news'", "T3 takes: waits for 'items'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			child := startChild(t, childOptions{}, c.program(t), c.kind)
			pid := lineNumber(t, child, "ready ")
			awaitAsleep(t, pid)
			tool := startTool(t, childOptions{}, "hang", strconv.Itoa(pid))
			tool.want(c.status)
			printed := threadIDs.ReplaceAllString(strings.Join(strings.Fields(tool.err.String()), " "), "")
			for _, want := range c.want {
				if !strings.Contains(printed, want) {
					t.Errorf("no %q in: %s", want, printed)
				}
			}
			child.signal(unix.SIGKILL)
			child.want(128 + int(unix.SIGKILL))
		})
	}
}

var threadIDs = regexp.MustCompile(`, tids? [0-9 ]+`)

// TestHangIsOneFinding checks that a deadlock that one run predicts and another one
// hangs in, after it was predicted there too, has one fingerprint.
func TestHangIsOneFinding(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := example(t, "hang")
	_, quiet := reported(t, "exec", "--", program)
	wantHangSummary(t, quiet, "predicted deadlock of struct account.mu, struct account.mu")
	report := filepath.Join(t.TempDir(), "report.json")
	startTool(t, childOptions{}, "exec", "--on-hang=kill", "--format", "json", "--output", report, "--", program, "busy").want(128 + int(unix.SIGKILL))
	busy := readReport(t, report)
	wantHangSummary(t, busy, "observed deadlock of struct account.mu, struct account.mu")
	if s := busy.Run.Signal; s == nil || s.Name != "SIGKILL" || !s.Requested {
		t.Errorf("the report does not say that tracepredict sent SIGKILL: %+v", s)
	}
	if len(quiet.Findings) == 1 && len(busy.Findings) == 1 && quiet.Findings[0].Fingerprint != busy.Findings[0].Fingerprint {
		t.Error("the prediction and what came about have different fingerprints")
	}
}

// BenchmarkHangTold measures the time from the last record of threads that block each
// other to the report of the hang, on the clock of the records.
func BenchmarkHangTold(b *testing.B) {
	needBPF(b)
	program, file := hangsFixture(b, "gcc"), filepath.Join(b.TempDir(), "trace")
	var worst, sum time.Duration
	for b.Loop() {
		startTool(b, childOptions{}, "exec", "--on-hang=kill", "--record", file, "--", program, "abba").want(128 + int(unix.SIGKILL))
		took := reportedAfter(b, file)
		worst, sum = max(worst, took), sum+took
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(sum.Milliseconds())/float64(b.N), "ms-until-told")
	b.ReportMetric(float64(worst.Milliseconds()), "ms-at-worst")
}

// reportedAfter returns the time from the last event before the hang to the first
// Blocked.
func reportedAfter(tb testing.TB, name string) time.Duration {
	tb.Helper()
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	src, err := trace.NewReader(f, name)
	if err != nil {
		tb.Fatal(err)
	}
	var e event.Event
	last := uint64(0)
	for err = src.Next(&e); err == nil; err = src.Next(&e) {
		if e.Op == event.Blocked {
			return time.Duration(e.Time - last)
		}
		if e.Op != event.Holds {
			last = e.Time
		}
	}
	tb.Fatalf("no hang in the trace: %v", err)
	return 0
}

// TestHangCore checks that --on-hang=core leaves a core dump, with all threads, where
// the message says.
func TestHangCore(t *testing.T) {
	needBPF(t)
	t.Parallel()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.HasPrefix(string(pattern), "|") || strings.HasPrefix(string(pattern), "@") {
		t.Skipf("core dumps become no files here: core_pattern is %q (%v)", pattern, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max == 0 {
		t.Skipf("core dumps are not allowed here: the hard limit is %d (%v)", limit.Max, err)
	}
	dir := t.TempDir()
	program := hangsFixture(t, "gcc")
	tool := startTool(t, childOptions{Dir: dir}, "exec", "--on-hang=core", "--", program, "abba")
	tool.want(128 + int(unix.SIGABRT))
	if !strings.Contains(strings.Join(strings.Fields(tool.err.String()), " "), "was ended by signal 6 (SIGABRT), which tracepredict sent as it was asked to") {
		t.Errorf("the report does not say who sent the signal: %s", tool.err.String())
	}
	_, printed, _ := strings.Cut(tool.err.String(), "tracepredict: core dump: ")
	place, _, _ := strings.Cut(printed, "\n")
	files, err := filepath.Glob(place)
	if err != nil || len(files) != 1 {
		t.Fatalf("core dumps at %q: %q, %v; told: %s", place, files, err, tool.err.String())
	}
	core, err := elf.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	defer os.Remove(files[0])
	if n := threadsOfCore(t, core); core.Type != elf.ET_CORE || n != 3 {
		t.Errorf("%s of %d threads, want a core of 3", core.Type, n)
	}
}

// threadsOfCore returns the number of notes that have the registers of a thread.
func threadsOfCore(t *testing.T, core *elf.File) int {
	t.Helper()
	const prStatus = 1
	n := 0
	for _, p := range core.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil {
			t.Fatal(err)
		}
		for len(notes) >= 12 {
			name, desc, kind := core.ByteOrder.Uint32(notes), core.ByteOrder.Uint32(notes[4:]), core.ByteOrder.Uint32(notes[8:])
			if kind == prStatus {
				n++
			}
			size := 12 + (int(name)+3)&^3 + (int(desc)+3)&^3
			notes = notes[min(size, len(notes)):]
		}
	}
	return n
}

// awaitAsleep waits until all threads of a process sleep.
func awaitAsleep(t *testing.T, pid int) {
	t.Helper()
	poll(t, "sleep of all threads", func() bool {
		states := threadStates(pid, "State")
		return len(states) > 1 && !slices.ContainsFunc(states, func(s string) bool { return !strings.HasPrefix(s, "S") && !strings.HasPrefix(s, "Z") })
	})
}

// TestHangCommandJSON checks that the JSON report has an entry for each thread.
func TestHangCommandJSON(t *testing.T) {
	needBPF(t)
	t.Parallel()
	child := startChild(t, childOptions{}, hangsFixture(t, "gcc"), "abba")
	pid := lineNumber(t, child, "ready ")
	awaitAsleep(t, pid)
	out := filepath.Join(t.TempDir(), "report.json")
	tool := startTool(t, childOptions{}, "hang", "--format", "json", "--output", out, strconv.Itoa(pid))
	tool.want(66)
	var r struct {
		Threads []struct {
			Thread    int    `json:"thread"`
			Start     string `json:"start"`
			State     string `json:"state"`
			Operation string `json:"operation"`
			Object    string `json:"object"`
			Peer      int    `json:"peer"`
			By        []int  `json:"held_by"`
		} `json:"threads"`
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v", r.Threads)
	const want = "[{Thread:1 Start: State:asleep Operation:join Object: Peer:2 By:[]} {Thread:2 Start:a_then_b State:asleep Operation:acquire Object:b Peer:0 By:[3]} {Thread:3 Start:b_then_a State:asleep Operation:acquire Object:a Peer:0 By:[2]}]"
	if got != want {
		t.Errorf("threads %s, want %s", got, want)
	}
	child.signal(unix.SIGKILL)
	child.want(128 + int(unix.SIGKILL))
}
