package jsonreport

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestInitialStateInJSON checks that a finding of the state before any event has that state, and which values of it are
// only assumed. No other finding has one.
func TestInitialStateInJSON(t *testing.T) {
	type value struct {
		Variable string
		Text     string `json:"value_text"`
		Recorded bool
	}
	type found struct {
		Before  bool `json:"before_any_event"`
		Initial *struct {
			Values       []value
			Propositions map[string]bool
		} `json:"initial_state"`
	}
	var got struct{ Findings []found }
	if err := json.Unmarshal(writeJSON(t, reporttest.AtStart()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 2 || !got.Findings[0].Before || got.Findings[0].Initial == nil || got.Findings[1].Initial == nil {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff([]value{{"t", "0", true}, {"x", "0", true}}, got.Findings[0].Initial.Values); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]bool{"t > 0": false, "x": false}, got.Findings[0].Initial.Propositions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]value{{"is_open", "0", false}}, got.Findings[1].Initial.Values); diff != "" {
		t.Error(diff)
	}
	got.Findings = nil
	if err := json.Unmarshal(writeJSON(t, reporttest.ItemRaces()), &got); err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Findings {
		if f.Before || f.Initial != nil {
			t.Errorf("a race has an initial state: %+v", f)
		}
	}
}
