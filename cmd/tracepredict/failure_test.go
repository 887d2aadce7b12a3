package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/analysis/report"
	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
	textreport "github.com/tracepredict/tracepredict/analysis/report/text"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/target"
)

// TestFailure: the first panic is told, with its stack.
func TestFailure(t *testing.T) {
	var stderr bytes.Buffer
	f := failure{stderr: &stderr}
	first := safely.Call(func() { panic("broken") })
	f.add(first)
	f.add(safely.Call(func() { panic("again") }))
	if got := stderr.String(); f.panicked() != first || !strings.HasPrefix(got, "tracepredict: it failed, which is an error of tracepredict: broken, in cmd/tracepredict.TestFailure") || !strings.Contains(got, "goroutine ") || strings.Contains(got, "again") {
		t.Errorf("%v, said %q", f.panicked(), got)
	}
}

// TestReportAfterFailure: a report ends, or panics, or, after a failure, hangs; then another is made.
func TestReportAfterFailure(t *testing.T) {
	late := make(chan time.Time)
	close(late)
	wrong := errors.New("no disk")
	for _, c := range []struct {
		name   string
		before bool // something failed before
		report func() error
		late   <-chan time.Time
		ended  bool
		err    error
	}{
		{"good", false, func() error { return nil }, late, true, nil},
		{"wrong", false, func() error { return wrong }, late, true, wrong},
		{"panics", false, func() error { panic("broken") }, late, false, nil},
		{"good after a failure", true, func() error { return nil }, nil, true, nil},
		{"hangs after a failure", true, func() error { select {} }, late, false, nil},
	} {
		f := failure{stderr: io.Discard}
		if c.before {
			f.add(safely.Call(func() { panic("before") }))
		}
		if ended, err := f.attempt(c.report, c.late); ended != c.ended || err != c.err {
			t.Errorf("%s: ended %v, %v", c.name, ended, err)
		}
		if got := f.panicked() != nil; got != (c.before || c.name == "panics") {
			t.Errorf("%s: failed: %v", c.name, got)
		}
	}
}

// TestFailedReport: the report of a failure says so in its first line, and the exit status is that of a failure.
func TestFailedReport(t *testing.T) {
	p := safely.Call(func() { panic("broken") })
	var text, json bytes.Buffer
	if err := errors.Join(textreport.Write(&text, failedReport(p, "/bin/shop", 12), report.Options{Width: 200}), jsonreport.Write(&json, failedReport(p, "/bin/shop", 12), report.Options{})); err != nil {
		t.Fatal(err)
	}
	if first, rest, _ := strings.Cut(text.String(), "\n"); !strings.HasPrefix(first, "tracepredict FAILED, and this report is incomplete: broken, in cmd/tracepredict.TestFailedReport") || !strings.Contains(rest, "shop (pid 12)") {
		t.Error(text.String())
	}
	if !strings.Contains(json.String(), `"failed":"broken, in cmd/tracepredict.TestFailedReport`) {
		t.Error(json.String())
	}
	if status := statusOf(failed(p)); status != target.ExitFailed || asPanic(failed(p)) != p {
		t.Errorf("status %d, %v", status, failed(p))
	}
}
