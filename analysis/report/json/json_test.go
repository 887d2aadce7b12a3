package jsonreport

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/golden"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

func TestCoverageInJSON(t *testing.T) { goldenJSON(t, "coverage.json", reporttest.CoveredReport()) }

func TestSignalJSON(t *testing.T) {
	for _, c := range []struct {
		run  report.Run
		want *report.Signal
	}{
		{reporttest.EndedRun(report.Signal{Number: 11, Name: "SIG\x1bSEGV"}), &report.Signal{Number: 11, Name: `SIG\x1bSEGV`}},
		{reporttest.ShopRun(), nil},
	} {
		var got struct {
			Run struct{ Signal *report.Signal }
		}
		text := writeJSON(t, report.Build(c.run, nil, nil))
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Run.Signal); diff != "" || c.want == nil && bytes.Contains(text, []byte(`"signal"`)) {
			t.Errorf("%s\n%s", diff, text)
		}
	}
}

// TestNotesInJSON checks that JSON has all notes.
func TestNotesInJSON(t *testing.T) {
	got := string(writeJSON(t, report.Build(reporttest.NotesRun(40), nil, nil)))
	if strings.Count(got, "instructions of lib") != 40 || strings.Contains(got, "note_kinds") {
		t.Errorf("JSON has other notes:\n%s", got)
	}
}

func TestExplainInJSON(t *testing.T) {
	goldenJSON(t, "pruned.json", reporttest.Explained(reporttest.Dropped()))
}

