package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

func TestCauses(t *testing.T) {
	const p, l = finding.Predicted, finding.Likely
	named := func(name string) run.Object { return run.Object{Name: name, Addr: uint64(0x7000 + len(name))} }
	field := run.Object{Name: "it_flags of struct item", Addr: 0x9000, Kind: event.KindField}
	other := field
	other.Addr = 0x9100
	inBlock := func(init event.StackID, offset, element uint64) run.Object {
		return run.Object{Addr: 0xa000 + offset, Init: init, Block: run.Block{Size: 4096, Offset: offset, Element: element}}
	}
	type pair struct {
		object     run.Object
		a, b       int
		confidence finding.Confidence
	}
	for _, c := range []struct {
		name  string
		races []pair
		want  []int // the sizes of the causes, the largest first
	}{
		{"a field in many places", []pair{{field, 1, 2, p}, {other, 3, 4, p}, {field, 5, 6, p}, {field, 7, 8, l}}, []int{4}},
		{"two variables in different places", []pair{{named("a"), 1, 2, p}, {named("bb"), 3, 4, p}}, []int{1, 1}},
		{"elements of an array", []pair{{named("slots[1]"), 1, 2, p}, {named("slots[2]"), 3, 4, p}}, []int{2}},
		{"memory allocated in one place", []pair{{inBlock(20, 16, 0), 1, 2, p}, {inBlock(20, 16, 0), 3, 4, p}}, []int{2}},
		{"at another offset", []pair{{inBlock(20, 16, 0), 1, 2, p}, {inBlock(20, 24, 0), 3, 4, p}}, []int{1, 1}},
		{"allocated in another place", []pair{{inBlock(20, 16, 0), 1, 2, p}, {inBlock(10, 16, 0), 3, 4, p}}, []int{1, 1}},
		{"of another element", []pair{{inBlock(20, 16, 32), 1, 2, p}, {inBlock(20, 80, 32), 3, 4, p}}, []int{2}},
		{"an unknown object has no name to share", []pair{{run.Object{}, 1, 2, p}, {run.Object{}, 3, 4, p}}, []int{1, 1}},
		{"one function for several variables", []pair{{named("a"), 1, 2, p}, {named("bb"), 1, 3, p}, {named("ccc"), 4, 1, p}}, []int{3}},
		{"a pair without that function", []pair{{named("a"), 1, 2, p}, {named("bb"), 1, 3, l}, {named("bb"), 4, 5, l}}, []int{2, 1}},
		{"no chain of sides", []pair{{named("a"), 1, 2, finding.Observed}, {named("bb"), 2, 3, p}, {named("ccc"), 3, 4, l}}, []int{2, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := reporttest.ShopTable()
			var fs []finding.Finding
			for _, r := range c.races {
				fs = append(fs, reporttest.RaceBetween(tab, r.object, r.a, r.b, r.confidence))
			}
			r := report.Build(reporttest.ShopRun(), fs, tab)
			var got []int
			for _, cause := range r.Causes() {
				got = append(got, cause.Pairs())
			}
			slices.Sort(got)
			slices.Reverse(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("sizes of causes (-want +got):\n%s", diff)
			}
			if len(r.Findings) != len(c.races) {
				t.Errorf("%d findings of %d races", len(r.Findings), len(c.races))
			}
		})
	}
}

// TestHalfARaceHasACauseOfItsOwn checks that races without a second side, which have no pair to name, are not joined
// with others in the same place, as whole ones are.
func TestHalfARaceHasACauseOfItsOwn(t *testing.T) {
	tab := reporttest.ShopTable()
	of := func(variable string, sides int) finding.Finding {
		f := reporttest.RaceBetween(tab, run.Object{Name: variable, Addr: uint64(0x7000 + len(variable))}, 1, 2, finding.Predicted)
		f.Evidence = f.Evidence[:sides]
		return f
	}
	for second, want := range map[int]int{2: 1, 1: 2, 0: 2} {
		r := report.Build(reporttest.ShopRun(), []finding.Finding{of("a", 2), of("bb", second)}, tab)
		if n := len(r.Causes()); n != want {
			t.Errorf("%d causes of two races, one with %d sides, want %d", n, second, want)
		}
	}
}

// TestDeadlocksHaveCausesOfTheirOwn checks that only races are joined.
func TestDeadlocksHaveCausesOfTheirOwn(t *testing.T) {
	r := report.Build(reporttest.ShopRun(), reporttest.All(), reporttest.ShopTable())
	if n := len(r.Causes()); n != len(reporttest.All()) {
		t.Errorf("%d causes of %d findings", n, len(reporttest.All()))
	}
}

// TestTiesOfCauseByFingerprint checks which of equally strong findings is shown.
func TestTiesOfCauseByFingerprint(t *testing.T) {
	r := reporttest.ItemRaces()
	for i := range r.Findings {
		r.Findings[i].Confidence = finding.Likely
	}
	first := slices.MinFunc(r.Findings, func(a, b report.Finding) int { return strings.Compare(a.Fingerprint, b.Fingerprint) })
	if lead := r.Causes()[0].Lead; lead.Fingerprint != first.Fingerprint {
		t.Errorf("%s is shown, want %s", lead.Fingerprint, first.Fingerprint)
	}
}
