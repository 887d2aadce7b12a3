package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// reportOf observes a program and returns its report in JSON, and what its text says.
func reportOf(t *testing.T, program string, flags ...string) (file, text string) {
	t.Helper()
	dir := t.TempDir()
	file, plain := filepath.Join(dir, "report.json"), filepath.Join(dir, "report.txt")
	all := []string{"exec", "--analysis-time=none", "--fail-on=never", "--format", "json", "--output", file, "--format", "text", "--output", plain}
	startTool(t, childOptions{Stdin: nothing(t)}, slices.Concat(all, flags, []string{"--", program})...).want(0)
	written, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	return file, string(written)
}

// confirmReport has a report confirmed with a program, and returns its findings and what its text says.
func confirmReport(t *testing.T, file, program string, status int, flags ...string) (found []confirmed, text string) {
	t.Helper()
	again := filepath.Join(t.TempDir(), "again.json")
	all := slices.Concat([]string{"confirm", "--format", "json", "--output", again, "--format", "text", "--output", "-"}, flags, []string{file, "--", program})
	tool := startTool(t, childOptions{Stdin: nothing(t)}, all...)
	tool.want(status)
	return readConfirmed(t, again), tool.out.String()
}

// readConfirmed returns the findings of a report in JSON.
func readConfirmed(t *testing.T, file string) []confirmed {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Findings []confirmed }
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r.Findings
}

// TestConfirmReport: a report alone suffices to confirm what it predicts, also when the program has been moved. The text is
// that of the first run but for what came of the tries, and the steps on the dynamic loader's locks, which JSON leaves out.
func TestConfirmReport(t *testing.T) {
	needBPF(t)
	for _, name := range []string{"shop", "errand", "bank"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "shop" { // it has a race too
				needBreakpoints(t)
			}
			program := example(t, name)
			file, text := reportOf(t, program)
			found, again := confirmReport(t, file, copied(t, program), 66)
			if len(found) == 0 {
				t.Fatal("nothing was found")
			}
			for _, f := range found {
				if f.Confirmation == nil || !f.Confirmation.Confirmed {
					t.Errorf("%s", printed(t, f))
				}
			}
			differs := regexp.MustCompile(`predicted|other steps?$|it assumes that`)
			for line := range strings.Lines(text) {
				if !differs.MatchString(strings.TrimSpace(line)) && !strings.Contains(again, line) {
					t.Errorf("the report lacks %q:\n%s", line, again)
				}
			}
			if !strings.Contains(again, "confirmed (try ") {
				t.Errorf("printed: %s", again)
			}
		})
	}
}

// TestConfirmSpecifiedReport: a report and the specification suffice to confirm what is predicted of that, also when the
// program has been moved. Without the specification nothing is tried, and that is said.
func TestConfirmSpecifiedReport(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	for _, name := range []string{"valve", "socket", "sale"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, spec := example(t, name), filepath.Join("..", "..", "..", "examples", name, name+".tps")
			file, _ := reportOf(t, program, "--spec", spec)
			found, _ := confirmReport(t, file, copied(t, program), 66, "--spec", spec)
			if len(found) == 0 {
				t.Fatal("nothing was found")
			}
			for _, f := range found {
				if f.Confidence != "confirmed" || f.Confirmation == nil || !f.Confirmation.Confirmed {
					t.Errorf("%s", printed(t, f))
				}
			}
			found, _ = confirmReport(t, file, program, 66)
			for _, f := range found {
				if f.Confirmation == nil || f.Confirmation.Try != 0 || !strings.HasPrefix(f.Confirmation.Reason, "it is about a specification: give confirm the --spec") {
					t.Errorf("without the specification: %s", printed(t, f))
				}
			}
		})
	}
}

