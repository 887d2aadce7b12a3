package engine_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// strict refuses every witness and counts them.
type strict struct{ asked *int }

func (s strict) CheckClaim([]finding.Step, execution.Claim) ([]uint64, error) {
	*s.asked++
	return nil, errors.New("refused for the test")
}

// collection returns the names of the runs of package predict.
func collection(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir("../predict/testdata/traces")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".std"); ok {
			names = append(names, name)
		}
	}
	return names
}

// runWith runs the engine with the given checkers, and collects the deadlocks reported during the
// run.
func runWith(events []event.Event, newChecker execution.NewChecker) (found, online []finding.Finding, s *engine.Engine) {
	s = engine.New(engine.Options{NewChecker: newChecker, Explain: true, OnDeadlock: func(f *finding.Finding) { online = append(online, *f) }})
	for i := range events {
		e := events[i]
		s.Event(&e)
	}
	return finish(s, verdict.Run{}, part.Known{}), online, s
}

// TestNothingIsPredictedWithoutAWitness checks that, with a checker that refuses every witness, no
// finding that needs one is predicted or observed, neither at the end of a run nor during it. Each
// refusal is counted and reported among the pruned candidates.
func TestNothingIsPredictedWithoutAWitness(t *testing.T) {
	wouldBe, asked, reported := 0, 0, 0
	for _, name := range collection(t) {
		events := read(t, name)
		found, online, s := runWith(events, nil)
		for _, f := range append(found, online...) {
			if f.Confidence == finding.Potential {
				continue
			}
			wouldBe++
			if err := execution.Observe(events).Check(f.Witness, f.Kind); err != nil {
				t.Errorf("%s: a %s %s has no witness: %v", name, f.Confidence, f.Kind, err)
			}
		}
		if w := s.Witnesses(); w.Refused != 0 {
			t.Errorf("%s: %d of %d witnesses refused", name, w.Refused, w.Checked)
		}
		before := asked
		found, online, s = runWith(events, func([]event.Event) execution.Checker { return strict{&asked} })
		for _, f := range append(found, online...) {
			if f.Confidence != finding.Potential {
				t.Errorf("%s: a %s %s, though every witness was refused", name, f.Confidence, f.Kind)
			}
		}
		if w := s.Witnesses(); w.Refused != uint64(asked-before) || w.Checked != w.Refused {
			t.Errorf("%s: %+v, want %d refused", name, w, asked-before)
		}
		for _, p := range s.Pruned() {
			if p.Reason.What == reason.ToolError && strings.Contains(p.Reason.Words, "refused for the test") {
				reported++
			}
		}
	}
	if wouldBe < 20 || asked < 20 || reported < 20 {
		t.Errorf("%d findings with witnesses, %d witnesses checked, %d reported: the test shows nothing", wouldBe, asked, reported)
	}
}
