package main

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/specs"
)

// TestInstalledSpecifications: each can be read without a warning, has typestates and says in a line what it is for.
func TestInstalledSpecifications(t *testing.T) {
	all, err := specs.All()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d specifications, %v", len(all), err)
	}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			s, _, problems := spec.ForRun(c.Name, spec.Options{Installed: specs.Files()}, spec.MonitorOptions{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if len(s.Typestates) == 0 {
				t.Error("it has no typestate")
			}
			if n := len(c.Summary); n < 20 || n > 100 || !strings.HasSuffix(c.Summary, ".") {
				t.Errorf("its summary is no line: %q", c.Summary)
			}
			for i, g := range s.Plan().Groups {
				if g != c.Name {
					t.Errorf("%s is of the group %q", s.Plan().On[i], g)
				}
			}
		})
	}
}

// TestSpecsCommand: the list has a line for each specification, and each can be printed.
func TestSpecsCommand(t *testing.T) {
	run := func(want int, args ...string) (out, errs string) {
		t.Helper()
		var stdout, stderr strings.Builder
		if got := execute(append([]string{"specs"}, args...), &stdout, &stderr); got != want {
			t.Errorf("specs %q: status %d, want %d: %s", args, got, want, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	list, _ := run(0)
	all, err := specs.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if !strings.Contains(list, s.Name+" ") || !strings.Contains(list, s.Summary+"\n") {
			t.Errorf("the list does not have %s: %s", s.Name, list)
		}
		for _, name := range []string{s.Name, s.Name + ".tps"} {
			if text, _ := run(0, name); text != s.Text {
				t.Errorf("%s prints %q", name, text)
			}
		}
	}
	if _, errs := run(exitUsage, "std/nothing"); !strings.Contains(errs, "std/stdio") {
		t.Errorf("the error does not list what there is: %s", errs)
	}
}

// TestMineInstalledSpecification: mine takes the calls of a specification that comes with tracepredict.
func TestMineInstalledSpecification(t *testing.T) {
	s, err := (&mineFlags{spec: "std/stdio"}).alphabet("")
	if err != nil || len(s.Typestates) == 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// TestFormulaFlag: --formula=paper makes a formula of the races that are asked for, in place of the order of events, and is
// refused where none are.
func TestFormulaFlag(t *testing.T) {
	for formula, formulas := range map[string]int{formulaOrder: 0, formulaPaper: 1} {
		f := &specFlags{checks: []string{"races=server.hits"}, formula: formula}
		s, err := f.load()
		if err != nil || len(s.Formulas) != formulas || s.Requests("races") != (formulas == 0) || s.reportsRaces("server.hits", nil) != (formulas == 0) {
			t.Errorf("--formula=%s: %v", formula, err)
		}
	}
	for _, f := range []specFlags{{formula: "other"}, {formula: formulaPaper}, {formula: formulaPaper, checks: []string{"atomicity=f"}}} {
		if _, err := f.load(); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}

// TestChecksText: what --check asks for is a specification without errors, also for names with characters of C++.
func TestChecksText(t *testing.T) {
	text, err := checksText([]string{"races=server.hits", "atomicity=shop::Till::sell(int)", "atomicity=f", "atomicity=src/my-bank.c:1-20"})
	if err != nil {
		t.Fatal(err)
	}
	s, problems := spec.Parse("--check", text)
	if problems.HasErrors() || len(s.Formulas) != 3 || len(s.Vars) != 1 {
		t.Errorf("%v, of %s", problems, text)
	}
	for _, bad := range []string{"", "races", "races=", "deadlocks=x", "atomicity"} {
		if _, err := checksText([]string{bad}); err == nil {
			t.Errorf("--check %q is accepted", bad)
		}
	}
}
