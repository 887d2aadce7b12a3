package e2e

import (
	"strings"
	"testing"
)

// TestCalledBack checks that a race, and a deadlock, of code that the C library calls while it holds a lock of its own is
// likely at most, with the call named, and that others are as certain as ever.
func TestCalledBack(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "called_back.c", "-O1", "-g", "-pthread")
	for _, c := range []struct {
		way    string
		locked bool
	}{
		{"stream", true}, {"streams", true}, {"printed", true}, {"opposite", true},
		{"outside", false}, {"text", false}, {"sorted", false},
	} {
		t.Run(c.way, func(t *testing.T) {
			_, r := reported(t, "exec", "--", program, c.way)
			certain := false
			for _, f := range r.Findings {
				certain = certain || f.Confidence != "likely"
				if c.locked && !strings.Contains(f.Reason, "called T2 and T3 back here, within ") && !strings.Contains(f.Reason, "called T3 and T2 back here, within ") {
					t.Errorf("%s: the reason is %q", f, f.Reason)
				}
			}
			if len(r.Findings) == 0 || certain == c.locked {
				t.Errorf("found %v", r.Findings)
			}
		})
	}
}
