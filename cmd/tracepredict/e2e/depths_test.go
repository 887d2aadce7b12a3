package e2e

import "testing"

// TestLeftReturnAddresses: words that earlier calls have left on the stack make one call stack no many, once it has been
// unwound.
func TestLeftReturnAddresses(t *testing.T) {
	needBPF(t)
	t.Parallel()
	r := observe(t, build(t, "gcc", "depths.c", "-O1", "-g", "-pthread"), options{})
	r.expectExit(t, 0)
	const places = 2 * 64 // the lock and the unlock, at each depth
	if total, complete := r.Session.CallStackCounts(); total < places || total > 4*places || complete < places {
		t.Errorf("%d call stacks, %d of them complete; there are %d places", total, complete, places)
	}
}
