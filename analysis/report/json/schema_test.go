package jsonreport

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	infer "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/golden"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// document has the members that Write writes one by one.
type document struct {
	Run        jsonRun           `json:"run"`
	Confidence jsonConfidence    `json:"confidence"`
	Baseline   *jsonBaseline     `json:"baseline,omitempty"`
	Findings   []jsonFinding     `json:"findings"`
	Threads    []jsonThreadState `json:"threads,omitempty"`
	Stats      *jsonStats        `json:"stats,omitempty"`
	Pruned     []jsonPruned      `json:"pruned,omitempty"`
	Stacks     [][]int           `json:"stacks"`
	Frames     []event.Frame     `json:"frames"`
}

// generate returns the schema of reports by the structs that are written. If it is closed, it permits no other fields.
func generate(t testing.TB, closed bool) []byte {
	s, err := infer.For[document](&infer.ForOptions{TypeSchemas: map[reflect.Type]*infer.Schema{
		reflect.TypeFor[event.Op](): {Type: "string"}, // it marshals itself as text
	}})
	if err != nil {
		t.Fatal(err)
	}
	adapt(s, closed)
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "A report of tracepredict"
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// adapt takes out null, which reports never have, and, unless the schema is closed, permits the fields of later versions.
func adapt(s *infer.Schema, closed bool) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	for _, p := range s.Properties {
		adapt(p, closed)
	}
	adapt(s.Items, closed)
	if s.AdditionalProperties == nil {
		return
	}
	if reflect.DeepEqual(s.AdditionalProperties, &infer.Schema{Not: &infer.Schema{}}) {
		if !closed {
			s.AdditionalProperties = nil
		}
		return
	}
	adapt(s.AdditionalProperties, closed)
}

func compile(t testing.TB, text []byte) *jsonschema.Schema {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("report.schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t interface{ Fatalf(string, ...any) }, text []byte, schemas ...*jsonschema.Schema) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, s := range schemas {
		if err := s.Validate(parsed); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
}

func TestSchemaIsGenerated(t *testing.T) {
	golden.Compare(t, "report.schema.json", string(generate(t, false)))
}

// TestReportsFollowTheSchema: reports of any findings follow the published schema, and have no field that it lacks.
func TestReportsFollowTheSchema(t *testing.T) {
	open, closed := compile(t, []byte(Schema())), compile(t, generate(t, true))
	for _, r := range []report.Report{reporttest.CoveredReport(), reporttest.StatsReport(), reporttest.RecordedStats(), reporttest.AtStart(),
		reporttest.HighWater(), reporttest.ItemRaces(), reporttest.PairsOfPhilosophers(), reporttest.Explained(nil), reporttest.Explained(reporttest.Dropped()),
		report.Build(reporttest.ShopRun(), nil, nil), report.Build(reporttest.WatchedRun(), nil, reporttest.ShopTable()),
		report.Build(reporttest.ShopRun(), reporttest.All(), reporttest.ShopTable()),
		report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Scope()}, reporttest.ShopTable())} {
		validate(t, writeJSON(t, r), open, closed)
	}
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(rt, "findings")
		validate(rt, writeJSON(t, report.Build(reporttest.ShopRun(), all, reporttest.ShopTable())), open, closed)
	})
}

func TestSchemaRefuses(t *testing.T) {
	open := compile(t, []byte(Schema()))
	for _, text := range []string{`{}`, `[]`, `{"run":{},"confidence":{},"findings":null,"stacks":[],"frames":[]}`} {
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		if open.Validate(parsed) == nil {
			t.Errorf("the schema permits %s", text)
		}
	}
}
