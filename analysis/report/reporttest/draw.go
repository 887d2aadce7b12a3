package reporttest

import (
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// DrawFinding draws any finding about objects and threads of the shop.
func DrawFinding(t *rapid.T) finding.Finding {
	step := rapid.Custom(func(t *rapid.T) finding.Step {
		held := rapid.SliceOfN(rapid.Uint32Range(1, 6), 0, 2).Draw(t, "held")
		s := finding.Step{
			Seq:    uint64(rapid.IntRange(0, 30).Draw(t, "seq")),
			Thread: event.ThreadID(rapid.IntRange(1, 5).Draw(t, "thread")),
			Op:     event.Op(rapid.IntRange(0, int(event.NumOps)).Draw(t, "op")),
			Flags:  event.Flags(rapid.IntRange(0, 127).Draw(t, "flags")),
			Object: event.ObjectID(rapid.IntRange(0, 7).Draw(t, "object")),
			Stack:  event.StackID(rapid.IntRange(0, 12).Draw(t, "place")),
		}
		for _, h := range held {
			s.Held = append(s.Held, event.ObjectID(h))
			s.HeldAt = append(s.HeldAt, event.StackID(h))
		}
		return s
	})
	return finding.Finding{
		Kind:       rapid.SampledFrom([]finding.Kind{finding.Race, finding.Deadlock, finding.Misuse, finding.Property, finding.Typestate, finding.Knowledge, finding.Scoped}).Draw(t, "kind"),
		Confidence: rapid.SampledFrom(finding.Confidences()).Draw(t, "confidence"),
		Reason:     rapid.SampledFrom([]reason.Reason{{}, reason.Noted("a reason")}).Draw(t, "reason"),
		Objects:    []event.ObjectID{event.ObjectID(rapid.IntRange(1, 6).Draw(t, "object"))},
		Threads:    []event.ThreadID{1, 2},
		Evidence:   rapid.SliceOfN(step, 0, 3).Draw(t, "evidence"),
		Witness:    rapid.SliceOfN(step, 0, 60).Draw(t, "witness"),
		Count:      rapid.IntRange(0, 3).Draw(t, "count"),
	}
}
