package order_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/order"
)

const (
	must     = order.Must
	observed = order.Observed
	outcome  = order.Outcome
	kept     = order.Kept
	all      = must | observed | outcome | kept
)

// analysis is the simplest user of a Matcher: its sets are sets of events.
type analysis struct {
	m       *order.Matcher
	objects map[event.ObjectID]*order.Object
	sets    []eventtest.Set
}

func newAnalysis(want order.Tier) *analysis {
	return &analysis{m: order.New(want), objects: map[event.ObjectID]*order.Object{}}
}

func (a *analysis) object(id event.ObjectID) *order.Object {
	if a.objects[id] == nil {
		a.objects[id] = &order.Object{}
	}
	return a.objects[id]
}

// remember makes the changes of a match; now is the set that stands for the current event.
func (a *analysis) remember(x *order.Match, now eventtest.Set) {
	for _, c := range x.Changes {
		for int(c.Set) >= len(a.sets) {
			a.sets = append(a.sets, eventtest.Set{})
		}
		if c.Fresh {
			a.sets[c.Set] = eventtest.Set{}
		}
		if c.From != 0 {
			maps.Copy(a.sets[c.Set], a.sets[c.From])
		} else {
			maps.Copy(a.sets[c.Set], now)
		}
	}
}

// edge is an edge between two events, by their numbers in the run.
type edge struct {
	From, To int
	Relation order.Relation
}

func edges(want order.Tier, run []event.Event) []edge {
	a := newAnalysis(want)
	var out []edge
	for i := range run {
		e := &run[i]
		x := a.m.Match(a.object(e.Object), e)
		for _, d := range x.Edges {
			for _, from := range slices.Sorted(maps.Keys(a.sets[d.From])) {
				out = append(out, edge{from, i + 1, d.Relation})
			}
		}
		for _, s := range x.Sleepers {
			for from := range a.sets[s] {
				out = append(out, edge{from, i + 1, order.SleepToNotify})
			}
		}
		a.remember(x, eventtest.Set{i + 1: true})
	}
	return out
}

// ev makes an event of the object that all rows of the table have.
func ev(t event.ThreadID, op event.Op, value ...uint64) event.Event {
	e := event.Event{Thread: t, Op: op, Object: 1}
	if len(value) > 0 {
		e.Value, e.Flags = value[0], event.HasValue
	}
	return e
}

func first(kind event.Kind, value uint64) event.Event {
	return event.Event{Thread: 1, Op: event.Init, Object: 1, Kind: kind, Flags: event.HasValue, Value: value}
}

func timedOut(t event.ThreadID) event.Event {
	return event.Event{Thread: t, Op: event.Wake, Object: 1, Flags: event.TimedOut}
}

