package cheapsite

import (
	"testing"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// TestSets tests code that sets a bit of its argument, and code that does not certainly do so.
func TestSets(t *testing.T) {
	for _, c := range []struct {
		name, code string
		offset     int64
		ok         bool
	}{
		{"glibc 2.36's pthread_cond_destroy", "8b 47 24 4c 8d 47 24 89 c1 89 c2 83 c9 04 f0 41 0f b1 08 c3", 0x24, true},
		{"lock orl $4, 0x1c(%rdi)", "f3 0f 1e fa f0 83 4f 1c 04 c3", 0x1c, true},
		{"another bit", "8b 47 24 89 c1 83 c9 08 f0 0f b1 4f 24 c3", 0, false},
		{"no bit: lock decl 0x24(%rdi)", "f0 ff 4f 24 c3", 0, false},
		{"elsewhere: through a pointer that it loads", "48 8b 3f f0 83 4f 1c 04 c3", 0, false},
		{"behind a branch", "85 f6 74 05 f0 83 4f 1c 04 c3", 0, false},
		{"not at all", "31 c0 c3", 0, false},
	} {
		offset, ok := NewImage(machineCode(t, c.code)).Sets(base, insn.RDI, 4)
		if ok != c.ok || ok && offset != c.offset {
			t.Errorf("%s: 0x%x, %v; want 0x%x, %v", c.name, offset, ok, c.offset, c.ok)
		}
	}
}

// TestSetsInGlibc finds the bit that this machine's glibc sets.
func TestSetsInGlibc(t *testing.T) {
	c := openCode(t, glibc)
	s, ok := c.symbols["pthread_cond_destroy"]
	if !ok {
		t.Skip("no such function")
	}
	offset, ok := NewImage(c).Sets(s.Value, insn.RDI, 4)
	t.Logf("0x%x %v", offset, ok)
	if s, ok := c.symbols["pthread_mutex_destroy"]; ok {
		if _, sets := NewImage(c).Sets(s.Value, insn.RDI, 4); sets {
			t.Error("pthread_mutex_destroy too")
		}
	}
}
