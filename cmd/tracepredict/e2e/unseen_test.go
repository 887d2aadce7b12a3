package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestUnseenSync checks that synchronisation that is not observed weakens a finding
// only if it was executed and could have ordered the two sides, and that the report
// of a trace is the same. That a static program contains its C library makes no difference.
func TestUnseenSync(t *testing.T) {
	needBPF(t)
	t.Run("dynamic", func(t *testing.T) { testUnseenSync(t, "-g") })
	t.Run("static", func(t *testing.T) { testUnseenSync(t, "-g", "-static") })
}

func testUnseenSync(t *testing.T, flags ...string) {
	for _, c := range []struct {
		mode       string
		confidence string
		reason     string // part of the finding's reason
		executed   string // the executed instructions, in the order of their first executions
	}{
		{"", "predicted", "", ""},
		{"alone", "predicted", "", ""},
		{"late", "predicted", "", "atomic instruction in ring at places.c:21"},
		{"locked", "likely", "synchronised unobserved (atomic instruction in enter at places.c:17)", "atomic instruction in enter at places.c:17"},
		{"hot", "likely", "and perhaps others synchronised unobserved (atomic instruction in enter at places.c:17)", "atomic instruction in enter at places.c:17"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			dir := t.TempDir()
			file, live, again := filepath.Join(dir, "trace"), filepath.Join(dir, "live.json"), filepath.Join(dir, "again.json")
			tool := startTool(t, childOptions{}, "exec", "--confidence", "potential", "--fail-on", "potential", "--watch", "tally", "--record", file, "--format", "json", "--output", live, "--", processFixture(t, "places.c", flags...), c.mode)
			tool.want(66)
			if !tool.out.has("tally 3") {
				t.Errorf("the program said %q", tool.out.String())
			}
			r := readReport(t, live)
			wantSummary(t, r, c.confidence+" race of tally")
			if got := r.Findings[0].Reason; !strings.Contains(got, c.reason) || c.reason == "" && got != "" {
				t.Errorf("the reason is %q, want %q", got, c.reason)
			}
			var places []string
			for _, e := range r.Run.Executed {
				places = append(places, e.Place)
			}
			if got := strings.Join(places, ", "); got != c.executed {
				t.Errorf("executed: %q, want %q", got, c.executed)
			}
			startTool(t, childOptions{}, "analyze", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", again, file).want(66)
			wantSameFile(t, live, again)
		})
	}
}

// TestUnseenSyncWithoutAtomics checks that with --no-atomics, when it is not known
// whether an instruction was executed, it counts as executed.
func TestUnseenSyncWithoutAtomics(t *testing.T) {
	needBPF(t)
	_, r := reported(t, "exec", "--no-atomics", "--watch", "tally", "--", processFixture(t, "places.c", "-g"))
	wantSummary(t, r, "likely race of tally")
	if got := r.Findings[0].Reason; !strings.Contains(got, "synchronises by itself at 2 places") {
		t.Errorf("the reason is %q", got)
	}
}

// TestPointersToAtomics checks that accesses of an atomic variable through pointers, which are not
// observed, weaken a finding from where its address goes to where it is not followed, and that an
// element whose index is computed orders threads. The report of the trace is the same.
func TestPointersToAtomics(t *testing.T) {
	needBPF(t)
	for _, c := range []struct{ mode, define, summary, reason string }{
		{"", "", "predicted race of data", ""},
		{"other", "", "predicted race of data", ""},
		{"direct", "", "", ""},
		{"nested", "", "", ""},
		{"passed", "", "likely race of data", "(pointer to passed in may_go at handed_out.c:"},
		{"called", "", "likely race of data", "(pointer to called in "},
		{"handed", "", "likely race of data", "(pointer to handed in main at handed_out.c:"},
		{"", "-DLISTED", "likely race of data", "(pointer to listed, in data at 0x"},
		{"", "-DWIDE", "likely race of data", "(any of wide[].cells[].set)"},
	} {
		t.Run(c.mode+c.define, func(t *testing.T) {
			flags := []string{"-g"}
			if c.define != "" {
				flags = append(flags, c.define)
			}
			dir := t.TempDir()
			file, live, again := filepath.Join(dir, "trace"), filepath.Join(dir, "live.json"), filepath.Join(dir, "again.json")
			want := 66
			if c.summary == "" {
				want = 0
			}
			startTool(t, childOptions{}, "exec", "--watch", "data", "--record", file, "--format", "json", "--output", live, "--", processFixture(t, "handed_out.c", flags...), c.mode).want(want)
			r := readReport(t, live)
			wantSummary(t, r, c.summary)
			if len(r.Findings) > 0 && !strings.Contains(r.Findings[0].Reason, c.reason) {
				t.Errorf("the reason is %q, want %q", r.Findings[0].Reason, c.reason)
			}
			startTool(t, childOptions{}, "analyze", "--format", "json", "--output", again, file).want(want)
			wantSameFile(t, live, again)
		})
	}
}

