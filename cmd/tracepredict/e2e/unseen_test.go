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
	t.Parallel()
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
	t.Parallel()
	_, r := reported(t, "exec", "--no-atomics", "--watch", "tally", "--", processFixture(t, "places.c", "-g"))
	wantSummary(t, r, "likely race of tally")
	if got := r.Findings[0].Reason; !strings.Contains(got, "synchronises by itself at 2 places") {
		t.Errorf("the reason is %q", got)
	}
}

// TestPointersToAtomics checks that an atomic variable orders threads also through pointers of its type;
// that accesses through other pointers, which are not observed, weaken a finding from where its address goes
// to where it is not followed; and that an element whose index is computed orders threads. The report of the trace is the same.
func TestPointersToAtomics(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct{ mode, define, summary, reason string }{
		{"", "", "predicted race of data", ""},
		{"other", "", "predicted race of data", ""},
		{"direct", "", "", ""},
		{"nested", "", "", ""},
		{"passed", "", "", ""},
		{"handed", "", "", ""},
		{"", "-DLISTED", "", ""},
		{"passed", "-DUNTYPED", "likely race of data", "(pointer to passed in may_go at handed_out.c:"},
		{"called", "-DUNTYPED", "likely race of data", "(pointer to called in "},
		{"handed", "-DUNTYPED", "likely race of data", "(pointer to handed in main at handed_out.c:"},
		{"", "-DUNTYPED -DLISTED", "likely race of data", "(pointer to listed, in data at 0x"},
		{"", "-DWIDE", "likely race of data", "(any of wide[].cells[].set)"},
	} {
		t.Run(c.mode+c.define, func(t *testing.T) {
			flags := append([]string{"-g"}, strings.Fields(c.define)...)
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
	t.Parallel()
	_, r := reported(t, "exec", "--watch-shared=off", "--follow", "--", processFixture(t, "wrapper.c"), example(t, "shop"))
	wantSummary(t, r, "predicted deadlock of ledger, stock")
	if len(r.Run.Executed) == 0 {
		t.Errorf("the wrapper synchronised observed: %q", r.Run.Notes)
	}
}

// TestAtomicsOnHeap checks that atomic variables on the heap order threads, in C++ and Rust, and
// that they do not order what comes after them. What the mutex of Rust guards is not watched, so that another
// schedule of its sections is no more than likely.
func TestAtomicsOnHeap(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		compiler, source string
		flags            []string
		variable, want   string
		or               string
	}{
		{"g++", "places.cc", []string{"-O2", "-g", "-pthread"}, "tally", "", ""},
		{"g++", "places.cc", []string{"-O2", "-g", "-pthread", "-DLATE"}, "tally", "predicted race of tally", ""},
		{"rustc", "places.rs", []string{"-O", "-g"}, "TALLY", "", "potential race of places::TALLY"}, // its sections call what is not examined
		{"rustc", "places.rs", []string{"-O", "-g", "--cfg", "late"}, "TALLY", "likely race of places::TALLY", "predicted race of places::TALLY"},
	} {
		t.Run(strings.Join(append([]string{c.compiler}, c.flags...), " "), func(t *testing.T) {
			_, r := reported(t, "exec", "--confidence", "potential", "--fail-on", "potential", "--watch", c.variable, "--", corpus(t, c.compiler, "process/"+c.source, c.flags))
			if c.or == "" || r.summary() != c.or {
				wantSummary(t, r, c.want)
			}
		})
	}
}

// TestPointersToAtomicScalars checks that numbers of an atomic type on the heap order threads in C, where only
// pointers say that they are atomic, and that they do not order what comes after them.
func TestPointersToAtomicScalars(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, late := range []bool{false, true} {
		for _, args := range [][]string{nil, {"hall"}} {
			flags, want := []string{"-g"}, ""
			if late {
				flags, want = append(flags, "-DLATE"), "predicted race of tally"
			}
			t.Run(strings.Join(append(flags, args...), " "), func(t *testing.T) {
				command := append([]string{processFixture(t, "scalars.c", flags...)}, args...)
				_, r := reported(t, append([]string{"exec", "--confidence", "potential", "--fail-on", "potential", "--watch", "tally", "--"}, command...)...)
				wantSummary(t, r, want)
			})
		}
	}
}

// TestLoopsThatWait checks that a loop which waits until another thread stores a value weakens a
// finding that it may refute, and that one which is left for another reason, or not executed, does
// not. The report of the trace is the same.
func TestLoopsThatWait(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct{ mode, define, confidence, executed string }{
		{"waits", "", "likely", "loop that waits in second at gates.c:41"},
		{"polls", "", "predicted", ""},
		{"", "", "predicted", ""},
		{"polls", "-DTYPED", "predicted", ""},
	} {
		t.Run(c.mode+c.define, func(t *testing.T) {
			flags := []string{"-g"}
			if c.define != "" {
				flags = append(flags, c.define)
			}
			dir := t.TempDir()
			file, live, again := filepath.Join(dir, "trace"), filepath.Join(dir, "live.json"), filepath.Join(dir, "again.json")
			tool := startTool(t, childOptions{}, "exec", "--watch", "tally", "--record", file, "--format", "json", "--output", live, "--", processFixture(t, "gates.c", flags...), c.mode)
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
// only if it is set in time, that it is likely to be a race itself if it is watched, since machine code does not
// tell a built-in's load from another, and that an atomic flag on the heap orders them too.
func TestFlagsThatOrder(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct{ mode, watch, want string }{
		{"sleeps", "tally", ""},
		{"early", "tally", "predicted race of tally"},
		{"sleeps", "tally,flag", "likely race of flag"},
		{"waits", "tally", ""},
	} {
		t.Run(c.mode+" "+c.watch, func(t *testing.T) {
			args := []string{"exec"}
			for _, name := range strings.Split(c.watch, ",") {
				args = append(args, "--watch", name)
			}
			_, r := reported(t, append(args, "--", processFixture(t, "gates.c", "-g", "-DTYPED"), c.mode)...)
			wantSummary(t, r, c.want)
			if len(r.Run.Executed) > 0 {
				t.Errorf("synchronised unobserved: %v", r.Run.Executed)
			}
		})
	}
}
