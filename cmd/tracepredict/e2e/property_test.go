package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// specified runs the reservoir under a specification.
func specified(t *testing.T, text string, args ...string) *child {
	t.Helper()
	return startReservoir(t, append([]string{"exec", "--spec", specFile(t, text)}, args...)...)
}

// startReservoir runs the reservoir, whose threads take turns, so that the valve is always open wide enough before the
// water is high. It returns when all turns have been taken.
func startReservoir(t *testing.T, args ...string) *child {
	t.Helper()
	needBPF(t)
	var turns [2]*os.File
	opts := childOptions{Files: make([]*os.File, 2)}
	for i := range turns {
		var err error
		if opts.Files[i], turns[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		defer turns[i].Close()
	}
	c := startTool(t, opts, append(slices.Clone(args), "--", build(t, "gcc", "reservoir.c", "-g", "-O1", "-pthread"))...)
	for i, thread := range []int{0, 1, 0, 1, 0, 1} {
		if _, err := turns[thread].WriteString("x"); err != nil && !errors.Is(err, unix.EPIPE) { // a tool that ended early
			t.Fatal(err)
		}
		poll(t, "the next step of the reservoir", func() bool { return strings.Count(c.out.String(), "step\n") > i || c.hasEnded() })
	}
	return c
}

func specFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.tps")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func specifiedOf(t *testing.T, program, text string, args ...string) *child {
	t.Helper()
	return startTool(t, childOptions{}, append(append([]string{"exec", "--spec", specFile(t, text)}, args...), "--", program)...)
}

// TestSectionsChangePlaces checks that two critical sections that only their lock
// orders stay in their order unless --causality exclusion is given, and that the
// finding names it.
func TestSectionsChangePlaces(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "swap.c", "-O2", "-pthread")
	const text = "var a : int = first\nvar b : int = second\nproperty in_order = always (b == 1 -> a == 1)\n"
	specifiedOf(t, program, text).want(0)
	c := specifiedOf(t, program, text, "--causality", "exclusion")
	c.want(66)
	if text := c.err.String(); !strings.Contains(text, "PROPERTY likely (in_order)") || !strings.Contains(text, "(exclusion)") {
		t.Errorf("the report:\n%s", text)
	}
}

// TestPropertyReport checks that the report shows both schedules, the atoms that are
// true after each step, and how much was checked, and that it has no race on a variable
// that is watched only for a property.
func TestPropertyReport(t *testing.T) {
	t.Parallel()
	c := specified(t, "var w : int = water\nvar v : int = opening\nproperty wide \"too late\" = always (w > 30 -> v > 55)\n")
	c.want(66)
	text := c.err.String()
	for _, want := range []string{
		"1 property predicted in ", "PROPERTY predicted (wide)", "another schedule of this run violates wide: too late",
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

// TestPropertyBesideLateAccesses checks that a run and its trace have equal reports where accesses were recorded after
// others that they come before: events have other numbers then.
func TestPropertyBesideLateAccesses(t *testing.T) {
	needBPF(t)
	t.Parallel()
	spec := specFile(t, "var w : int = water\nvar v : int = opening\nproperty early = always (w > 30 -> v > 65)\n")
	file := filepath.Join(t.TempDir(), "run.trace")
	_, live := reported(t, "exec", "--spec", spec, "--watch-shared=all", "--record", file, "--", build(t, "gcc", "late.c", "-g", "-O1", "-pthread"))
	_, again := reported(t, "analyze", "--spec", spec, file)
	if diff := cmp.Diff(live, again); diff != "" {
		t.Errorf("live (-), of the trace (+):\n%s", diff)
	}
	if len(live.Findings) != 1 || live.Findings[0].Confidence != "observed" {
		t.Errorf("found %v", live.Findings)
	}
}

// TestPropertyOfWatchedAccesses checks that a property is observed only where the record proves the order of two
// accesses, one of which a hardware watchpoint sees: not where z is written before y, and the thread records its next
// event long after y was written; and not where y is written first, but only memory that is not watched says so.
func TestPropertyOfWatchedAccesses(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "xyz.c", "-O1", "-g", "-pthread")
	spec := specFile(t, "var x : int = x\nvar y : int = y\nvar z : int = z\nproperty since = always (x > 0 -> interval(y == 0, y > z))\n")
	for first, observed := range map[string]bool{"z": false, "y": false, "posted": true} {
		for _, flags := range [][]string{{"--watch-hw", "z"}, {"--no-watch-hw"}} {
			file := filepath.Join(t.TempDir(), "run.trace")
			_, live := reported(t, slices.Concat([]string{"exec", "--spec", spec, "--record", file}, flags, []string{"--", program, first})...)
			_, again := reported(t, "analyze", "--spec", spec, file)
			if diff := cmp.Diff(live, again); diff != "" {
				t.Errorf("%s first, %q: live (-), of the trace (+):\n%s", first, flags, diff)
			}
			found := slices.ContainsFunc(live.Findings, func(f jsonFinding) bool { return f.Kind == "property" && f.Confidence == "observed" })
			if len(live.Findings) == 0 || found != observed {
				t.Errorf("%s first, %q: observed %v, want %v: %v", first, flags, found, observed, live.Findings)
			}
		}
	}
}

// TestPropertyHolds checks that a property that holds on all runs, of variables,
// threads and synchronisation, is no finding, and that one that this run violates is
// observed.
func TestPropertyHolds(t *testing.T) {
	t.Parallel()
	const declared = "var w : int = water\nthread reader = start level_reader\nevent fill = write w by reader\nevent over = join reader\n"
	specified(t, declared+"property rising = always (over -> w == 31)\n").want(0)
	c := specified(t, declared+"property few = always (fill -> w < 31)\n")
	c.want(66)
	if text := c.err.String(); !strings.Contains(text, "PROPERTY observed (few)") || !strings.Contains(text, "this run violates few") {
		t.Errorf("the violation of this very run is not reported as observed:\n%s", text)
	}
}

// TestPropertyBadAtStart checks that a property that the values in the program's file violate is observed, with these
// values and no event, live and of the trace.
func TestPropertyBadAtStart(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "swap.c", "-O2", "-pthread")
	spec := specFile(t, "var a : int = first\nproperty set \"first is not set\" = always (a == 1)\n")
	file := filepath.Join(t.TempDir(), "run.trace")
	_, live := reported(t, "exec", "--spec", spec, "--record", file, "--", program)
	_, again := reported(t, "analyze", "--spec", spec, file)
	if diff := cmp.Diff(live, again); diff != "" {
		t.Errorf("live (-), of the trace (+):\n%s", diff)
	}
	if len(live.Findings) != 1 || live.Findings[0].Confidence != "observed" || live.Findings[0].Kind != "property" {
		t.Errorf("found %v", live.Findings)
	}
	c := startTool(t, childOptions{}, "analyze", "--spec", spec, file)
	c.want(66)
	for _, want := range []string{
		"PROPERTY observed (set)", "the state before any event violates set: first is not set", "the state before any event is bad {!(a == 1)}.\n     a = 0\n",
		"observed: every schedule begins with that state",
	} {
		if !strings.Contains(c.err.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &c.err)
		}
	}
}

