package happensbefore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// forks begins threads 1 and 2.
const forks = "T0|fork(T1)|1\nT0|fork(T2)|1\n"

// use returns uses of many variables or locks by T1, after which others are old.
func use(line string) string {
	var text strings.Builder
	for i := range 4 * leastObjects {
		fmt.Fprintf(&text, line, i)
	}
	return text.String()
}

// shrunkRaces returns the number of races of a run, whose analysis shrinks after its first part.
func shrunkRaces(t *testing.T, before, after string) (races int, a *Analysis) {
	t.Helper()
	events, _, err := eventtest.ParseSTD(strings.NewReader(before + after))
	if err != nil {
		t.Fatal(err)
	}
	a = New(Options{})
	for i := range events {
		if i == strings.Count(before, "\n") {
			if _, any := a.Shrink(); !any {
				t.Error("nothing was evicted")
			}
		}
		a.Event(&events[i])
	}
	return len(a.Races()), a
}

// TestShrinkLocks checks that accesses which an evicted lock ordered do not race, and that others do.
func TestShrinkLocks(t *testing.T) {
	before := forks + "T1|w(x)|2\nT1|acq(l)|3\nT1|rel(l)|4\n" + use("T1|acq(m%[1]d)|5\nT1|rel(m%[1]d)|6\n")
	for after, want := range map[string]int{
		"T2|acq(l)|7\nT2|rel(l)|8\nT2|w(x)|9\n": 0,
		"T2|acq(n)|7\nT2|rel(n)|8\nT2|w(x)|9\n": 1,
		"T2|w(x)|9\n":                           1,
	} {
		races, a := shrunkRaces(t, before, after)
		if races != want || a.Stats().EvictedLocks == 0 {
			t.Errorf("%q: %d races, %+v", after, races, a.Stats())
		}
	}
}

// TestShrinkVariables checks that the races of an evicted variable are kept, that one with an evicted access is missed,
// that one after the eviction is found, and that the edge from an evicted write to its read still counts.
func TestShrinkVariables(t *testing.T) {
	filler := use("T1|w(y%d)|5\n")
	for _, c := range []struct {
		before, after string
		want          int
	}{
		{"T1|w(x)|2\nT2|w(x)|3\n", "", 1},
		{"T1|w(x)|2\n", "T2|w(x)|3\n", 0},
		{"T1|w(x)|2\n", "T1|w(x)|2\nT2|w(x)|3\n", 1},
		{"T1|w(x)|2\n", "T1|w(z)|2\nT2|w(z)|3\n", 1},
	} {
		if races, _ := shrunkRaces(t, forks+c.before+filler, c.after); races != c.want {
			t.Errorf("%+v: %d races", c, races)
		}
	}
	// Of the last variable, the filler has the write before the eviction, and the read of x comes after it.
	last := fmt.Sprintf("y%d", 4*leastObjects-1)
	races, _ := shrunkRaces(t, forks+"T1|w("+last+")|1\nT1|w(x)|2\n"+filler, "T2|r(x)|3\nT2|w(y1)|4\n")
	if races != 0 {
		t.Errorf("%d races in spite of the read", races)
	}
}

// TestShrinkReports checks that races on variables that are evicted are kept up to a bound, and counted beyond it.
func TestShrinkReports(t *testing.T) {
	var text strings.Builder
	text.WriteString(forks)
	for i := range defaultReports + 4*leastObjects {
		fmt.Fprintf(&text, "T1|w(x%d)|%d\nT2|w(x%d)|%d\n", i, 2*i, i, 2*i+1)
	}
	events, _, err := eventtest.ParseSTD(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	a := New(Options{})
	for i := range events {
		a.Event(&events[i])
	}
	for any := true; any; {
		_, any = a.Shrink()
	}
	races, kept := len(a.Races()), len(a.vars.all)
	if races > defaultReports || races < defaultReports/2 || uint64(races)+a.Stats().DroppedPairs != defaultReports+4*leastObjects {
		t.Errorf("%d races, %d variables left, %+v", races, kept, a.Stats())
	}
}
