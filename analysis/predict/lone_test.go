package predict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// text returns the whole state of a history, to be compared.
func (h *History) text() string {
	var b strings.Builder
	fmt.Fprintln(&b, h.log, h.cut, h.evicted, h.match.Generations(), h.quiescentSeq, h.blind, h.hasStale)
	for i, s := range h.slots {
		fmt.Fprintf(&b, "slot %d: %+v\n", i, *s)
	}
	for _, id := range slices.Sorted(maps.Keys(h.locks)) {
		for _, ls := range h.locks[id].slots {
			fmt.Fprintf(&b, "lock %d, slot %d: %+v, keep %d, stale %+v, lost %+v\n", id, ls.slot, ls.sections, ls.keep, ls.stale, ls.discarded)
		}
	}
	return b.String()
}

// sorted sorts the lockSlots of each lock by slot. Their order is that in which the slots first
// used the lock, and nothing depends on it.
func (h *History) sorted() *History {
	for _, l := range h.locks {
		slices.SortFunc(l.slots, func(x, y *lockSlot) int { return int(x.slot) - int(y.slot) })
	}
	return h
}

// TestLoneIsThePlainWay: a history in which sections are entered when they end is equal to one in
// which they are entered when they begin, also where threads release locks that others
// acquired, threads share a slot, and no run can have made the events.
func TestLoneIsThePlainWay(t *testing.T) {
	late := 0
	rapid.Check(t, func(t *rapid.T) {
		m := draw(eventtest.Drawn(t), 200, rapid.Bool().Draw(t, "full"))
		for i := range m.out {
			if e := &m.out[i]; (e.Op == event.Release || e.Op.IsAcquire()) && rapid.IntRange(0, 15).Draw(t, "other") == 0 {
				e.Thread = rapid.SampledFrom(m.live).Draw(t, "thread")
			}
		}
		eventtest.Stamp(m.out)
		o := Options{Sections: rapid.IntRange(2, 8).Draw(t, "sections"), Events: rapid.IntRange(16, 300).Draw(t, "kept")}
		plain, h := New(o), New(o)
		for i := range m.out {
			a, b := m.out[i], m.out[i]
			plain.Event(&a)
			plain.moveLoneOf(0)
			h.Event(&b)
			for slot := range h.lone {
				if h.lone[slot].acquire != 0 {
					late++
				}
			}
			if rapid.IntRange(0, 50).Draw(t, "ask") == 0 {
				plain.start()
				h.start()
			}
		}
		plain.update()
		h.update()
		if want, got := plain.sorted().text(), h.sorted().text(); got != want {
			t.Fatalf("entered late:\n%s\nat once:\n%s", got, want)
		}
	})
	if late == 0 {
		t.Error("no section was entered late: the test shows nothing")
	}
}