// TestOnViolation checks that the actions for a violated property are carried out while
// the program runs.
func TestOnViolation(t *testing.T) {
	t.Parallel()
	const text = "var w : int = water\nproperty low = always w < 24\n"
	mark := filepath.Join(t.TempDir(), "mark")
	specified(t, text, "--on-violation", "run echo $TRACEPREDICT_PROPERTY: $TRACEPREDICT_MESSAGE >"+mark).want(66)
	if got, err := os.ReadFile(mark); err != nil || string(got) != "low: this run violates low\n" {
		t.Errorf("the command wrote %q: %v", got, err)
	}
	waits := build(t, "gcc", "process/lowers.c", "-O0", "-g", "-pthread")
	ended := specifiedOf(t, waits, text, "--queue", "1", "--on-violation", "signal TERM")
	poll(t, "the end by the signal", ended.hasEnded) // with its input open
	ended.want(128 + 15)
	const wide = "var w : int = water\nvar v : int = opening\nproperty wide = always (w > 30 -> v > 55)\n"
	c := specified(t, wide, "--on-violation", "signal TERM")
	c.want(66)
	if text := c.err.String(); !strings.Contains(text, "the process has ended; that wide is violated was known only then") {
		t.Errorf("nothing is said of a signal that came too late:\n%s", text)
	}
}

// TestUnfitSpecification checks that the errors of a specification that does not fit
// the program have source locations, and that the program is not run.
func TestUnfitSpecification(t *testing.T) {
	t.Parallel()
	const text = "var w : float = water\nvar v : int = openin\nevent put = call queue_put\nproperty low = always (w < 24 && v > 3 && !put)\n"
	c := specified(t, text)
	c.want(2)
	for _, want := range []string{
		`test.tps:1:5: "w" is declared float, and the program's water is an integer with a sign (int)`,
		`test.tps:2:15: "openin" cannot be watched: no global or static variable has that name; did you mean opening`,
		`test.tps:3:18: "call queue_put" matches no function`,
	} {
		if !strings.Contains(c.err.String(), want) {
			t.Errorf("the errors lack %q:\n%s", want, &c.err)
		}
	}
	if c.out.String() != "" {
		t.Errorf("the program ran: %s", &c.out)
	}
}

// TestStaticOfFunction checks that a static variable of a function is also found by a
// path with a dot.
func TestStaticOfFunction(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "swap.c", "-O2", "-pthread")
	specifiedOf(t, program, "var n : int = two.passes\nproperty none = always n == 0\n").want(66)
}

