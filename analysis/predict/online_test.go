package predict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// ofTwo names a deadlock of two threads by the locks that they hold and request, whatever the
// threads.
func ofTwo(f *finding.Finding) string {
	var sides []string
	for _, s := range f.Evidence {
		sides = append(sides, fmt.Sprint(slices.Sorted(slices.Values(s.Held)), s.Op, s.Object))
	}
	slices.Sort(sides)
	return strings.Join(sides, " ")
}

type reporter interface{ Errorf(string, ...any) }

// reported returns the deadlocks that are predicted while the run goes on, each with the Seq of
// the event at which it is.
func reported(t reporter, events []event.Event, o Options) map[string]uint64 {
	h, out, now := New(o), map[string]uint64{}, 0
	p := NewOnline(h, func(f *finding.Finding) {
		if err := execution.Observe(events[:now+1]).Check(f.Witness, finding.Deadlock); err != nil && o.Events == 0 {
			t.Errorf("reported of a deadlock whose witness leads nowhere: %v", err)
		}
		if f.Confidence != finding.Predicted || f.Order != finding.OrderSyncPreserving {
			t.Errorf("reported of one that is %s by %s", f.Confidence, f.Order)
		}
		if name := ofTwo(f); out[name] == 0 {
			out[name] = events[now].Seq
		}
	})
	a := goodlock.New(goodlock.Options{OnInverse: p.Inverse, OnAcquired: p.Acquired})
	for now = range events {
		e := events[now]
		h.Event(&e)
		a.Event(&e)
	}
	return out
}

// offline returns the deadlocks of two threads that are predicted when the run is over.
func offline(events []event.Event, o Options) map[string]bool {
	h, out := record(events, o), map[string]bool{}
	for _, p := range patterns(events, true) {
		if r := h.Deadlock(p); len(p) == 2 && r.Verdict == Predicted {
			x := finding.Finding{Kind: finding.Deadlock}
			h.setPredicted(&x, &r)
			out[ofTwo(&x)] = true
		}
	}
	return out
}

// TestOnlineIsOffline: the same deadlocks of two threads are predicted while the run goes on as
// when it is over, each at the event that completes it.
func TestOnlineIsOffline(t *testing.T) {
	count := 0
	for seed := range uint64(3000) {
		c := eventtest.Seeded(seed)
		m := newMachine(c, seed%3 == 0)
		m.nests = true
		for range c.Between(20, 120, "events") {
			m.step(c, eventtest.OneOf(c, m.live, "thread"))
		}
		eventtest.Stamp(m.out)
		o := Options{Reversals: -1}
		got, want := reported(t, m.out, o), offline(m.out, o)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
			t.Fatalf("seed %d (-offline +online):\n%s\n%v", seed, diff, m.out)
		}
		count += len(got)
		for name, seq := range got {
			if seed%10 == 0 && (offline(m.out[:seq-1], o)[name] || !offline(m.out[:seq], o)[name]) {
				t.Fatalf("seed %d: %s is reported at event %d, which does not complete it", seed, name, seq)
			}
		}
	}
	t.Log(count)
	if count < 100 {
		t.Errorf("%d deadlocks: the test shows nothing", count)
	}
}

// TestOnlineForgets: a history with very little memory reports no deadlock that is not also
// predicted when nothing is evicted.
func TestOnlineForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(eventtest.Drawn(t), rapid.Bool().Draw(t, "full"))
		m.nests = true
		for range rapid.IntRange(20, 150).Draw(t, "events") {
			m.step(eventtest.Drawn(t), eventtest.OneOf(eventtest.Drawn(t), m.live, "thread"))
		}
		eventtest.Stamp(m.out)
		o := Options{Sections: rapid.IntRange(2, 4).Draw(t, "sections"), Events: rapid.IntRange(16, 130).Draw(t, "kept"), Reversals: -1}
		all := offline(m.out, Options{Reversals: -1})
		for name, seq := range reported(t, m.out, o) {
			if !all[name] {
				t.Fatalf("%s is reported at %d with %+v", name, seq, o)
			}
		}
	})
}
