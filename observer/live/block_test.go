package live

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// TestElementSize checks when a block may be an array of the type of which a member is accessed.
func TestElementSize(t *testing.T) {
	for _, c := range []struct {
		size, offset uint64
		of, at       int64
		want         uint64
	}{
		{160, 56, 16, 8, 16}, {160, 8, 16, 8, 16},
		{16, 8, 16, 8, 0},   // one
		{168, 56, 16, 8, 0}, // and something else
		{160, 56, 16, 0, 0}, // not at that distance
		{160, 0, 16, 8, 0},
		{160, 56, 0, 0, 0}, {160, 56, -1, -8, 0}, {0, 0, 16, 8, 0},
	} {
		if got := elementSize(&run.Block{Size: c.size, Offset: c.offset}, variable.Named{Size: c.of, At: c.at}); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