// TestTable holds each row of the order table that needs matching, with the reason why the
// edge is of its tiers.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		row, why string
		run      []event.Event
		want     []edge
	}{
		{"once", "the others return only when the initialiser has",
			[]event.Event{ev(1, event.OnceEnter), ev(2, event.OnceEnter), ev(1, event.OnceDone), ev(2, event.OnceLeave), ev(3, event.OnceLeave)},
			[]edge{{3, 4, order.DoneToLeave}, {3, 5, order.DoneToLeave}}},
		{"signal", "without wait's release → signal a reordering could signal first, and the wake would be infeasible",
			[]event.Event{ev(1, event.Wait), ev(2, event.Signal), ev(1, event.Wake)},
			[]edge{{1, 2, order.SleepToNotify}, {2, 3, order.NotifyToWake}}},
		{"signal, every candidate", "a later signal may have caused the wake in this run, in another it need not be there",
			[]event.Event{ev(1, event.Wait), ev(2, event.Wait), ev(3, event.Signal), ev(3, event.Signal), ev(2, event.Wake), ev(1, event.Wake)},
			[]edge{
				{1, 3, order.SleepToNotify}, {2, 3, order.SleepToNotify}, {1, 4, order.SleepToNotify}, {2, 4, order.SleepToNotify},
				{3, 5, order.NotifyToWake}, {4, 5, order.LaterNotifyToWake}, {4, 6, order.NotifyToWake},
			}},
		{"broadcast", "it wakes all sleepers, and is not used up",
			[]event.Event{ev(1, event.Wait), ev(2, event.Wait), ev(3, event.Broadcast), ev(2, event.Wake), ev(1, event.Wake)},
			[]edge{{1, 3, order.SleepToNotify}, {2, 3, order.SleepToNotify}, {3, 4, order.NotifyToWake}, {3, 5, order.NotifyToWake}}},
		{"spurious or timed-out wake", "nobody caused it",
			[]event.Event{ev(1, event.Wait), ev(2, event.Signal), timedOut(1)}, []edge{{1, 2, order.SleepToNotify}}},
		{"signal without a waiter", "it wakes nobody, also not who waits later",
			[]event.Event{ev(2, event.Signal), ev(1, event.Wait), ev(1, event.Wake)}, nil},
		{"barrier", "nobody leaves before all are there; generations are as observed",
			[]event.Event{
				first(event.KindBarrier, 2), ev(1, event.BarrierArrive), ev(2, event.BarrierArrive), ev(1, event.BarrierDepart),
				ev(1, event.BarrierArrive), ev(2, event.BarrierDepart), ev(2, event.BarrierArrive), ev(2, event.BarrierDepart),
			},
			[]edge{
				{2, 4, order.ArriveToDepart}, {3, 4, order.ArriveToDepart}, {2, 5, order.ArriveToArrive}, {3, 5, order.ArriveToArrive},
				{2, 6, order.ArriveToDepart}, {3, 6, order.ArriveToDepart}, {2, 7, order.ArriveToArrive}, {3, 7, order.ArriveToArrive},
				{5, 8, order.ArriveToDepart}, {7, 8, order.ArriveToDepart},
			}},
		{"barrier of unknown size", "the first departure shows that all have arrived",
			[]event.Event{ev(1, event.BarrierArrive), ev(2, event.BarrierArrive), ev(1, event.BarrierDepart), ev(1, event.BarrierArrive)},
			[]edge{{1, 3, order.ArriveToDepart}, {2, 3, order.ArriveToDepart}, {1, 4, order.ArriveToArrive}, {2, 4, order.ArriveToArrive}}},
		{"semaphore, one poster", "whoever waits then needs that very post",
			[]event.Event{first(event.KindSemaphore, 1), ev(1, event.SemPost), ev(2, event.SemWait), ev(2, event.SemWait)},
			[]edge{{2, 4, order.PostToWait}}},
		{"semaphore, two posters", "the other's post might have let it through",
			[]event.Event{first(event.KindSemaphore, 0), ev(1, event.SemPost), ev(2, event.SemPost), ev(3, event.SemWait), ev(3, event.SemWait)},
			[]edge{{2, 4, order.AnyPostToWait}, {3, 5, order.AnyPostToWait}}},
		{"semaphore of unknown value", "any post may have let it through; who keeps posts to waits takes the value for 0",
			[]event.Event{ev(1, event.SemPost), ev(1, event.SemPost), ev(2, event.SemWait)},
			[]edge{{1, 3, order.PostToUncountedWait}, {1, 3, order.EarlierPostToUncountedWait}, {2, 3, order.EarlierPostToUncountedWait}}},
		{"failed sem_trywait", "the value was 0 then: after the waits that emptied it and before the next post",
			[]event.Event{first(event.KindSemaphore, 2), ev(1, event.SemWait), ev(2, event.SemWait), ev(3, event.SemFailed), ev(4, event.SemPost)},
			[]edge{{3, 4, order.WaitToFailure}, {2, 4, order.EarlierWaitToFailure}, {3, 4, order.EarlierWaitToFailure}, {4, 5, order.FailureToPost}}},
		{"message", "bytes are sent before they are received; those before them too",
			[]event.Event{ev(1, event.Send, 0), ev(1, event.Send, 4), ev(1, event.Send, 8), ev(2, event.Receive, 8), ev(3, event.Receive, 9)},
			[]edge{
				{1, 4, order.SendToReceive}, {2, 4, order.SendToReceive}, {4, 5, order.ReceiveToReceive},
				{1, 5, order.SendToReceive}, {2, 5, order.SendToReceive}, {3, 5, order.SendToReceive},
			}},
		{"message, waited for room", "the receives made it",
			[]event.Event{ev(2, event.Receiving), ev(3, event.Receiving), ev(1, event.Sent, 1), ev(1, event.Sent)},
			[]edge{{1, 3, order.ReceiveToSent}, {1, 4, order.ReceiveToSent}, {2, 4, order.ReceiveToSent}}},
		{"message, none there", "all that was sent was received then, and what came later was not sent yet",
			[]event.Event{ev(1, event.Send, 0), ev(2, event.Receive, 4), ev(3, event.ReceiveFailed), ev(1, event.Send, 4)},
			[]edge{{1, 2, order.SendToReceive}, {2, 3, order.ReceiveToFailure}, {3, 4, order.FailureToSend}}},
	} {
		t.Run(c.row, func(t *testing.T) {
			for _, want := range []order.Tier{must, must | observed, must | observed | outcome, kept, all} {
				expected := slices.DeleteFunc(slices.Clone(c.want), func(e edge) bool { return order.Table[e.Relation]&want == 0 })
				got := edges(want, c.run)
				if diff := cmp.Diff(expected, got); diff != "" && (len(expected) > 0 || len(got) > 0) {
					t.Errorf("tiers %b, because %s (-want +got):\n%s", want, c.why, diff)
				}
			}
		})
	}
}

