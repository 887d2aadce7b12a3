package report

import (
	"strings"
	"testing"
)

// TestSerialText: the bound is that of PCT, as a fraction that can be checked.
func TestSerialText(t *testing.T) {
	for _, c := range []struct {
		depth, threads, events int
		want                   string
	}{
		{1, 3, 20, "1 constraint decide is met by each such run with a probability of at least 1/(3), 1 in 3"},
		{3, 4, 120, "1/(4*120^2), 1 in 57,600"},
		{16, 2, 1000, "1/(2*1000^15), 1 in 2e+45"},
	} {
		if got := NewSerial(c.depth, c.threads, c.events).Text(); !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
