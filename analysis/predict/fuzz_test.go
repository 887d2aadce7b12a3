package predict

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// impossible makes a run from any bytes, five an event. Trace files may be hostile.
func impossible(text []byte) []event.Event {
	var out []event.Event
	for ; len(text) >= 5; text = text[5:] {
		out = append(out, event.Event{
			Seq: uint64(len(out) + 1), Thread: event.ThreadID(text[0] % 5), Op: event.Op(text[1] % byte(event.NumOps+1)),
			Object: event.ObjectID(text[2] % 6), Peer: event.ThreadID(text[2] % 5), Kind: event.Kind(text[3] % 9),
			Flags: event.Flags(text[4]), Value: uint64(text[3] % 4),
		})
	}
	return out
}

// FuzzImpossibleRuns: no run, however absurd, makes clocks, history or checker
// panic, and nothing is predicted of it that the checker refuses.
func FuzzImpossibleRuns(f *testing.F) {
	f.Add([]byte("\x01\x08\x02\x00\x00\x01\x04\x01\x00\x00\x01\x04\x02\x00\x00\x02\x07\x01\x00\x00\x02\x04\x02\x00\x00\x02\x04\x01\x00\x00"), uint8(20))
	f.Add([]byte("\x01\x0c\x02\x00\x00\x02\x0e\x02\x00\x00\x01\x0d\x02\x00\x00\x01\x10\x03\x07\x00\x02\x11\x03\x07\x00\x02\x13\x03\x00\x00"), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, kept uint8) {
		if len(text) > 600 {
			t.Skip()
		}
		events := impossible(text)
		m := clock.New()
		h := New(Options{Events: int(kept), Sections: 2, Witness: 16})
		for i := range events {
			e := events[i]
			m.Stamp(&e)
			h.Event(&e)
			m.Done(&e)
		}
		for _, p := range patterns(events, true) {
			var seqs []uint64
			for _, side := range p {
				seqs = append(seqs, side[0])
			}
			x := finding.Finding{Kind: finding.Deadlock}
			h.Settle(&x, [][]uint64{seqs})
		}
		// The inferred Init with a variable's initial value is no step of a run.
		run := slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return e.Op == event.Init && e.Flags&event.Inferred != 0 })
		for i := range events {
			for j := range min(i, 8) {
				if r := h.Race(events[j].Seq, events[i].Seq); r.Verdict == Predicted && h.Evicted() == 0 && r.Elided == 0 {
					if err := execution.Observe(run).Check(r.Witness, finding.Race); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		var steps []finding.Step
		for i := range events {
			e := &events[i]
			steps = append(steps, finding.Step{Seq: e.Seq, Thread: e.Thread, Op: e.Op, Object: e.Object, Blocked: e.Flags&1 != 0})
		}
		_ = execution.Observe(events).Check(steps, finding.Deadlock)
		_ = execution.Observe(events).Check(steps, finding.Race)
	})
}
