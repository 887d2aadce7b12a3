package atomicity

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestSidesAreAccesses: where accesses of a variable conflict, these are the sides, and not the lock that guards it.
func TestSidesAreAccesses(t *testing.T) {
	p := &program{}
	p.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	p.add(event.Event{Thread: 1, Op: event.Fork, Peer: 3})
	section := func(id event.ThreadID, op event.Op) {
		p.add(event.Event{Thread: id, Op: event.Acquire, Object: 1, Kind: event.KindMutex})
		p.add(event.Event{Thread: id, Op: op, Object: variables, Kind: event.KindVariable})
		p.add(event.Event{Thread: id, Op: event.Release, Object: 1, Kind: event.KindMutex})
	}
	section(2, event.Read)
	section(2, event.Write)
	section(3, event.Write)
	eventtest.Stamp(p.events)
	a, h := New(Options{}), predict.New(predict.Options{})
	for i := range p.events {
		h.Event(&p.events[i])
	}
	a.Enter(2, 2)
	a.Leave(2, 9)
	a.blocks[0] = block{thread: 2, from: 2, to: 9}
	a.Settle(&part.Shared{History: h})
	if len(a.found) != 1 {
		t.Fatalf("%+v", a.found)
	}
	var ops []event.Op
	for _, s := range a.found[0].Evidence {
		ops = append(ops, s.Op)
	}
	if !slices.Equal(ops, []event.Op{event.Read, event.Write, event.Write}) {
		t.Errorf("the sides are %v", ops)
	}
}
