package observer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeclared checks that the initial values of variables are sent once, before the first
// access or acquisition, and order nothing: the other thread's earlier unlock does not happen
// before the write.
func TestDeclared(t *testing.T) {
	l := &listener{checker: newChecker()}
	asked := 0
	declare := func() []Declared {
		asked++
		return []Declared{{Addr: 'X' << 12, Variable: "x", Value: 7}, {Addr: 'Y' << 12, Variable: "y"}}
	}
	var kept eventCollector
	l.o = New(Options{Sites: site, Sinks: []Sink{l, &kept}, Declare: declare})
	for _, r := range parseRecords(t, two+`
		11 acquire A
		11 release A
		11 read X value=7
		12 write X value=8
		12 write Z value=1`) {
		l.o.Record(&r)
	}
	start := slices.Index(l.lines, "T3 begin") + 1
	want := strings.Split(`T2 init X1 =7 inferred
T2 init Y2 =0 inferred
T2 acquire A3
T2 release A3
T2 read X1 =7
T3 write X1 =8
T3 write Z4 =1`, "\n")
	if diff := cmp.Diff(want, l.lines[start:]); diff != "" || asked != 1 || len(l.broken) > 0 {
		t.Errorf("asked %d times; events: %s\n%v", asked, diff, l.broken)
	}
	release, write := kept.events[start+3], kept.events[start+5]
	if write.Before(release.Slot, release.Epoch) {
		t.Errorf("%+v is before %+v", release, write)
	}
}
