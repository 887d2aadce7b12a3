package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFit(t *testing.T) {
	if f := fit([]float64{1, 2, 3, 4}, []float64{5, 7, 9, 11}); math.Abs(f.at0-3) > 1e-9 || math.Abs(f.slope-2) > 1e-9 || math.Abs(f.r2-1) > 1e-9 {
		t.Errorf("3 + 2x is %+v", f)
	}
	if f := fit([]float64{1, 2, 3}, []float64{1, 0, 1}); f.r2 > 0.01 {
		t.Errorf("a corner is straight: %+v", f)
	}
	if f := fit([]float64{2, 2}, []float64{1, 3}); f.at0 != 2 || f.slope != 0 {
		t.Errorf("one place: %+v", f)
	}
}

// TestPictures writes all of them in small, and reads them again.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	c := config{output: filepath.Join(dir, "figures"), page: filepath.Join(dir, "page.md"), programs: 1, seed: 3, events: 300, rounds: 1, form: "svg"}
	for _, what := range []string{"recall", "times"} {
		if err := c.draw(what); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"recall.svg": "order exclusion", "time-threads.svg": "threads t", "time-window.svg": "window w", "time-monitor.svg": "monitor m",
		"recall.csv": "order,queue,window,found,predictable,share\nsync,32,1,0,", "times.csv": "threads,4,64,10,",
	} {
		raw, err := os.ReadFile(filepath.Join(c.output, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %q", name, want)
		}
		if strings.HasSuffix(name, ".svg") {
			wellFormed(t, name, raw)
		}
	}
	page, err := os.ReadFile(c.page)
	if err != nil || strings.Count(string(page), "](figures/time-") != 3 || !strings.Contains(string(page), marks.Begin) {
		t.Errorf("%v; the page:\n%s", err, page)
	}
	if err := c.draw("else"); err == nil {
		t.Error("something else can be drawn")
	}
}

func wellFormed(t *testing.T, name string, raw []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(raw))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
	}
}
