package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckAtomicity: --check finds a thread that saw the inside of a call, and none that came before it.
func TestCheckAtomicity(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "transfer.c", "-O1", "-g", "-pthread")
	for what, status := range map[string]int{"inside": 66, "outside": 0} {
		tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--check", "atomicity=transfer", "--", program, what)
		tool.want(status)
		if text := tool.err.String(); strings.Contains(text, "KNOWLEDGE observed (atomicity(transfer))") != (status != 0) {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// TestCheckAtomicityPredicted: what another thread can do between the halves of a call is told, also where it then reads
// something else than in the run. What an exception, longjmp or the thread's end leaves has ended.
func TestCheckAtomicityPredicted(t *testing.T) {
	needBPF(t)
	t.Parallel()
	audit, left := build(t, "gcc", "audit.c", "-O1", "-g", "-pthread"), build(t, "g++", "left.cc", "-O1", "-g", "-pthread")
	for _, c := range []struct {
		program, how, block string
		want                int
	}{
		{audit, "split", "transfer", 66}, {audit, "whole", "transfer", 0}, {audit, "told", "transfer", 0},
		{left, "split", "sell", 66}, {left, "return", "sell", 0}, {left, "throw", "sell", 0}, {left, "jump", "sell", 0}, {left, "end", "sell", 0},
	} {
		t.Run(c.block+" "+c.how, func(t *testing.T) {
			t.Parallel()
			tool := startTool(t, childOptions{}, "exec", "--watch-shared=static", "--check", "atomicity="+c.block, "--on", "leave "+c.block, "--", c.program, c.how)
			tool.want(c.want)
			text := tool.err.String()
			if got := strings.Contains(text, "violates atomicity("+c.block+")"); got != (c.want != 0) || !strings.Contains(text, "on leave "+c.block+": 1 departure") {
				t.Errorf("the report is\n%s", text)
			}
		})
	}
}

// TestCheckRaces: --check watches the variable whose races it asks for.
func TestCheckRaces(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "transfer.c", "-O1", "-g", "-pthread")
	tool := startTool(t, childOptions{}, "exec", "--check", "races=here", "--check", "races=nowhere", "--", program)
	tool.want(2)
	if text := tool.err.String(); !strings.Contains(text, `--check:3:15: "nowhere" cannot be watched`) {
		t.Errorf("exec says %s", text)
	}
	tool = startTool(t, childOptions{}, "exec", "--check", "races=here", "--", program)
	tool.want(0)
	if text := tool.err.String(); !strings.Contains(text, "looked for: races in 1 variable") {
		t.Errorf("exec says %s", text)
	}
}

// TestKernelMonitor: the thread that violates a formula gets the signal at once, if it is evaluated in the kernel, and no
// other thread does.
func TestKernelMonitor(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "seen.c", "-O1", "-g", "-pthread")
	for what, signal := range map[string]string{"inside": "90\nsignal in teller\n", "outside": "100\n"} {
		tool := startTool(t, childOptions{}, "exec", "--stats", "--watch-shared=off", "--check", "atomicity=transfer", "--on-violation", "signal:USR1", "--", program, what)
		tool.want(map[bool]int{true: 66, false: 0}[what == "inside"])
		if got := tool.out.String(); got != signal {
			t.Errorf("%s: the program prints %q, want %q", what, got, signal)
		}
		text := strings.Join(strings.Fields(tool.err.String()), " ")
		if !strings.Contains(text, "monitor of atomicity(transfer): in the kernel (--on-violation signal:NAME asks for it)") || strings.Contains(text, "given up") {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// TestKernelMonitorAlone: with --monitor=kernel the verdicts of the kernel are the findings, and what only the formula needs
// is no record.
func TestKernelMonitorAlone(t *testing.T) {
	needBPF(t)
	t.Parallel()
	seen, steps := build(t, "gcc", "seen.c", "-O1", "-g", "-pthread"), build(t, "gcc", "steps.c", "-O1", "-g", "-pthread")
	start := func(args ...string) *child { return startTool(t, childOptions{}, args...) }
	events := map[string]int{}
	for _, where := range []string{"user", "kernel"} {
		for what, want := range map[string][]string{"inside": {"atomicity(transfer)"}, "outside": nil} {
			_, r := reportedBy(t, start, "exec", "--watch-shared=off", "--check", "atomicity=transfer", "--monitor="+where, "--", seen, what)
			if diff := cmp.Diff(want, observedKnowledge(r)); diff != "" {
				t.Errorf("%s, %s: expected (-), found (+):\n%s", where, what, diff)
			}
		}
		_, r := reportedBy(t, start, "exec", "--watch-shared=off", "--watch", "here", "--watch", "there", "--check", "atomicity=step", "--monitor="+where, "--", steps, "500")
		if events[where] = r.Run.Events; len(r.Findings) > 0 {
			t.Errorf("%s: %+v", where, r.Findings)
		}
	}
	if events["user"] < 2000 || events["kernel"] > events["user"]/10 {
		t.Errorf("records: %v", events)
	}
}

// TestKernelMonitorPast: the kernel evaluates operators that look at the past, as user space does.
func TestKernelMonitorPast(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "seen.c", "-O1", "-g", "-pthread")
	file := specFile(t, `
thread any = name "*"
event steps = call step
event looks = call audited
mttl early "a thread has an audit after a step" = forall i : any . @i (looks -> !once steps)
`)
	start := func(args ...string) *child { return startTool(t, childOptions{}, args...) }
	for _, where := range []string{"user", "kernel"} {
		for what, want := range map[string][]string{"inside": {"early"}, "outside": nil} {
			_, r := reportedBy(t, start, "exec", "--watch-shared=off", "--spec", file, "--monitor="+where, "--", program, what)
			if diff := cmp.Diff(want, observedKnowledge(r)); diff != "" {
				t.Errorf("%s, %s: expected (-), found (+):\n%s", where, what, diff)
			}
			for _, f := range r.Findings {
				if strings.Contains(f.Message, "the other thread") {
					t.Errorf("%s: a formula of one thread: %s", where, f.Message)
				}
			}
		}
	}
}

// TestKernelMonitorGivesUp: of threads that a semaphore orders the kernel sends no signal, and user space finds the violation
// unless it was told to keep out.
func TestKernelMonitorGivesUp(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "transfer.c", "-O1", "-g", "-pthread")
	for _, c := range []struct {
		where, says string
		status      int
	}{
		{"auto", "from then on user space judged it, so that signals came later", 66},
		{"kernel", "from then on it was not evaluated: --monitor=user has no such limit", 0},
	} {
		tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--check", "atomicity=transfer", "--monitor="+c.where, "--on-violation", "signal:USR1", "--", program, "inside")
		tool.want(c.status)
		text := strings.Join(strings.Fields(tool.err.String()), " ")
		if strings.Contains(text, "KNOWLEDGE observed") != (c.status == 66) || !strings.Contains(text, c.says) || !strings.Contains(text, "know after other synchronisation (sem-") {
			t.Errorf("%s: exec says %s", c.where, text)
		}
	}
}

// TestKernelMonitorUnsure: where a variable has another value than was written last the kernel does not judge the thread that
// read it, nor those that learn from it: user space does, and its signal reaches the thread, unless it was told to keep out.
// Other threads are judged as before.
func TestKernelMonitorUnsure(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "seen.c", "-O1", "-g", "-pthread")
	const (
		signalled = "90\nsignal in teller\n"
		value     = "1 variable that had another value than was written last"
		semaphore = "other synchronisation (sem-post first)"
		touched   = "other synchronisation (touch first)"
	)
	for _, c := range []struct {
		where, unsure, why string
		waits              []string
		out, says          string
		status             int
	}{
		{"kernel", "bystander", value, nil, signalled, "did not judge 2 of 4 threads to the end", 66}, // main joins it
		{"auto", "bystander", value, nil, signalled, "did not judge 2 of 4 threads to the end", 66},
		{"kernel", "poster", semaphore, nil, signalled, "did not judge 2 of 4 threads to the end", 66},
		{"kernel", "teller", value, nil, "90\n", "from then on it was not evaluated", 0},
		{"kernel", "teller", touched, nil, "90\n", "from then on it was not evaluated", 0},
		{"auto", "teller", value, []string{"waits"}, signalled, "from then on user space judged it", 66},
	} {
		args := []string{"exec", "--stats", "--watch-shared=off", fmt.Sprintf("--no-watch-hw=%v", c.why != touched), "--watch", "drawn", "--check", "atomicity=transfer", "--monitor=" + c.where,
			"--on-violation", "signal:USR1", "--", program, "inside", c.unsure}
		tool := startTool(t, childOptions{}, append(args, c.waits...)...)
		tool.want(c.status)
		if got := tool.out.String(); got != c.out {
			t.Errorf("%s, %s: the program prints %q, want %q", c.where, c.unsure, got, c.out)
		}
		text := strings.Join(strings.Fields(tool.err.String()), " ")
		if !strings.Contains(text, c.says) || !strings.Contains(text, "threads not judged to the end: "+c.why) || !strings.Contains(text, "know after "+c.why) {
			t.Errorf("%s, %s: exec says %s", c.where, c.unsure, text)
		}
	}
}

