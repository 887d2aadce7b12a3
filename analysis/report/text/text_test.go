package textreport

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/golden"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// compare compares a report with a golden file.
func compare(t *testing.T, name, got string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", name), got)
}

func text(t testing.TB, r report.Report, o report.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	holes := reporttest.ShopRun()
	holes.Lost, holes.LostThreads, holes.Notes = 12, 2, []string{"libplugin.so was loaded before it could be probed: its calls are missing."}
	reports := map[string]report.Report{
		"deadlock": report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Deadlock(reporttest.Ledger, reporttest.Till)}, reporttest.ShopTable()),
		"race":     report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Race()}, reporttest.ShopTable()),
		"all":      report.Build(holes, reporttest.All(), reporttest.ShopTable()),
		"scope":    report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Scope()}, reporttest.ShopTable()),
		"none":     report.Build(reporttest.ShopRun(), nil, reporttest.ShopTable()),
		"at-start": reporttest.AtStart(),
		"block":    report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Race()}, reporttest.BlockTable(run.Object{})),
	}
	for name, r := range reports {
		for _, width := range []int{40, 80, 160} {
			t.Run(fmt.Sprint(name, "-", width), func(t *testing.T) {
				got := text(t, r, report.Options{Width: width})
				compare(t, fmt.Sprintf("%s-%d.txt", name, width), got)
				checkWidth(t, got, width)
			})
		}
	}
	compare(t, "all-80-color.txt", text(t, reports["all"], report.Options{Width: 80, Color: true}))
}

func checkWidth(t *testing.T, text string, width int) {
	t.Helper()
	for _, l := range strings.Split(text, "\n") {
		if ansi.StringWidth(l) > width && !strings.Contains(l, "fingerprint ") {
			t.Errorf("wider than %d: %q", width, l)
		}
		if strings.TrimRight(l, " ") != l {
			t.Errorf("trailing space: %q", l)
		}
	}
}

func TestColorAddsOnlyEscapes(t *testing.T) {
	r := report.Build(reporttest.ShopRun(), reporttest.All(), reporttest.ShopTable())
	for _, width := range []int{40, 80, 160} {
		plain, colored := text(t, r, report.Options{Width: width}), text(t, r, report.Options{Width: width, Color: true})
		if !strings.Contains(colored, "\x1b[") {
			t.Errorf("width %d: no colour", width)
		}
		if diff := cmp.Diff(plain, ansi.Strip(colored)); diff != "" {
			t.Errorf("width %d: colour changed the text:\n%s", width, diff)
		}
	}
}

func TestNoFindingsIsOneLine(t *testing.T) {
	got := text(t, report.Build(reporttest.ShopRun(), nil, reporttest.ShopTable()), report.Options{Width: 160})
	want := "tracepredict: no findings in shop (pid 4242): 1,204 events, 3 threads, 0.8 s, nothing lost\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHiddenAreCounted checks that the last line counts the findings that are weaker than requested.
func TestHiddenAreCounted(t *testing.T) {
	for least, says := range map[finding.Confidence]string{
		finding.Observed:  "2 predicted and 1 potential findings are not shown: --confidence potential shows them",
		finding.Predicted: "1 potential finding is not shown: --confidence potential shows it",
		finding.Potential: "fingerprint",
	} {
		lines := strings.Split(strings.TrimSpace(text(t, reporttest.AtLeast(least), report.Options{Width: 120})), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, says) {
			t.Errorf("%s: the last line is %q", least, last)
		}
	}
}

func TestLongWitnessShowsWhatMatters(t *testing.T) {
	f := reporttest.Deadlock(reporttest.Ledger, reporttest.Till)
	noise := make([]finding.Step, 500)
	for i := range noise {
		noise[i] = finding.Step{Seq: uint64(100 + i), Thread: 1, Op: event.Read, Object: reporttest.Tickets, Stack: 5}
	}
	f.Witness = slices.Concat(f.Witness[:4], noise, f.Witness[4:])
	got := text(t, report.Build(report.Run{}, []finding.Finding{f}, reporttest.ShopTable()), report.Options{})
	if lines := strings.Count(got, "\n"); lines > 60 {
		t.Errorf("%d lines", lines)
	}
	for _, part := range []string{"... 500 other steps", "waits for till+0x8", "locks ledger"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
}

func TestWithoutNamesOrLocations(t *testing.T) {
	bare := func(a, b event.ObjectID) finding.Finding {
		f := reporttest.Deadlock(a, b)
		for i := range f.Evidence {
			f.Evidence[i].Stack, f.Evidence[i].HeldAt = 0, nil
		}
		f.Witness = nil
		return f
	}
	r := report.Build(report.Run{Summary: run.Summary{Program: "trace"}}, []finding.Finding{bare(1, 2), bare(3, 4)}, nil)
	if len(r.Findings) != 2 {
		t.Fatalf("%d findings, want 2: nothing says they are the same", len(r.Findings))
	}
	compare(t, "bare-80.txt", text(t, r, report.Options{}))
}

func TestAnyWidthHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 1, 3).Draw(rt, "findings")
		width := rapid.IntRange(minWidth, 200).Draw(rt, "width")
		checkWidth(t, text(t, report.Build(reporttest.ShopRun(), fs, reporttest.ShopTable()), report.Options{Width: width}), width)
		if t.Failed() {
			rt.Fatalf("at width %d", width)
		}
	})
}

