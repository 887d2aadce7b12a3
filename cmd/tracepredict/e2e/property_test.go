package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// specified runs the reservoir under a specification that a test writes.
func specified(t *testing.T, text string, args ...string) *child {
	t.Helper()
	needBPF(t)
	return specifiedOf(t, example(t, "valve"), text, args...)
}

func specifiedOf(t *testing.T, program, text string, args ...string) *child {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.tps")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return startTool(t, childOptions{}, append(append([]string{"exec", "--spec", file}, args...), "--", program)...)
}

// TestSectionsChangePlaces: two critical sections that nothing but their lock orders
// stay in their order, unless that is asked for; the finding says so.
func TestSectionsChangePlaces(t *testing.T) {
	needBPF(t)
	program := build(t, "gcc", "swap.c", "-O2", "-pthread")
	const text = "var a : int = first\nvar b : int = second\nproperty in_order = always (b == 1 -> a == 1)\n"
	specifiedOf(t, program, text).want(0)
	c := specifiedOf(t, program, text, "--causality", "exclusion")
	c.want(66)
	if text := c.err.String(); !strings.Contains(text, "PROPERTY predicted (in_order)") || !strings.Contains(text, "(order: exclusion)") {
		t.Errorf("the report:\n%s", text)
	}
}

// TestPropertyReport: the report shows both schedules, with what holds after each step,
// and how much was checked; races on variables that are watched for a property alone
// are none of it.
func TestPropertyReport(t *testing.T) {
	c := specified(t, "var w : int = water\nvar v : int = opening\nproperty wide \"too late\" = always (w > 30 -> v > 55)\n")
	c.want(66)
	text := c.err.String()
	for _, want := range []string{
		"1 property predicted in valve", "PROPERTY predicted (wide)", "another schedule of this run violates wide: too late",
		"This run did:", "Another schedule of the same run:", "water = 31 {w > 30, !(v > 55)}", "on every run that the observed causality allows",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "RACE") {
		t.Errorf("the report has a race:\n%s", text)
	}
}

// TestPropertyHolds: a property that holds on all runs, of variables, threads and
// synchronising operations, is no finding; one that this run violates is observed.
func TestPropertyHolds(t *testing.T) {
	const declared = "var w : int = water\nthread reader = start level_reader\nevent fill = write w by reader\nevent over = join reader\n"
	specified(t, declared+"property rising = always (over -> w == 31)\n").want(0)
	c := specified(t, declared+"property few = always (fill -> w < 31)\n")
	c.want(66)
	if text := c.err.String(); !strings.Contains(text, "PROPERTY observed (few)") || !strings.Contains(text, "this run violates few") {
		t.Errorf("the violation of this very run is not reported as observed:\n%s", text)
	}
}

// TestOnViolation: what is to be done when a property is violated is done while the
// program runs.
func TestOnViolation(t *testing.T) {
	const text = "var w : int = water\nproperty low = always w < 24\n"
	mark := filepath.Join(t.TempDir(), "mark")
	specified(t, text, "--on-violation", "run echo $TRACEPREDICT_PROPERTY >"+mark).want(66)
	if got, err := os.ReadFile(mark); err != nil || string(got) != "low\n" {
		t.Errorf("the command wrote %q: %v", got, err)
	}
	specified(t, text, "--queue", "1", "--on-violation", "signal TERM").want(128 + 15)
}