// TestKernelMonitorUnwound: a thread that leaves a block by an exception or longjmp is not judged from there on, and one that
// returns from it is.
func TestKernelMonitorUnwound(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "g++", "left.cc", "-O1", "-g", "-pthread")
	for how, why := range map[string]string{
		"return": "", "throw": "other synchronisation (once first)", // of the unwinder
		"jump": "1 thread in which an exception or longjmp ended a call",
	} {
		tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--check", "atomicity=sell", "--monitor=kernel", "--", program, how)
		tool.want(0)
		text := strings.Join(strings.Fields(tool.err.String()), " ")
		if judged := !strings.Contains(text, "the kernel did not judge"); judged != (why == "") || !strings.Contains(text, why) || strings.Contains(text, "gave it up") {
			t.Errorf("%s: %s", how, text)
		}
	}
}

// TestKernelMonitorRefuses: --monitor=kernel says what keeps a formula out of the kernel.
func TestKernelMonitorRefuses(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "transfer.c", "-O1", "-g", "-pthread")
	tool := startTool(t, childOptions{}, "exec", "--monitor=kernel", "--", program)
	tool.want(2)
	if text := tool.err.String(); !strings.Contains(text, "--monitor=kernel is about the mttl formulas") {
		t.Errorf("exec says %s", text)
	}
	tool = startTool(t, childOptions{}, "exec", "--monitor=kernel", "--watch-shared=static", "--check", "atomicity=transfer", "--", program)
	tool.want(2)
	if text := tool.err.String(); !strings.Contains(text, "cannot be evaluated in the kernel: --watch-shared") {
		t.Errorf("exec says %s", text)
	}
}

