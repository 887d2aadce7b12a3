package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// changed returns the fingerprint of a race on an element of an array, after a change to its
// description.
func changed(change func(*event.Frame, *run.Object)) string {
	frame := event.Frame{Function: "Desk::sell(int)", File: "/home/u/desk.cc", Line: 26, Start: 20, Module: "/opt/shop/libdesk.so.1", Offset: 0x31}
	object := run.Object{Name: "desks[3].sold", Addr: 0x4000, Kind: event.KindVariable}
	change(&frame, &object)
	tab := reporttest.Table{Objects: map[event.ObjectID]run.Object{1: object}, Stacks: map[event.StackID][]event.Frame{1: {frame}, 2: {reporttest.Src("refund", "/home/u/desk.cc", 90)}}}
	f := finding.Finding{Kind: finding.Race, Objects: []event.ObjectID{1}, Evidence: []finding.Step{
		{Seq: 1, Thread: 2, Op: event.Write, Object: 1, Stack: 1}, {Seq: 2, Thread: 3, Op: event.Write, Object: 1, Stack: 2}}}
	return report.Build(report.Run{}, []finding.Finding{f}, tab).Findings[0].Fingerprint
}

func TestFingerprintAcrossBuilds(t *testing.T) {
	bare := func(f *event.Frame) { f.File, f.Line, f.Start = "", 0, 0 }
	debug := changed(func(*event.Frame, *run.Object) {})
	symbols := changed(func(f *event.Frame, _ *run.Object) { bare(f) })
	for _, c := range []struct {
		what   string
		like   string
		same   bool
		change func(*event.Frame, *run.Object)
	}{
		{"lines above", debug, true, func(f *event.Frame, _ *run.Object) { f.Line, f.Start = 36, 30 }},
		{"a line in the function", debug, false, func(f *event.Frame, _ *run.Object) { f.Line = 27 }},
		{"another layout of code", debug, true, func(f *event.Frame, _ *run.Object) { f.Offset, f.Addr = 0x99, 0x123456 }},
		{"another directory, another library", debug, true, func(f *event.Frame, _ *run.Object) { f.File, f.Module = "/build/desk.cc", "/opt/shop" }},
		{"another element", debug, true, func(_ *event.Frame, o *run.Object) { o.Name = "desks[12].sold" }},
		{"another member", debug, false, func(_ *event.Frame, o *run.Object) { o.Name = "desks[3].name" }},
		{"a copy of the function", debug, true, func(f *event.Frame, _ *run.Object) { f.Function += ".constprop.0" }},
		{"another function", debug, false, func(f *event.Frame, _ *run.Object) { f.Function = "Desk::sell(long)" }},
		{"no debug information", debug, false, func(f *event.Frame, _ *run.Object) { bare(f) }},
		{"no debug information, another version", symbols, true, func(f *event.Frame, _ *run.Object) { bare(f); f.Module = "/lib/libdesk.so.2.0.1" }},
		{"no debug information, other code", symbols, false, func(f *event.Frame, _ *run.Object) { bare(f); f.Offset++ }},
	} {
		if got := changed(c.change); (got == c.like) != c.same {
			t.Errorf("%s: same is %v", c.what, got == c.like)
		}
	}
}

