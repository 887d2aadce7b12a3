package finding

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestShortenHeld checks that the outermost and innermost locks stay, with their call stacks and modes, and those that
// the finding is about; and that a step with few locks stays as it is.
func TestShortenHeld(t *testing.T) {
	var s Step
	for i := range 100 {
		s.Held, s.HeldAt = append(s.Held, event.ObjectID(1+i)), append(s.HeldAt, event.StackID(1001+i))
	}
	s.HeldRead = 1<<3 | 1<<50
	f := Finding{Evidence: []Step{s}, Objects: []event.ObjectID{51}}
	f.ShortenHeld()
	got := &f.Evidence[0]
	if len(got.Held) != MaxHeld+1 || got.MoreHeld != 100-MaxHeld-1 || got.Held[0] != 1 || got.Held[MaxHeld] != 100 || got.Held[outermostHeld] != 51 {
		t.Errorf("%d locks, %d more: %v", len(got.Held), got.MoreHeld, got.Held)
	}
	if got.HeldRead != 1<<3|1<<outermostHeld {
		t.Errorf("for reading: %b", got.HeldRead)
	}
	for i, id := range got.Held {
		if got.HeldAt[i] != event.StackID(1000+id) {
			t.Errorf("lock %d was acquired at %d", id, got.HeldAt[i])
		}
	}
	few := Step{Held: s.Held[:MaxHeld], HeldAt: s.HeldAt[:MaxHeld]}
	if few.ShortenHeld(nil); len(few.Held) != MaxHeld || few.MoreHeld != 0 {
		t.Errorf("%d locks, %d more", len(few.Held), few.MoreHeld)
	}
}
