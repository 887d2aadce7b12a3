package lockword

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

func message(t event.ThreadID, op event.Op, flags event.Flags) event.Event {
	return event.Event{Thread: t, Op: op, Object: 1, Kind: event.KindChannel, Flags: flags}
}

// TestChannels checks which channels are locks, and what their events become.
func TestChannels(t *testing.T) {
	takes := func(t event.ThreadID) event.Event { return message(t, event.Receive, event.Takes) }
	gives := func(t event.ThreadID) event.Event { return message(t, event.Send, event.Takes) }
	sends := func(t event.ThreadID) event.Event { return message(t, event.Send, 0) }
	waits := func(t event.ThreadID) event.Event { return message(t, event.Receiving, event.Inferred) }
	begins := func(t event.ThreadID) event.Event { return event.Event{Thread: t, Op: event.Begin} }
	ends := func(t event.ThreadID) event.Event { return event.Event{Thread: t, Op: event.End} }
	for _, c := range []struct {
		name   string
		events []event.Event
		want   string
	}{
		{"taken and given", []event.Event{takes(1), gives(1), takes(2), gives(2)}, "1 acquire, 1 release, 2 acquire, 2 release"},
		{"waited for", []event.Event{takes(1), waits(2), gives(1), takes(2), gives(2)}, "1 acquire, 1 release, 2 acquire, 2 release"},
		{"made by the only thread", []event.Event{begins(1), sends(1), begins(2), takes(1), gives(1), takes(2), gives(2)}, "1 send, 1 acquire, 1 release, 2 acquire, 2 release"},
		{"made by one of several", []event.Event{begins(1), begins(2), sends(1), takes(1), gives(1), takes(2), gives(2), takes(2)}, "1 send, 1 receive, 1 acquire, 1 release, 2 receive, 2 acquire, 2 release, 2 acquire"},
		{"removed at the end", []event.Event{takes(1), gives(1), takes(2), gives(2), sends(1)}, "1 acquire, 1 release, 2 acquire, 2 release, 1 send"},
		{"held at the end of the run", []event.Event{takes(1), gives(1), takes(2)}, "1 acquire, 1 release, 2 acquire"},
		{"by one thread alone", []event.Event{takes(1), gives(1), takes(1), gives(1)}, ""},
		{"given by another thread", []event.Event{takes(1), gives(2), takes(2), gives(2)}, ""},
		{"given twice", []event.Event{takes(1), gives(1), gives(1), takes(2), gives(2)}, ""},
		{"more than one unit", []event.Event{takes(1), sends(1), takes(2), gives(2)}, ""},
		{"taken without waiting", []event.Event{takes(1), gives(1), message(2, event.Receive, 0), gives(2)}, ""},
		{"held at its thread's end", []event.Event{takes(2), gives(2), takes(1), ends(1)}, ""},
		{"events were lost", []event.Event{takes(2), gives(2), takes(1), {Thread: 1, Op: event.Hole}, gives(1)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rewritten(c.events); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestUnheard checks that what is sent on channels to which nobody listens is left out, where others are locks.
func TestUnheard(t *testing.T) {
	var f Finder
	events := []event.Event{message(1, event.Receive, event.Takes), message(1, event.Send, event.Takes), message(2, event.Receive, event.Takes), message(2, event.Send, 0)}
	events[3].Object = 2
	for i := range events[:2] {
		f.Event(&events[i])
	}
	if got := f.Unheard(); got != nil {
		t.Errorf("unheard %v without a lock", got)
	}
	for i := range events[2:] {
		f.Event(&events[2+i])
	}
	r := NewRewriter(f.Locks(), f.Unheard())
	if got := r.Rewrite(nil, &events[3]); !r.Rewrites(&events[3]) || len(got) != 0 {
		t.Errorf("it became %v", got)
	}
}
