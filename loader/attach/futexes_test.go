package attach

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
)

// TestLeaveOut: what each call takes is no wait; a sum does not get below nothing.
func TestLeaveOut(t *testing.T) {
	w := FutexWaits{Sums: []FutexSum{{FutexSum: bpf.FutexSum{Waits: 3, Ns: 100}}, {FutexSum: bpf.FutexSum{Waits: 2, Ns: 50}}, {}}}
	w.leaveOut(30)
	for i, want := range []uint64{10, 0, 0} {
		if got := w.Sums[i].Ns; got != want {
			t.Errorf("sum %d: %d, want %d", i, got, want)
		}
	}
}
