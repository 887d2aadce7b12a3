package observer

import (
	"runtime"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestStacksMemory: what is kept of ten million IDs of call stacks at a thousand places takes no more than 200 MB.
func TestStacksMemory(t *testing.T) {
	const ids, places = 10_000_000, 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ss := newStacks(&Options{})
	for i := range ids {
		ss.add(event.StackID(i+1), Stack{Site: uint32(i % places), TGID: 1, Caller: 7})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took := after.HeapAlloc - before.HeapAlloc; took > 200<<20 {
		t.Errorf("%d IDs take %d MB", ids, took>>20)
	} else {
		t.Logf("%d IDs take %d MB", ids, took>>20)
	}
	if s, ok := ss.get(ids); !ok || s.Site != (ids-1)%places {
		t.Errorf("the last: %+v, %v", s, ok)
	}
}
