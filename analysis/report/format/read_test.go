package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// reread returns a report that was written in JSON and read.
func reread(t interface{ Fatalf(string, ...any) }, r report.Report) report.Report {
	var b bytes.Buffer
	if err := jsonreport.Write(&b, r, report.Options{}); err != nil {
		t.Fatalf("%v", err)
	}
	again, err := jsonreport.Read(&b, "report.json")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return again
}

// checkReread checks that a report is the same in all formats if it was written in JSON and read.
func checkReread(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, r report.Report) {
	r.Stats, r.Pruned, r.Explained = nil, nil, false // which are not read
	r.Run.NoteKinds = nil                            // by which some formats join notes, and JSON has all
	sortTruth(&r)
	again := reread(t, r)
	for _, f := range All() {
		want, got := reporttest.Written(t, f.Write, r, reporttest.ForCI()), reporttest.Written(t, f.Write, again, reporttest.ForCI())
		if diff := gocmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s (-written +read):\n%.4000s", f.Name, diff)
		}
	}
}

// sortTruth sorts propositions by their names, as JSON has them.
func sortTruth(r *report.Report) {
	sorted := func(all []finding.Truth) {
		slices.SortFunc(all, func(a, b finding.Truth) int { return cmp.Compare(a.Name, b.Name) })
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		sorted(f.InitialTruth)
		if f.Scope != nil {
			sorted(f.Scope.Atoms)
		}
		for _, steps := range [][]report.Step{f.Evidence, f.Witness, f.Sketch, f.Observed, f.Lost} {
			for j := range steps {
				sorted(steps[j].Truth)
			}
		}
	}
}

// TestRereadHidden: a report that shows some findings alone still counts the others.
func TestRereadHidden(t *testing.T) {
	for _, least := range finding.Confidences() {
		r := reporttest.AtLeast(least)
		again := reread(t, r)
		for _, c := range finding.Confidences() {
			if again.Count(c) != r.Count(c) || again.AtLeast(least).Count(c) != r.Count(c) {
				t.Errorf("at least %s: %d findings are %s, not %d", least, again.Count(c), c, r.Count(c))
			}
		}
	}
}

func TestReread(t *testing.T) {
	for _, r := range []report.Report{
		reporttest.CoveredReport(), reporttest.AtStart(), reporttest.HighWater(), reporttest.ItemRaces(), reporttest.PairsOfPhilosophers(),
		report.Build(reporttest.ShopRun(), nil, nil), report.Build(reporttest.WatchedRun(), nil, reporttest.ShopTable()),
		reporttest.Shop(reporttest.All()...), reporttest.Shop(reporttest.Scope()), steered(),
	} {
		checkReread(t, r)
	}
	rapid.Check(t, func(rt *rapid.T) {
		checkReread(rt, reporttest.Shop(rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(rt, "findings")...))
	})
}

// FuzzRead: a file is refused with an error, or is a report that every format can write.
func FuzzRead(f *testing.F) {
	for _, r := range []report.Report{reporttest.Shop(), reporttest.Shop(reporttest.Race()), reporttest.Shop(reporttest.Scope())} { // small ones, which are soon mutated
		var b bytes.Buffer
		if err := jsonreport.Write(&b, r, report.Options{}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := jsonreport.Read(bytes.NewReader(text), "report.json"); err == nil {
			writeAll(t, r)
		}
	})
}

func writeAll(t interface{ Errorf(string, ...any) }, r report.Report) {
	for _, to := range All() {
		if err := to.Write(io.Discard, r, reporttest.ForCI()); err != nil {
			t.Errorf("%s: %v", to.Name, err)
		}
	}
}

// TestDamagedReports: a report of which some values are others, or missing, is refused, or every format can write it.
func TestDamagedReports(t *testing.T) {
	var whole [][]byte
	for _, r := range []report.Report{steered(), reporttest.ItemRaces(), reporttest.AtStart(), reporttest.CoveredReport(), reporttest.Shop(reporttest.Scope())} {
		var b bytes.Buffer
		if err := jsonreport.Write(&b, r, report.Options{}); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, b.Bytes())
	}
	read := 0
	rapid.Check(t, func(rt *rapid.T) {
		var doc any
		if err := json.Unmarshal(rapid.SampledFrom(whole).Draw(rt, "report"), &doc); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(rt, "damages") {
			doc = damaged(rt, doc)
		}
		text, err := json.Marshal(doc)
		if err != nil {
			rt.Fatal(err)
		}
		if r, err := jsonreport.Read(bytes.NewReader(text), "report.json"); err == nil {
			read++
			writeAll(rt, r)
		}
	})
	if read == 0 {
		t.Error("no report was read")
	}
}

// damaged returns a value in which one other value is replaced, or missing.
func damaged(t *rapid.T, v any) any {
	stop := rapid.IntRange(0, 9).Draw(t, "here") == 0
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || stop {
			break
		}
		key := rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "key")
		if rapid.IntRange(0, 19).Draw(t, "remove") == 0 {
			delete(v, key)
		} else {
			v[key] = damaged(t, v[key])
		}
		return v
	case []any:
		if len(v) == 0 || stop {
			break
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "element")
		if rapid.IntRange(0, 9).Draw(t, "remove") == 0 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = damaged(t, v[i])
		return v
	case string:
		return rapid.SampledFrom([]any{"", "deadlock", "race", "misuse", "typestate", "observed", "likely", "0x0", "write", "\x1b[2J", "%s", nil}).Draw(t, "text")
	case float64:
		return rapid.SampledFrom([]any{-1, 0, 1, 2, 9, 1 << 40, -1 << 40, nil}).Draw(t, "number")
	case bool:
		return !v
	}
	return rapid.SampledFrom([]any{nil, []any{}, map[string]any{}, 0}).Draw(t, "value")
}

// steered returns a report with all that says how other runs are led into its findings.
func steered() report.Report {
	r := reporttest.Shop(reporttest.All()...)
	r.Run.Repeated = []report.Repetition{{Events: 9, Findings: 2, New: 2}, {Seed: 7, Failed: "it had not ended"}}
	file := []report.SteeredFile{{Path: "/opt/shop/shop", Build: "8a"}}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Confirmation = &report.Confirmation{Confirmed: i == 0, Try: i, Tries: 5, Time: time.Second, Reason: "nothing went on"}
		f.Runs = &report.Runs{Seen: 2, Of: 3, Shown: 1 + i, Seed: uint64(7 * i)}
		f.Depends = []report.Dependency{
			{Dependency: finding.Dependency{Thread: f.Mentioned[0].ID, How: finding.Creates, On: 2}, Thread: f.Mentioned[0], Step: f.Evidence[0]},
			{Dependency: finding.Dependency{Thread: f.Mentioned[0].ID, How: finding.Writes, On: 2}, Thread: f.Mentioned[0], Step: f.Evidence[0]},
		}
		f.Steering = &report.Steering{Files: file, Steps: []report.SteeredStep{{Thread: []int{0}, Address: 0x1180, Count: 2, After: []int{1}, Text: "T2 requests a"}, {Thread: []int{1, 0}, After: []int{0}}}}
		if i == 1 {
			f.Steering = &report.Steering{Files: file, Steps: []report.SteeredStep{}, Meets: []report.SteeredStep{{Thread: []int{}}, {Thread: []int{1}}}}
		}
	}
	return r
}
