package textreport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// stackOfFunctions returns a call stack of functions of a program, each on its own line.
func stackOfFunctions(functions ...string) report.Stack {
	var frames []event.Frame
	for i, f := range functions {
		frames = append(frames, event.Frame{Function: f, File: "p.c", Line: len(f), Module: "/bin/p", Addr: uint64(i)})
	}
	frames = append(frames, event.Frame{Function: "__libc_start_main", Module: "/lib/libc.so.6"}, event.Frame{Function: "_start", Module: "/bin/p"})
	return report.Stack{Frames: frames, At: run.OwnIndex(frames)}
}

// TestLongStacks checks that the text shows both ends of a long stack, and the frames that a
// recursion repeats once.
func TestLongStacks(t *testing.T) {
	for name, c := range map[string]struct {
		functions string
		want      string
	}{
		"short":     {"a bb main", "#0 a p.c:1|#1 bb p.c:2|#2 main p.c:4"},
		"recursion": {"a bb bb bb main", "#0 a p.c:1|#1 bb p.c:2|   ... 3 times|#4 main p.c:4"},
		"six":       {"a b c d e main", "#0 a p.c:1|#1 b p.c:1|#2 c p.c:1|#3 d p.c:1|#4 e p.c:1|#5 main p.c:4"},
		"seven":     {"a b c d e f main", "#0 a p.c:1|#1 b p.c:1|#2 c p.c:1|#3 d p.c:1|#4 e p.c:1|#5 f p.c:1|#6 main p.c:4"},
		"eight":     {"a b c d e f g main", "#0 a p.c:1|#1 b p.c:1|#2 c p.c:1|#3 d p.c:1|#4 e p.c:1|... 2 more|#7 main p.c:4"},
		"long":      {"a b c d e f f g main", "#0 a p.c:1|#1 b p.c:1|#2 c p.c:1|#3 d p.c:1|#4 e p.c:1|... 3 more|#8 main p.c:4"},
	} {
		lines := newPrinter(report.Report{}, report.Options{}).stack(stackOfFunctions(strings.Fields(c.functions)...), 70)
		for i, l := range lines {
			lines[i] = strings.TrimPrefix(l, "  ")
		}
		if diff := cmp.Diff(strings.Split(c.want, "|"), lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLongStacksVerbose checks that Verbose shows each frame, still with recursions once.
func TestLongStacksVerbose(t *testing.T) {
	lines := newPrinter(report.Report{}, report.Options{Verbose: true}).stack(stackOfFunctions(strings.Fields("a b c d e f f g main")...), 70)
	want := []string{"  #0 a p.c:1", "  #1 b p.c:1", "  #2 c p.c:1", "  #3 d p.c:1", "  #4 e p.c:1", "  #5 f p.c:1", "     ... 2 times", "  #7 g p.c:1", "  #8 main p.c:4"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallers(t *testing.T) {
	for functions, want := range map[string]string{
		"": "", "main": "main", "spawn main": "spawn < main", "r r r main": "r < main", "a b c d e main": "a < b < c < ... < main",
	} {
		if got := stackOfFunctions(strings.Fields(functions)...).Callers(); got != want && functions != "" {
			t.Errorf("%s: %q, want %q", functions, got, want)
		}
	}
	p := newPrinter(report.Report{}, report.Options{})
	if got := p.startedAt(stackOfFunctions("spawn", "main")); got != "started at p.c:5 (spawn < main)" {
		t.Error(got)
	}
	if got := p.startedAt(stackOfFunctions("main")); got != "started at p.c:4" {
		t.Error(got)
	}
}
