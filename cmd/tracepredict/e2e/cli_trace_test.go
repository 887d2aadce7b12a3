package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestTraceReplaysAsLive checks that the report of analyze is equal to that of the live
// run, byte for byte, but for what only a process can tell: where other runs are held.
func TestTraceReplaysAsLive(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, name := range []string{"shop", "fields", "bank", "condvar", "rwlock_race", "semaphore", "gate", "handoff20", "cpp_clean", "trylock", "jobs", "valve"} {
		t.Run(name, func(t *testing.T) {
			want := readExpectation(t, "../../../examples/"+name+"/expected.json")
			dir := t.TempDir()
			live, file, again := filepath.Join(dir, "live.json"), filepath.Join(dir, "run.trace"), filepath.Join(dir, "again.json")
			args := []string{"exec", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", live, "--record", file}
			for _, v := range want.Watch {
				args = append(args, "--watch", v)
			}
			replay := []string{"analyze", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", again}
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

// withoutSteering returns a report in JSON without what a trace does not have: where threads of other runs are held.
func withoutSteering(text []byte) string {
	text = regexp.MustCompile(`"build_id":"[0-9a-f]*",`).ReplaceAll(text, nil)
	var out bytes.Buffer
	for {
		before, rest, found := bytes.Cut(text, []byte(`"steering":`))
		out.Write(before)
		if !found {
			return out.String()
		}
		dec := json.NewDecoder(bytes.NewReader(rest))
		var steering json.RawMessage
		if dec.Decode(&steering) != nil {
			return "a report that is cut short"
		}
		text = bytes.TrimPrefix(rest[dec.InputOffset():], []byte(","))
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
		texts[i] = withoutSteering(raw)
	}
	if texts[0] == "" || texts[0] != texts[1] {
		t.Error(cmp.Diff(texts[0], texts[1]))
	}
}

// TestTraceOfAttach checks that the trace of a run that began before the observation
// replays too.
func TestTraceOfAttach(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	dir := t.TempDir()
	live, file, again := filepath.Join(dir, "live.json"), filepath.Join(dir, "run.trace"), filepath.Join(dir, "again.json")
	tool := startTool(t, childOptions{}, "attach", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", live, "--record", file, "-p", fmt.Sprint(pid))
	poll(t, "the probes", func() bool { return tool.err.has("tracepredict: observing ") })
	server.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(66)
	server.want(0)
	startTool(t, childOptions{}, "analyze", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", again, file).want(66)
	wantSameFile(t, live, again)
}

// TestTraceThroughAPipe checks that with --record - the trace goes to standard output,
// and the program's own standard output to standard error.
func TestTraceThroughAPipe(t *testing.T) {
	needBPF(t)
	t.Parallel()
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

// TestTracePipeClosed checks that a closed pipe of the trace changes neither the
// program nor the report, and that the tool reports it.
func TestTracePipeClosed(t *testing.T) {
	needBPF(t)
	t.Parallel()
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

// TestTraceDiskFull checks that the observation continues when the trace cannot be
// written any more.
func TestTraceDiskFull(t *testing.T) {
	needBPF(t)
	t.Parallel()
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

// TestTraceOfAKilledTool checks that a trace can be analysed up to where the tool was
// killed, under the name of a trace that is not complete, and that the error about the missing
// complete one names it. The end of a trace records which synchronisation was not observed:
// without it all findings are potential.
func TestTraceOfAKilledTool(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	file := filepath.Join(t.TempDir(), "run.trace")
	part := file + ".part"
	tool := startTool(t, childOptions{}, "attach", "--record", file, "-p", fmt.Sprint(pid))
	poll(t, "the probes", func() bool { return tool.err.has("tracepredict: observing ") })
	server.ask("twist")
	poll(t, "the trace of what the server did", func() bool {
		c := startTool(t, childOptions{}, "analyze", "--confidence", "potential", "--fail-on", "potential", "--format", "json", part)
		return c.wait() == 66
	})
	tool.signal(unix.SIGKILL)
	tool.want(128 + int(unix.SIGKILL))
	server.want(0)
	missing := startTool(t, childOptions{}, "analyze", file)
	missing.want(125)
	if !strings.Contains(missing.err.String(), part+" is there") {
		t.Error("the error does not name what is left of the trace")
	}
	c := startTool(t, childOptions{}, "analyze", "--confidence", "potential", "--fail-on", "potential", part)
	c.want(66)
	text := c.err.String()
	for _, want := range []string{"DEADLOCK", "the trace is cut short after event", "CUT SHORT", "twist.h"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

// TestTraceDamaged checks that the error about a damaged trace has the position of the
// damage.
func TestTraceDamaged(t *testing.T) {
	needBPF(t)
	t.Parallel()
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

// TestReportReaderGone checks that a run is observed to its end, and its trace is
// complete, when the reader of the tool's messages has closed its pipe, as head does.
func TestReportReaderGone(t *testing.T) {
	needBPF(t)
	t.Parallel()
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
