package format

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// written returns a report in a format.
func written(t interface{ Fatal(...any) }, f Format, r report.Report, o report.Options) string {
	var b bytes.Buffer
	if err := f.Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wellFormed reports whether the bytes are of a format; true if it has no grammar.
func wellFormed(f Format, out string) bool { return f.Name != "json" || json.Valid([]byte(out)) }

func TestFormatsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		if f.Name == "" || f.About == "" || f.Write == nil || seen[f.Name] {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
		if !strings.Contains(Help(), f.Name+" is "+f.About) {
			t.Errorf("--help does not have %s: %s", f.Name, Help())
		}
		var b bytes.Buffer
		if err := Write(&b, f.Name, report.Report{}, report.Options{}); err != nil || b.String() != written(t, f, report.Report{}, report.Options{}) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if Names()[0] != Default() {
		t.Errorf("the default, %s, is not the first of %v", Default(), Names())
	}
	if err := Write(io.Discard, "xml", report.Report{}, report.Options{}); err == nil {
		t.Error("an unknown format was written")
	}
}

func TestOrderOfFindingsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 8).Draw(t, "findings")
		shuffled := rapid.Permutation(fs).Draw(t, "shuffled")
		a, b := report.Build(reporttest.ShopRun(), fs, reporttest.ShopTable()), report.Build(reporttest.ShopRun(), shuffled, reporttest.ShopTable())
		for _, f := range All() {
			if diff := cmp.Diff(written(t, f, a, report.Options{}), written(t, f, b, report.Options{})); diff != "" {
				t.Fatalf("%s differs:\n%s", f.Name, diff)
			}
		}
	})
}

func TestAnyNamesHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z:<>(), ]{0,90}`), rapid.StringMatching(`[a-z/]{0,90}`))
		tab := reporttest.ShopTable()
		tab.Objects[reporttest.Tickets] = run.Object{Name: word.Draw(rt, "object"), Addr: rapid.Uint64().Draw(rt, "address")}
		tab.Threads[2] = run.Thread{Start: word.Draw(rt, "start"), Name: word.Draw(rt, "comm")}
		for id := event.StackID(1); id < 8; id++ {
			tab.Stacks[id] = []event.Frame{{
				Function: word.Draw(rt, "function"), File: word.Draw(rt, "file"),
				Line: rapid.IntRange(-1, 1<<40).Draw(rt, "line"), Module: word.Draw(rt, "module"),
			}}
		}
		run := report.Run{Summary: run.Summary{Program: word.Draw(rt, "program"), Notes: []string{word.Draw(rt, "note")}, Threads: -1, PID: -1}}
		r := report.Build(run, reporttest.All(), tab)
		width := rapid.IntRange(-1, 120).Draw(rt, "width")
		for _, f := range All() {
			got := written(rt, f, r, report.Options{Width: width})
			for _, c := range got {
				if c != '\n' && !unicode.IsPrint(c) && c != '\uFFFD' {
					rt.Fatalf("%s: %q in\n%s", f.Name, c, got)
				}
			}
			if !wellFormed(f, got) {
				rt.Fatalf("not %s:\n%s", f.Name, got)
			}
		}
	})
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestWritingChangesNothing checks that a report that was written in each format is then still written as the same bytes.
func TestWritingChangesNothing(t *testing.T) {
	for name, r := range map[string]report.Report{
		"findings": report.Build(reporttest.ShopRun(), reporttest.All(), reporttest.ShopTable()),
		"causes":   reporttest.ItemRaces(), "candidates": reporttest.Explained(reporttest.Dropped()), "watched": report.Build(reporttest.WatchedRun(), nil, nil),
		"coverage": reporttest.CoveredReport(), "property": reporttest.HighWater(), "scope": report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Scope()}, reporttest.ShopTable()),
		"figures": reporttest.RecordedStats(),
	} {
		first := map[string]string{}
		for _, f := range All() {
			first[f.Name] = written(t, f, r, report.Options{})
		}
		for _, f := range All() {
			if diff := cmp.Diff(first[f.Name], written(t, f, r, report.Options{})); diff != "" {
				t.Errorf("%s as %s: (-first +again)\n%s", name, f.Name, diff)
			}
		}
	}
}

func TestWriteErrorsAreReported(t *testing.T) {
	for _, f := range All() {
		if f.Write(failing{}, report.Report{}, report.Options{}) == nil {
			t.Errorf("%s: a failed write was not reported", f.Name)
		}
	}
}
