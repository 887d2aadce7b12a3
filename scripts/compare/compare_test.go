package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/scripts/figures"
	"github.com/tracepredict/tracepredict/scripts/trial"
)

// kinds lists what reports say, in one line each.
func kinds(reports []report) []string {
	var all []string
	for _, r := range reports {
		all = append(all, strings.Join(append([]string{r.kind}, r.objects...), " "))
	}
	return all
}

// TestParse reads what the tools really said of programs; the texts are stored as they
// came, without Valgrind's remarks on the debug information.
func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		parse func(string) ([]report, error)
		want  []string
	}{
		"double_checked-Helgrind": {parseHelgrind, []string{"race instance", "race settings"}},
		"double_checked-DRD":      {parseDRD, []string{"race instance", "race instance", "race settings"}},
		"double_checked-TSan":     {parseTSan, []string{"race instance", "race settings"}},
		"abba_gate_ok-Helgrind":   {parseHelgrind, []string{"deadlock a b"}},
		"abba_gate_ok-TSan":       {parseTSan, []string{"deadlock"}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.parse(string(text))
		if err != nil || !slices.Equal(kinds(got), c.want) {
			t.Errorf("%s: %q, %v, want %q", name, kinds(got), err, c.want)
		}
	}
}

func TestParseLines(t *testing.T) {
	for _, c := range []struct {
		parse func(string) ([]report, error)
		text  string
		want  []string
	}{
		{parseHelgrind, "==1== Thread #2 was created\n==1==    at 0x1: f\n==1== Thread #1 is the program's root thread\n", nil},
		{parseHelgrind, "==1== Thread #2: Exiting thread still holds 1 lock\n==1==    at 0x1: f\n", []string{"misuse"}},
		{parseHelgrind, "==1== Helgrind, a thread error detector\n==1== Process terminating with default action of signal 15 (SIGTERM)\n==1== Thread #2: Exiting thread still holds 1 lock\n", nil},
		{parseHelgrind, "==1== Thread #3 unlocked lock at 0x10C060 currently held by thread #2\n", []string{"misuse"}},
		{parseHelgrind, "==1== Possible data race during write of size 4 at 0x10C03C by thread #3\n==1==  Address 0x10c03c is 0 bytes inside data symbol \"ready\"\n", []string{"race ready"}},
		{parseHelgrind, "==1== Possible data race during write of size 4 at 0x1 by thread #3\n==1==  Address 0x4d77c88 is 8 bytes inside a block of size 24 alloc'd\n", []string{"race"}},
		{parseHelgrind, "==1== Possible data race during write of size 4 at 0x1 by thread #3\n==1==  Location 0x10c0a8 is 0 bytes inside hall.visitors,\n==1== declared at hall.cc:3\n", []string{"race hall.visitors"}},
		{parseDRD, "==1== Mutex not locked: mutex 0x1, recursion count 0, owner 0.\n==1==    at 0x1: f\n==1== mutex 0x1 was first observed at:\n==1==    at 0x2: g\n", []string{"misuse"}},
		{parseDRD, "==1== Thread 3:\n==1== Conflicting load by thread 3 at 0x0010c080 size 8\n==1==    at 0x1: f\n==1== Other segment start (thread 2)\n==1==    at 0x1: f\n", []string{"race"}},
		{parseDRD, "==1== Conflicting store by thread 3 at 0x04d98c58 size 4\n==1==    at 0x1: f\n==1== Address 0x4d98c58 is at offset 8 from 0x4d98c50. Allocation context:\n==1==    at 0x1: malloc\n", []string{"race"}},
		{parseTSan, "done\n", nil},
		{parseTSan, "WARNING: ThreadSanitizer: unlock of an unlocked mutex (or by a wrong thread) (pid=7)\n", []string{"misuse"}},
		{parseOwn, `{"run": {}, "findings": [{"kind": "race", "objects": ["total"]}, {"kind": "hang"}]}`, []string{"race total", "hang"}},
	} {
		got, err := c.parse(c.text)
		if err != nil || !slices.Equal(kinds(got), c.want) {
			t.Errorf("%q: %q, %v, want %q", c.text, kinds(got), err, c.want)
		}
	}
	for text, parse := range map[string]func(string) ([]report, error){
		"":                 parseHelgrind,
		"no such tool":     parseDRD,
		"{":                parseOwn,
		`{"findings": []}`: parseOwn,
		"FATAL: ThreadSanitizer: unexpected memory mapping": parseTSan,
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q is taken for a tool's output", text)
		}
	}
}

func TestProgramsSayWhatToExpect(t *testing.T) {
	programs, err := readPrograms("programs", nil)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"race", "deadlock", "misuse", "hang"}
	for _, p := range programs {
		if p.title == "" || strings.HasSuffix(p.name, "_ok") != (len(p.expect) == 0) {
			t.Errorf("%s: title %q, expects %v: innocent programs end in _ok", p.name, p.title, p.expect)
		}
		for _, e := range p.expect {
			if !slices.Contains(known, e.kind) || len(e.objects) > 1 {
				t.Errorf("%s: expect %v", p.name, e)
			}
		}
	}
	if !slices.ContainsFunc(programs, func(p program) bool { return p.timed }) || slices.ContainsFunc(programs, func(p program) bool { return p.timed && p.hangs }) {
		t.Error("no program is timed, or one that hangs is")
	}
	if _, err := parseProgram("// A program.\nint main(void) {}\n"); err == nil {
		t.Error("a program that does not say what to expect is taken")
	}
}

