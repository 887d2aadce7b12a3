package typestate_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/typestate"
	"github.com/tracepredict/tracepredict/observer/event"
)

// BenchmarkObjects checks 10,000 objects of 50 calls each, used by two threads in turn or at once.
func BenchmarkObjects(b *testing.B) {
	const objects, each = 10_000, 50
	p := typestate.Protocol{Name: "p", Calls: []typestate.Call{{Name: "open", Creates: true}, {Name: "send"}, {Name: "close"}}, States: []typestate.State{
		{Name: "fresh", Next: [][]int{{1}, nil, nil}}, {Name: "ready", Next: [][]int{nil, {1}, {2}}}, {Name: "gone", Next: [][]int{nil, nil, nil}},
	}}
	for _, atOnce := range []bool{false, true} {
		b.Run(fmt.Sprintf("at once %v", atOnce), func(b *testing.B) {
			for b.Loop() {
				a := typestate.New(typestate.Options{
					Protocols: []typestate.Protocol{p}, Window: 64, Queue: 64, History: whole(nil),
					Uses: func(e *event.Event, yield func(protocol, call int, object uint64)) { yield(0, int(e.Func), e.Value) },
				})
				seq := uint64(0)
				do := func(e event.Event) {
					seq++
					e.Seq = seq
					a.Event(&e)
				}
				do(event.Event{Op: event.Begin, Thread: 1})
				for o := range objects {
					do(event.Event{Op: event.Call, Thread: 1, Func: 0, Value: uint64(o)})
				}
				do(event.Event{Op: event.Fork, Thread: 1, Peer: 2})
				do(event.Event{Op: event.Begin, Thread: 2})
				for i := range each - 1 {
					for o := range objects {
						t := event.ThreadID(1)
						if atOnce && (i+o)%2 == 0 {
							t = 2
						}
						do(event.Event{Op: event.Call, Thread: t, Func: 1, Value: uint64(o)})
					}
				}
				if atOnce && len(a.Finish()) > 0 {
					b.Error("findings")
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys>>20), "MiB")
		})
	}
}
