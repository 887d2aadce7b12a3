package sarif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/golden"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

var options = report.Options{SourceRoot: "/home/u/shop", Version: "v1.2.3"}

// writeSARIF returns a report as SARIF, which is compared with the published schema.
func writeSARIF(t interface{ Fatalf(string, ...any) }, schema *jsonschema.Schema, r report.Report) (text []byte, got log) {
	var b bytes.Buffer
	if err := Write(&b, r, options); err != nil {
		t.Fatalf("%v", err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	if err := schema.Validate(parsed); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v", err)
	}
	return b.Bytes(), got
}

// published returns the schema of SARIF 2.1.0 as OASIS publishes it.
func published(t testing.TB) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(filepath.Join("testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGolden(t *testing.T) {
	schema := published(t)
	for name, r := range map[string]report.Report{
		"all.sarif":   report.Build(reporttest.ShopRun(), reporttest.All(), reporttest.ShopTable()),
		"none.sarif":  report.Build(reporttest.ShopRun(), nil, nil),
		"scope.sarif": report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Scope()}, reporttest.ShopTable()),
	} {
		text, _ := writeSARIF(t, schema, r)
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", " "); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", name), indented.String())
	}
}

// TestValid: reports of any findings are valid, and fit what GitHub and VS Code ask for beyond the schema.
func TestValid(t *testing.T) {
	schema := published(t)
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(t, "findings")
		_, got := writeSARIF(t, schema, report.Build(reporttest.ShopRun(), all, reporttest.ShopTable()))
		rules := got.Runs[0].Tool.Driver.Rules
		for _, r := range got.Runs[0].Results {
			check(t, &r, rules)
		}
	})
}

func check(t *rapid.T, r *result, rules []rule) {
	if len(r.Locations) != 1 || r.Message.Text == "" || r.RuleIndex < 0 || rules[r.RuleIndex].ID != r.RuleID {
		t.Fatalf("%+v", r)
	}
	steps := 0
	for _, c := range r.CodeFlows {
		for _, f := range c.Threads {
			steps += len(f.Locations)
			last := 0
			for _, l := range f.Locations {
				if l.Order <= last {
					t.Fatalf("step %d follows step %d of its thread", l.Order, last)
				}
				last = l.Order
			}
			if len(f.Locations) == 0 {
				t.Fatalf("a thread flow without a location, which readers refuse")
			}
		}
	}
	if steps > maxFlow || len(r.Related) > maxRelated {
		t.Fatalf("%d locations of thread flows, %d others", steps, len(r.Related))
	}
	for i, l := range r.Related {
		if link := fmt.Sprintf("](%d)", l.ID); !strings.Contains(r.Message.Text, link) || i > 0 && l.ID <= r.Related[i-1].ID {
			t.Fatalf("no link to %d in %q", l.ID, r.Message.Text)
		}
	}
}

// TestKinds: each kind of finding is a rule, with all that code scanning shows of it.
func TestKinds(t *testing.T) {
	for _, k := range []finding.Kind{finding.Race, finding.Deadlock, finding.Misuse, finding.Property, finding.Typestate, finding.Knowledge, finding.Scoped} {
		if ruleIndex(k) < 0 {
			t.Errorf("%s is no rule", k)
		}
	}
	for _, r := range rules() {
		if r.Short.Text == "" || r.Full.Text == "" || r.Help.Text == "" || r.Help.Markdown == "" || len(r.Name) > 255 || len(r.Full.Text) > 1024 {
			t.Errorf("%+v", r)
		}
	}
}

// TestLimits: what GitHub would refuse or not show is left out, and that is said.
func TestLimits(t *testing.T) {
	schema := published(t)
	f := reporttest.Deadlock(reporttest.Ledger, reporttest.Till)
	for len(f.Witness) < 3_000 {
		f.Witness = append(f.Witness[:1], f.Witness...)
	}
	for len(f.Evidence) < 200 {
		f.Evidence, f.Threads = append(f.Evidence, f.Evidence[0]), append(f.Threads, f.Threads[0])
	}
	_, got := writeSARIF(t, schema, report.Build(reporttest.ShopRun(), []finding.Finding{f}, reporttest.ShopTable()))
	r := got.Runs[0].Results[0]
	flow := r.CodeFlows[0].Threads[0].Locations
	if len(flow) != maxFlow/2 || len(r.CodeFlows) != 2 || len(r.Related) != maxRelated {
		t.Errorf("%d steps, %d flows, %d places", len(flow), len(r.CodeFlows), len(r.Related))
	}
	if !strings.Contains(r.Message.Text, "without") || !strings.Contains(r.Message.Text, "more places") {
		t.Errorf("nothing is said of what was left out: %s", r.Message.Text)
	}

	var many []finding.Finding
	for range maxResults + 1 {
		many = append(many, finding.Finding{Kind: finding.Race, Confidence: finding.Potential})
	}
	full := report.Report{Run: reporttest.ShopRun()}
	for i := range many {
		full.Findings = append(full.Findings, report.Finding{Finding: many[i]})
	}
	_, got = writeSARIF(t, schema, full)
	if n := len(got.Runs[0].Results); n != maxResults {
		t.Errorf("%d results", n)
	}
	said := func(n notification) bool { return strings.Contains(n.Message.Text, "1 more finding is left out") }
	if !slices.ContainsFunc(got.Runs[0].Invocations[0].Notifications, said) {
		t.Error("nothing is said of the result that was left out")
	}
}

// TestArtifacts: the places of files are references that each reader can resolve.
func TestArtifacts(t *testing.T) {
	e := &encoder{options: options}
	for file, want := range map[string]artifact{
		"/home/u/shop/a b/é.c":      {"a%20b/%C3%A9.c", sourceRoot},
		"/home/u/shop/../other/x.c": {"file:///home/u/other/x.c", ""},
		"/home/u/shopping/x.c":      {"file:///home/u/shopping/x.c", ""},
		"src/x.c":                   {"src/x.c", sourceRoot},
		"a:b.c":                     {"./a:b.c", sourceRoot},
		"/usr/lib/100%.so":          {"file:///usr/lib/100%25.so", ""},
		"/home/u/shop/#1?.c":        {"%231%3F.c", sourceRoot},
	} {
		got := e.artifact(file)
		if got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
		if _, err := url.Parse(got.URI); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if l := e.location(event.Frame{Function: "f", Module: "/opt/x.so", Offset: 8}); l.Physical.Region.StartLine != 1 || l.Physical.Artifact.URI != "file:///opt/x.so" || l.Logical[0].Name != "f" {
		t.Errorf("%+v", l)
	}
}

// TestConfirmation: what came of running the program again is in the message, and a property to filter by.
func TestConfirmation(t *testing.T) {
	r := report.Build(reporttest.ShopRun(), reporttest.All()[:1], reporttest.ShopTable())
	r.Findings[0].Confirmation = &report.Confirmation{Confirmed: true, Try: 2, Tries: 5}
	_, got := writeSARIF(t, published(t), r)
	if x := got.Runs[0].Results[0]; !strings.Contains(x.Message.Text, "confirmed (try 2 of 5") || x.Properties["confirmed"] != true {
		t.Errorf("%s %v", x.Message.Text, x.Properties)
	}
}
