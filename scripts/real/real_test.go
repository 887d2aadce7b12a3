package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/scripts/figures"
	"github.com/tracepredict/tracepredict/scripts/proc"
)

// ran returns a sample of a load of so many seconds.
func ran(seconds float64, events uint64, findings ...string) sample {
	s := sample{load: time.Duration(seconds * float64(time.Second))}
	lost := uint64(0)
	s.report.Run.Events, s.report.Run.Lost, s.report.Run.Duration = &events, &lost, int64(s.load)
	for _, f := range findings {
		s.report.Findings = append(s.report.Findings, struct{ Kind, Confidence, Property, Message string }{"deadlock", f, "", ""})
	}
	return s
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		name         string
		exec, attach float64
		events       uint64
		limit        float64
		met          string
	}{
		{"few", 1.05, 1.1, 99_998, 1.1, "yes"},
		{"few", 1.2, 1, 99_998, 1.1, "**no**"},
		{"few", 1, 1.2, 99_998, 1.1, "**no**"},
		{"many", 3, 3, 100_002, 0, ""},
		{"memcached", 1.4, 1.3, 1_000_000, 1.4, "yes"},
		{"memcached", 1.5, 1.3, 1_000_000, 1.4, "**no**"},
	} {
		r := result{name: c.name, samples: map[mode][]sample{
			plain: {ran(1, 0)}, execed: {ran(c.exec, c.events)}, attach: {ran(c.attach, c.events)}}}
		if got := r.limit(); got != c.limit {
			t.Errorf("%+v: limit %v", c, got)
		}
		row := ""
		for line := range strings.Lines(render(config{}, []result{r})) {
			if strings.HasPrefix(line, "| "+c.name+" | 1.00 ") {
				row = line
			}
		}
		cells := strings.Split(row, " | ")
		if got := strings.Trim(cells[len(cells)-1], " |\n"); got != c.met {
			t.Errorf("%+v: met %q in %q", c, got, row)
		}
	}
}

// A goal that programs which do nothing miss is said to be out of reach.
func TestFloorAboveTheGoal(t *testing.T) {
	for _, c := range []struct {
		floor float64
		want  string
	}{
		{1.2, "| **no** |"},
		{1.8, "| **no**; out of reach on this machine: programs that do nothing at the same sites take 1.80 times |"},
	} {
		r := result{name: manyProgram, samples: map[mode][]sample{
			plain: {ran(1, 0)}, execed: {ran(2, 100)}, attach: {ran(2, 100)}, floor: {ran(c.floor, 0)}}}
		if page := render(config{}, []result{r}); !strings.Contains(page, c.want) {
			t.Errorf("floor %v: no %q in\n%s", c.floor, c.want, page)
		}
	}
}

func TestRatioIsWithinRounds(t *testing.T) {
	r := result{samples: map[mode][]sample{
		plain:  {ran(1, 0), ran(10, 0), ran(2, 0)},
		execed: {ran(1.5, 0), ran(15, 0), ran(3, 0)},
	}}
	if got := r.ratio(execed); got != 1.5 {
		t.Errorf("ratio %v", got)
	}
	if got := r.ratio(attach); got != 0 {
		t.Errorf("ratio of what was not measured: %v", got)
	}
}

func TestFindingsAreTheMostOfARun(t *testing.T) {
	r := result{samples: map[mode][]sample{execed: {ran(1, 1, "potential"), ran(1, 1, "potential", "predicted", "potential")}}}
	if got := r.findings(execed); got != "1 predicted deadlock, 2 potential deadlock" {
		t.Errorf("%q", got)
	}
	if got := r.findings(attach); got != "none" {
		t.Errorf("%q", got)
	}
}

