package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// suite returns a script that runs two copies of a test, first_test and second_test, with each line of modes: the modes of
// first_test and second_test, at the same time.
func suite(t *testing.T, lines ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"first_test", "second_test"} {
		raw, err := os.ReadFile(processFixture(t, "suite.c"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := "#!/bin/sh\ncd " + dir + "\n"
	for _, l := range lines {
		first, second, _ := strings.Cut(l, " ")
		text += "./first_test " + first + " & ./second_test " + second + "\nwait\n"
	}
	script := filepath.Join(dir, "run-tests")
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return script
}

// TestSuite: the same deadlock in several processes of two programs is one finding in each format, which names the
// processes by their command lines; the earlier report makes it known.
func TestSuite(t *testing.T) {
	needBPF(t)
	t.Parallel()
	script, dir := suite(t, "both both", "left both"), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	startTool(t, childOptions{}, "exec", "--format", "json", "--output", at("json"), "--format", "sarif", "--output", at("sarif"),
		"--format", "junit", "--output", at("junit"), "--format", "text", "--output", at("text"), "--", script).want(66)
	r := readReport(t, at("json"))
	if len(r.Findings) != 1 {
		t.Fatalf("findings: %s", r.summary())
	}
	f := r.Findings[0]
	if f.Count != 3 || f.ProcessCount != 3 || len(f.Processes) != 3 {
		t.Errorf("seen %d times in %d processes, %v, not 3 times in 3", f.Count, f.ProcessCount, f.Processes)
	}
	var commands []string
	for _, p := range r.Run.Processes {
		if slices.Contains(f.Processes, p.PID) {
			commands = append(commands, p.Command)
		}
	}
	if slices.Sort(commands); strings.Join(commands, ", ") != "./first_test both, ./second_test both, ./second_test both" {
		t.Errorf("seen in %q", commands)
	}
	for _, name := range []string{"sarif", "junit", "text"} {
		raw, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(raw); strings.Count(text, f.Fingerprint) == 0 || !strings.Contains(text, "5 processes were observed") ||
			!strings.Contains(text, "in 3 processes: ./") || !strings.Contains(text, "./first_test both (pid ") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	startTool(t, childOptions{}, "exec", "--baseline", at("json"), "--", script).want(0)
}

// TestSuiteOfOrders: locks of two processes are two locks, whatever they are called.
func TestSuiteOfOrders(t *testing.T) {
	needBPF(t)
	t.Parallel()
	status, r := reported(t, "exec", "--", suite(t, "left right", "right left"))
	if status != 0 || len(r.Findings) != 0 || len(r.Run.Processes) != 5 {
		t.Errorf("status %d, %d processes, findings: %s", status, len(r.Run.Processes), r.summary())
	}
}
