package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestPublished checks when a race with an access that a first owner may have made before it published
// the object is returned: if nothing makes it doubtful, or if only left-out sections do and the object
// was neither thread's own.
func TestPublished(t *testing.T) {
	const lock, field, given = 1, 2, event.Given
	guarded := func(f *finding.Finding) reason.Reason {
		if slices.Contains(f.Assumes, finding.GuardedData) {
			return reason.Noted("sections are left out")
		}
		return reason.Reason{}
	}
	none := func(*finding.Finding) reason.Reason { return reason.Reason{} }
	static := func(o event.ObjectID) bool { return o == field }
	never, always := func(*finding.Finding) bool { return false }, func(*finding.Finding) bool { return true }
	for _, c := range []struct {
		name     string
		flags    [2]event.Flags // of the two accesses
		doubt    func(*finding.Finding) reason.Reason
		known    part.Known
		unlocked bool // no lock is between the two
		want     []string
	}{
		{name: "nothing is known", doubt: guarded},
		{name: "static, but its threads may have synchronised unseen", doubt: guarded, known: part.Known{Static: static, Unseen: always}},
		{name: "static", doubt: guarded, known: part.Known{Static: static, Unseen: never}, want: []string{"likely race"}},
		{name: "a third thread's memory", flags: [2]event.Flags{given, given}, doubt: guarded, known: part.Known{Unseen: never}, want: []string{"likely race"}},
		{name: "the first owner's memory", flags: [2]event.Flags{0, given}, doubt: guarded, known: part.Known{Unseen: never}},
		{name: "the other one's memory", flags: [2]event.Flags{given, 0}, doubt: guarded, known: part.Known{Unseen: never}},
		{name: "the left-out section decides nothing", doubt: none, want: []string{"predicted race"}},
		{name: "it is not known whether anything is doubtful", known: part.Known{Static: static, Unseen: never}},
		{name: "not handed over", doubt: guarded, unlocked: true, want: []string{"observed race"}},
	} {
		access := func(thread event.ThreadID) event.Event {
			return event.Event{Op: event.Write, Kind: event.KindField, Thread: thread, Object: field, Stack: event.StackID(thread), Flags: c.flags[thread-2]}
		}
		section := func(thread event.ThreadID) []event.Event {
			if c.unlocked {
				return nil
			}
			return []event.Event{{Op: event.Acquire, Kind: event.KindMutex, Thread: thread, Object: lock, Stack: 4}, {Op: event.Release, Kind: event.KindMutex, Thread: thread, Object: lock, Stack: 5}}
		}
		events := slices.Concat([]event.Event{
			{Op: event.Begin, Thread: 1}, {Op: event.Fork, Thread: 1, Peer: 2}, {Op: event.Fork, Thread: 1, Peer: 3},
			{Op: event.Begin, Thread: 2}, {Op: event.Begin, Thread: 3},
			access(2)}, section(2), section(3), []event.Event{access(3)})
		s := engine.New(engine.Options{})
		stampInto(s, events)
		if diff := cmp.Diff(c.want, brief(finish(s, verdict.Run{Doubt: c.doubt}, c.known))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
