package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// misuseCases are the cases of testdata/misuse/misuse.c that break a rule, with the
// rule. The last one ends the process.
var misuseCases = [][2]string{
	{"unlock_not_held", "unlock-not-held"}, {"unlock_rwlock", "unlock-not-held"}, {"unlock_c11", "unlock-not-held"}, {"unlock_by_other", "unlock-by-other"},
	{"unlock_inconsistent", "unlock-inconsistent"}, {"wait_inconsistent", "unlock-inconsistent"}, {"exit_cancelled", "exit-holding"}, {"relock", "relock"}, {"relock_rwlock", "relock"}, {"destroy_held", "destroy-held"}, {"wait_two_mutexes", "wait-two-mutexes"},
	{"wait_not_held", "wait-not-held"}, {"use_destroyed", "use-destroyed"}, {"exit_holding", "exit-holding"}, {"join_detached", "join-detached"},
	{"join_made_detached", "join-detached"}, {"join_twice", "join-twice"}, {"join_self", "join-self"}, {"detach_twice", "detach-twice"}, {"detach_joined", "detach-twice"}, {"never_joined", "never-joined"},
	{"destroy_twice", "destroy-twice"}, {"destroy_condition_twice", "destroy-twice"}, {"destroy_semaphore_twice", "destroy-twice"},
	{"reinit_held", "reinit-held"}, {"reinit_waited", "reinit-waited"}, {"overwritten", "overwritten-waited"},
	{"signal_destroyed", "use-destroyed"}, {"wait_destroyed", "use-destroyed"}, {"post_destroyed", "use-destroyed"}, {"barrier_destroyed", "use-destroyed"},
	{"free_held", "free-held"},
	{"destroy_rwlock", "destroy-held"}, {"destroy_waited", "destroy-waited"},
}

// uncertainCase may break a rule, which the observation cannot decide. It comes first.
var uncertainCase = [2]string{"rwlock_destroyed", "use-destroyed"}

// innocentCases break no rule. The last one ends the process.
var innocentCases = []string{"free_handed", "free_last", "post_by_other", "post_shared", "destroy_woken", "exit_robust", "never_ended", "exit_of_process"}

