package main

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// side returns a side of a deadlock: what a thread waits for, at a line of its function.
func side(op event.Op, object, function string, line int) report.Step {
	return report.Step{
		Step:   finding.Step{Op: op},
		Object: &report.Object{Object: run.Object{Name: object, Kind: event.KindMutex}},
		Stack:  report.Stack{Frames: []event.Frame{{Function: function, File: "bank.c", Line: line}}},
	}
}

func deadlockOf(fingerprint string, sides ...report.Step) *report.Finding {
	return &report.Finding{Finding: finding.Finding{Kind: finding.Deadlock}, Fingerprint: fingerprint, Evidence: sides}
}

// TestWantedHang: which hang is the deadlock that was to happen.
func TestWantedHang(t *testing.T) {
	pay, audit := side(event.Acquire, "stock", "pay", 9), side(event.Acquire, "till", "audit", 7)
	for _, c := range []struct {
		name           string
		want, happened *report.Finding
		is             bool
	}{
		{"the same", deadlockOf("1", pay, audit), deadlockOf("1", pay, audit), true},
		{"a lock with another name", deadlockOf("1", pay, audit), deadlockOf("2", side(event.Acquire, "till", "audit", 7), side(event.Acquire, "shelf", "pay", 9)), true},
		{"another place", deadlockOf("1", pay, audit), deadlockOf("2", pay, side(event.Acquire, "till", "audit", 8)), false},
		{"a third thread", deadlockOf("1", pay, audit), deadlockOf("2", pay, audit, audit), false},
		{"a place that is not known", deadlockOf("1", pay, side(event.Acquire, "till", "", 0)), deadlockOf("2", pay, side(event.Acquire, "till", "", 0)), true},
		{"a wait for a signal, and a thread that joins", deadlockOf("1", side(event.Wait, "news", "pay", 9)), deadlockOf("2", side(event.Join, "", "main", 3), side(event.Wait, "news", "pay", 9)), true},
		{"a wait for another signal", deadlockOf("1", side(event.Wait, "news", "pay", 9)), deadlockOf("2", side(event.Wait, "alarm", "pay", 9)), false},
	} {
		happened := happenedAs(c.happened)
		if got := happened.is(hangOf(c.want)); got != c.is {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
