package clock_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestShrink checks that what used an evicted object comes before what uses it later, and that nothing else does.
func TestShrink(t *testing.T) {
	const many = 1 << 12
	for _, c := range []struct {
		read    event.ObjectID
		ordered bool
	}{{1, true}, {many + 1, false}} {
		m := clock.New()
		stamp := func(e event.Event) event.Event {
			e.Kind, e.Seq = event.KindVariable, 1
			m.Stamp(&e)
			e.Must = e.Must.Clone()
			m.Done(&e)
			return e
		}
		stamp(event.Event{Op: event.Fork, Thread: 1, Peer: 2})
		first := event.Event{}
		for id := event.ObjectID(1); id <= many; id++ {
			e := event.Event{Op: event.Write, Kind: event.KindVariable, Thread: 1, Object: id, Seq: uint64(id)}
			m.Stamp(&e)
			m.Done(&e)
			if id == 1 {
				first = e
			}
		}
		if n := m.Shrink(0); n != many/2 {
			t.Errorf("%d objects were evicted", n)
		}
		stamp(event.Event{Op: event.Read, Thread: 2, Object: c.read})
		if after := stamp(event.Event{Op: event.Write, Thread: 2, Object: many + 2}); after.Before(first.Slot, first.Epoch) != c.ordered {
			t.Errorf("after a read of %d: ordered %t", c.read, !c.ordered)
		}
	}
}
