package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// racesOf returns races in functions of files, two of each function, on objects of their own.
func racesOf(n int) ([]finding.Finding, table) {
	tab := shopTable()
	var fs []finding.Finding
	for i := range n {
		object, stack := event.ObjectID(100+i), event.StackID(100+2*i)
		tab.objects[object] = run.Object{Name: fmt.Sprintf("totals_%d", i), Addr: uint64(0x6000 + 8*i), Kind: event.KindVariable}
		file := fmt.Sprintf("/home/u/shop/part%d.c", i/6)
		tab.stacks[stack] = stackOf(src(fmt.Sprintf("add_%d", i/2), file, 10+i), src("front_desk", "/home/u/shop/shop.c", 41))
		tab.stacks[stack+1] = stackOf(src(fmt.Sprintf("show_%d", i/2), file, 100+i), src("back_desk", "/home/u/shop/desk/shop.c", 57))
		f := race()
		f.Objects, f.Confidence, f.Count = []event.ObjectID{object}, finding.Predicted, 1
		if i%3 == 2 {
			f.Confidence = finding.Likely
		}
		f.Assumes = []string{finding.RaceFree}
		for k := range f.Evidence {
			f.Evidence[k].Object, f.Evidence[k].Stack, f.Evidence[k].Seq = object, stack+event.StackID(k), uint64(10*i+k+1)
		}
		fs = append(fs, f)
	}
	return fs, tab
}

// TestManyFindingsInBrief checks that a report of many findings is short, names all of them, and
// has all details if they are asked for.
func TestManyFindingsInBrief(t *testing.T) {
	const title = "RACE predicted"
	for _, c := range []struct {
		findings  int
		options   TextOptions
		detailed  int
		most      int // lines; 0: any number
		overview  bool
		schedules bool // of all
	}{
		{10, TextOptions{}, 10, 0, false, true},
		{11, TextOptions{}, 10, maxLines, true, false},
		{86, TextOptions{}, 10, maxLines, true, false},
		{86, TextOptions{Verbose: true}, 86, 0, true, true},
		{86, TextOptions{Complete: true}, 86, 0, true, true},
	} {
		fs, tab := racesOf(c.findings)
		for i := range fs {
			fs[i].Confidence = finding.Predicted
		}
		c.options.Width = 120
		got := text(t, Build(shopRun(), fs, tab), c.options)
		if n := strings.Count(got, title+"\n"); n != c.detailed {
			t.Errorf("%d findings, %+v: %d have details, want %d", c.findings, c.options, n, c.detailed)
		}
		if n := strings.Count(got, "\n"); c.most > 0 && n > c.most {
			t.Errorf("%d findings, %+v: %d lines, want at most %d", c.findings, c.options, n, c.most)
		}
		if overview := strings.Contains(got, "by file and function:"); overview != c.overview {
			t.Errorf("%d findings, %+v: an overview: %v", c.findings, c.options, overview)
		}
		if n := strings.Count(got, "How it could happen"); n == 0 || (n == c.findings) != c.schedules {
			t.Errorf("%d findings, %+v: %d schedules", c.findings, c.options, n)
		}
		if head, _, _ := strings.Cut(got, "\n"); !strings.Contains(head, fmt.Sprintf("%d races predicted", c.findings)) {
			t.Errorf("the first line is %q", head)
		}
		checkWidth(t, got, 120)
	}
}

// TestManyFindingsOfLongNames checks the length for long names and deep stacks.
func TestManyFindingsOfLongNames(t *testing.T) {
	for _, width := range []int{120, 160} {
		got := text(t, Build(shopRun(), many(86), manyTable()), TextOptions{Width: width})
		if n := strings.Count(got, "\n"); n > maxLines*5/4 {
			t.Errorf("width %d: %d lines", width, n)
		}
		checkWidth(t, got, width)
	}
}

// TestOverviewCounts checks that the rows of the table count all findings once.
func TestOverviewCounts(t *testing.T) {
	fs, tab := racesOf(86)
	r := Build(shopRun(), fs, tab)
	p := newPrinter(r, TextOptions{Width: 120})
	total := 0
	for _, row := range p.overviewRows(p.names.causes(r.Findings)) {
		total += row.count
	}
	if total != 86 {
		t.Errorf("the rows count %d findings", total)
	}
	shown := text(t, r, TextOptions{Width: 120})
	if !strings.Contains(shown, "  and 62 more findings in 62 more functions\n") {
		t.Errorf("the rest is not counted in\n%s", shown)
	}
}

func TestOverviewGolden(t *testing.T) {
	fs, tab := racesOf(14)
	for _, width := range []int{80, 120} {
		got := text(t, Build(shopRun(), append(fs, deadlock(ledger, till)), tab), TextOptions{Width: width})
		golden(t, fmt.Sprintf("many-%d.txt", width), []byte(got))
		checkWidth(t, got, width)
	}
}
