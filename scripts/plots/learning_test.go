package main

import "testing"

// TestLearning: with a longer k fewer states are merged, so that less is allowed that the protocol forbids.
func TestLearning(t *testing.T) {
	got, err := measureLearning(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(learners)*learnedBy {
		t.Fatalf("%d points", len(got))
	}
	for _, x := range got {
		if x.recall < 0.3 || x.recall > 1 || x.precision < 0.05 || x.precision > 1 {
			t.Errorf("%+v", x)
		}
	}
	if first, last := got[0], got[learnedBy-1]; last.precision < first.precision {
		t.Errorf("precision falls from %+v to %+v", first, last)
	}
}
