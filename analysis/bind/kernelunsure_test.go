package bind

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/bpf"
	_ "github.com/tracepredict/tracepredict/internal/fixedseed" // equal cases each time
	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// unsureOracle finds the events at which the kernel must not judge a thread, by the order of the events.
type unsureOracle struct {
	events  []event.Event
	sources []bool                    // what the thread knows is not certain from this event on
	unsure  []bool                    // likewise, or it has learned from such an event
	lost    map[event.ObjectID]bool   // objects that were given up
	users   map[event.ThreadID]uint64 // the Seq from which on a thread that has used such an object is unsure
}

// add adds the next event, at which the object is given up if the thread gets that far. It returns whether it is.
func (o *unsureOracle) add(e *event.Event, breaks bool) bool {
	i := len(o.events)
	o.events = append(o.events, *e)
	from, used := o.users[e.Thread]
	semaphore := e.Kind == event.KindSemaphore
	o.sources = append(o.sources, e.Object != 0 && o.lost[e.Object] || used && from < e.Seq || semaphore)
	o.unsure = append(o.unsure, o.sources[i] || o.learns(i))
	if !breaks || o.unsure[i] {
		return false
	}
	o.sources[i], o.unsure[i], o.lost[e.Object] = true, true, true
	for k := range o.events {
		if x := &o.events[k]; x.Object == e.Object {
			o.users[x.Thread] = e.Seq
		}
	}
	return true
}

// learns reports whether an event comes after one that is unsure.
func (o *unsureOracle) learns(i int) bool {
	for k := range i {
		if o.unsure[k] && o.passes(&o.events[k], &o.events[i]) {
			return true
		}
	}
	return false
}

// passes reports whether an event passes knowledge on to a later one directly.
func (o *unsureOracle) passes(a, b *event.Event) bool {
	conflict := a.Object != 0 && a.Object == b.Object && (a.Op != event.Read || b.Op != event.Read)
	return a.Thread == b.Thread || conflict || a.Op == event.Fork && a.Peer == b.Thread || b.Op == event.Join && b.Peer == a.Thread
}

// TestKernelUnsure: where objects are given up, since two threads use one at the same time or a value contradicts what was
// written, the kernel finds no violation that user space does not, and all of those in threads that learn nothing by such
// an object, nor by a semaphore.
func TestKernelUnsure(t *testing.T) {
	loadertest.NeedBPF(t)
	var judged, left int // in the runs of all formulas: a single one may be violated in few
	for i, text := range formulasOfKernel {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			k := newInKernel(t, text)
			rapid.Check(t, func(rt *rapid.T) {
				events := randomRun(rt, rapid.IntRange(0, 3).Draw(rt, "semaphore") == 0)
				want := violations(rt, text, events)
				k.reset(rt)
				o := &unsureOracle{lost: map[event.ObjectID]bool{}, users: map[event.ThreadID]uint64{}}
				gaveUp := 0
				for i := range events {
					e := events[i]
					breaks := e.Object != 0 && e.Kind != event.KindSemaphore && rapid.IntRange(0, 19).Draw(rt, "breaks") == 0
					got := k.breaking(rt, &e, breaks)
					if o.add(&e, breaks) {
						gaveUp++
					}
					switch violated := slices.Contains(want, e.Seq); {
					case got != (violated && !o.unsure[i]):
						rt.Fatalf("event %d: the kernel finds a violation: %v, user space: %v, and the thread is unsure: %v:\n%+v", e.Seq, got, violated, o.unsure[i], events)
					case got:
						judged++
					case violated:
						left++
					}
				}
				k.wantGoing(rt)
				k.wantDoubts(rt, gaveUp)
			})
		})
	}
	if judged == 0 || left == 0 {
		t.Errorf("%d violations were judged, and %d were not", judged, left)
	}
}

// breaking handles an event whose object is given up at it if breaks says so and the thread is not unsure.
func (k *inKernel) breaking(t *rapid.T, e *event.Event, breaks bool) bool {
	switch {
	case !breaks:
		return k.event(t, e)
	case e.Op == event.Read && k.written(t, e) && rapid.Bool().Draw(t, "value"):
		changed := *e
		changed.Value += 1000
		return k.event(t, &changed)
	}
	k.claimed(t, e.Object, 99)
	defer k.claimed(t, e.Object, 0)
	return k.event(t, e)
}

// object returns an object of the kernel; the zero one if there is none.
func (k *inKernel) object(t *rapid.T, id event.ObjectID) (o bpf.TracepredictKnownObject, ok bool) {
	return o, k.Maps[bpf.TracepredictMapKnownObjects].Lookup(uint64(id), &o) == nil
}

// written reports whether the kernel knows the value of a variable.
func (k *inKernel) written(t *rapid.T, e *event.Event) bool {
	o, ok := k.object(t, e.Object)
	return ok && o.Valued != 0
}

// claimed has an object claimed by a thread.
func (k *inKernel) claimed(t *rapid.T, id event.ObjectID, by uint64) {
	o, _ := k.object(t, id)
	o.Claim = by
	if err := k.Maps[bpf.TracepredictMapKnownObjects].Put(uint64(id), o); err != nil {
		t.Fatal(err)
	}
}

// wantDoubts checks how many objects were given up.
func (k *inKernel) wantDoubts(t *rapid.T, want int) {
	var doubts [bpf.GivenUpReasons]uint32
	if err := k.Variables["doubts"].Get(&doubts); err != nil {
		t.Fatal(err)
	}
	if got := int(doubts[bpf.GivenUpClaim] + doubts[bpf.GivenUpValues]); got != want {
		t.Fatalf("%d objects were given up, want %d", got, want)
	}
}
