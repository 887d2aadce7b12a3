package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRunEnds: what waits for ever or computes for ever is ended, and that is told; how long
// it takes is no matter.
func TestRunEnds(t *testing.T) {
	for _, c := range []struct {
		script       string
		limit, still time.Duration
		ended        bool
		status       int
	}{
		{"echo said", time.Hour, time.Hour, true, 0},
		{"exit 3", time.Hour, time.Hour, true, 3},
		{"echo said; exec sleep 100000", time.Hour, time.Second, false, -1},
		{"echo said; while :; do :; done", time.Second, time.Hour, false, -1},
	} {
		ran, err := Run(t.Context(), c.limit, c.still, nil, []string{"sh", "-c", c.script})
		if err != nil || ran.Ended != c.ended || ran.Status != c.status {
			t.Errorf("%s: %+v, %v", c.script, ran, err)
		}
	}
	if _, err := Run(t.Context(), time.Second, time.Second, nil, []string{"/no/such/tool"}); err == nil {
		t.Error("a tool that is not there runs")
	}
}

// TestKept: what was made is used again only if it is there and was made of the same.
func TestKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "said.txt")
	if Key("a").Keep(file) != nil || Key("a").IsOf(file) {
		t.Error("a file that is not there is used")
	}
	if err := os.WriteFile(file, []byte("said"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !Key("a").IsOf(file) || Key("b").IsOf(file) || Key("a", "").IsOf(file) || Key("ab", "c") == Key("a", "bc") {
		t.Error("it is not told what a file was made of")
	}
}

func TestEach(t *testing.T) {
	list := []int{3, 4, 5, 6}
	done := make([]int, len(list))
	errs := Each(3, list, func(i, n int) error {
		done[i] = n
		if n == 5 {
			return os.ErrInvalid
		}
		return nil
	})
	if !slices.Equal(done, list) || !slices.Equal(errs, []error{nil, nil, os.ErrInvalid, nil}) {
		t.Errorf("%v, %v", done, errs)
	}
}

func TestOpening(t *testing.T) {
	text := "// A total: two threads\n// write it.\n//\n// note: a line\n// expect: race total\n// hangs\n\n// watch: total\nint total;\n"
	c := Opening(text, "expect", "hangs", "watch")
	if want := []Line{{"expect", "race total"}, {"hangs", ""}}; c.Title != "A total" || c.Text != "A total: two threads write it. note: a line" || !slices.Equal(c.Lines, want) {
		t.Errorf("%+v", c)
	}
}

func TestFindings(t *testing.T) {
	got, err := Findings(`{"run": {}, "findings": [{"kind": "race", "confidence": "likely", "message": "m", "objects": ["total"]}]}`)
	if err != nil || len(got) != 1 || got[0].Confidence != "likely" || !slices.Equal(got[0].Objects, []string{"total"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"{", `{"findings": []}`} {
		if _, err := Findings(text); err == nil {
			t.Errorf("%q is taken for a report", text)
		}
	}
}

func TestLastName(t *testing.T) {
	for name, want := range map[string]string{"total": "total", "shop::total": "total", "server.own.hits": "hits"} {
		if got := LastName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestConfirmation(t *testing.T) {
	findings, err := Findings(`{"run": {}, "findings": [
		{"kind": "race", "confidence": "confirmed", "confirmation": {"confirmed": true, "try": 2, "tries": 5, "time_ns": 840000000, "was": "likely"}},
		{"kind": "race", "confidence": "observed", "confirmation": {"confirmed": true, "try": 1, "tries": 5, "time_ns": 1200000000}},
		{"kind": "deadlock", "confidence": "predicted", "confirmation": {"confirmed": false, "try": 5, "tries": 5, "time_ns": 1, "reason": "diverged at step 2: T3 requests b at b.c:3: nothing else went on for 500ms"}},
		{"kind": "race", "confidence": "predicted", "confirmation": {"confirmed": false, "try": 5, "tries": 5, "time_ns": 1, "reason": "T2 accesses x at b.c:3: the run ended without it"}},
		{"kind": "deadlock", "confidence": "likely", "confirmation": {"confirmed": false, "try": 0, "tries": 5, "time_ns": 0, "reason": "there is no schedule"}},
		{"kind": "race", "confidence": "likely", "confirmation": {"confirmed": false, "try": 0, "tries": 5, "time_ns": 0, "reason": "threads are stopped by hardware breakpoints, which do not work here"}},
		{"kind": "misuse", "confidence": "predicted"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, f.Level()+": "+f.Confirmation.Text())
		if f.IsConfirmed() != strings.Contains(got[len(got)-1], ": confirmed") {
			t.Errorf("%s: %v", got[len(got)-1], f.IsConfirmed())
		}
	}
	want := []string{
		"likely: confirmed (try 2, 0.8 s)",
		"observed: confirmed (try 1, 1.2 s)",
		"predicted: not confirmed: diverged: nothing else went on for 500ms",
		"predicted: not confirmed: a run ended without one of its operations",
		"likely: not tried: there is no schedule",
		"likely: not tried: hardware breakpoints do not work here",
		"predicted: not tried",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
