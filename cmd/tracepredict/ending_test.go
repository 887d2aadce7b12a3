package main

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
)

func TestParseAnalysisTime(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit time.Duration
		auto  bool
		fails bool
	}{
		{"auto", 0, true, false}, {"", 0, true, false}, {"none", 0, false, false}, {"0", 0, false, false}, {"0s", 0, false, false},
		{"30s", 30 * time.Second, false, false}, {"-1s", 0, false, true}, {"soon", 0, false, true}, {"10", 10 * time.Second, false, false},
	} {
		limit, auto, err := parseAnalysisTime(c.text)
		if limit != c.limit || auto != c.auto || (err != nil) != c.fails {
			t.Errorf("%q: %v, %v, %v", c.text, limit, auto, err)
		}
	}
}

// endingAt returns an ending whose clock is now, and which counts in exits how often it ends the tool.
func endingAt(text string, now *time.Time, exits *int) *ending {
	e := newEnding(text, io.Discard, func(p *safely.Panic) { panic(p) })
	e.now = func() time.Time { return *now }
	e.exit = func(os.Signal) { *exits++ }
	e.memory.full = func() bool { return false }
	return e
}

// TestAnalysisTime: the time begins with the end of the run. It is ten seconds or a tenth of the run, unless the flag
// says otherwise; the second analysis has half of it.
func TestAnalysisTime(t *testing.T) {
	for _, c := range []struct {
		text  string
		run   time.Duration
		after time.Duration // when the time is over; 0: never
		says  string
	}{
		{"auto", time.Second, 10 * time.Second, "--analysis-time 10s"},
		{"auto", 10 * time.Minute, time.Minute, "--analysis-time 1m0s"},
		{"3s", 10 * time.Minute, 3 * time.Second, "--analysis-time 3s"},
		{"none", time.Second, 0, ""},
		{"0", time.Second, 0, ""},
	} {
		now, exits := time.Unix(1000, 0), 0
		e := endingAt(c.text, &now, &exits)
		now = now.Add(time.Hour)
		if why := e.over(); why != "" {
			t.Errorf("%s: over before the end of the run, by %s", c.text, why)
		}
		e.begin(c.run)
		began := now
		if c.after == 0 {
			c.after = 1000 * time.Hour
		}
		for _, at := range []struct {
			after      time.Duration
			half, over string
		}{
			{c.after/2 - 1, "", ""}, {c.after / 2, c.says, ""}, {c.after - 1, c.says, ""}, {c.after, c.says, c.says},
		} {
			now = began.Add(at.after)
			if half, over := e.halfOver(), e.over(); half != at.half || over != at.over {
				t.Errorf("%s, after %v: %q and %q, want %+v", c.text, at.after, half, over, at)
			}
		}
	}
}

// TestLackOfMemory: the analysis ends when the memory is used up, and a signal does not end the tool yet.
func TestLackOfMemory(t *testing.T) {
	now, exits, full := time.Unix(1000, 0), 0, true
	e := endingAt("none", &now, &exits)
	e.memory.full = func() bool { return full }
	collected := uint64(0)
	e.memory.done = func() uint64 { collected++; return collected }
	said := func() (why string) {
		for range 2 * patienceFull * memoryEvery {
			why = e.over()
		}
		return why
	}
	if why := said(); why != "" {
		t.Errorf("before the end of the run: %q", why)
	}
	e.begin(0)
	if why := said(); why != "lack of memory" {
		t.Errorf("without memory: %q", why)
	}
	full = false
	e.signal(unix.SIGINT)
	if why := said(); why != "lack of memory" || exits > 0 {
		t.Errorf("later: %q, left %d times", why, exits)
	}
}

// TestMemoryLimit: the tool may use a quarter of the machine's memory, which this test does not.
func TestMemoryLimit(t *testing.T) {
	if limit := memoryLimit(); limit < leastMemory {
		t.Errorf("the limit is %d bytes", limit)
	}
	if memoryFull() {
		t.Error("the memory of the test is used up")
	}
}

// TestSignals: signals end first the observation, if they do, then the analysis, and then the tool.
func TestSignals(t *testing.T) {
	for _, observing := range []bool{true, false} {
		now, exits, ended := time.Unix(1000, 0), 0, 0
		e := endingAt("none", &now, &exits)
		if observing {
			e.observing = func() { ended++ }
			e.signal(unix.SIGINT)
		} else {
			e.begin(0)
		}
		if e.over() != "" || observing != (ended == 1) || exits > 0 {
			t.Errorf("observing %v: over %q, ended %d times, left %d times", observing, e.over(), ended, exits)
		}
		e.signal(unix.SIGTERM)
		if e.over() != "SIGTERM" || e.halfOver() != "SIGTERM" || exits > 0 {
			t.Errorf("observing %v: a signal to the analysis: over %q, left %d times", observing, e.over(), exits)
		}
		e.signal(unix.SIGINT)
		if exits != 1 || ended > 1 {
			t.Errorf("observing %v: a second signal to the analysis: ended %d times, left %d times", observing, ended, exits)
		}
	}
}

// TestAnalysisLine: a line on the terminal says how far the analysis is.
func TestAnalysisLine(t *testing.T) {
	var out bytes.Buffer
	now, exits := time.Unix(1000, 0), 0
	e := endingAt("20s", &now, &exits)
	e.line = &planningLine{out: &out, now: e.now}
	e.begin(time.Second)
	for _, step := range []struct {
		after time.Duration
		n     int
		want  string
	}{
		{0, 10, ""},
		{100 * time.Millisecond, 20, ""},
		{7900 * time.Millisecond, 37, "\ranalysing: 37 %, 12 s left at most; Ctrl-C: report now\x1b[K"},
		{50 * time.Millisecond, 38, ""},
		{time.Minute, 100, "\ranalysing: 100 %, 0 s left at most; Ctrl-C: report now\x1b[K"},
	} {
		now = now.Add(step.after)
		out.Reset()
		if e.progress(step.n, 100); out.String() != step.want {
			t.Errorf("%d of 100: %q, want %q", step.n, out.String(), step.want)
		}
	}
	out.Reset()
	if e.unwatch(); out.String() != "\r\x1b[K" {
		t.Errorf("the line ends with %q", out.String())
	}
	if text := endingAt("none", &now, &exits).text(0, 0); text != "analysing: 0 %; Ctrl-C: report now" {
		t.Errorf("without a bound: %q", text)
	}
}

// TestReadingEndsWithTheTime: what is read again of a run ends when the time is over, with the reason.
func TestReadingEndsWithTheTime(t *testing.T) {
	reads := 0
	r := untilOver{bytes.NewReader(make([]byte, 100)), func() string {
		if reads++; reads > 3 {
			return "a test"
		}
		return ""
	}}
	n, err := io.Copy(io.Discard, io.MultiReader(struct{ io.Reader }{io.LimitReader(r, 10)}, r, r, r))
	if err == nil || err.Error() != "a test" {
		t.Errorf("read %d bytes, then %v", n, err)
	}
}
