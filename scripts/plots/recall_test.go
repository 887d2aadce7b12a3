package main

import "testing"

// TestRecall: a window finds no more than the whole lattice, a wide one without a limit
// of the queue all, and a window of one the observed run alone.
func TestRecall(t *testing.T) {
	done := 0
	windows := []int{1, 16, 1 << 20}
	got, err := measureRecall(4, 1, windows, func(n int) { done = n })
	if err != nil {
		t.Fatal(err)
	}
	if done != 4 || len(got) != 12 {
		t.Fatalf("%d programs, %d points", done, len(got))
	}
	for i := 0; i < len(got); i += 3 {
		one, some, all := got[i], got[i+1], got[i+2]
		if one.predictable < 4 || one.found != 0 || some.found == 0 || some.found > all.found {
			t.Errorf("%+v, %+v, %+v", one, some, all)
		}
		if all.queue == 0 && all.share() != 1 {
			t.Errorf("the whole lattice finds part: %+v", all)
		}
	}
	if got[0].order != "sync" || got[6].order != "exclusion" || got[6].predictable < got[0].predictable {
		t.Errorf("the orders: %+v, %+v", got[0], got[6])
	}
	again, err := measureRecall(4, 1, windows[:2], func(int) {})
	if err != nil || again[1] != got[1] || again[5] != got[7] {
		t.Errorf("the same seed gives %+v and %+v: %v", got[1], again[1], err)
	}
}