func TestHostileNamesDoNotReachTheTerminal(t *testing.T) {
	tab := reporttest.ShopTable()
	tab.Objects[reporttest.Tickets] = run.Object{Name: "t\x1b[31m\nick\xffets\u202e", Kind: event.KindVariable}
	tab.Threads[2] = run.Thread{Name: "\x07\x1b]0;x"}
	run := reporttest.ShopRun()
	run.Program, run.Notes = "/opt/\x1b[2J", []string{"a\rb"}
	got := text(t, report.Build(run, []finding.Finding{reporttest.Race()}, tab), report.Options{})
	for _, r := range got {
		if r != '\n' && (r < ' ' || r == 0x7f || r == 0x202e || r == 0xFFFD) {
			t.Fatalf("%q in\n%s", r, got)
		}
	}
	if !strings.Contains(got, `t\x1b[31m\x0aick\xffets\u202e`) {
		t.Errorf("the name is not shown:\n%s", got)
	}
}

// The run of a wrapper that executes another program is reported as a run of that program.
func TestHeadlineOfAProgramThatBecameAnother(t *testing.T) {
	observed := reporttest.ShopRun()
	observed.Program, observed.LastProgram = "/usr/bin/sh", "/opt/shop"
	r := report.Build(observed, nil, reporttest.ShopTable())
	want := "tracepredict: no findings in shop (pid 4242, started as sh): "
	if got := text(t, r, report.Options{}); !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Run.Processes = make([]run.Process, 3)
	want = strings.Replace(want, "sh):", "sh) and 2 processes from it:", 1)
	if got := text(t, r, report.Options{Width: 160}); !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPropertyShowsWhatHolds(t *testing.T) {
	got := text(t, reporttest.HighWater(), report.Options{Width: 100})
	for _, want := range []string{"PROPERTY predicted (high_water)", "writes water = 27 {p, !q}", "writes water = 31 {p, q}"} {
		if !strings.Contains(got, want) {
			t.Errorf("the text has no %q:\n%s", want, got)
		}
	}
}

// TestNoSentenceTwice checks that a note, or a reason that several findings share, is written once.
func TestNoSentenceTwice(t *testing.T) {
	var fs []finding.Finding
	stacks := []event.StackID{5, 6, 7, 8, 10, 11} // races with a source location in common would be one finding
	for i, object := range []event.ObjectID{reporttest.Tickets, reporttest.Queue, reporttest.HeapA} {
		f := reporttest.Race()
		f.Objects = []event.ObjectID{object}
		f.Evidence = slices.Clone(f.Evidence)
		for k := range f.Evidence {
			f.Evidence[k].Object, f.Evidence[k].Stack = object, stacks[2*i+k]
			f.Evidence[k].Seq += uint64(i)
		}
		fs = append(fs, f)
	}
	const note = "nothing was recorded of it"
	out := strings.Join(strings.Fields(text(t, report.Build(report.Run{Summary: run.Summary{Notes: []string{note, "other", note}}}, fs, reporttest.ShopTable()), report.Options{})), " ")
	for sentence, want := range map[string]int{note: 1, fs[0].Reason.Words[len("the"):]: 1, "The reason is that of 1.": 2} {
		if got := strings.Count(out, sentence); got != want {
			t.Errorf("%q is written %d times, want %d:\n%s", sentence, got, want, out)
		}
	}
}

// TestRuleInText checks that the text names the rule that a misuse breaks.
func TestRuleInText(t *testing.T) {
	got := text(t, report.Build(report.Run{}, []finding.Finding{reporttest.Misuse(finding.UnlockByOther)}, nil), report.Options{})
	if !strings.Contains(got, "MISUSE observed (unlock-by-other)") {
		t.Errorf("the text does not name the rule:\n%s", got)
	}
}

// TestMovedEvents: a predicted violation of a scope says how many events are on the other side of its action.
func TestMovedEvents(t *testing.T) {
	f := reporttest.Scope()
	f.Confidence, f.Order, f.Evidence, f.Scope.Moved = finding.Predicted, finding.OrderSync, f.Evidence[1:], 2
	got := text(t, report.Build(reporttest.ShopRun(), []finding.Finding{f}, reporttest.ShopTable()), report.Options{Width: 80})
	if !strings.Contains(got, "Region 7, before this turn, with 2 events on its other side:") {
		t.Errorf("%s", got)
	}
}
