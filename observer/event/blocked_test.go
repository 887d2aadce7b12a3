package event

import "testing"

// TestAttempt: an attempt is decoded from its Value as it was encoded.
func TestAttempt(t *testing.T) {
	for _, a := range []Attempt{
		{}, {Op: Acquire, Following: 3, Cycle: true}, {Op: Join, Handlers: true}, {Op: AcquireRead, Following: 1<<32 - 1, Readers: 1},
		{Op: Wait, Cycle: true, Handlers: true, Readers: maxReaders},
	} {
		e := Event{Value: a.Value()}
		if got := e.Attempt(); got != a {
			t.Errorf("%+v became %+v", a, got)
		}
	}
	many := Event{Value: Attempt{Op: Acquire, Following: 1, Readers: 1 << 20}.Value()}
	if got := many.Attempt(); got != (Attempt{Op: Acquire, Following: 1, Readers: maxReaders}) {
		t.Errorf("more readers than there is room for: %+v", got)
	}
}
