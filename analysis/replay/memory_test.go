package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

// TestForgottenVariablesAreNoted checks that, where memory was full, a race within what is kept is found, that the same
// accesses under a lock are none, and that the report says what was forgotten. A race with an access of long ago is
// only found where nothing was forgotten.
func TestForgottenVariablesAreNoted(t *testing.T) {
	for _, c := range []struct {
		full, races int
		guarded     bool
	}{{0, 2, false}, {3, 1, false}, {3, 0, true}} {
		var text strings.Builder
		text.WriteString("T1|w(x)|1\n")
		for i := range 5000 {
			fmt.Fprintf(&text, "T1|acq(l%[1]d)|2\nT1|w(y%[1]d)|3\nT1|rel(l%[1]d)|4\n", i)
		}
		for _, th := range []string{"T1", "T2"} {
			format := "%[1]s|w(x)|5\n"
			if c.guarded {
				format = "%[1]s|acq(l)|6\n%[1]s|w(x)|5\n%[1]s|rel(l)|7\n"
			}
			fmt.Fprintf(&text, format, th)
		}
		asked := 0
		full := func() bool { asked++; return asked <= c.full }
		rep, err := Report(std.NewReader(strings.NewReader(text.String()), "text", std.ReaderOptions{}), Options{Engine: engine.Options{Full: full}})
		if err != nil {
			t.Fatal(err)
		}
		b, notes := rep.Run.Bounds, strings.Join(rep.Run.Notes, "\n")
		if len(rep.Findings) != c.races || c.races > 0 && rep.Findings[0].Confidence != finding.Observed {
			t.Errorf("%+v: %d findings", c, len(rep.Findings))
		}
		if b.MemoryFull != c.full || (b.EvictedVariables > 0) != (c.full > 0) || (b.EvictedLocks > 0) != (c.full > 0) {
			t.Errorf("%+v: %+v", c, b)
		}
		for _, n := range []string{fmt.Sprintf("%d variables was forgotten", b.EvictedVariables), fmt.Sprintf("of %d locks", b.EvictedLocks)} {
			if strings.Contains(notes, n) != (c.full > 0) {
				t.Errorf("%+v: no %q in %q", c, n, notes)
			}
		}
	}
}