// TestConfirmGuidedReport: a report has the way to accesses that threads reach only along a schedule, and to a wait that
// hangs.
func TestConfirmGuidedReport(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	for program, flags := range map[string][]string{
		"guided.c": {"--order=none", "--watch", "untold", "--watch", "told"}, "missed.c": {"--watch-shared=off"},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			binary := build(t, "gcc", program, "-O2", "-g", "-pthread")
			file, _ := reportOf(t, binary, flags...)
			found, _ := confirmReport(t, file, binary, 66, "--tries=2")
			if len(found) == 0 {
				t.Fatal("nothing was found")
			}
			for _, f := range found {
				confirms := len(f.Objects) == 0 || f.Objects[0] != "told" // nothing but a pipe, which --order=none leaves out, keeps these apart
				if f.Confirmation == nil || f.Confirmation.Confirmed != confirms {
					t.Errorf("%s", printed(t, f))
				}
			}
		})
	}
}

// TestConfirmFalseReport: what no run can show is not confirmed, and what one can is.
func TestConfirmFalseReport(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	t.Parallel()
	file, _ := reportOf(t, example(t, "pipe"), "--order=none", "--watch", "letter", "--watch", "stamp")
	found, _ := confirmReport(t, file, example(t, "pipe"), 66, "--tries=2")
	if len(found) != 2 {
		t.Fatalf("races: %s", printed(t, found))
	}
	for _, f := range found {
		if f.Confirmation == nil || len(f.Objects) != 1 || f.Confirmation.Confirmed != strings.Contains(f.Objects[0], "stamp") {
			t.Errorf("race: %s", printed(t, f))
		}
	}
}

