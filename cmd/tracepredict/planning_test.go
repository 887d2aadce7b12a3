package main

import (
	"bytes"
	"testing"
	"time"
)

func TestPlanningLine(t *testing.T) {
	if newPlanningLine(&bytes.Buffer{}) != nil {
		t.Error("there is a line where there is no terminal")
	}
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	l := &planningLine{out: &out, now: func() time.Time { return now }}
	for _, step := range []struct {
		after time.Duration
		what  string
		done  float64
		want  string
	}{
		{0, "reading code of a", 0, ""},
		{400 * time.Millisecond, "reading code of b", 0.2, ""},
		{0, "", 1, ""},
		{time.Hour, "reading code of a", 0, ""},
		{600 * time.Millisecond, "reading code of b", 0.2, "\rplanning: reading code of b, 20 %\x1b[K"},
		{50 * time.Millisecond, "reading code of b", 0.4, ""},
		{60 * time.Millisecond, "reading code of b", 0.4, "\rplanning: reading code of b, 40 %\x1b[K"},
		{100 * time.Millisecond, "attaching probes", 0, "\rplanning: attaching probes\x1b[K"},
		{time.Second, "", 1, "\r\x1b[K"},
		{time.Second, "", 1, ""},
	} {
		now = now.Add(step.after)
		out.Reset()
		if l.show(step.what, step.done); out.String() != step.want {
			t.Errorf("%s, %.1f: %q, want %q", step.what, step.done, out.String(), step.want)
		}
	}
}
