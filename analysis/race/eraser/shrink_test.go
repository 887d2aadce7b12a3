package eraser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestShrink checks that the pairs of an evicted variable are kept, that pairs with evicted accesses are missed, that
// those after the eviction are found, and that a common lock still keeps two accesses from being one.
func TestShrink(t *testing.T) {
	var filler strings.Builder
	for i := range 4 * leastVariables {
		fmt.Fprintf(&filler, "T1|w(y%d)|9\n", i)
	}
	const guarded = "acq(l)|2\n%[1]s|w(x)|3\n%[1]s|rel(l)|4\n"
	for _, c := range []struct {
		before, after string
		want          int
	}{
		{"T1|w(x)|2\nT2|w(x)|3\n", "", 1},
		{"T1|w(x)|2\n", "T2|w(x)|3\n", 0},
		{"T1|w(x)|2\n", "T2|w(x)|3\nT1|w(x)|4\n", 1},
		{"T1|" + fmt.Sprintf(guarded, "T1"), "T2|" + fmt.Sprintf(guarded, "T2") + "T1|" + fmt.Sprintf(guarded, "T1"), 0},
	} {
		before := "T0|fork(T1)|1\nT0|fork(T2)|1\n" + c.before + filler.String()
		events, _, err := eventtest.ParseSTD(strings.NewReader(before + c.after))
		if err != nil {
			t.Fatal(err)
		}
		a := New(Options{EveryPair: true})
		for i := range events {
			if i == strings.Count(before, "\n") {
				if n := a.Shrink(); n == 0 || len(a.vars) > 2*leastVariables+1 {
					t.Errorf("%d variables were evicted, %d left", n, len(a.vars))
				}
			}
			a.Event(&events[i])
		}
		if races := a.Races(); len(races) != c.want {
			t.Errorf("%+v: %+v", c, races)
		}
	}
}

// TestShrinkPublication checks that an access counts as published if its thread may have released an evicted object.
func TestShrinkPublication(t *testing.T) {
	var p publication
	p.objects = map[event.ObjectID]*event.Clock{}
	must := event.ClockOf()
	for id := event.ObjectID(1); id <= 2*leastObjects; id++ {
		must.Set(0, event.Epoch(id))
		p.update(&event.Event{Op: event.Release, Object: id, Slot: 0, Epoch: must.At(0), Must: must})
	}
	p.shrink()
	if len(p.objects) != leastObjects {
		t.Errorf("%d objects are left", len(p.objects))
	}
	acquire := event.Event{Op: event.Acquire, Object: 1, Slot: 1, Epoch: 1, Must: event.ClockOf(0, 1)}
	if p.before(0, 1, &acquire) {
		t.Error("before the acquire")
	}
	if p.update(&acquire); !p.before(0, 1, &acquire) || p.before(0, 2*leastObjects, &acquire) {
		t.Errorf("the clock of the acquire: %v", p.clock(&acquire))
	}
}

// TestShrinkReports checks that reports are kept up to a bound, also those on variables that live, that one at each pair
// of call stacks stays before a second one, and that those which go are counted.
func TestShrinkReports(t *testing.T) {
	const room = 64
	for _, places := range []int{4, 4 * room} {
		var text strings.Builder
		text.WriteString("T0|fork(T1)|1\nT0|fork(T2)|1\n")
		const races = 8 * room // on fewer variables than are evicted
		for i := range races {
			fmt.Fprintf(&text, "T1|w(x%[1]d)|%[2]d\nT2|w(x%[1]d)|%[3]d\n", i%leastVariables, 10+2*(i%places), 11+2*(i%places))
		}
		events, _, err := eventtest.ParseSTD(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		a := New(Options{EveryPair: true, Reports: room})
		for i := range events {
			a.Event(&events[i])
		}
		before := 0
		for _, r := range a.Races() {
			before += r.Count
		}
		a.Shrink()
		after, found := 0, map[event.StackID]bool{}
		for _, r := range a.Races() {
			after += r.Count
			found[r.Evidence[0].Stack] = true
		}
		if n := len(a.Races()); n > room || len(found) != min(places, room/2) {
			t.Errorf("%d places: %d reports at %d places", places, n, len(found))
		}
		if dropped := int(a.Stats().DroppedPairs); places < room && (after != before || dropped > 0) || places > room && dropped == 0 {
			t.Errorf("%d places: counts of %d before, %d after, %d dropped", places, before, after, dropped)
		}
	}
}
