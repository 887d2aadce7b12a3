package e2e

import (
	"strings"
	"testing"
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

// TestKernelMonitorGivesUp: where a semaphore orders the threads the kernel sends no signal, and user space finds the violation.
func TestKernelMonitorGivesUp(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "transfer.c", "-O1", "-g", "-pthread")
	tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--check", "atomicity=transfer", "--monitor=kernel", "--on-violation", "signal:USR1", "--", program, "inside")
	tool.want(66)
	text := strings.Join(strings.Fields(tool.err.String()), " ")
	if !strings.Contains(text, "KNOWLEDGE observed") || !strings.Contains(text, "the kernel gave it up after") || !strings.Contains(text, "threads were ordered by sem-") {
		t.Errorf("exec says %s", text)
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
