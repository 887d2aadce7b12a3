package happensbefore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// stamp is an event's place in an order.
type stamp struct {
	slot  uint32
	time  event.Epoch
	knows vector
}

func (s *stamp) before(o *stamp) bool { return s.time <= o.knows.at(s.slot) }

// orders gives the places of a run's events in the order of NewSync and in ours. Ours
// is looked at after each event, and so has the edge from the write that a read reads.
func orders(run []event.Event) (want, got []stamp) {
	must, sync, a := clock.New(), clock.NewSync(), New(Options{})
	for i := range run {
		e := run[i]
		sync.Stamp(&e)
		want = append(want, stamp{slot: e.Slot, time: e.Epoch})
		knows := e.Must
		sync.Done(&e)
		if e.Op.IsAccess() { // the next event knows
			next := event.Event{Thread: e.Thread, Op: event.OnceEnter}
			sync.Stamp(&next)
			knows = next.Must
			knows[e.Slot] = e.Epoch
		}
		want[i].knows = slices.Clone(knows)

		e = run[i]
		must.Stamp(&e)
		before := a.thread(&e).time
		a.Event(&e)
		must.Done(&e)
		t := a.slots[e.Slot]
		got = append(got, stamp{slot: e.Slot, time: before, knows: slices.Clone(t.clock.known)})
	}
	return want, got
}

// alike leaves out that of which we ask for more than NewSync does, so that a race has a
// schedule with the rounds of this run, and where an attempt fails that failed.
func alike(run []event.Event) []event.Event {
	return slices.DeleteFunc(run, func(e event.Event) bool {
		return e.Object == eventtest.UnknownSemaphore || e.Object == eventtest.Barrier || e.Op == event.SemFailed
	})
}

// lived gives the objects of a run lifetimes: they are destroyed, some of them by a
// guess alone, and made anew, with another identifier, at the same address.
func lived(r *rand.Rand, run []event.Event) []event.Event {
	var out []event.Event
	names, next := map[event.ObjectID]event.ObjectID{}, event.ObjectID(100)
	for _, e := range run {
		if o := []event.ObjectID{eventtest.ObjectX, eventtest.ObjectY, eventtest.Mutex, eventtest.RWLock, eventtest.Semaphore, eventtest.Once}[r.IntN(6)]; r.IntN(12) == 0 {
			now := names[o]
			if now == 0 {
				now = o
			}
			next++
			names[o] = next
			kind := map[bool]event.Kind{true: event.KindVariable, false: event.KindSemaphore}[o <= eventtest.ObjectY]
			out = append(out, event.Event{Thread: e.Thread, Op: event.Destroy, Object: now, Kind: kind, Flags: event.Flags(r.IntN(2)) * event.Inferred})
			if r.IntN(2) == 0 || o == eventtest.Semaphore {
				out = append(out, event.Event{Thread: e.Thread, Op: event.Init, Object: next, Kind: kind, Flags: event.HasValue, Value: uint64(r.IntN(2))})
			}
		}
		if to := names[e.Object]; to != 0 {
			e.Object = to
		}
		if e.Op == event.Read && r.IntN(10) == 0 {
			e.Flags |= []event.Flags{event.Late, event.NoSource, event.Late | event.Atomic, event.Late | event.Atomic | event.NoSource}[r.IntN(4)]
		}
		out = append(out, e)
	}
	return out
}

// messages gives a run a channel.
func messages(r *rand.Rand, run []event.Event) []event.Event {
	const channel = 90
	var out []event.Event
	var sent, had, receives uint64
	for _, e := range run {
		out = append(out, e)
		f := event.Flags(r.IntN(2)) * event.HasValue
		m := event.Event{Thread: e.Thread, Object: channel, Kind: event.KindChannel, Flags: f}
		switch r.IntN(12) {
		case 0:
			m.Op, m.Value = event.Send, sent
			sent += 1 + r.Uint64N(3)
		case 1:
			if had == sent {
				continue
			}
			had += 1 + r.Uint64N(sent-had)
			m.Op, m.Value = event.Receive, had
			receives++
		case 2:
			m.Op, m.Value = event.Sent, r.Uint64N(receives+1)
		case 3:
			m.Op = event.Receiving
			receives++
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

// TestOrderIsThatOfNewSync: two forms of one order, or more where alike says so.
func TestOrderIsThatOfNewSync(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		run := eventtest.RandomRun(r, 60)
		more := seed%2 == 0
		if !more {
			run = alike(run)
		}
		if seed%3 == 0 {
			run = eventtest.RandomSections(r, 60)
		}
		for i := range run {
			if o := run[i].Object; seed%5 == 0 && run[i].Op.IsAccess() && o == eventtest.ObjectX {
				run[i].Flags |= event.Atomic
			}
		}
		if seed%4 < 2 {
			run = messages(r, lived(r, run))
		}
		want, got := orders(run)
		for j := range run {
			for i := range run[:j] {
				if w, g := want[i].before(&want[j]), got[i].before(&got[j]); w && !g || g && !w && !more {
					t.Fatalf("seed %d: event %d (%v) before %d (%v): %v, want %v", seed, i+1, run[i], j+1, run[j], g, w)
				}
			}
		}
	}
}
