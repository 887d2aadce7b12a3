package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRenumber checks that the numbers of events in the hits of a summary are replaced, also those of their
// causes, and that several hits may have the same cause.
func TestRenumber(t *testing.T) {
	cause := &Cause{Thread: 2, Until: 4, Name: "write(2)"}
	s := Summary{Executed: []Executed{{Hits: []Hit{{Thread: 3, Since: 6, Until: 5, Cause: cause}, {Thread: 3, Since: 8, Cause: cause}}}}}
	s.Renumber(func(n uint64) uint64 { return n * 10 })
	moved := &Cause{Thread: 2, Until: 40, Name: "write(2)"}
	want := []Hit{{Thread: 3, Since: 60, Until: 50, Cause: moved}, {Thread: 3, Since: 80, Cause: moved}}
	if diff := cmp.Diff(want, s.Executed[0].Hits); diff != "" {
		t.Errorf("expected (-), found (+):\n%s", diff)
	}
}
