package knowledge

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestOrder compares what threads know of each other with the clocks of package causality, on
// random runs with all kinds of synchronisation.
func TestOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		events := eventtest.RandomRun(r, 60)
		if seed%3 == 0 {
			events = eventtest.Messages(r, events)
		}
		if err := compareOrder(events); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// stamp is the place of an event in the clocks.
type stamp struct{ slot, number uint32 }

func compareOrder(events []event.Event) error {
	threads := event.ThreadID(0)
	for i := range events {
		threads = max(threads, events[i].Thread, events[i].Peer)
	}
	w := newWorld(nil, nil)
	for i := range threads {
		w.threads = append(w.threads, strconv.Itoa(int(i)+1))
	}
	w.formula.Declared, w.locals = len(w.threads), [][2]string{{"", "seq"}}
	for _, other := range w.threads {
		w.add(parse("@"+w.threads[0]+" (@"+other+" seq >= 0)"), nil)
	}
	m := New(Options{Formula: w.formula, Codes: w.codes, Locals: []uint64{0}, Is: func(id event.ThreadID, number int) bool { return int(id) == number+1 }})
	clocks, stamps := causality.New(), map[uint64]stamp{}
	for i := range events {
		e := &events[i]
		e.Seq = uint64(i + 1)
		slot, clock := clocks.Stamp(e, true)
		stamps[e.Seq] = stamp{slot, clock[slot]}
		own := m.thread(e.Thread)
		m.Event(e, State{Variable: -1, Mentioned: true, Locals: []uint64{e.Seq}})
		for _, r := range m.remotes {
			x, _ := m.known(own, r)
			want := uint64(0)
			for k := range events[:i+1] {
				if s := stamps[events[k].Seq]; int(events[k].Thread) == r.key.body.Thread+1 && clock.At(s.slot) >= s.number {
					want = events[k].Seq
				}
			}
			if x.value != want {
				return fmt.Errorf("after %d %v: the latest event known of thread %d is %d, want %d", e.Seq, e.Op, r.key.body.Thread+1, x.value, want)
			}
		}
	}
	return nil
}
