package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	model "github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// longTrace is the number of events of the trace of TestAnalyzeLongTrace;
// scripts/long-trace sets it.
const longTrace = "TRACEPREDICT_LONG_TRACE"

// TestAnalyzeLongTrace checks that the analysis of a trace many times as long needs no
// more memory. The trace comes through a pipe, so that it needs no disk space.
func TestAnalyzeLongTrace(t *testing.T) {
	t.Parallel()
	const short = 1_000_000
	long := 8 * short
	if s := os.Getenv(longTrace); s != "" {
		var err error
		if long, err = strconv.Atoi(s); err != nil || long < short {
			t.Fatalf("%s=%s: it is a number of events, at least %d", longTrace, s, short)
		}
	} else if testing.Short() {
		t.Skip("millions of events")
	}
	few, many := analyzeBusy(t, short), analyzeBusy(t, long)
	t.Logf("peak memory: %d KB for %d events, %d KB for %d", few, short, many, long)
	if many > few+few/5 {
		t.Errorf("the peak of memory grew from %d to %d KB", few, many)
	}
}

// analyzeBusy pipes a busy run through the tool and returns the tool's peak memory in
// KB.
func analyzeBusy(t *testing.T, events int) int64 {
	t.Helper()
	cmd := command(t, toolPath(t), "analyze", "--format", "json", "-")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := trace.NewWriter(in, trace.WriterOptions{Names: unnamed{}})
	if err == nil {
		run := eventtest.NewBusy(8, 10)
		var e event.Event
		for range events {
			run.Next(&e)
			w.Event(&e)
		}
		err = w.Close(model.Summary{Program: "busy", Events: uint64(events), Threads: 8})
	}
	in.Close()
	if ended := cmd.Wait(); ended != nil || err != nil {
		t.Fatalf("%v, %v: %s", err, ended, &stderr)
	}
	var report struct {
		Run struct{ Events int }
	}
	if err := json.Unmarshal(stderr.Bytes(), &report); err != nil || report.Run.Events != events {
		t.Fatalf("a report of %d events of %d: %v", report.Run.Events, events, err)
	}
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}

// unnamed is a Namer that has no names.
type unnamed struct{}

func (unnamed) Frames(event.StackID) []event.Frame { return nil }
func (unnamed) Func(event.FuncID) event.Func       { return event.Func{} }
func (unnamed) Object(event.ObjectID) model.Object { return model.Object{} }
func (unnamed) Thread(event.ThreadID) model.Thread { return model.Thread{} }
