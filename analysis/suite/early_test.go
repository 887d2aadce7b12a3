package suite_test

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/suite"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestEarlyPredictionsStay checks that a deadlock that was predicted while the program ran is
// predicted at the end too, though the history has evicted the events that prove it.
func TestEarlyPredictionsStay(t *testing.T) {
	text := "T0|fork(T1)|1\nT0|fork(T2)|2\n" +
		"T1|acq(A)|3\nT1|acq(B)|4\nT1|rel(B)|5\nT1|rel(A)|6\n" +
		"T2|acq(B)|7\nT2|acq(A)|8\nT2|rel(A)|9\nT2|rel(B)|10\n" +
		strings.Repeat("T1|w(x)|11\nT1|acq(C)|12\nT1|rel(C)|13\nT2|acq(C)|14\nT2|w(y)|15\nT2|rel(C)|16\n", 1<<17)
	events, _, err := eventtest.ParseSTD(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	s := suite.New(suite.Options{OnDeadlock: func(*finding.Finding) { told++ }})
	for i := range events {
		s.Event(&events[i])
	}
	if told != 1 || s.Bounds().EvictedEvents+s.Bounds().EvictedSections == 0 {
		t.Fatalf("%d deadlocks were predicted while the program ran; %+v", told, s.Bounds())
	}
	found := s.Finish(nil)
	if len(found) != 1 || found[0].Confidence != finding.Predicted || len(found[0].Witness) == 0 {
		t.Errorf("%+v", found)
	}
}

// TestEarlyRacesStay checks that a race that needs another schedule is predicted although the
// history has evicted the events that it needs, and that its innocent twin is no finding.
func TestEarlyRacesStay(t *testing.T) {
	for _, c := range []struct {
		begin string
		races int
	}{
		{"T1|w(z)|3\nT1|acq(A)|4\nT1|rel(A)|5\nT2|acq(A)|6\nT2|w(z)|7\nT2|rel(A)|8\n", 1},
		{"T1|acq(A)|4\nT1|w(z)|3\nT1|rel(A)|5\nT2|acq(A)|6\nT2|w(z)|7\nT2|rel(A)|8\n", 0},
	} {
		text := "T0|fork(T1)|1\nT0|fork(T2)|2\n" + c.begin +
			strings.Repeat("T1|w(x)|11\nT1|acq(C)|12\nT1|rel(C)|13\nT2|acq(C)|14\nT2|w(y)|15\nT2|rel(C)|16\n", 1<<17)
		events, _, err := eventtest.ParseSTD(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		s := suite.New(suite.Options{})
		for i := range events {
			s.Event(&events[i])
		}
		if s.Bounds().EvictedEvents == 0 {
			t.Fatalf("%+v", s.Bounds())
		}
		found := s.Finish(nil)
		if len(found) != c.races {
			t.Fatalf("%+v", found)
		}
		for _, f := range found {
			if f.Confidence != finding.Predicted || len(f.Witness) == 0 || f.Reason != "" {
				t.Errorf("%+v", f)
			}
		}
	}
}
