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

// TestStores tests code that stores a constant into its argument, and code that does not.
func TestStores(t *testing.T) {
	for _, c := range []struct {
		name, code string
		offset     int64
		ok         bool
	}{
		{"glibc 2.36's pthread_mutex_destroy", "8b 47 10 a8 10 75 0c 8b 57 0c b8 10 00 00 00 85 d2 75 09 c7 47 10 ff ff ff ff 31 c0 c3", 0x10, true},
		{"another constant", "c7 47 10 fe ff ff ff c3", 0, false},
		{"8 bytes", "48 c7 47 10 ff ff ff ff c3", 0, false},
		{"through a pointer that it loads", "48 8b 3f c7 47 10 ff ff ff ff c3", 0, false},
		{"behind its return", "31 c0 c3 c7 47 10 ff ff ff ff c3", 0, false},
	} {
		offset, ok := NewImage(machineCode(t, c.code)).Stores(base, insn.RDI, ^uint32(0))
		if ok != c.ok || ok && offset != c.offset {
			t.Errorf("%s: 0x%x, %v; want 0x%x, %v", c.name, offset, ok, c.offset, c.ok)
		}
	}
}

// TestTestsShifted tests code that looks at the bits of a word of its argument from the third on.
func TestTestsShifted(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       bool
	}{
		{"glibc 2.36's pthread_cond_signal", "41 57 41 56 41 55 41 54 55 53 48 83 ec 28 8b 5f 24 89 d8 c1 e8 03 0f 84 8f 00 00 00 c3", true},
		{"without a copy", "8b 47 24 c1 e8 03 74 01 c3", true},
		{"another word", "8b 47 20 c1 e8 03 74 01 c3", false},
		{"another number of bits", "8b 47 24 c1 e8 04 74 01 c3", false},
		{"of another register", "8b 47 24 c1 ee 03 74 01 c3", false},
		{"no branch", "8b 47 24 c1 e8 03 c3", false},
		{"a branch before", "85 f6 74 01 8b 47 24 c1 e8 03 74 01 c3", false},
	} {
		if got := NewImage(machineCode(t, c.code)).TestsShifted(base, insn.RDI, 0x24, 3); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSetsInGlibc finds the bit that this machine's glibc sets.
func TestSetsInGlibc(t *testing.T) {
	c := openCode(t, glibc)
	s, ok := c.symbols["pthread_cond_destroy"]
	if !ok {
		t.Skip("this glibc has no pthread_cond_destroy")
	}
	offset, ok := NewImage(c).Sets(s.Value, insn.RDI, 4)
	t.Logf("0x%x %v", offset, ok)
	if s, ok := c.symbols["pthread_mutex_destroy"]; ok {
		if _, sets := NewImage(c).Sets(s.Value, insn.RDI, 4); sets {
			t.Error("pthread_mutex_destroy too")
		}
	}
}