// TestUnseenSyncOfAnotherProcess checks that what a wrapper synchronises unobserved is no reason to
// doubt what is found in the program that it runs.
func TestUnseenSyncOfAnotherProcess(t *testing.T) {
	needBPF(t)
	_, r := reported(t, "exec", "--follow", "--", processFixture(t, "wrapper.c"), example(t, "shop"))
	wantSummary(t, r, "predicted deadlock of ledger, stock")
	if len(r.Run.Executed) == 0 {
		t.Errorf("the wrapper synchronised observed: %q", r.Run.Notes)
	}
}

// TestUnseenSyncOnHeap checks synchronisation by atomic variables on the heap, in C++
// and Rust.
func TestUnseenSyncOnHeap(t *testing.T) {
	needBPF(t)
	for _, c := range []struct {
		compiler, source string
		flags            []string
		variable, place  string
	}{
		{"g++", "places.cc", []string{"-O2", "-pthread"}, "tally", "atomic instruction in main::{lambda}::operator() at places.cc:"},
		{"rustc", "places.rs", []string{"-O"}, "TALLY", "atomic instruction in places::main::{{closure}} at places.rs:"},
	} {
		t.Run(c.compiler, func(t *testing.T) {
			_, r := reported(t, "exec", "--watch", c.variable, "--", corpus(t, c.compiler, "process/"+c.source, c.flags))
			if len(r.Findings) == 0 {
				t.Fatalf("no findings; notes: %q", r.Run.Notes)
			}
			for _, f := range r.Findings {
				if f.Confidence != "likely" && f.Confidence != "potential" {
					t.Errorf("%s", f)
				}
			}
			found := false
			for _, e := range r.Run.Executed {
				found = found || strings.HasPrefix(e.Place, c.place)
			}
			if !found {
				t.Errorf("executed: %v, want %s", r.Run.Executed, c.place)
			}
		})
	}
}

// TestLoopsThatWait checks that a loop which waits until another thread stores a value weakens a
// finding that it may refute, and that one which is left for another reason, or not executed, does
// not. The report of the trace is the same.
func TestLoopsThatWait(t *testing.T) {
	needBPF(t)
	for _, c := range []struct{ mode, confidence, executed string }{
		{"waits", "likely", "loop that waits in second at gates.c:36"},
		{"polls", "predicted", ""},
		{"", "predicted", ""},
	} {
		t.Run(c.mode, func(t *testing.T) {
			dir := t.TempDir()
			file, live, again := filepath.Join(dir, "trace"), filepath.Join(dir, "live.json"), filepath.Join(dir, "again.json")
			tool := startTool(t, childOptions{}, "exec", "--watch", "tally", "--record", file, "--format", "json", "--output", live, "--", processFixture(t, "gates.c", "-g"), c.mode)
			tool.want(66)
			if !tool.out.has("tally 2") {
				t.Errorf("the program said %q", tool.out.String())
			}
			r := readReport(t, live)
			wantSummary(t, r, c.confidence+" race of tally")
			if got := r.Findings[0].Reason; !strings.Contains(got, c.executed) || c.executed == "" && got != "" {
				t.Errorf("the reason is %q, want %q", got, c.executed)
			}
			var places []string
			for _, e := range r.Run.Executed {
				places = append(places, e.Place)
			}
			if got := strings.Join(places, ", "); got != c.executed {
				t.Errorf("executed: %q, want %q", got, c.executed)
			}
			startTool(t, childOptions{}, "analyze", "--format", "json", "--output", again, file).want(66)
			wantSameFile(t, live, again)
		})
	}
}

// TestFlagsThatOrder checks that a static flag for which a loop waits that sleeps orders the threads
// only if it is set in time, and that it is a race itself if it is watched.
func TestFlagsThatOrder(t *testing.T) {
	needBPF(t)
	for _, c := range []struct{ mode, watch, want string }{
		{"sleeps", "tally", ""},
		{"early", "tally", "predicted race of tally"},
		{"sleeps", "tally,flag", "predicted race of flag"},
	} {
		t.Run(c.mode+" "+c.watch, func(t *testing.T) {
			args := []string{"exec"}
			for _, name := range strings.Split(c.watch, ",") {
				args = append(args, "--watch", name)
			}
			_, r := reported(t, append(args, "--", processFixture(t, "gates.c", "-g"), c.mode)...)
			wantSummary(t, r, c.want)
			if len(r.Run.Executed) > 0 {
				t.Errorf("synchronised unobserved: %v", r.Run.Executed)
			}
		})
	}
}
