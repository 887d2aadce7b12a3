package loader

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
)

// TestHeldThreadsRun: a thread that the tool makes wait runs; one that sleeps, or that a signal has stopped, does not.
func TestHeldThreadsRun(t *testing.T) {
	const sleeping, stopped, woken = 1, 4, 0x100
	lines := []bpf.Sleeper{{State: sleeping}, {State: stopped}, {State: stateTraced}, {State: stateTraced | woken}, {}}
	markRunning(lines)
	for i, want := range []uint32{sleeping, stopped, 0, 0, 0} {
		if lines[i].State != want {
			t.Errorf("thread %d: state %#x, want %#x", i, lines[i].State, want)
		}
	}
}