// TestConfirmOtherProgram: with another program, or with another build of it, nothing is run.
func TestConfirmOtherProgram(t *testing.T) {
	needBPF(t)
	t.Parallel()
	file, _ := reportOf(t, example(t, "shop"), "--watch-shared=off")
	tool := startTool(t, childOptions{Stdin: nothing(t)}, "confirm", file, "--", example(t, "gate"))
	tool.want(125)
	if text := tool.err.String(); !strings.Contains(text, "is not a report of this program") || !strings.Contains(text, "build ID") {
		t.Errorf("printed: %s", text)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved.json")
	if err := os.WriteFile(moved, withoutCalls(t, text), 0o644); err != nil {
		t.Fatal(err)
	}
	tool = startTool(t, childOptions{Stdin: nothing(t)}, "confirm", moved, "--", example(t, "shop"))
	tool.want(125)
	if text := tool.err.String(); !strings.Contains(text, "is not a report of this program") || !strings.Contains(text, "find the call before 0x3") {
		t.Errorf("printed: %s", text)
	}
}

// withoutCalls returns a report in which no step of a schedule is at a call.
func withoutCalls(t *testing.T, text []byte) []byte {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, f := range all["findings"].([]any) {
		steering, ok := f.(map[string]any)["steering"].(map[string]any)
		if !ok {
			t.Fatalf("no steering: %s", printed(t, f))
		}
		for _, s := range steering["steps"].([]any) {
			s.(map[string]any)["address"] = 3
		}
	}
	return []byte(printed(t, all))
}

// TestConfirmTraceReport: the report of a trace does not say how threads are held, and that is said.
func TestConfirmTraceReport(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	trace, file := filepath.Join(dir, "run.trace"), filepath.Join(dir, "report.json")
	startTool(t, childOptions{Stdin: nothing(t)}, "exec", "--fail-on=never", "--watch-shared=off", "--record", trace, "--", example(t, "shop")).want(0)
	startTool(t, childOptions{}, "analyze", "--format", "json", "--output", file, trace).want(66)
	tool := startTool(t, childOptions{Stdin: nothing(t)}, "confirm", file, "--", example(t, "shop"))
	tool.want(125)
	if text := tool.err.String(); !strings.Contains(text, "it does not say how the threads of another run are held") {
		t.Errorf("printed: %s", text)
	}
}

// confirmFed runs the program fed once with --confirm, its input through a pipe, and returns what came of its deadlock.
func confirmFed(t *testing.T, args []string, flags ...string) confirmed {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	all := []string{"exec", "--confirm", "--watch-shared=off", "--fail-on=never", "--tries=2", "--format", "json", "--output", file}
	tool := startTool(t, childOptions{Stdin: strings.NewReader("eat\n")}, slices.Concat(all, flags, []string{"--", build(t, "gcc", "fed.c")}, args)...)
	tool.want(0)
	found := readConfirmed(t, file)
	if len(found) != 1 || found[0].Confirmation == nil {
		t.Fatalf("findings: %s", printed(t, found))
	}
	return found[0]
}

// TestConfirmStdin: with a file in the place of the pipe that was standard input, a deadlock is confirmed, if the file is the
// right one.
func TestConfirmStdin(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for input, confirms := range map[string]bool{"eat\n": true, "starve\n": false} {
		file := filepath.Join(t.TempDir(), "input")
		if err := os.WriteFile(file, []byte(input), 0o644); err != nil {
			t.Fatal(err)
		}
		if c := confirmFed(t, nil, "--confirm-stdin", file).Confirmation; c.Confirmed != confirms {
			t.Errorf("%q: %s", input, printed(t, c))
		}
	}
}

// TestConfirmSetup: a program that needs something done before it is run again is confirmed with that, and not without. A
// command that fails ends all tries.
func TestConfirmSetup(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		setup, reason string
		try           int
	}{
		{"rm %s", "", 1},
		{"true", "the run ended without it", 2},
		{"echo it stays >&2; exit 5", "the command of --confirm-setup ended with status 5: it stays", 0},
	} {
		dir := t.TempDir()
		input, made := filepath.Join(dir, "input"), filepath.Join(dir, "made")
		if err := os.WriteFile(input, []byte("eat\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := confirmFed(t, []string{made}, "--confirm-stdin", input, "--confirm-setup", strings.ReplaceAll(c.setup, "%s", made)).Confirmation
		if got.Confirmed != (c.reason == "") || got.Try != c.try || !strings.HasSuffix(got.Reason, c.reason) {
			t.Errorf("%s: %s", c.setup, printed(t, got))
		}
	}
}

// TestConfirmCore: of a deadlock that is confirmed a core dump is kept, and the report says where; without the flag, there is
// none.
func TestConfirmCore(t *testing.T) {
	needBPF(t)
	t.Parallel()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|@/%") {
		t.Skipf("the kernel does not put core dumps into the working directory: %q, %v", pattern, err)
	}
	input := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(input, []byte("eat\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{true, false} {
		dir := t.TempDir()
		file := filepath.Join(dir, "report.json")
		args := []string{"exec", "--confirm", "--watch-shared=off", "--fail-on=never", "--confirm-stdin", input, "--format", "json", "--output", file}
		if keep {
			args = append(args, "--confirm-core")
		}
		startTool(t, childOptions{Dir: dir, Stdin: strings.NewReader("eat\n")}, append(args, "--", build(t, "gcc", "fed.c"))...).want(0)
		found := readConfirmed(t, file)
		if len(found) != 1 || found[0].Confirmation == nil || !found[0].Confirmation.Confirmed {
			t.Fatalf("findings: %s", printed(t, found))
		}
		cores, err := filepath.Glob(filepath.Join(dir, "core*"))
		if err != nil || len(cores) > 0 != keep || strings.Contains(found[0].Confirmation.Core, filepath.Join(dir, "core")) != keep {
			t.Errorf("core dumps: %q, %v; %s", cores, err, printed(t, found))
		}
	}
}

// TestConfirmInterrupted: Ctrl-C ends trying, and the report is written. Nothing of the tries is left.
func TestConfirmInterrupted(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := copied(t, example(t, "shop"))
	file, _ := reportOf(t, program, "--watch-shared=off")
	ready := filepath.Join(t.TempDir(), "ready")
	c := startTool(t, childOptions{Stdin: nothing(t)}, "confirm", "--confirm-setup", "touch "+ready+"; exec sleep 1000", file, "--", program)
	poll(t, "the command of --confirm-setup", func() bool {
		_, err := os.Stat(ready)
		return err == nil || c.hasEnded()
	})
	c.signal(unix.SIGINT)
	c.want(66)
	if text := c.err.String(); !strings.Contains(text, "not confirmed in 1 of 5 tries: it was ended by a signal.") || !strings.Contains(text, "DEADLOCK predicted") {
		t.Errorf("printed: %s", text)
	}
}