// TestNamedThreads: a thread is of a type by name from the event on at which it, or another thread, gives it the name; also
// in a trace.
func TestNamedThreads(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "named_threads.c", "-O1", "-g", "-pthread")
	file := specFile(t, `
thread managers = name "manager"
thread boss = 1 of managers
thread teller = name "clerk-*"
event approved = call approve
event pays = call pay
local approvals : int = 0 { on approved : approvals := approvals + 1 }
mttl told = forall c : teller . @c (pays -> @boss (approvals > 0))
`)
	for _, c := range []struct {
		how, told string
		violated  []string
		notes     int
	}{
		{"self", "", []string{"told"}, 0}, {"self", "told", nil, 0},
		{"creator", "", []string{"told"}, 0}, {"creator", "told", nil, 0},
		{"renamed", "", []string{"told"}, 0}, {"renamed", "told", nil, 0},
		{"none", "", nil, 2},
	} {
		t.Run(c.how+" "+c.told, func(t *testing.T) {
			t.Parallel()
			record := filepath.Join(t.TempDir(), "trace")
			start := func(args ...string) *child { return startTool(t, childOptions{}, args...) }
			_, r := reportedBy(t, start, "exec", "--watch-shared=off", "--spec", file, "--record", record, "--", program, c.how, c.told)
			_, again := reportedBy(t, start, "analyze", "--spec", file, record)
			for what, r := range map[string]jsonReport{"live": r, "trace": again} {
				if diff := cmp.Diff(c.violated, observedKnowledge(r)); diff != "" {
					t.Errorf("%s: expected (-), found (+):\n%s", what, diff)
				}
				said := 0
				for _, n := range r.Run.Notes {
					if strings.Contains(n, "no thread of this run was") {
						said++
					}
				}
				if said != c.notes {
					t.Errorf("%s: notes %q", what, r.Run.Notes)
				}
			}
		})
	}
}
