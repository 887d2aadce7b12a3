package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// tableOfPhilosophers returns the names of n philosophers' findings. At stack 1 a philosopher
// acquires the fork on the left, at stack 2 the one on the right. Forks are objects from 1,
// philosophers are threads from 2.
func tableOfPhilosophers(n int) table {
	t := table{objects: map[event.ObjectID]run.Object{}, threads: map[event.ThreadID]run.Thread{}, stacks: map[event.StackID][]event.Frame{
		1: stackOf(within("dine", 24, 21)), 2: stackOf(within("dine", 25, 21)), 3: stackOf(within("lay", 33, 31)),
		4: stackOf(within("dine_late", 44, 41)), 5: stackOf(within("dine_late", 45, 41)),
	}}
	for i := range n {
		t.objects[event.ObjectID(i+1)] = run.Object{Addr: uint64(0x1000 + 64*i), Kind: event.KindMutex, Init: 3}
		t.threads[event.ThreadID(i+2)] = run.Thread{Start: "dine"}
	}
	return t
}

func within(function string, line, start int) event.Frame {
	f := src(function, "/home/u/philosophers.c", line)
	f.Start = start
	return f
}

// philosophers returns the cycle of n philosophers; those in late acquire their forks at other
// source locations.
func philosophers(n int, late ...int) finding.Finding {
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Predicted, Count: 1}
	for i := range n {
		left, right := event.ObjectID(i+1), event.ObjectID((i+1)%n+1)
		at := event.StackID(1)
		if slices.Contains(late, i) {
			at = 4
		}
		f.Objects, f.Threads = append(f.Objects, left), append(f.Threads, event.ThreadID(i+2))
		f.Evidence = append(f.Evidence, finding.Step{Seq: uint64(10 * (i + 1)), Thread: event.ThreadID(i + 2), Op: event.Acquire,
			Object: right, Stack: at + 1, Held: []event.ObjectID{left}, HeldAt: []event.StackID{at}})
	}
	return f
}

// TestAThousandPhilosophersAreOneFinding checks that their deadlock is one finding, with the
// fingerprint of that of five philosophers.
func TestAThousandPhilosophersAreOneFinding(t *testing.T) {
	rep := Build(Run{}, []finding.Finding{philosophers(1000), philosophers(5), philosophers(7)}, tableOfPhilosophers(1000))
	if len(rep.Findings) != 1 {
		t.Fatalf("%d findings", len(rep.Findings))
	}
	f := rep.Findings[0]
	if len(f.Evidence) != 5 || f.Count != 3 || f.ThreadCount != 1000 || len(f.Others) != 2 || len(f.Others[1].Threads) != maxOthers {
		t.Errorf("%d sides, seen %d times by %d threads, %d others", len(f.Evidence), f.Count, f.ThreadCount, len(f.Others))
	}
	if d := cmp.Diff([]int{0, 1}, f.Explains); d != "" {
		t.Error(d)
	}
}

// TestEachRoleOfACycleIsShownOnce checks that the report of a cycle shows each role once, so
// that one of a thousand sides fits on a page.
func TestEachRoleOfACycleIsShownOnce(t *testing.T) {
	for name, f := range map[string]finding.Finding{"same": philosophers(1000), "late": philosophers(1000, 3, 700), "four": philosophers(4)} {
		rep := Build(Run{Summary: run.Summary{Program: "philosophers", Threads: 1001}}, []finding.Finding{f}, tableOfPhilosophers(1000))
		golden(t, "cycle-"+name+".txt", []byte(text(t, rep, TextOptions{Width: 120})))
	}
}

func TestExplaining(t *testing.T) {
	for _, c := range []struct {
		kind  finding.Kind
		roles string
		want  []int
	}{
		{finding.Deadlock, "", nil},
		{finding.Deadlock, "a", []int{0}},
		{finding.Deadlock, "ab", []int{0, 1}},
		{finding.Deadlock, "aa", []int{0, 1}},
		{finding.Deadlock, "aaaa", []int{0, 1}},
		{finding.Deadlock, "aabab", []int{0, 2}},
		{finding.Deadlock, "abca", []int{0, 1, 2}},
		{finding.Deadlock, "aaa", []int{0, 1, 2}},
		{finding.Race, "aa", []int{0, 1}},
		{finding.Property, "aaa", []int{0, 1, 2}},
	} {
		f := Finding{Finding: finding.Finding{Kind: c.kind}}
		if c.roles != "" {
			f.roles = strings.Split(c.roles, "")
		}
		if d := cmp.Diff(c.want, explaining(&f)); d != "" {
			t.Errorf("%s: %s", c.roles, d)
		}
	}
}

