package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader/ptrace"
)

func TestMain(m *testing.M) {
	ptrace.MainIfHeld()
	os.Exit(m.Run())
}

// BenchmarkLive observes testdata/cache.c as a user does, in this process, and BenchmarkAnalyze
// analyses the trace of such a run. An operation is one iteration of the program. The result is
// the processor time of the tool, including planning and the report, without that of the
// program. make pgo takes the profile of these benchmarks as the compiler's profile.
func BenchmarkLive(b *testing.B) {
	program, report := cache(b), filepath.Join(b.TempDir(), "report.json")
	before := busy(b)
	tool(b, "exec", "--format", "json", "--output", report, "--", program, strconv.Itoa(b.N))
	perEvent(b, busy(b)-before, eventsOf(b, report))
}

// BenchmarkAnalyze measures the analysis of a trace; see BenchmarkLive.
func BenchmarkAnalyze(b *testing.B) {
	dir := b.TempDir()
	report, trace := filepath.Join(dir, "report.json"), filepath.Join(dir, "trace")
	tool(b, "exec", "--record", trace, "--output", os.DevNull, "--", cache(b), strconv.Itoa(b.N))
	before := busy(b)
	b.ResetTimer()
	tool(b, "analyze", "--format", "json", "--output", report, trace)
	perEvent(b, busy(b)-before, eventsOf(b, report))
}

// cache builds the program. It skips the benchmark if the program cannot be built or observed.
func cache(b *testing.B) string {
	b.Helper()
	testtool.Need(b, "gcc")
	if os.Geteuid() != 0 {
		b.Skip("observing needs privileges: run it as root")
	}
	program := filepath.Join(b.TempDir(), "cache")
	if out, err := exec.Command("gcc", "-O2", "-pthread", "-o", program, "testdata/cache.c").CombinedOutput(); err != nil {
		b.Fatalf("build testdata/cache.c: %v\n%s", err, out)
	}
	return program
}

// tool runs a command of the tool, which must succeed.
func tool(b *testing.B, args ...string) {
	b.Helper()
	if status := execute(args, io.Discard, os.Stderr); status != 0 {
		b.Fatalf("tracepredict %v: status %d", args, status)
	}
}

func eventsOf(b *testing.B, report string) int {
	b.Helper()
	text, err := os.ReadFile(report)
	if err != nil {
		b.Fatal(err)
	}
	var r struct {
		Run struct{ Events, Lost int }
	}
	if err := json.Unmarshal(text, &r); err != nil || r.Run.Lost > 0 {
		b.Fatalf("%d events lost, %v", r.Run.Lost, err)
	}
	return r.Run.Events
}

func perEvent(b *testing.B, took time.Duration, events int) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took)/float64(events), "cpu-ns/event")
	b.ReportMetric(float64(events), "events")
}

// busy returns the processor time of this process so far.
func busy(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
