package replay

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/trace/std"
)

// TestLocksOfLoader: the mutexes of the dynamic loader are not counted as the program's.
func TestLocksOfLoader(t *testing.T) {
	const loader = "T1|acq(_rtld_global._dl_load_lock.mutex)|2\nT1|rel(_rtld_global._dl_load_lock.mutex)|0\n"
	for _, c := range []struct{ text, want string }{
		{loader, "deadlocks, since no lock or other object"},
		{"T1|acq(m)|1\nT1|rel(m)|0\n" + loader, "deadlocks of 1 mutex "},
	} {
		rep, err := Report(std.NewReader(strings.NewReader(c.text), "text", std.ReaderOptions{}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		cover := rep.Run.Coverage
		if got := strings.Join(append(cover.LookedFor, cover.NotLookedFor...), "; "); !strings.Contains(got, c.want) {
			t.Errorf("%q is not in %q", c.want, got)
		}
	}
}
