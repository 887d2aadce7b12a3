package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// raceBetween returns a race on an object between two source locations: the function of location n is
// f<n>.
func raceBetween(tab table, object run.Object, a, b int, confidence finding.Confidence) finding.Finding {
	id := event.ObjectID(1000 + len(tab.objects))
	if object.Kind == event.KindUnknown {
		object.Kind = event.KindVariable
	}
	tab.objects[id] = object
	f := race()
	f.Objects, f.Confidence, f.Reason, f.Count = []event.ObjectID{id}, confidence, "", 1
	for k, at := range []int{a, b} {
		stack := event.StackID(1000 + at)
		tab.stacks[stack] = stackOf(src(fmt.Sprintf("f%d", at), "/home/u/shop/item.c", 10*at))
		f.Evidence[k].Object, f.Evidence[k].Stack, f.Evidence[k].Seq = id, stack, uint64(10*a+b+k)
	}
	return f
}

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
			tab := shopTable()
			var fs []finding.Finding
			for _, r := range c.races {
				fs = append(fs, raceBetween(tab, r.object, r.a, r.b, r.confidence))
			}
			r := Build(shopRun(), fs, tab)
			var got []int
			for _, cause := range r.names.causes(r.Findings) {
				got = append(got, cause.pairs())
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

// TestDeadlocksHaveCausesOfTheirOwn checks that only races are joined.
func TestDeadlocksHaveCausesOfTheirOwn(t *testing.T) {
	r := Build(shopRun(), all(), shopTable())
	if n := len(r.names.causes(r.Findings)); n != len(all()) {
		t.Errorf("%d causes of %d findings", n, len(all()))
	}
}

// itemRaces are six pairs of accesses of one field, one of them predicted.
func itemRaces() Report {
	tab := shopTable()
	var fs []finding.Finding
	for i := range 6 {
		confidence := finding.Likely
		if i == 4 {
			confidence = finding.Predicted
		}
		fs = append(fs, raceBetween(tab, run.Object{Name: "it_flags of struct item", Addr: 0x9000, Kind: event.KindField}, 2*i+1, 2*i+2, confidence))
	}
	return Build(shopRun(), fs, tab)
}

// TestStrongestOfCauseIsShown checks what the text says of a cause: the strongest pair with its
// details, and the others in brief.
func TestStrongestOfCauseIsShown(t *testing.T) {
	r := itemRaces()
	got := text(t, r, TextOptions{Width: 200})
	for _, want := range []string{
		"tracepredict: 1 race predicted in shop", "1. RACE predicted, and 5 other pairs of accesses\n", "in f9 at item.c:90 (T2)", "2 more with --verbose",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "(likely)"); n != maxPairs || strings.Contains(got, "2. RACE") {
		t.Errorf("%d other pairs are named:\n%s", n, got)
	}
	whole := text(t, r, TextOptions{Width: 200, Verbose: true})
	for _, f := range r.Findings {
		if !strings.Contains(whole, f.Fingerprint) {
			t.Errorf("the verbose report has no %s:\n%s", f.Fingerprint, whole)
		}
	}
	golden(t, "cause-100.txt", []byte(text(t, r, TextOptions{Width: 100})))
	golden(t, "cause-verbose.txt", []byte(text(t, r, TextOptions{Width: 100, Verbose: true})))
}

// TestTiesOfCauseByFingerprint checks which of equally strong findings is shown.
func TestTiesOfCauseByFingerprint(t *testing.T) {
	r := itemRaces()
	for i := range r.Findings {
		r.Findings[i].Confidence = finding.Likely
	}
	first := slices.MinFunc(r.Findings, func(a, b Finding) int { return strings.Compare(a.Fingerprint, b.Fingerprint) })
	if lead := r.names.causes(r.Findings)[0].lead; lead.Fingerprint != first.Fingerprint {
		t.Errorf("%s is shown, want %s", lead.Fingerprint, first.Fingerprint)
	}
}

// TestCausesInJSON checks that JSON has all findings, each with the fingerprint of the one that the
// text shows.
func TestCausesInJSON(t *testing.T) {
	r := itemRaces()
	var got struct {
		Findings []struct{ Cause, Fingerprint, Confidence string }
	}
	if err := json.Unmarshal(writeJSON(t, r), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 6 {
		t.Fatalf("%d findings", len(got.Findings))
	}
	for _, f := range got.Findings {
		if f.Cause != got.Findings[0].Fingerprint || got.Findings[0].Confidence != "predicted" {
			t.Errorf("the cause of %s is %s", f.Fingerprint, f.Cause)
		}
	}
	if r.Findings[0].Cause != "" {
		t.Error("writing JSON changed the report")
	}
}
