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

// inSteps are the fields that WriteTables leaves out, and Write never.
var inSteps = []string{"stack", "own_frame", "held", "initialised", "first_seen", "allocated", "created"}

// document has the members that Write writes one by one.
type document struct {
	Run        jsonRun           `json:"run"`
	Confidence jsonConfidence    `json:"confidence"`
	Baseline   *jsonBaseline     `json:"baseline,omitempty"`
	Findings   []jsonFinding     `json:"findings"`
	Threads    []jsonThreadState `json:"threads,omitempty"`
	Stats      *jsonStats        `json:"stats,omitempty"`
	Pruned     []jsonPruned      `json:"pruned,omitempty"`
	Objects    []jsonNamed       `json:"objects"`
	Stacks     [][]int           `json:"stacks"`
	Frames     []event.Frame     `json:"frames"`
}

// tables is document as WriteTables writes it.
type tables struct {
	document
	OwnFrames []int       `json:"own_frames"`
	Frames    []jsonFrame `json:"frames"`
	Names     []string    `json:"names"`
}

// generate returns the schema of what Write writes, by the structs that are written. If it is closed, it permits no other
// fields.
func generate(t testing.TB, closed bool) []byte {
	s := inferred[document](t, closed)
	require(s)
	return marshalled(t, s, "A report of tracepredict")
}

// generateTables is generate for WriteTables.
func generateTables(t testing.TB, closed bool) []byte {
	s := inferred[tables](t, closed)
	forbid(s)
	return marshalled(t, s, "A report of tracepredict, with the frames of call stacks in a table alone")
}

func inferred[T any](t testing.TB, closed bool) *infer.Schema {
	s, err := infer.For[T](&infer.ForOptions{TypeSchemas: map[reflect.Type]*infer.Schema{
		reflect.TypeFor[event.Op](): {Type: "string"}, // it marshals itself as text
	}})
	if err != nil {
		t.Fatal(err)
	}
	adapt(s, closed)
	return s
}

// require adds inSteps to the fields that must be there.
func require(s *infer.Schema) {
	eachObject(s, func(s *infer.Schema) {
		var all []string
		for _, name := range s.PropertyOrder {
			if slices.Contains(s.Required, name) || slices.Contains(inSteps, name) {
				all = append(all, name)
			}
		}
		s.Required = all
	})
}

// forbid removes the fields of inSteps that WriteTables never writes.
func forbid(s *infer.Schema) {
	eachObject(s, func(s *infer.Schema) {
		for _, name := range inSteps {
			if p := s.Properties[name]; p != nil && name != "held" && (p.Type == "array" || name == "own_frame") {
				delete(s.Properties, name)
				s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, func(p string) bool { return p == name })
			}
		}
	})
}

// eachObject calls f with all schemas of objects in a schema.
func eachObject(s *infer.Schema, f func(*infer.Schema)) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 {
		f(s)
	}
	for _, p := range s.Properties {
		eachObject(p, f)
	}
	eachObject(s.Items, f)
	if s.AdditionalProperties != nil {
		eachObject(s.AdditionalProperties, f)
	}
}

func marshalled(t testing.TB, s *infer.Schema, title string) []byte {
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", title
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
	golden.Compare(t, "report2.schema.json", string(generateTables(t, false)))
}

// TestReportsFollowTheSchema: reports of any findings follow the published schema, and have no field that it lacks.
func TestReportsFollowTheSchema(t *testing.T) {
	open, closed := compile(t, []byte(Schema())), compile(t, generate(t, true))
	tables, closedTables := compile(t, []byte(TablesSchema())), compile(t, generateTables(t, true))
	for _, r := range []report.Report{reporttest.CoveredReport(), reporttest.StatsReport(), reporttest.RecordedStats(), reporttest.AtStart(),
		reporttest.HighWater(), reporttest.ItemRaces(), reporttest.PairsOfPhilosophers(), reporttest.Explained(nil), reporttest.Explained(reporttest.Dropped()),
		report.Build(reporttest.ShopRun(), nil, nil), report.Build(reporttest.WatchedRun(), nil, reporttest.ShopTable()),
		report.Build(reporttest.ShopRun(), reporttest.All(), reporttest.ShopTable()),
		report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Scope()}, reporttest.ShopTable())} {
		validate(t, writeJSON(t, r), open, closed)
		validate(t, writeTables(t, r), tables, closedTables)
	}
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(rt, "findings")
		r := report.Build(reporttest.ShopRun(), all, reporttest.ShopTable())
		validate(rt, writeJSON(t, r), open, closed)
		validate(rt, writeTables(t, r), tables, closedTables)
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