// TestRecordThenAnalyze checks that a trace contains the initial values of watched
// variables, so that a specification can be checked on it as on the run.
func TestRecordThenAnalyze(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	file, trace := filepath.Join(dir, "wide.tps"), filepath.Join(dir, "valve.trace")
	const text = "var w : int = water\nvar v : int = opening\nproperty wide \"too late\" = always (w > 30 -> v > 55)\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	startTool(t, childOptions{}, "exec", "--watch", "water", "--watch", "opening", "--record", trace, "--", example(t, "valve")).want(66)
	c := startTool(t, childOptions{}, "analyze", "--spec", file, trace)
	c.want(66)
	if text := c.err.String(); !strings.Contains(text, "PROPERTY predicted (wide)") || strings.Contains(text, "potential") {
		t.Errorf("the report:\n%s", text)
	}
	if err := os.WriteFile(file, []byte("var w : float = water\nproperty low = always w < 24\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c = startTool(t, childOptions{}, "analyze", "--spec", file, trace)
	c.want(2)
	if text := c.err.String(); !strings.Contains(text, "wide.tps:1:5: ") {
		t.Errorf("the error:\n%s", text)
	}
}

// TestLockOfStructure checks that a lock is found by the path of the member that it is,
// also in a trace, and that a path that leads nowhere is an error before the program
// runs.
func TestLockOfStructure(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "swap.c", "-O2", "-pthread")
	const text = "lock l = table.lock\nevent taken = acquire l\nproperty never = always !taken\n"
	trace := filepath.Join(t.TempDir(), "swap.trace")
	c := specifiedOf(t, program, text, "--record", trace)
	c.want(66)
	if text := c.err.String(); !strings.Contains(text, "locks table.lock {taken}") {
		t.Errorf("the report:\n%s", text)
	}
	c = specifiedOf(t, program, strings.Replace(text, "table.lock", "table.lok", 1))
	c.want(2)
	if text := c.err.String(); !strings.Contains(text, `test.tps:1:10: the lock "table.lok" cannot be found: `) || !strings.Contains(text, "did you mean table.lock?") {
		t.Errorf("the error:\n%s", text)
	}
}

// TestPartialVerdicts: what is no safety property has a verdict in three values, and is a finding only where it is false.
func TestPartialVerdicts(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "named_threads.c", "-O1", "-g", "-pthread")
	file := specFile(t, `
event approved = call approve
event pays = call pay
property done = eventually pays
property answered = always (approved -> eventually pays)
property first = !pays until approved
`)
	for how, first := range map[string]string{"told": "true", "": "true|false"} {
		tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--partial", "--spec", file, "--", program, "self", how)
		tool.wait()
		text := strings.Join(strings.Fields(tool.err.String()), " ")
		for _, want := range []string{"property done: of this run it is true", "property answered: of this run it is unknown", "property first: of this run it is (" + first + ")"} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("%q: %s", want, text)
			}
		}
		if violated := strings.Contains(text, "PROPERTY observed (first)"); violated != strings.Contains(text, "of this run it is false") {
			t.Errorf("observed %v: %s", violated, text)
		}
	}
}

// TestPartialVerdictsOfObjects: of what is no safety property of each object, the objects are counted for which it is true,
// false and unknown, and the first ones are named; live and in the recorded run.
func TestPartialVerdictsOfObjects(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "requests.c", "-O1", "-g", "-pthread")
	file := specFile(t, `
event take   = call request_take(r)
event answer = call request_answer(r)
property answered (r : struct request *) = always (take -> eventually answer)
property done (r : struct request *) = (take || !take) && eventually answer
property in_turn (r : struct request *) = !answer until take
`)
	const decides = "unknown, as what would follow decides, of "
	for how, want := range map[string][]string{
		"all":   {"answered: " + decides + "8 objects, of which 4 have ended (0x", "done: true, whatever would follow, of 8 objects", "in_turn: true, whatever would follow, of 8 objects"},
		"most":  {"done: true, whatever would follow, of 6 objects, of which 3 have ended (0x", "done: " + decides + "2 objects, of which 1 has ended (0x", "in_turn: true, whatever would follow, of 8 objects"},
		"early": {"done: true, whatever would follow, of 8 objects", "in_turn: true, whatever would follow, of 7 objects", "in_turn: false, whatever would follow, of 1 object, of which 1 has ended (0x", "in request_answer at requests.c:"},
	} {
		trace := filepath.Join(t.TempDir(), "trace")
		live := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--partial", "--spec", file, "--record", trace, "--", program, how)
		live.wait()
		again := startTool(t, childOptions{}, "analyze", "--partial", "--spec", file, trace)
		again.wait()
		for _, tool := range []*child{live, again} {
			text := strings.Join(strings.Fields(tool.err.String()), " ")
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%s: not %q: %s", how, w, text)
				}
			}
			verdicts := strings.Count(text, ", whatever would follow, of ") + strings.Count(text, decides)
			if n := map[string]int{"all": 3, "most": 4, "early": 4}[how]; verdicts != n || strings.Contains(text, "PROPERTY observed (in_turn)") != (how == "early") {
				t.Errorf("%s: %d verdicts, want %d: %s", how, verdicts, n, text)
			}
		}
	}
}
