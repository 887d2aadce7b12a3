package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestSteeringForms: what a report says of a schedule is the schedule, with the program where it is now.
func TestSteeringForms(t *testing.T) {
	files := fileTable{builds: map[string]string{"/ci/shop": "aa", "/lib/till.so": "bb"}, program: "/ci/shop"}
	here := reported{program: "/opt/shop"}
	locks := &steer.Plan{
		Sites: []steer.Site{{Module: "/ci/shop", Return: 0x118a}, {Module: "/lib/till.so", Return: 0x20}},
		Gates: []steer.Gate{{Thread: []int{0}, Site: 0, Count: 3, After: []int{1}, What: "T2 requests till"}, {Thread: []int{1, 0}, Site: 1, Count: 1, After: []int{0}, What: "T3 requests shelf"}},
	}
	race := &steer.Plan{Pair: &steer.Pair{Sides: [2]steer.Side{{Thread: []int{}, Module: "/ci/shop", At: 7, What: "T1"}, {Thread: []int{0}, Module: "/lib/till.so", At: 9, What: "T2"}}}}
	exact := &steer.Plan{
		Exact: true,
		Sites: []steer.Site{{Module: "/ci/shop", Return: 0x118a}, {Module: "/ci/shop", At: 0x118a}},
		Gates: []steer.Gate{
			{Thread: []int{0}, Site: 0, Count: 3, Returns: true, What: "T2 releases till"},
			{Thread: []int{1}, Site: 1, Behind: []int{0}, Pause: time.Second, What: "T3 writes sold"},
			{Thread: []int{2}, Site: 1, Behind: []int{1}, Optional: true, What: "T4 writes sold"},
		},
	}
	guided := *exact
	guided.Pair = &steer.Pair{Sides: race.Pair.Sides}
	guided.Pair.Sides[1].Count = 2
	for kind, plans := range map[finding.Kind][]*steer.Plan{finding.Deadlock: {locks, exact}, finding.Race: {race, &guided}} {
		for _, plan := range plans {
			var f report.Finding
			f.Kind, f.Evidence, f.Steering = kind, make([]report.Step, 2), files.steering(plan)
			if _, err := here.planned(&f); err != nil {
				t.Fatal(err)
			}
			want := moved(plan)
			if diff := cmp.Diff(want, here.plan(f.Steering)); diff != "" {
				t.Errorf("%s: %s", kind, diff)
			}
		}
	}
}

// moved returns a plan in which the program is in another folder.
func moved(plan *steer.Plan) *steer.Plan {
	out := *plan
	out.Sites = slices.Clone(plan.Sites)
	for i := range out.Sites {
		out.Sites[i].Module = strings.Replace(out.Sites[i].Module, "/ci/", "/opt/", 1)
	}
	if plan.Pair != nil {
		pair := *plan.Pair
		pair.Sides[0].Module = "/opt/shop"
		out.Pair = &pair
	}
	return &out
}

// TestVariants: in every second try operations have no numbers; of a race, threads follow the schedule in every second try.
func TestVariants(t *testing.T) {
	gates := []steer.Gate{{Count: 3}}
	pair := &steer.Pair{Sides: [2]steer.Side{{Count: 2}, {}}}
	alone := func(skip uint32) *steer.Plan { return &steer.Plan{Pair: &steer.Pair{Skip: skip}} }
	locks, guided := &steer.Plan{Gates: gates}, &steer.Plan{Exact: true, Gates: gates, Pair: pair}
	for _, c := range []struct {
		first *steer.Plan
		want  []*steer.Plan
	}{
		{locks, []*steer.Plan{locks, {Gates: []steer.Gate{{}}}, locks}},
		{alone(0), []*steer.Plan{alone(0), alone(1), alone(2)}},
		{guided, []*steer.Plan{alone(0), guided, alone(1), {Exact: true, Gates: []steer.Gate{{}}, Pair: &steer.Pair{}}, alone(2), guided}},
	} {
		next := variants(c.first)
		for n, want := range c.want {
			if diff := cmp.Diff(want, next(n)); diff != "" {
				t.Errorf("try %d: %s", n+1, diff)
			}
		}
	}
	if gates[0].Count != 3 || pair.Sides[0].Count != 2 {
		t.Errorf("the first schedule has changed: %+v, %+v", gates, pair)
	}
}

// TestUnsteered: a finding of which the report does not say how it is reached is not tried, and that is said.
func TestUnsteered(t *testing.T) {
	meets := make([]report.SteeredStep, 2)
	for want, f := range map[string]*report.Finding{
		"--format json of exec does":          {},
		"only deadlocks of locks are tried":   {Steering: &report.Steering{Reason: "only deadlocks of locks are tried"}},
		"it is about a specification":         {Finding: finding.Finding{Kind: finding.Scoped}, Steering: &report.Steering{Steps: make([]report.SteeredStep, 1)}},
		"the report does not say how":         {Finding: finding.Finding{Kind: finding.Deadlock}, Steering: &report.Steering{Meets: meets}},
		"both sides of a pair are the thread": {Finding: finding.Finding{Kind: finding.Race}, Evidence: make([]report.Step, 2), Steering: &report.Steering{Files: make([]report.SteeredFile, 1), Meets: meets}},
	} {
		if _, err := (&reported{}).planned(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestOtherLibrary: a finding in a library that is missing, or another one, is not tried; the rest of the report is.
func TestOtherLibrary(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := reported{name: "report.json", program: self, files: map[string]*elf.File{}}
	defer p.close()
	for want, f := range map[string]report.SteeredFile{
		"a library of the run that the report is of is missing":                            {Path: "/missing.so"},
		"is another one than in the run that the report is of: its build ID was 0123, and": {Path: self, Build: "0123"},
	} {
		s := &report.Steering{Files: []report.SteeredFile{f}}
		if err := p.checkPlaces(s); err != nil || !strings.Contains(s.Reason, want) {
			t.Errorf("%q, %v, want %q", s.Reason, err, want)
		}
	}
	for _, instruction := range []bool{false, true} {
		s := &report.Steering{Files: []report.SteeredFile{{Program: true}}, Steps: []report.SteeredStep{{Address: 1, Instruction: instruction, Text: "T2 requests till"}}}
		if err := p.checkPlaces(s); err == nil || !strings.Contains(err.Error(), "is not a report of this program") {
			t.Errorf("%v", err)
		}
	}
}

// TestEnter: what came of tries replaces what came of earlier ones, but for the confidence that the finding had before any.
func TestEnter(t *testing.T) {
	var f report.Finding
	enter(&f, &report.Confirmation{Confirmed: true, Was: finding.Likely})
	enter(&f, &report.Confirmation{Try: 5, Reason: "diverged"})
	if want := (&report.Confirmation{Try: 5, Reason: "diverged", Was: finding.Likely}); !cmp.Equal(want, f.Confirmation) {
		t.Errorf("%+v, want %+v", f.Confirmation, want)
	}
}
