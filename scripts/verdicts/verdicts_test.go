package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/scripts/figures"
	"github.com/tracepredict/tracepredict/scripts/trial"
)

func TestParseProgram(t *testing.T) {
	p, err := parseProgram("// Two threads: both\n// write. In turn.\n//\n// expect: race total\n// expect: deadlock a b\n" +
		"// watch: total, shared,'state of struct conn'\n// args: --order io\n// build: -fopenmp -DX\nint total;\n")
	if err != nil {
		t.Fatal(err)
	}
	named := []string{"--watch", "total", "--watch-shared", "--watch", "state of struct conn"}
	if p.title != "Two threads: both write" || !slices.Equal(p.watch, named) || !slices.Equal(p.flags, []string{"--order", "io"}) || !slices.Equal(p.build, []string{"-fopenmp", "-DX"}) {
		t.Errorf("%+v", p)
	}
	if len(p.expect) != 2 || p.expect[0].kind != "race" || !slices.Equal(p.expect[1].objects, []string{"a", "b"}) {
		t.Errorf("expects %+v", p.expect)
	}
	for _, text := range []string{"// T.\n// expect:\n", "// T.\n// expect: nothing\n"} {
		if _, err := parseProgram(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestReadPrograms(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("innocent/b.cc", "// It is joined.\n")
	write("innocent/a.c", "// It is locked.\n")
	write("innocent/a.h", "int x;\n")
	write("defective/c.c", "// It is not.\n// expect: race x\n")
	for _, c := range []struct {
		only []string
		want []string
	}{{nil, []string{"a", "b", "c"}}, {[]string{"c"}, []string{"c"}}} {
		programs, err := readPrograms(dir, c.only)
		var got []string
		for _, p := range programs {
			got = append(got, p.name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v, want %q", c.only, got, err, c.want)
		}
	}
	if _, err := readPrograms(dir, []string{"d"}); err == nil {
		t.Error("a program that is not there is found")
	}
	for name, text := range map[string]string{"innocent/x.c": "// T.\n// expect: race x\n", "defective/x.c": "// T.\n", "innocent/y.c": "int x;\n", "innocent/a.cc": "// T.\n"} {
		write(name, text)
		if _, err := readPrograms(dir, nil); err == nil {
			t.Errorf("%s: %q is taken", name, text)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPrograms(t *testing.T) {
	if _, err := readPrograms("../compare/verdicts", nil); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		object, name string
		want         bool
	}{
		{"total", "total", true},
		{"shop::total", "total", true},
		{"server.own.hits", "hits", true},
		{"server.own.hits", "server.own.hits", true},
		{"struct job.mu", "mu", true},
		{"table[3].mu", "mu", true},
		{"slots[3]", "slots", true},
		{"slots[3]", "slots[3]", true},
		{"slots[3]", "slots[4]", false},
		{"'state of struct conn' at 0x55d0c2a4f2c0", "state", true},
		{"stats.hits of ns::Queue<int>", "hits", true},
		{"sold of struct desk", "desk", false},
		{"mine on the stack of main (0x7ffe00)", "mine", true},
		{"totals", "total", false},
		{"the mutex initialised in open_pool at pool.c:41 (0x5581c0de2a0)", "pool", false},
	} {
		if got := names(c.object, c.name); got != c.want {
			t.Errorf("%s is %s: %v", c.object, c.name, got)
		}
	}
}

func TestJudge(t *testing.T) {
	defect := program{expect: []expectation{{"race", []string{"total"}}, {"deadlock", []string{"a", "b"}}}}
	finding := func(kind, confidence string, objects ...string) trial.Finding {
		return trial.Finding{Kind: kind, Confidence: confidence, Message: "m", Objects: objects}
	}
	for _, c := range []struct {
		program  program
		findings []trial.Finding
		want     level
	}{
		{program{}, nil, none},
		{program{}, []trial.Finding{finding("race", "potential"), finding("misuse", "observed"), finding("race", "likely")}, observed},
		{defect, nil, none},
		{defect, []trial.Finding{finding("race", "observed", "last"), finding("race", "likely", "total")}, likely},
		{defect, []trial.Finding{finding("deadlock", "observed", "a", "c"), finding("deadlock", "predicted", "b", "a")}, predicted},
		{defect, []trial.Finding{finding("misuse", "observed", "total")}, none},
	} {
		got, err := c.program.judge(c.findings)
		if err != nil || got.level != c.want || (got.first == "") != (c.want == none) {
			t.Errorf("%v: %+v, %v, want %v", c.findings, got, err, c.want)
		}
	}
	if _, err := defect.judge([]trial.Finding{finding("race", "certain", "total")}); err == nil {
		t.Error("a level of which nothing is known is taken")
	}
}

// rowsOf has one row for each of the levels.
func rowsOf(innocent bool, all ...level) (rows []row) {
	for _, l := range all {
		r := row{program{name: "p" + l.String(), title: "Why | so"}, verdict{level: l, first: "race: std::vector<int>\nmore"}}
		if !innocent {
			r.expect = []expectation{{kind: "race"}}
		}
		rows = append(rows, r)
	}
	return rows
}

// TestJudgeConfirmed: a program counts by what its findings were before they were confirmed, and as confirmed if one is.
func TestJudgeConfirmed(t *testing.T) {
	defect := program{expect: []expectation{{kind: "race", objects: []string{"total"}}}}
	no := &trial.Confirmation{Try: 5, Reason: "apart"}
	confirmed := trial.Finding{Kind: "race", Confidence: "confirmed", Objects: []string{"total"}, Confirmation: &trial.Confirmation{Confirmed: true, Try: 1, Was: "likely"}}
	other := trial.Finding{Kind: "race", Confidence: "confirmed", Objects: []string{"last"}, Confirmation: confirmed.Confirmation}
	not := trial.Finding{Kind: "race", Confidence: "predicted", Objects: []string{"total"}, Confirmation: no}
	for _, c := range []struct {
		findings  []trial.Finding
		level     level
		confirmed bool
	}{
		{[]trial.Finding{confirmed}, likely, true},
		{[]trial.Finding{confirmed, not}, predicted, true},
		{[]trial.Finding{not, confirmed}, predicted, true},
		{[]trial.Finding{not, other}, predicted, false},
		{[]trial.Finding{other}, none, false},
	} {
		v, err := defect.judge(c.findings)
		if err != nil || v.level != c.level || v.confirmed() != c.confirmed {
			t.Errorf("%+v: %+v, %v", c.findings, v, err)
		}
	}
	if v, err := (program{}).judge([]trial.Finding{other}); err != nil || v.level != likely || !v.confirmed() {
		t.Errorf("an innocent program: %+v, %v", v, err)
	}
}

// confirmedRow has a row with what came of confirming its finding.
func confirmedRow(innocent bool, l level, c *trial.Confirmation) []row {
	rows := rowsOf(innocent, l)
	rows[0].tried = c
	return rows
}

func TestRenderConfirmed(t *testing.T) {
	yes, no := &trial.Confirmation{Confirmed: true, Try: 1}, &trial.Confirmation{Try: 5, Reason: "diverged at step 2: T2 reads x: late"}
	harmless := &trial.Confirmation{Happened: true, Try: 2}
	text := renderConfirmed(slices.Concat(
		confirmedRow(false, predicted, yes), confirmedRow(false, predicted, no), confirmedRow(false, predicted, yes), confirmedRow(false, predicted, harmless), rowsOf(false, predicted),
		confirmedRow(false, likely, &trial.Confirmation{Reason: "no schedule"}), rowsOf(false, observed), confirmedRow(true, likely, no), confirmedRow(true, likely, yes), confirmedRow(true, likely, harmless)))
	for _, want := range []string{
		"| predicted | 5 | 2 | 1 | 1 | 1 | 66 % |\n", "| likely | 1 | 0 | 0 | 0 | 1 | none |\n",
		"confirmed: 1 of 3.\n",
		"| `ppredicted` | predicted | race: std::vector&lt;int> | not confirmed: diverged: late |\n",
		"| `ppredicted` | predicted | race: std::vector&lt;int> | happened (try 2, 0.0 s) |\n",
		"| `plikely` | likely | race: std::vector&lt;int> | not tried: no schedule |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "| `p"); n != 5 {
		t.Errorf("%d programs are listed:\n%s", n, text)
	}
	if n := strings.Count(renderConfirmed(nil), "None.\n"); n != 4 {
		t.Errorf("%d of 4 lists are empty", n)
	}
}

func TestRender(t *testing.T) {
	text := render(append(rowsOf(true, none, predicted, likely), rowsOf(false, none, observed, potential, likely)...))
	for _, want := range []string{
		"| innocent | 3 | 0 | 1 | 1 | 0 | 1 |\n",
		"| defective | 4 | 1 | 0 | 1 | 1 | 1 |\n",
		"| `ppredicted` | Why \\| so | predicted | race: std::vector&lt;int> |\n",
		"| `plikely` |", "| `pnothing` |", "| `ppotential` |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "`pobserved`") || strings.Count(text, "`plikely`") != 1 {
		t.Errorf("more is listed than is wrong:\n%s", text)
	}
	if n := strings.Count(render(nil), "None.\n"); n != 3 {
		t.Errorf("%d of 3 lists are empty", n)
	}
}

func TestCheck(t *testing.T) {
	repeat := func(l level, n int) []level { return slices.Repeat([]level{l}, n) }
	good := append(rowsOf(true, append(repeat(likely, 7), repeat(potential, 13)...)...), rowsOf(false, append(repeat(likely, 9), none)...)...)
	if err := check(good); err != nil {
		t.Error(err)
	}
	for what, rows := range map[string][]row{
		"a false prediction":     append(rowsOf(true, predicted), good...),
		"a false observation":    append(rowsOf(true, observed), good...),
		"too many false likely":  append(rowsOf(true, likely), good...),
		"too many missed":        append(rowsOf(false, none), good...),
		"too many potential":     append(rowsOf(false, potential), good...),
		"a false confirmed race": append(confirmedRow(true, likely, &trial.Confirmation{Confirmed: true, Try: 1}), good[1:]...),
		"too many with nothing":  append(rowsOf(false, append(repeat(likely, 8), none)...), good...),
	} {
		if check(rows) == nil {
			t.Errorf("%s passes", what)
		}
	}
}

func TestPageHasItsMarks(t *testing.T) {
	page, err := os.ReadFile("../../docs/verdicts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{newPage, string(page)} {
		for _, part := range []figures.Marks{marks, confirmMarks} {
			if _, err := part.Replace(text, "table\n"); err != nil {
				t.Error(err)
			}
		}
	}
}
