package lattice_test

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// checkExcerpt checks the part of the lattice around a violation against its witness, which is one way through it.
func checkExcerpt(t interface{ Errorf(string, ...any) }, v *lattice.Violation, w *lattice.Witness) {
	x := v.Excerpt(w)
	if len(w.Steps) == 0 || w.Common+len(w.Steps) != v.Level() {
		if x != nil {
			t.Errorf("an excerpt of a witness that ends before the violation")
		}
		return
	}
	if x == nil {
		t.Errorf("no excerpt of %d steps", len(w.Steps))
		return
	}
	if n, most := len(x.Levels), min(len(w.Steps)+1+min(3, w.Common), 10); n > most || n < min(most, len(w.Steps)+1) {
		t.Errorf("%d levels of a witness of %d steps after %d", n, len(w.Steps), w.Common)
	}
	total, cut := 0, len(w.Steps)+1-len(x.Levels) // below 0: levels before the observed run is left
	for i, l := range x.Levels {
		total += len(l.Cuts)
		at := slices.IndexFunc(l.Cuts, func(c lattice.Cut) bool { return c.Witness })
		if l.Number != w.Common+cut+i || at < 0 {
			t.Errorf("level %d is number %d, and the witness comes through cut %d", i, l.Number, at)
			return
		}
		values := w.Values
		if step := cut + i - 1; step >= 0 {
			values = w.Steps[step].Values
		}
		if cut+i >= 0 && !slices.Equal(l.Cuts[at].Values, values) {
			t.Errorf("level %d: the values at the witness are %v, not %v", i, l.Cuts[at].Values, values)
		}
		if cut+i < 0 && !l.Cuts[at].Observed {
			t.Errorf("level %d: the witness is not where the observed run is", i)
		}
		if i == 0 {
			continue
		}
		ways := 0
		for _, k := range x.Links {
			if k.Level == i-1 && k.Witness {
				ways++
				if step := cut + i - 1; step >= 0 && k.Seq != w.Steps[step].Seq {
					t.Errorf("level %d: the witness goes on by event %d, not %d", i, k.Seq, w.Steps[step].Seq)
				}
			}
		}
		if ways != 1 {
			t.Errorf("level %d: the witness comes in %d ways", i, ways)
		}
	}
	if total > 40+len(x.Levels) {
		t.Errorf("%d cuts", total)
	}
}

// checkWhole checks that an excerpt has, or counts, all cuts that come after its first one, by enumerating these.
func checkWhole(t interface{ Errorf(string, ...any) }, events []lattice.Event, w *lattice.Witness, x *lattice.Excerpt) {
	if x == nil || x.Levels[0].Number > w.Common || slices.ContainsFunc(events, func(e lattice.Event) bool { return e.Locking != lattice.NoLock }) {
		return
	}
	level := map[uint64]bool{1<<x.Levels[0].Number - 1: true}
	for _, l := range x.Levels[:len(x.Levels)-1] {
		if len(l.Cuts)+l.More != len(level) {
			t.Errorf("level %d has %d cuts, and %d are left out, of %d", l.Number, len(l.Cuts), l.More, len(level))
		}
		next := map[uint64]bool{}
		for done := range level {
			for i := range events {
				if done>>i&1 == 0 && enabledAfter(events, done, i) {
					next[done|1<<i] = true
				}
			}
		}
		level = next
	}
}

// enabledAfter reports whether all events that come before an event are done.
func enabledAfter(events []lattice.Event, done uint64, i int) bool {
	for j := range events {
		if j != i && done>>j&1 == 0 && before(&events[j], &events[i]) {
			return false
		}
	}
	return true
}