// TestTiers: each relation has a tier, and none that does not exist.
func TestTiers(t *testing.T) {
	for r, tier := range order.Table {
		if tier == 0 || tier&^all != 0 {
			t.Errorf("relation %d has tiers %b", r, tier)
		}
	}
}

// threads holds, by thread, the events that come before its next one.
type threads map[event.ThreadID]eventtest.Set

func (k threads) of(t event.ThreadID) eventtest.Set {
	if k[t] == nil {
		k[t] = eventtest.Set{}
	}
	return k[t]
}

// TestAgreesWithPlainModel: the closure of the edges is that of the plain model.
func TestAgreesWithPlainModel(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		run := eventtest.Messages(r, eventtest.RandomRun(r, 20+r.IntN(150)))
		run = slices.DeleteFunc(run, func(e event.Event) bool {
			return e.Op.IsAccess() || e.Op >= event.Acquire && e.Op <= event.Release || seed%5 == 0 && e.Op == event.Init
		})
		for _, want := range []order.Tier{must, must | observed, must | observed | outcome} {
			a, n, known, inits := newAnalysis(want), eventtest.NewNaive(want), threads{}, map[event.ObjectID]eventtest.Set{}
			for i := range run {
				e := &run[i]
				me, o := known.of(e.Thread), a.object(e.Object)
				x := a.m.Match(o, e)
				a.draw(x, me)
				maps.Copy(me, inits[e.Object])
				if e.Op == event.Join {
					maps.Copy(me, known.of(e.Peer))
				}
				me[i+1] = true
				if e.Op == event.Fork {
					known[e.Peer] = maps.Clone(me)
				}
				a.remember(x, me)
				if e.Op == event.Init {
					inits[e.Object] = maps.Clone(me)
				}
				expected := n.Step(*e)
				for j := range run[:i] {
					if me[j+1] != expected[j+1] {
						t.Fatalf("seed %d, tiers %b: event %d (%v) before %d (%v): %v", seed, want, j+1, run[j].Op, i+1, e.Op, me[j+1])
					}
				}
			}
		}
	}
}

func (a *analysis) draw(x *order.Match, me eventtest.Set) {
	for _, d := range x.Edges {
		maps.Copy(me, a.sets[d.From])
	}
	known := map[int]int{}
	for _, s := range x.Sleepers {
		for i := range a.sets[s] {
			if known[i]++; known[i] > x.Beyond {
				me[i] = true
			}
		}
	}
}

// TestSetsAreUsedAgain: however long a run, there are only as many sets as the live objects need.
func TestSetsAreUsedAgain(t *testing.T) {
	a, most := newAnalysis(all), order.Ref(0)
	for i := range 200 {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		for _, e := range eventtest.Messages(r, eventtest.RandomRun(r, 200)) {
			x := a.m.Match(a.object(e.Object), &e)
			a.remember(x, eventtest.Set{})
			for _, c := range x.Changes {
				most = max(most, c.Set)
			}
		}
		for id, o := range a.objects {
			a.m.Drop(o)
			delete(a.objects, id)
		}
		if n := a.m.Generations(); n != 0 {
			t.Fatalf("%d barrier generations are left", n)
		}
	}
	if most > 1000 {
		t.Errorf("%d sets", most)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	run := slices.DeleteFunc(eventtest.Messages(r, eventtest.RandomRun(r, 5000)), func(e event.Event) bool {
		return e.Op == event.SemPost || !order.Synchronises(e.Op)
	})
	m, objects, inside := order.New(all), map[event.ObjectID]*order.Object{}, map[event.ThreadID]event.Event{}
	for _, e := range run {
		objects[e.Object] = &order.Object{}
		switch e.Op {
		case event.Wait, event.BarrierArrive:
			e.Op++ // its end
			inside[e.Thread] = e
		case event.Wake, event.BarrierDepart:
			delete(inside, e.Thread)
		}
	}
	for _, e := range inside {
		run = append(run, e)
	}
	repeat := func() {
		for i := range run {
			m.Match(objects[run[i].Object], &run[i])
		}
	}
	for range 20 {
		repeat()
	}
	if n := testing.AllocsPerRun(5, repeat); n > 0 {
		t.Errorf("%v allocations for %d events", n, len(run))
	}
}
