package predict

import (
	"reflect"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestDetours checks which questions are asked about a witness whose reads see other values: one for each stretch
// between two calls, about the reads whose values are known, with the calls up to the last step.
func TestDetours(t *testing.T) {
	const lock, x, y, z = 1, 2, 3, 4
	valued := event.HasValue
	log := []event.Event{
		{Thread: 1, Op: event.Write, Object: x, Kind: event.KindVariable, Value: 5, Flags: valued},
		{Thread: 2, Op: event.Acquire, Object: lock, Stack: 20},
		{Thread: 2, Op: event.Read, Object: x, Kind: event.KindVariable, Value: 5, Flags: valued, Stack: 21},
		{Thread: 2, Op: event.Read, Object: y, Kind: event.KindVariable, Stack: 22}, // of a value that is not known
		{Thread: 2, Op: event.Read, Object: z, Kind: event.KindVariable, Value: 7, Flags: valued, Stack: 23},
		{Thread: 2, Op: event.Read, Object: x, Kind: event.KindVariable, Value: 5, Flags: valued, Stack: 24},
		{Thread: 2, Op: event.Release, Object: lock},
		{Thread: 2, Op: event.Acquire, Object: lock, Stack: 25},
		{Thread: 2, Op: event.Release, Object: lock},
		{Thread: 2, Op: event.Signal, Object: 9, Stack: 26},
		{Thread: 2, Op: event.Acquire, Object: lock, Stack: 27},
	}
	h := New(Options{})
	for i := range log {
		log[i].Seq = uint64(i + 1)
	}
	eventtest.Stamp(log)
	for i := range log {
		h.Event(&log[i])
	}
	h.update()
	h.any = map[uint64]bool{3: true, 4: true, 5: true, 6: true}
	f := finding.Finding{}
	for seq := uint64(2); seq <= 10; seq++ {
		f.Witness = append(f.Witness, finding.Step{Thread: 2, Seq: seq})
	}
	want := []event.Detour{{From: 20, To: []event.StackID{25, 26}, Reads: []event.ReadValue{
		{Stack: 21, Object: x, Value: 5, Initially: true}, {Stack: 23, Object: z, Value: 7, Other: 7},
	}}}
	if got := h.Detours(&f); !reflect.DeepEqual(got, want) {
		t.Errorf("asked %+v, want %+v", got, want)
	}
	log[5].Value = 6
	h.entry(6).Value = 6
	if got := h.Detours(&f); len(got) != 0 {
		t.Errorf("asked %+v about a variable that was read with two values", got)
	}
}