func misuseProgram(t *testing.T) string {
	t.Helper()
	return build(t, "gcc", "misuse/misuse.c", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread")
}

// marked returns the lines of the source that are marked for a case.
func marked(t *testing.T, role, name string) []int {
	t.Helper()
	text, err := os.ReadFile("testdata/misuse/misuse.c")
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for i, line := range strings.Split(string(text), "\n") {
		_, mark, _ := strings.Cut(line, "/* "+role+" ")
		if slices.Contains(strings.Fields(mark), name) {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// namedLines returns the lines of misuse.c in the evidence of a finding.
func namedLines(f jsonFinding) (lines []int) {
	for _, s := range f.Evidence {
		for _, frame := range s.Stack {
			if filepath.Base(frame.File) == "misuse.c" && frame.Line > 0 {
				lines = append(lines, frame.Line)
				break
			}
		}
	}
	return lines
}

// TestMisuse checks that each broken rule is found, and nothing else, at the marked
// lines, also in the trace.
func TestMisuse(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	live, file, again := filepath.Join(dir, "live.json"), filepath.Join(dir, "run.trace"), filepath.Join(dir, "again.json")
	args := []string{"exec", "--watch-shared=off", "--format", "json", "--output", live, "--record", file, "--", misuseProgram(t), uncertainCase[0]}
	for _, c := range misuseCases {
		args = append(args, c[0])
	}
	startTool(t, childOptions{}, args...).want(66)
	startTool(t, childOptions{Env: []string{"PATH="}}, "analyze", "--format", "json", "--output", again, file).want(66)
	wantSameFile(t, live, again)
	found := readReport(t, live).Findings
	for _, c := range misuseCases {
		lines := slices.Concat(marked(t, "wrong", c[0]), marked(t, "other", c[0]))
		i := slices.IndexFunc(found, func(f jsonFinding) bool { return f.Rule == c[1] && slices.Equal(namedLines(f), lines) })
		if i < 0 {
			t.Errorf("%s: no finding %s of lines %v", c[0], c[1], lines)
			continue
		}
		if f := found[i]; f.Kind != "misuse" || f.Confidence != "observed" {
			t.Errorf("%s %s: %s", f.Confidence, f.Kind, f.Message)
		}
		found = slices.Delete(found, i, i+1)
	}
	startTool(t, childOptions{Env: []string{"PATH="}}, "analyze", "--format", "json", "--confidence", "potential", "--fail-on", "potential", "--output", again, file).want(66)
	if f := readReport(t, again).Findings; !slices.ContainsFunc(f, func(f jsonFinding) bool {
		return f.Rule == uncertainCase[1] && f.Confidence == "likely" && slices.Equal(namedLines(f), slices.Concat(marked(t, "wrong", uncertainCase[0]), marked(t, "other", uncertainCase[0])))
	}) {
		t.Errorf("%s: no likely finding", uncertainCase[0])
	}
	startTool(t, childOptions{Env: []string{"PATH="}}, "analyze", "--misuse", "off", "--confidence", "potential", "--fail-on", "potential", file).want(0)
	for _, f := range found {
		if f.Rule == uncertainCase[1] && f.Confidence == "likely" {
			continue
		}
		t.Errorf("also found: %s, lines %v: %s", f.Rule, namedLines(f), f.Message)
	}
}

// TestCancelledHolder checks that a thread that is cancelled in its wait is seen to end with the mutex also where
// the accesses of its cleanup handler are watched. Its twin releases the mutex.
func TestCancelledHolder(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		args  []string
		rules []string
	}{{[]string{"exit_cancelled"}, []string{"exit-holding"}}, {[]string{"fine", "exit_cancelled"}, nil}} {
		_, r := reported(t, append([]string{"exec", "--watch-shared=all", "--", misuseProgram(t)}, c.args...)...)
		var rules []string
		for _, f := range r.Findings {
			rules = append(rules, f.Rule)
		}
		if !slices.Equal(rules, c.rules) {
			t.Errorf("%v: %q, want %q", c.args, rules, c.rules)
		}
	}
}

// TestNoMisuse checks that no finding is reported for correct use.
func TestNoMisuse(t *testing.T) {
	needBPF(t)
	t.Parallel()
	args := []string{"exec", "--watch-shared=off", "--", misuseProgram(t), "fine"}
	for _, c := range misuseCases {
		args = append(args, c[0])
	}
	if status, r := reported(t, append(args, innocentCases...)...); status != 0 || len(r.Findings) != 0 {
		t.Errorf("status %d, findings %+v", status, r.Findings)
	}
}

// TestReturnHolding checks that a lock is reported that main holds when it returns, if another thread has
// used it.
func TestReturnHolding(t *testing.T) {
	needBPF(t)
	t.Parallel()
	status, r := reported(t, "exec", "--", misuseProgram(t), "return_holding")
	if status != 66 || len(r.Findings) != 1 {
		t.Fatalf("status %d, findings %+v", status, r.Findings)
	}
	f := r.Findings[0]
	if f.Rule != "exit-holding" || f.Confidence != "likely" || !slices.Equal(namedLines(f), marked(t, "other", "return_holding")) {
		t.Errorf("%s %s, lines %v: %s", f.Confidence, f.Rule, namedLines(f), f.Message)
	}
	if status, r := reported(t, "exec", "--", misuseProgram(t), "fine", "return_holding"); status != 0 || len(r.Findings) != 0 {
		t.Errorf("unlocked: status %d, findings %+v", status, r.Findings)
	}
}

// TestMisuseText checks the sentences of findings.
func TestMisuseText(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := misuseProgram(t)
	c := startTool(t, childOptions{}, "exec", "--", program, "unlock_by_other")
	c.want(66)
	text := strings.Join(strings.Fields(c.err.String()), " ")
	want := fmt.Sprintf("T2 unlocker unlocks 'handed' at misuse.c:%d, which T1 main thread holds since misuse.c:%d",
		marked(t, "wrong", "unlock_by_other")[0], marked(t, "other", "unlock_by_other")[0])
	for _, part := range []string{"1 misuse observed in ", "MISUSE observed (unlock-by-other)", want, "this run did it"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, c.err.String())
		}
	}
}

// TestDestroyUnordered checks that a condition is found which nothing keeps from being destroyed before a signal, and not in
// its twin, whose signal comes before the release of the mutex; also in the trace.
func TestDestroyUnordered(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "signal_late.c", "-O1", "-g", "-pthread")
	trace := filepath.Join(t.TempDir(), "run.trace")
	_, r := reported(t, "exec", "--record", trace, "--", program)
	if len(r.Findings) != 1 || r.Findings[0].Rule != "destroy-unordered" || r.Findings[0].Confidence != "likely" || !slices.Equal(r.Findings[0].Objects, []string{"done"}) {
		t.Errorf("findings: %q, want that the condition may be destroyed too early", r.summary())
	}
	_, again := reported(t, "analyze", trace)
	wantSummary(t, again, r.summary())
	_, twin := reported(t, "exec", "--", program, "within")
	wantSummary(t, twin, "")
}