// TestLambdasOfTwoBuilds checks that two builds have equal fingerprints even if one inlines a
// lambda, so that the compiler's number of the lambda is unknown.
func TestLambdasOfTwoBuilds(t *testing.T) {
	as := func(name string) string {
		return changed(func(f *event.Frame, _ *run.Object) { f.Function = name })
	}
	for numbered, inlined := range map[string]string{
		"run()::{lambda()#2}::operator()() const":                                                "run()::{lambda}::operator()",
		"run<T>()::{lambda(run<T>()::{lambda()#1}, int)#1}::operator()(auto, int) const":         "run<U>()::{lambda}::operator()",
		"A::f(int)::{lambda(int)#1}::operator()(int) const::{lambda()#1}::operator()() const":    "A::f(int)::{lambda}::operator()::{lambda}::operator()",
		"A::f() const::{lambda(int)#1}::operator()(int) const::{lambda()#3}::operator()() const": "A::f()::{lambda}::operator()::{lambda}::operator()",
	} {
		if as(numbered) != as(inlined) {
			t.Errorf("%s and %s are two", numbered, inlined)
		}
	}
	if as("run()::{lambda}::operator()") == as("walk()::{lambda}::operator()") {
		t.Error("lambdas of two functions are one")
	}
	bare := func(name string) string {
		return changed(func(f *event.Frame, _ *run.Object) { f.Function, f.File, f.Line, f.Start = name, "", 0, 0 })
	}
	if bare("run()::{lambda()#1}::operator()() const") == bare("run()::{lambda()#2}::operator()() const") {
		t.Error("without lines, two lambdas of a function are one")
	}
}

func TestFingerprint(t *testing.T) {
	base := reporttest.ShopTable()
	one := func(f finding.Finding, tab reporttest.Table) string {
		return report.Build(report.Run{}, []finding.Finding{f}, tab).Findings[0].Fingerprint
	}
	want := one(reporttest.Deadlock(reporttest.Ledger, reporttest.Till), base)

	moved := reporttest.ShopTable()
	moved.Base = 0x7f0000000000
	mirrored := reporttest.Deadlock(reporttest.Ledger, reporttest.Till)
	slices.Reverse(mirrored.Evidence)
	slices.Reverse(mirrored.Threads)
	slices.Reverse(mirrored.Objects)
	other := reporttest.Deadlock(reporttest.Ledger, reporttest.Till)
	for i := range other.Evidence {
		other.Evidence[i].Thread += 5
		other.Evidence[i].Seq = 100 - other.Evidence[i].Seq
	}
	other.Confidence, other.Witness, other.Assumes = finding.Potential, nil, nil
	elsewhere := reporttest.ShopTable()
	for id, frames := range elsewhere.Stacks {
		for i := range frames {
			frames[i].File = strings.Replace(frames[i].File, "/home/u/", "/build/ci/", 1)
			frames[i].Module = strings.Replace(frames[i].Module, "/opt/", "/tmp/", 1)
		}
		elsewhere.Stacks[id] = frames
	}
	for name, got := range map[string]string{
		"address layout":         one(reporttest.Deadlock(reporttest.Ledger, reporttest.Till), moved),
		"mirrored":               one(mirrored, base),
		"threads, order of run":  one(other, base),
		"directory of the build": one(reporttest.Deadlock(reporttest.Ledger, reporttest.Till), elsewhere),
	} {
		if got != want {
			t.Errorf("%s changes the fingerprint", name)
		}
	}

	line := reporttest.ShopTable()
	line.Stacks[2] = reporttest.StackOf(reporttest.Src("sell", "/home/u/shop/shop.c", 23))
	renamed := reporttest.ShopTable()
	renamed.Objects[reporttest.Ledger] = run.Object{Name: "book", Kind: event.KindMutex}
	for name, got := range map[string]string{
		"another line": one(reporttest.Deadlock(reporttest.Ledger, reporttest.Till), line),
		"another lock": one(reporttest.Deadlock(reporttest.Ledger, reporttest.Till), renamed),
		"a race":       one(reporttest.Race(), base),
	} {
		if got == want {
			t.Errorf("%s keeps the fingerprint", name)
		}
	}

	if one(reporttest.Deadlock(reporttest.HeapA, reporttest.HeapB), base) != one(reporttest.Deadlock(reporttest.HeapA, reporttest.HeapB), moved) {
		t.Error("locks without a name: the fingerprint depends on their addresses")
	}
	update := reporttest.Race()
	update.Evidence[0].Op = event.Update
	if one(update, base) != one(reporttest.Race(), base) {
		t.Error("n++ caught as a write and as an update are two fingerprints")
	}
}
