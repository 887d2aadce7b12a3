package replay_test

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestThreadsTakenToBeginLaterAreNoted: of threads that have ended and are joined late, the clocks tell a
// bounded number apart. Where there were more, the report says so, and the search for cycles is not complete.
func TestThreadsTakenToBeginLaterAreNoted(t *testing.T) {
	for _, c := range []struct {
		threads event.ThreadID
		note    bool
	}{{100, false}, {300, true}} {
		var events []event.Event
		for i := range c.threads {
			th := i + 2
			own, next := event.ObjectID(i+1), event.ObjectID((i+1)%c.threads+1)
			events = append(events, peer(1, event.Fork, th))
			for _, e := range nested(th, own, next) {
				e.Kind = event.KindMutex
				events = append(events, e)
			}
			events = append(events, event.Event{Thread: th, Op: event.End})
		}
		for i := range c.threads {
			events = append(events, peer(1, event.Join, i+2))
		}
		rep := reportOfRun(t, events, run.Summary{PID: 1, Threads: int(c.threads) + 1})
		notes := strings.Join(rep.Run.Notes, "\n")
		if l := rep.Run.Locks; l.Complete == c.note || c.note != strings.Contains(notes, "had to be taken to begin after others had ended") {
			t.Errorf("%d threads: %+v, notes %q", c.threads, l, notes)
		}
		if found := len(rep.Findings); found == 0 && !c.note {
			t.Errorf("%d threads: nothing found", c.threads)
		}
	}
}
