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
