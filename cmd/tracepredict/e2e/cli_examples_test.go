package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// expectation is the content of an examples/*/expected.json.
type expectation struct {
	Watch    []string `json:"watch"`
	Spec     string   `json:"spec"`
	Shared   bool     `json:"watch_shared"`
	Follow   bool     `json:"follow"`
	Order    string   `json:"order"`
	Calls    []jsonCalls
	Findings []expectedFinding
	// Sometimes has the findings that depend on the schedule of the run. Their objects may differ.
	Sometimes []expectedFinding `json:"sometimes"`
}

type expectedFinding struct {
	Kind       string   `json:"kind"`
	Rule       string   `json:"rule"`
	Property   string   `json:"property"`
	Confidence string   `json:"confidence"`
	Objects    []string `json:"objects"`
	Functions  []string `json:"functions"`
}

var buildExamples = sync.OnceValues(func() (string, error) {
	out := filepath.Join(fixtureDir, "examples")
	ctx, cancel := context.WithTimeout(context.Background(), compileLimit)
	defer cancel()
	text, err := exec.CommandContext(ctx, "make", "-C", "../../../examples", "OUT="+out).CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(text), Err: err}
	}
	return out, nil
})

func example(t testing.TB, name string) string {
	t.Helper()
	testtool.Need(t, "make", "gcc", "g++")
	dir, err := buildExamples()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

func readExpectation(t testing.TB, file string) expectation {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e expectation
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return e
}

// sometimes reports whether a finding is one that only some runs show.
func (e *expectation) sometimes(f jsonFinding, source string) bool {
	got := asExpected(jsonReport{Findings: []jsonFinding{f}}, source)[0]
	return slices.ContainsFunc(e.Sometimes, func(x expectedFinding) bool {
		return x.Kind == got.Kind && x.Confidence == got.Confidence && slices.Equal(x.Functions, got.Functions)
	})
}

// asExpected reduces a report to the fields of an expectation.
func asExpected(r jsonReport, source string) []expectedFinding {
	found := []expectedFinding{}
	for _, f := range r.Findings {
		e := expectedFinding{Kind: f.Kind, Rule: f.Rule, Property: f.Property, Confidence: f.confidence(), Objects: []string{}}
		for _, o := range f.Objects {
			if f.Kind == "typestate" { // a protocol, and a value
				o, _, _ = strings.Cut(o, " 0x")
			}
			if !strings.HasPrefix(o, "0x") { // it has a name
				e.Objects = append(e.Objects, o)
			}
		}
		for i, o := range e.Objects {
			e.Objects[i] = heapAddress.ReplaceAllString(o, "")
		}
		for _, step := range f.Evidence {
			e.Functions = append(e.Functions, ownFunction(step, source))
		}
		slices.Sort(e.Objects)
		slices.Sort(e.Functions)
		e.Functions = slices.Compact(e.Functions)
		found = append(found, e)
	}
	slices.SortFunc(found, func(a, b expectedFinding) int {
		return strings.Compare(a.Kind+a.Property+a.Rule, b.Kind+b.Property+b.Rule)
	})
	return found
}

// ownFunction returns the innermost function that is in the example's own source.
func ownFunction(step jsonStep, source string) string {
	for _, f := range step.Stack {
		if filepath.Base(f.File) == source && f.Line > 0 {
			return withoutParameters(f.Function)
		}
	}
	return "no line in " + source
}

func withoutParameters(function string) string {
	if i := strings.IndexByte(function, '('); i > 0 && !strings.HasSuffix(function[:i], "operator") {
		return function[:i]
	}
	return function
}

func fingerprints(r jsonReport) []string {
	var prints []string
	for _, f := range r.Findings {
		prints = append(prints, f.Fingerprint)
	}
	return prints
}

// TestExamples compares every example with its expectation: in three runs, each with
// other addresses, and with the probes at their original addresses.
func TestExamples(t *testing.T) {
	needBPF(t)
	t.Parallel()
	files, err := filepath.Glob("../../../examples/*/expected.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d expectations: %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			sources, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.c*"))
			want := readExpectation(t, file)
			if want.Spec == "" { // examples with such a file depend on their schedule, as their authors' runs did
				t.Parallel()
			}
			for i := range want.Findings {
				if want.Findings[i].Confidence == "" {
					want.Findings[i].Confidence = "predicted"
				}
			}
			if want.Findings == nil {
				want.Findings = []expectedFinding{}
			}
			var prints []string
			for i, sites := range []string{"cheap", "cheap", "cheap", "entry"} {
				r := observeExample(t, name, sites, want)
				r.Findings = slices.DeleteFunc(r.Findings, func(f jsonFinding) bool { return want.sometimes(f, filepath.Base(sources[0])) })
				got := asExpected(r, filepath.Base(sources[0]))
				if diff := cmp.Diff(want.Findings, got); diff != "" {
					t.Errorf("run %d, sites %s: expected (-), found (+):\n%s\nnotes: %q", i, sites, diff, r.Run.Notes)
				}
				if i == 0 {
					prints = fingerprints(r)
				}
				if diff := cmp.Diff(prints, fingerprints(r)); diff != "" {
					t.Errorf("run %d, sites %s: the fingerprints are others:\n%s", i, sites, diff)
				}
			}
		})
	}
}

