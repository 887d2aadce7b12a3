package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestTraceReplaysAsLive: what analyze makes of a trace is the report of the
// live run, byte for byte.
func TestTraceReplaysAsLive(t *testing.T) {
	needBPF(t)
	for _, name := range []string{"shop", "fields", "bank", "condvar", "rwlock_race", "semaphore", "gate", "handoff20", "cpp_clean", "trylock", "jobs", "valve"} {
		t.Run(name, func(t *testing.T) {
			want := readExpectation(t, "../../../examples/"+name+"/expected.json")
			dir := t.TempDir()
			live, file, again := filepath.Join(dir, "live.json"), filepath.Join(dir, "run.trace"), filepath.Join(dir, "again.json")
			args := []string{"exec", "--confidence", "potential", "--format", "json", "--output", live, "--record", file}
			for _, v := range want.Watch {
				args = append(args, "--watch", v)
			}
			replay := []string{"analyze", "--confidence", "potential", "--format", "json", "--output", again}
			if want.Spec != "" {
				spec := []string{"--spec", filepath.Join("../../../examples", name, want.Spec)}
				args, replay = append(args, spec...), append(replay, spec...)
			}
			status := startTool(t, childOptions{}, append(args, "--", example(t, name))...).wait()
			startTool(t, childOptions{Env: []string{"PATH="}}, append(replay, file)...).want(status)
			wantSameFile(t, live, again)
		})
	}
}

func wantSameFile(t *testing.T, a, b string) {
	t.Helper()
	texts := make([]string, 2)
	for i, name := range []string{a, b} {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(raw)
	}
	if texts[0] == "" || texts[0] != texts[1] {
		t.Error(cmp.Diff(texts[0], texts[1]))
	}
}

// TestTraceOfAttach: a run that began before observation replays too.
func TestTraceOfAttach(t *testing.T) {
	needBPF(t)
	server, pid := startServer(t)
	dir := t.TempDir()
	live, file, again := filepath.Join(dir, "live.json"), filepath.Join(dir, "run.trace"), filepath.Join(dir, "again.json")
	tool := startTool(t, childOptions{}, "attach", "--confidence", "potential", "--format", "json", "--output", live, "--record", file, "-p", fmt.Sprint(pid))
	poll(t, "the probes", func() bool { return tool.err.has("tracepredict: observing ") })
	server.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(66)
	server.want(0)
	startTool(t, childOptions{}, "analyze", "--confidence", "potential", "--format", "json", "--output", again, file).want(66)
	wantSameFile(t, live, again)
}

// TestTraceThroughAPipe: with --record - the trace has standard output, and what
// the program writes there goes to standard error.
func TestTraceThroughAPipe(t *testing.T) {
	needBPF(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	program := example(t, "shop")
	exec := startTool(t, childOptions{Stdout: w}, "exec", "--record", "-", "--watch", "tickets", "--", program)
	w.Close()
	analyze := startTool(t, childOptions{Stdin: r}, "analyze", "-")
	r.Close()
	exec.want(66)
	analyze.want(66)
	if !exec.err.has("85 tickets left, 25 entries") {
		t.Error("the program's own output is not on standard error")
	}
	_, live, _ := strings.Cut(exec.err.String(), "entries\n")
	if diff := cmp.Diff(atTheEnd(live), analyze.err.String()); diff != "" {
		t.Error(diff)
	}
}

// TestTracePipeClosed: the reader of the trace goes away; the program and the
// report do not suffer, and the tool says what happened.
func TestTracePipeClosed(t *testing.T) {
	needBPF(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	c := startTool(t, childOptions{Stdout: w}, "exec", "--record", "-", "--watch", "tickets", "--", example(t, "shop"))
	w.Close()
	c.want(125)
	if !strings.Contains(c.err.String(), "broken pipe") || c.out.String() != "" {
		t.Error("the broken pipe is not told")
	}
}

// TestTraceDiskFull: recording ends, the observation goes on.
func TestTraceDiskFull(t *testing.T) {
	needBPF(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	full.Close()
	c := startTool(t, childOptions{}, "exec", "--record", "/dev/full", "--", "/bin/true")
	c.want(125)
	if !strings.Contains(c.err.String(), "no space left on device") {
		t.Error("the full disk is not told")
	}
}

// TestTraceOfAKilledTool: what was recorded until the tool was killed can be
// analysed. What was unseen is told at a trace's end: without it findings are potential.
func TestTraceOfAKilledTool(t *testing.T) {
	needBPF(t)
	server, pid := startServer(t)
	file := filepath.Join(t.TempDir(), "run.trace")
	tool := startTool(t, childOptions{}, "attach", "--record", file, "-p", fmt.Sprint(pid))
	poll(t, "the probes", func() bool { return tool.err.has("tracepredict: observing ") })
	server.ask("twist")
	poll(t, "the trace of what the server did", func() bool {
		c := startTool(t, childOptions{}, "analyze", "--confidence", "potential", "--format", "json", file)
		return c.wait() == 66
	})
	tool.signal(unix.SIGKILL)
	tool.want(128 + int(unix.SIGKILL))
	server.want(0)
	c := startTool(t, childOptions{}, "analyze", "--confidence", "potential", file)
	c.want(66)
	text := c.err.String()
	for _, want := range []string{"DEADLOCK", "the trace is cut short after event", "CUT SHORT", "twist.h"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

// TestTraceDamaged: a damaged trace is told, with the place.
func TestTraceDamaged(t *testing.T) {
	needBPF(t)
	file := filepath.Join(t.TempDir(), "run.trace")
	startTool(t, childOptions{}, "exec", "--record", file, "--", example(t, "shop")).wait()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	c := startTool(t, childOptions{Stdin: bytes.NewReader(raw)}, "analyze", "-")
	c.want(125)
	if !strings.Contains(c.err.String(), "standard input: at byte ") {
		t.Error(c.err.String())
	}
}

// TestReportReaderGone: who read the tool's messages through a pipe has gone, as head
// does; the run is observed to its end all the same, and its trace is whole.
func TestReportReaderGone(t *testing.T) {
	needBPF(t)
	file := filepath.Join(t.TempDir(), "run.trace")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	c := startTool(t, childOptions{Stderr: w}, "exec", "--record", file, "--", example(t, "shop"))
	w.Close()
	c.want(125)
	if !strings.Contains(c.out.String(), "tickets left") {
		t.Error("the program did not end by itself")
	}
	analyze := startTool(t, childOptions{}, "analyze", file)
	analyze.want(66)
	if !strings.Contains(analyze.err.String(), "nothing lost") {
		t.Error("the trace is not whole")
	}
}
