package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

func dropped() []finding.Pruned {
	cycle, pair := deadlock(ledger, till), race()
	by := finding.Step{Thread: 1, Op: event.Join, Peer: 2, Stack: 10}
	candidate := func(why finding.Why, lock event.ObjectID) finding.Pruned {
		return finding.Pruned{Kind: finding.Deadlock, Why: why, Lock: lock, Objects: cycle.Objects, Evidence: cycle.Evidence}
	}
	joined, created := candidate(finding.Ordered, 0), candidate(finding.Ordered, 0)
	joined.By, created.By = by, finding.Step{Thread: 1, Op: event.Fork, Peer: 3, Stack: 11}
	joined.Evicted = true
	return []finding.Pruned{
		{Kind: finding.Race, Why: finding.CommonLock, Lock: till, Objects: pair.Objects},
		{Kind: finding.Race, Why: finding.CommonLock, Lock: till, Objects: pair.Objects, Evidence: pair.Evidence, Count: 1200},
		{Kind: finding.Race, Why: finding.Refuted, Reason: "no schedule\x1b leads there", Objects: pair.Objects, Evidence: pair.Evidence},
		candidate(finding.OneThread, 0), candidate(finding.GateLock, queue), candidate(finding.GateLock, queue), candidate(finding.ParentGateLock, heapA),
		joined, created, candidate(finding.Ordered, 0),
		{Kind: finding.Deadlock, Why: finding.Budget, Reason: "the search ended"},
	}
}

func explained(ps []finding.Pruned) Report {
	r := Build(shopRun(), nil, shopTable())
	r.Explain(ps, shopTable())
	return r
}

func TestExplain(t *testing.T) {
	r := explained(dropped())
	golden(t, "pruned.txt", []byte(text(t, r, TextOptions{Width: 120})))
	goldenJSON(t, "pruned.json", r)
}

// TestExplainOrder checks that the report does not depend on the order of the candidates.
func TestExplainOrder(t *testing.T) {
	ps := dropped()
	want := writeJSON(t, explained(ps))
	for i := range ps {
		turned := append(append([]finding.Pruned(nil), ps[i:]...), ps[:i]...)
		if diff := cmp.Diff(string(want), string(writeJSON(t, explained(turned)))); diff != "" {
			t.Fatalf("from %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestExplainNothing(t *testing.T) {
	r := explained(nil)
	if got := text(t, r, TextOptions{}); !strings.Contains(got, "No candidate was pruned") {
		t.Errorf("%s", got)
	}
	var asked, not map[string]any
	if err := json.Unmarshal(writeJSON(t, r), &asked); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(writeJSON(t, Build(shopRun(), nil, nil)), &not); err != nil {
		t.Fatal(err)
	}
	if p, ok := asked["pruned"].([]any); !ok || len(p) != 0 || not["pruned"] != nil {
		t.Errorf("asked for: %v, not asked for: %v", asked["pruned"], not["pruned"])
	}
}
