package main

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOnce checks what is compared: how the program ended, what it printed, and the files that it wrote.
func TestOnce(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	c := config{limit: time.Minute}
	p := program{prepare: "echo one > in", run: []string{"bash", "-c", "cat in; cp in out; exit 3"}, files: []string{"out"}}
	r, err := c.once(context.Background(), p, p.run)
	if err != nil {
		t.Fatal(err)
	}
	if r.status != "exit status 3" || !strings.HasPrefix(r.output, "one\n\nout ") {
		t.Errorf("%+v", r)
	}
	p.varies, p.files = true, nil
	if r, err = c.once(context.Background(), p, p.run); err != nil || r.output != "" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.once(context.Background(), program{prepare: "false"}, []string{"true"}); err == nil {
		t.Error("a program that could not be prepared was run")
	}
}

// TestHarmed checks which programs count as harmed, and that those which are missing do not.
func TestHarmed(t *testing.T) {
	same := run{status: "exit status 0", output: "hi"}
	all := []outcome{
		{program: program{name: "same"}, plain: same, observed: same},
		{program: program{name: "status"}, plain: same, observed: run{status: "signal: trace/breakpoint trap", output: "hi"}},
		{program: program{name: "output"}, plain: same, observed: run{status: same.status}},
		{program: program{name: "missing"}, missing: "missing"},
	}
	if got := harmed(all); !slices.Equal(got, []string{"status", "output"}) {
		t.Errorf("harmed: %q", got)
	}
	if text := render(all); strings.Count(text, "**no**") != 2 || !strings.Contains(text, "Not installed: missing.") {
		t.Errorf("%s", text)
	}
}

// TestNames checks that each program has a name of its own, and a command.
func TestNames(t *testing.T) {
	names := map[string]bool{}
	for _, p := range programs {
		if names[p.name] || len(p.run) == 0 || len(p.needs) == 0 {
			t.Errorf("%s: %+v", p.name, p)
		}
		names[p.name] = true
	}
	if len(programs) < 30 {
		t.Errorf("%d programs, want 30", len(programs))
	}
}
