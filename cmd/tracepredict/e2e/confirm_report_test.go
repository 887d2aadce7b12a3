package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
	written, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Findings []confirmed }
	if err := json.Unmarshal(written, &r); err != nil {
		t.Fatal(err)
	}
	return r.Findings, tool.out.String()
}

// TestConfirmReport: a report alone suffices to confirm what it predicts, also when the program has been moved. The text is
// that of the first run but for what came of the tries, and the steps on the dynamic loader's locks, which JSON leaves out.
func TestConfirmReport(t *testing.T) {
	needBPF(t)
	for _, name := range []string{"shop", "errand", "bank"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
