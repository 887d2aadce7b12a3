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

// TestAccessedDeclared checks that a variable of which only the initial value is known does not
// count as accessed, and that one that is accessed afterwards does.
func TestAccessedDeclared(t *testing.T) {
	sites := func(i uint32) *SiteInfo {
		s := *site(i)
		s.Variable = "x"
		return &s
	}
	l := &listener{checker: newChecker()}
	l.o = New(Options{Sites: sites, Sinks: []Sink{l}, Declare: func() []Declared { return []Declared{{Addr: 'X' << 12, Variable: "x", Value: 7}} }})
	record := func(text string) {
		for _, r := range parseRecords(t, text) {
			l.o.Record(&r)
		}
	}
	record(two + "\n\t\t11 acquire A")
	if l.o.Accessed("x") {
		t.Error("declared, and so accessed")
	}
	record("11 read X value=7")
	if !l.o.Accessed("x") || l.o.Accessed("y") {
		t.Error("the access is not known, or another one is")
	}
}
