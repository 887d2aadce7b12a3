package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
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
	early := 0
	s := engine.New(engine.Options{OnDeadlock: func(*finding.Finding) { early++ }})
	for i := range events {
		s.Event(&events[i])
	}
	if early != 1 || s.Bounds().EvictedEvents+s.Bounds().EvictedSections == 0 {
		t.Fatalf("%d deadlocks were predicted while the program ran; %+v", early, s.Bounds())
	}
	found := finish(s, verdict.Run{}, part.Known{})
	if len(found) != 1 || found[0].Confidence != finding.Predicted || len(found[0].Witness) == 0 {
		t.Errorf("%+v", found)
	}
}

// TestEarlyTimeLimits checks that a deadlock that is predicted while the program runs has a time limit
// where one of its waits has.
func TestEarlyTimeLimits(t *testing.T) {
	for _, limit := range []event.Flags{0, event.Timed} {
		events, _, err := eventtest.ParseSTD(strings.NewReader("T0|fork(T1)|1\nT0|fork(T2)|2\n" +
			"T1|acq(A)|3\nT1|acq(B)|4\nT1|rel(B)|5\nT1|rel(A)|6\n" +
			"T2|acq(B)|7\nT2|acq(A)|8\nT2|rel(A)|9\nT2|rel(B)|10\n"))
		if err != nil {
			t.Fatal(err)
		}
		var early []finding.Finding
		s := engine.New(engine.Options{OnDeadlock: func(f *finding.Finding) { early = append(early, *f) }})
		acquires := 0
		for i := range events {
			if events[i].Op == event.Acquire {
				if acquires++; acquires == 4 {
					events[i].Flags |= limit
				}
			}
			s.Event(&events[i])
		}
		if len(early) != 1 || early[0].HasTimeout != (limit != 0) {
			t.Errorf("with %v: %+v", limit, early)
		}
	}
}

// TestEarlyQuestions checks that of many variables that the same code accesses only a few are asked about before
// an eviction, and that this is enough for the race of the code to be predicted.
func TestEarlyQuestions(t *testing.T) {
	var text strings.Builder
	text.WriteString("T0|fork(T1)|1\nT0|fork(T2)|2\n")
	for i := range 100 {
		fmt.Fprintf(&text, "T1|w(z%d)|3\nT1|acq(A)|4\nT1|rel(A)|5\nT2|acq(A)|6\nT2|w(z%d)|7\nT2|rel(A)|8\n", i, i)
	}
	text.WriteString(strings.Repeat("T1|w(x)|11\nT1|acq(C)|12\nT1|rel(C)|13\nT2|acq(C)|14\nT2|w(y)|15\nT2|rel(C)|16\n", 1<<17))
	events, _, err := eventtest.ParseSTD(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	s := engine.New(engine.Options{})
	for i := range events {
		s.Event(&events[i])
	}
	if s.Bounds().EvictedEvents == 0 {
		t.Fatalf("%+v", s.Bounds())
	}
	predicted := 0
	for _, f := range finish(s, verdict.Run{}, part.Known{}) {
		if f.Confidence == finding.Predicted {
			predicted++
		}
	}
	if predicted == 0 || predicted > 10 {
		t.Errorf("%d of 100 variables: a race is predicted", predicted)
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
		s := engine.New(engine.Options{})
		for i := range events {
			s.Event(&events[i])
		}
		if s.Bounds().EvictedEvents == 0 {
			t.Fatalf("%+v", s.Bounds())
		}
		found := finish(s, verdict.Run{}, part.Known{})
		if len(found) != c.races {
			t.Fatalf("%+v", found)
		}
		for _, f := range found {
			if f.Confidence != finding.Predicted || len(f.Witness) == 0 || f.Reason.Given() {
				t.Errorf("%+v", f)
			}
		}
	}
}