func TestJudge(t *testing.T) {
	p, err := parseProgram("// A total: two threads\n// write it.\n//\n// expect: race total\n// expect: misuse\n// run: --watch total\n// build: -fopenmp\n// hangs\n// timed\n")
	if err != nil || p.title != "A total" || !p.hangs || !p.timed || !slices.Equal(p.build, []string{"-fopenmp"}) || !slices.Equal(p.flags, []string{"--watch", "total"}) {
		t.Fatalf("%+v, %v", p, err)
	}
	innocent := program{}
	for _, c := range []struct {
		program program
		reports []report
		want    string
	}{
		{p, nil, "**missed**"},
		{p, []report{{kind: "race", objects: []string{"shop::total"}}}, "found"},
		{p, []report{{kind: "race"}, {kind: "misuse", objects: []string{"m"}}}, "found"},
		{p, []report{{kind: "race", objects: []string{"lines"}}, {kind: "race", objects: []string{"lines"}}}, "**missed**; **false**: race `lines`"},
		{p, []report{{kind: "race", objects: []string{"total"}}, {kind: "deadlock"}}, "found; **false**: deadlock"},
		{innocent, nil, "quiet"},
		{innocent, []report{{kind: "misuse"}}, "**false**: misuse"},
	} {
		if got := c.program.judge(c.reports).cell(len(c.program.expect) == 0); got != c.want {
			t.Errorf("%v: %q, want %q", c.reports, got, c.want)
		}
	}
	if got := (verdict{unended: true}).cell(true); got != "quiet; did not end" {
		t.Errorf("%q", got)
	}
}

func TestRender(t *testing.T) {
	tools := []tool{{name: "A", version: "1"}, {name: "B", version: "2"}}
	rows := []row{
		{program: program{name: "bad", title: "Bad", expect: []report{{kind: "race"}}}, verdicts: []verdict{{found: true}, {}}, times: []float64{2, 30}, plain: time.Second},
		{program: program{name: "bad_ok", title: "Good"}, verdicts: []verdict{{false: []report{{kind: "race"}}}, {}}},
	}
	text := render(tools, rows)
	for _, want := range []string{
		"A of 1; B of 2.",
		"| `bad` | Bad | found | **missed** |",
		"| `bad_ok` | Good | **false**: race | quiet |",
		"| A | 1 | 0 | 1 | 0 |", "| B | 0 | 1 | 0 | 0 |",
		"| `bad` | 1.00 | 2.0 | 30.0 |",
	} {
		if !strings.Contains(text, want+"\n") && !strings.Contains(text, want+" ") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestRenderConfirmed: findings count by what they were before they were confirmed.
func TestRenderConfirmed(t *testing.T) {
	finding := func(kind, confidence string, c *trial.Confirmation, objects ...string) trial.Finding {
		return trial.Finding{Kind: kind, Confidence: confidence, Objects: objects, Confirmation: c}
	}
	bad := program{name: "bad", expect: []report{{kind: "race"}}}
	yes := func(was string) *trial.Confirmation {
		return &trial.Confirmation{Confirmed: true, Try: 2, Time: 840 * time.Millisecond, Was: was}
	}
	no := &trial.Confirmation{Try: 5, Reason: "diverged at step 1: T2 requests a<b> at bad.c:1: it ended"}
	text := renderConfirmed([]tried{
		{bad, []trial.Finding{finding("race", "confirmed", yes("predicted"), "x"), finding("race", "predicted", no, "y"), finding("race", "observed", yes(""))}},
		{bad, []trial.Finding{finding("deadlock", "confirmed", yes("likely"), "a", "b"), finding("misuse", "predicted", nil, "m")}},
		{program: program{name: "good_ok"}},
		{program{name: "poor_ok"}, []trial.Finding{finding("race", "confirmed", yes("likely"), "z")}},
	})
	for _, want := range []string{
		"| *predicted* | 0 | 0 | 2 | 1 |\n", "| *likely* | 1 | 1 | 1 | 1 |\n", "| *observed* | 0 | 0 | 1 | 1 |\n",
		"confirmed: 1 of 2.\n",
		"| `bad` | race `x` | predicted | confirmed (try 2, 0.8 s) |\n",
		"| `bad` | race `y` | predicted | not confirmed: diverged: it ended |\n",
		"| `bad` | race | observed | confirmed (try 2, 0.8 s) |\n",
		"| `bad` | deadlock `a`, `b` | likely | confirmed (try 2, 0.8 s) |\n",
		"| `bad` | misuse `m` | predicted | not tried |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestConfirmCommand: what is confirmed is what the tool finds with the flags of the comparison.
func TestConfirmCommand(t *testing.T) {
	p := program{flags: []string{"--on-hang=kill"}}
	got := confirming("tool").command(p, "bin", "file")
	want := slices.Insert(ownTool("tool").command(p, "bin", "file"), 2, "--confirm")
	if !slices.Equal(got, want) || got[1] != "exec" {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNewPageHasItsMarks(t *testing.T) {
	page, err := os.ReadFile("../../docs/comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{newPage, string(page)} {
		for _, part := range []figures.Marks{marks, confirmMarks} {
			if _, err := part.Replace(text, "table\n"); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestProgress(t *testing.T) {
	var said strings.Builder
	p := newProgress(&said, 5, 2, 2)
	p.looked("kept", false, 0)
	p.looked("a", true, 4*time.Second)
	p.looked("b", true, 6*time.Second)
	if got := p.left(); got != 15*time.Second { // two by two at once, and two rounds that may take as long each
		t.Errorf("%v to go, want 15s", got)
	}
	p.looked("c", false, 0)
	p.looked("d", false, 0)
	p.timed("a", 3*time.Second)
	if got, want := said.String(), "compare: timed round 1 of 2, about 3s to go: a\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%s, want at its end %s", got, want)
	}
}