// changed returns the fingerprint of a race on an element of an array, after a change to its
// description.
func changed(change func(*event.Frame, *run.Object)) string {
	frame := event.Frame{Function: "Desk::sell(int)", File: "/home/u/desk.cc", Line: 26, Start: 20, Module: "/opt/shop/libdesk.so.1", Offset: 0x31}
	object := run.Object{Name: "desks[3].sold", Addr: 0x4000, Kind: event.KindVariable}
	change(&frame, &object)
	tab := table{objects: map[event.ObjectID]run.Object{1: object}, stacks: map[event.StackID][]event.Frame{1: {frame}, 2: {src("refund", "/home/u/desk.cc", 90)}}}
	f := finding.Finding{Kind: finding.Race, Objects: []event.ObjectID{1}, Evidence: []finding.Step{
		{Seq: 1, Thread: 2, Op: event.Write, Object: 1, Stack: 1}, {Seq: 2, Thread: 3, Op: event.Write, Object: 1, Stack: 2}}}
	return Build(Run{}, []finding.Finding{f}, tab).Findings[0].Fingerprint
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

func TestFunctionNames(t *testing.T) {
	for name, want := range map[string]string{
		"":                                   "",
		"main":                               "main",
		"f.isra.0.cold":                      "f",
		"f.part.12.constprop.3":              "f",
		"Q<int>::put(int)":                   "Q<>::put(int)",
		"put<int>(int)":                      "put<>",
		"put<long>(std::vector<long>)":       "put<>",
		"V::name[abi:cxx11](char)":           "V::name(char)",
		"operator<(A, B)":                    "operator<(A, B)",
		"f(std::pair<int, int>)":             "f(std::pair<>)",
		"run()::{lambda(int)#1}::operator()": "run()::{lambda(int)#1}::operator()",
	} {
		if got := functionName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
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
			t.Errorf("%s and %s are two: %q, %q", numbered, inlined, lambdaName(functionName(numbered)), lambdaName(functionName(inlined)))
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

func TestModuleNames(t *testing.T) {
	for path, want := range map[string]string{
		"/opt/shop":                 "shop",
		"/lib/libz.so.1.2.13":       "libz.so",
		"/lib/libc-2.31.so":         "libc.so",
		"/lib/ld-linux-x86-64.so.2": "ld-linux-x86-64.so",
		"/lib/a-b.so":               "a-b.so",
		"[kernel]":                  "[kernel]",
	} {
		if got := moduleName(event.Frame{Module: path}); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestOneDefectManyObjects checks that findings about many locks, which are initialised at one
// source location and acquired at the same two, become one finding, also with other callers.
func TestOneDefectManyObjects(t *testing.T) {
	tab := tableOfPhilosophers(40)
	tab.stacks[6] = append([]event.Frame{within("dine", 24, 21)}, stackOf(within("feast", 90, 80))...)
	var all []finding.Finding
	for i := range 20 {
		f := philosophers(2)
		for k := range f.Evidence {
			s := &f.Evidence[k]
			s.Object += event.ObjectID(2 * i)
			s.Held[0] += event.ObjectID(2 * i)
			s.Seq += uint64(100 * i)
			s.Thread += event.ThreadID(i % 3)
			if i%2 == 0 {
				s.HeldAt[0] = 6
			}
			f.Objects[k] += event.ObjectID(2 * i)
		}
		all = append(all, f)
	}
	got := Build(Run{}, all, tab).Findings
	if len(got) != 1 || got[0].Count != 20 || got[0].ThreadCount != 4 || len(got[0].Others) != maxOthers {
		t.Fatalf("%d findings", len(got))
	}
	if says := text(t, Build(Run{}, all, tab), TextOptions{Width: 120}); !strings.Contains(says, "DEADLOCK predicted, seen 20 times by 4 threads") ||
		!strings.Contains(says, "also seen: T3 and T4 on the mutex 0x1080") {
		t.Error(says)
	}
	var objects []string
	for _, o := range got[0].Others[0].Objects {
		objects = append(objects, fmt.Sprintf("%#x", o.Addr))
	}
	if d := cmp.Diff([]string{"0x1080", "0x10c0"}, objects); d != "" {
		t.Error(d)
	}
}