func TestNewPageHasItsMarks(t *testing.T) {
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{newPage, string(page)} {
		for _, part := range []figures.Marks{marks, pointerMarks, largeMarks} {
			if _, err := part.Replace(text, "figures\n"); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestReadReport(t *testing.T) {
	for text, want := range map[string]string{
		`{"run": {"events": 3, "lost": 0, "duration_ns": 5}, "findings": [{"kind": "race"}]}`: "",
		`{"run": {"events": 3}}`: "does not say",
		`{"run"`:                 "unexpected end",
	} {
		name := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		rep, err := readReport(name)
		switch {
		case want == "" && (err != nil || *rep.Run.Events != 3 || len(rep.Findings) != 1):
			t.Errorf("%s: %+v, %v", text, rep, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestProc(t *testing.T) {
	if got := peakOf("Name:\tx\nVmHWM:\t    1024 kB\nVmRSS:\t 10 kB\n"); got != 1<<20 {
		t.Errorf("peak %d", got)
	}
	if got := peakOf("Name:\tzombie\n"); got != 0 {
		t.Errorf("peak of a zombie %d", got)
	}
	fields := proc.StatFields([]byte("12 (a ) (name) S 7 12 12 0 -1 4194560 1 2 3 4 150 50 0 0"))
	if len(fields) < 13 || fields[1] != "7" {
		t.Fatalf("fields %q", fields)
	}
	if got := cpuOf(fields); got != 2*time.Second {
		t.Errorf("CPU %v", got)
	}
	if got := cpuOf(nil); got != 0 {
		t.Errorf("CPU of nothing %v", got)
	}
}

func TestWaitForSpansWrites(t *testing.T) {
	var to bytes.Buffer
	w := &waitFor{text: "observing", seen: make(chan struct{}), to: &to}
	for _, part := range []string{"tracepredict: obs", "erving x; ", "observing"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-w.seen:
	default:
		t.Error("the text was not seen")
	}
	if to.String() != "tracepredict: observing x; observing" {
		t.Errorf("passed on %q", to.String())
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var tl tail
	for range 1000 {
		if _, err := tl.Write([]byte("abc\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tl.Write([]byte("the end")); err != nil || len(tl.String()) != 2000 || !strings.HasSuffix(tl.String(), "abc\nthe end") {
		t.Errorf("%q", tl.String())
	}
}

func TestInputsAreTheSame(t *testing.T) {
	if !bytes.Equal(noise(1, 100), noise(1, 100)) || bytes.Equal(noise(1, 100), noise(2, 100)) {
		t.Error("noise is not its seed's")
	}
	if a := prose(1000); len(a) != 1000 || !bytes.Equal(a, prose(1000)) {
		t.Error("prose differs")
	}
	e := env{scale: 0.001}
	if got := e.times(5000, 80); got != 80 {
		t.Errorf("a small load is %d, want one unit", got)
	}
}

func TestUnread(t *testing.T) {
	c := &command{}
	if err := c.pipe(); err != nil {
		t.Fatal(err)
	}
	defer c.stdin.Close()
	defer c.input.Close()
	p := &process{command: c, mainDone: make(chan error, 1)}
	p.mainDone <- errors.New("gone")
	if err := p.reads(t.Context(), prose(2*pipeSize)); err == nil || !strings.Contains(err.Error(), "it ended: gone") {
		t.Errorf("a program that ends unread: %v", err)
	}
}

// TestStacksTable: what call chains cost is told where it was measured.
func TestStacksTable(t *testing.T) {
	r := result{name: "p", samples: map[mode][]sample{bare: {ran(2, 100), ran(1, 100), ran(1, 100)}, execed: {ran(2.2, 100), ran(1.1, 100), ran(3, 100)}}}
	if got := stacksTable([]result{r, {name: "q"}}); !strings.Contains(got, "| p | 1.00 | 2.20 | 1.10 | 1.2 | yes |") || strings.Contains(got, "q |") {
		t.Error(got)
	}
	if got := stacksTable(nil); got != "" {
		t.Error(got)
	}
}

// TestPointerTable checks the ratios, and the share of functions that were watched to the end, of the run in which
// it is least.
func TestPointerTable(t *testing.T) {
	all := func(seconds float64, sampled, functions int) sample {
		s := ran(seconds, 100)
		s.report.Run.Pointers = &struct {
			Sampled   []string
			Functions int
		}{make([]string, sampled), functions}
		return s
	}
	r := result{name: "p", samples: map[mode][]sample{
		plain: {ran(1, 0), ran(1, 0)}, execed: {ran(2, 100), ran(2, 100)},
		"all-5x": {all(8, 3, 10), all(8, 1, 10)}, "all-2x": {all(4, 0, 0), all(4, 0, 0)},
	}}
	got := renderPointers(config{rounds: 2}, []result{r})
	if want := "| p | 1.00 | 2.00 | 0.00 | 4.00 | 7 of 10 | 0.00 | none | 2.00 | all | 0.00 | none |"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}