func observeExample(t *testing.T, name, sites string, want expectation) jsonReport {
	t.Helper()
	args := []string{"exec", "--sites", sites} // reported requests all findings
	for _, v := range want.Watch {
		args = append(args, "--watch", v)
	}
	if want.Spec != "" {
		args = append(args, "--spec", filepath.Join("../../../examples", name, want.Spec))
	}
	if want.Shared {
		args = append(args, "--watch-shared")
	}
	if want.Follow {
		args = append(args, "--follow")
	}
	if want.Order != "" {
		args = append(args, "--order", want.Order)
	}
	for _, c := range want.Calls {
		args = append(args, "--on", c.Pattern)
	}
	status, r := reported(t, append(args, "--", example(t, name))...)
	expected := 0
	if len(want.Findings) > 0 {
		expected = 66
	}
	if status != expected {
		t.Errorf("exit status %d, want %d", status, expected)
	}
	if diff := cmp.Diff(want.Calls, r.Run.Calls); diff != "" {
		t.Errorf("expected calls (-), seen (+):\n%s", diff)
	}
	for _, f := range r.Findings {
		inEvidence := f.Kind == "misuse" || f.Kind == "scope" // what the run itself did
		if f.Confidence != "potential" && !inEvidence && len(f.Witness) == 0 {
			t.Errorf("%s has no witness", f)
		}
	}
	return r
}

// TestConfidence checks that --confidence chooses what is shown, and --fail-on what fails the run,
// shown or not.
func TestConfidence(t *testing.T) {
	needBPF(t)
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace")
	c := startTool(t, childOptions{}, "exec", "--record", trace, "--watch", "order", "--", build(t, "gcc", "untyped_flag.c", "-O1", "-g", "-pthread"))
	c.want(66)
	const likely, hidden = "1. RACE likely", "\n2 likely findings are not shown: --confidence likely shows them\n"
	if text := c.err.String(); !strings.Contains(text, likely) || strings.Contains(text, "not shown") {
		t.Errorf("the report is %q", text)
	}
	for _, c := range []struct {
		args   []string
		status int
		shown  bool
	}{
		{nil, 66, true},
		{[]string{"--confidence", "potential"}, 66, true},
		{[]string{"--confidence", "predicted"}, 66, false},
		{[]string{"--fail-on", "predicted"}, 0, true},
		{[]string{"--fail-on", "never"}, 0, true},
		{[]string{"--fail-on", "potential", "--confidence", "observed"}, 66, false},
	} {
		tool := startTool(t, childOptions{}, append([]string{"analyze", trace}, c.args...)...)
		tool.want(c.status)
		if text := tool.err.String(); strings.Contains(text, likely) != c.shown || strings.HasSuffix(text, hidden) == c.shown {
			t.Errorf("%q: the report is %q", c.args, text)
		}
	}
	for _, c := range [][]string{
		{"--confidence", "sure", "--confidence sure: it is observed, confirmed, predicted, likely or potential"},
		{"--fail-on", "sure", "--fail-on sure: it is observed, confirmed, predicted, likely, potential or never"},
	} {
		tool := startTool(t, childOptions{}, "analyze", c[0], c[1], trace)
		tool.want(2)
		if text := tool.err.String(); !strings.Contains(text, c[2]) {
			t.Errorf("it says %q", text)
		}
	}
}

// TestExamplesText checks that the text report has source locations and is complete.
func TestExamplesText(t *testing.T) {
	needBPF(t)
	t.Parallel()
	c := startTool(t, childOptions{}, "exec", "--watch", "tickets", "--", example(t, "shop"))
	c.want(66)
	text := c.err.String()
	for _, want := range []string{"1 race observed; 1 deadlock predicted in shop", "DEADLOCK predicted", "RACE observed", "observed: nothing in this run ordered the two accesses; a checked schedule leads to both", "shop.c:22", "shop.c:32", "shop.c:26", "shop.c:36", "nothing lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, bad := range []string{"panic", "goroutine", "%!", "<nil>"} {
		if strings.Contains(text, bad) {
			t.Errorf("the report has %q", bad)
		}
	}
	if got := c.out.String(); got != "85 tickets left, 25 entries\n" {
		t.Errorf("the program's own output: %q", got)
	}
}
