package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/probes"
)

const notBegun = "nothing was observed: the observation had not begun: "

// TestEndedBeforeItsLibraries checks that a program that never got to its first instruction is not
// reported to have no findings. LD_TRACE_LOADED_OBJECTS makes the dynamic loader end with status 0.
func TestEndedBeforeItsLibraries(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		env    string
		status int
	}{{"LD_TRACE_LOADED_OBJECTS=1", 125}, {"LD_BIND_NOW=1", 0}} {
		tool := startTool(t, childOptions{Env: []string{c.env}}, "exec", "--", processFixture(t, "echo.c"), "hello")
		tool.want(c.status)
		text := tool.err.String()
		if refused := c.status != 0; strings.Contains(text, notBegun) != refused || strings.Contains(text, "no findings") == refused {
			t.Errorf("%s: %s", c.env, text)
		}
	}
}

// TestAttachInterruptedWhilePlanning checks that an observation that is ended before its probes are
// in is an error.
func TestAttachInterruptedWhilePlanning(t *testing.T) {
	needBPF(t)
	t.Parallel()
	_, pid := startServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	link := live.NewLink()
	link.Observe(observer.Options{Attached: true}, false)
	begun := false
	_, err := loader.Attach(ctx, pid, loader.Options{Plan: probes.Options{Table: tables(t, nil)}, Handler: link.Observer}, nil, func(*loader.Session) { begun = true })
	if !errors.Is(err, loader.ErrNotBegun) || begun {
		t.Errorf("got %v; begun: %v", err, begun)
	}
}