// TestExplainOrder checks that the report does not depend on the order of the candidates.
func TestExplainOrder(t *testing.T) {
	ps := reporttest.Dropped()
	want := writeJSON(t, reporttest.Explained(ps))
	for i := range ps {
		turned := append(append([]finding.Pruned(nil), ps[i:]...), ps[:i]...)
		if diff := cmp.Diff(string(want), string(writeJSON(t, reporttest.Explained(turned)))); diff != "" {
			t.Fatalf("from %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestExplainNothingInJSON(t *testing.T) {
	var asked, not map[string]any
	if err := json.Unmarshal(writeJSON(t, reporttest.Explained(nil)), &asked); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(writeJSON(t, report.Build(reporttest.ShopRun(), nil, nil)), &not); err != nil {
		t.Fatal(err)
	}
	if p, ok := asked["pruned"].([]any); !ok || len(p) != 0 || not["pruned"] != nil {
		t.Errorf("asked for: %v, not asked for: %v", asked["pruned"], not["pruned"])
	}
}

func writeJSON(t testing.TB, r report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeTables(t testing.TB, r report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteTables(&b, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSONGolden(t *testing.T) {
	goldenJSON(t, "all.json", report.Build(reporttest.ShopRun(), reporttest.All(), reporttest.ShopTable()))
	goldenJSON(t, "scope.json", report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Scope()}, reporttest.ShopTable()))
	goldenJSON(t, "none.json", report.Build(reporttest.ShopRun(), nil, nil))
}

// goldenJSON compares the report with a golden file, which is indented so that people can
// read it. The report itself is one line.
func goldenJSON(t *testing.T, name string, r report.Report) {
	t.Helper()
	compact := writeJSON(t, r)
	if lines := bytes.Count(compact, []byte("\n")); lines != 1 || !bytes.HasSuffix(compact, []byte("}\n")) {
		t.Errorf("%s: %d lines", name, lines)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", " "); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", name), indented.String())
}

// TestConfidenceInJSON checks that JSON counts all findings, those included that it does not show.
func TestConfidenceInJSON(t *testing.T) {
	for least, shown := range map[finding.Confidence]int{finding.Observed: 1, finding.Predicted: 3, finding.Potential: 4} {
		var got struct {
			Confidence jsonConfidence
			Findings   []json.RawMessage
		}
		if err := json.Unmarshal(writeJSON(t, reporttest.AtLeast(least)), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(jsonConfidence{Least: least, Observed: 1, Predicted: 2, Potential: 1}, got.Confidence); diff != "" || len(got.Findings) != shown {
			t.Errorf("%s: %d findings in JSON; (-want +got)\n%s", least, len(got.Findings), diff)
		}
	}
}

// contract is the fixed part of the JSON format, written by hand.
type contract struct {
	Run *struct {
		Program    *string
		PID        *int
		Events     *uint64
		Lost       *uint64
		Threads    *int
		DurationNS *int64 `json:"duration_ns"`
	}
	Findings *[]struct {
		Kind, Confidence, Property, Message, Order, Fingerprint *string
		Objects, Assumes                                        *[]string
		Threads                                                 *[]int
		Evidence, Witness                                       *[]struct {
			Thread            *int
			Operation, Object *string
			Stack             *[]struct {
				Function, File *string
				Line           *int
			}
		}
	}
}

func TestJSONKeepsTheContract(t *testing.T) {
	bare := finding.Finding{Kind: finding.Misuse, Confidence: finding.Observed, Evidence: []finding.Step{{Thread: 1, Op: event.Release}}}
	for name, r := range map[string]report.Report{
		"full":  report.Build(reporttest.ShopRun(), append(reporttest.All(), bare), reporttest.ShopTable()),
		"bare":  report.Build(report.Run{}, []finding.Finding{bare, {}}, nil),
		"empty": report.Build(report.Run{}, nil, nil),
	} {
		raw := writeJSON(t, r)
		if bytes.Contains(raw, []byte("null")) {
			t.Errorf("%s: null in\n%s", name, raw)
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		var c contract
		if err := dec.Decode(&c); err != nil || dec.More() {
			t.Fatalf("%s: %v, more: %v", name, err, dec.More())
		}
		if c.Run == nil || c.Run.Program == nil || c.Run.PID == nil || c.Run.Events == nil || c.Run.Lost == nil || c.Run.Threads == nil || c.Run.DurationNS == nil {
			t.Errorf("%s: run lacks a field: %s", name, raw)
		}
		if c.Findings == nil || len(*c.Findings) != len(r.Findings) {
			t.Fatalf("%s: findings missing", name)
		}
		for _, f := range *c.Findings {
			for i, p := range []*string{f.Kind, f.Confidence, f.Property, f.Message, f.Order, f.Fingerprint} {
				if p == nil {
					t.Errorf("%s: string field %d missing", name, i)
				}
			}
			if f.Objects == nil || f.Assumes == nil || f.Threads == nil || f.Evidence == nil || f.Witness == nil {
				t.Fatalf("%s: an array is missing", name)
			}
			for _, s := range append(*f.Evidence, *f.Witness...) {
				if s.Thread == nil || s.Operation == nil || s.Object == nil || s.Stack == nil {
					t.Fatalf("%s: a step lacks a field", name)
				}
				for _, fr := range *s.Stack {
					if fr.Function == nil || fr.File == nil || fr.Line == nil {
						t.Fatalf("%s: a frame lacks a field", name)
					}
				}
			}
		}
	}
}

// TestProgramThatBecameAnother checks that JSON has both programs.
func TestProgramThatBecameAnother(t *testing.T) {
	observed := reporttest.ShopRun()
	observed.Program, observed.LastProgram = "/usr/bin/sh", "/opt/shop"
	if got := string(writeJSON(t, report.Build(observed, nil, reporttest.ShopTable()))); !strings.Contains(got, `"program":"/usr/bin/sh"`) || !strings.Contains(got, `"program":"/opt/shop"`) {
		t.Errorf("JSON:\n%s", got)
	}
}

func TestPropositions(t *testing.T) {
	got := string(writeJSON(t, reporttest.HighWater()))
	if !strings.Contains(strings.Join(strings.Fields(got), ""), `"propositions":{"p":true,"q":false}`) {
		t.Errorf("the JSON has no propositions:\n%s", got)
	}
}

// TestRuleInJSON checks that JSON names the rule that a misuse breaks.
func TestRuleInJSON(t *testing.T) {
	raw := writeJSON(t, report.Build(report.Run{}, []finding.Finding{reporttest.Misuse(finding.UnlockByOther)}, nil))
	if !bytes.Contains(raw, []byte(`"rule":"unlock-by-other"`)) {
		t.Errorf("JSON does not name the rule:\n%s", raw)
	}
}

func TestStatsInJSON(t *testing.T) { goldenJSON(t, "stats.json", reporttest.StatsReport()) }

// TestRecordedStatsInJSON is TestStatsOfARecordedRun for JSON.
func TestRecordedStatsInJSON(t *testing.T) {
	for _, absent := range []string{"program\": {", "ring", "lattice", "latency"} {
		if got := string(writeJSON(t, reporttest.RecordedStats())); strings.Contains(got, absent) {
			t.Errorf("the JSON has %q:\n%s", absent, got)
		}
	}
}

func TestWatchedInJSON(t *testing.T) {
	goldenJSON(t, "watched.json", report.Build(reporttest.WatchedRun(), nil, reporttest.ShopTable()))
}
