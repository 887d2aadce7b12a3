package e2e

import (
	"strings"
	"testing"
)

// TestBitFields checks that bit fields that adjoin are one memory location, and that no other member of the
// structure is: a compiler may load the bytes of neighbours together with a bit field, and does not read them.
// A copy of the structure reads and writes all of them.
func TestBitFields(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		name, members, one, other string
		race                      bool
	}{
		{"read with the member after it", "unsigned a:20; char c;", "out = s.a", "s.c = i", false},
		{"read with the member before it", "char c; unsigned a:20;", "out = s.a", "s.c = i", false},
		{"read by eight bytes", "unsigned long a:40; char c; int d;", "out = s.a", "s.c = i", false},
		{"changed beside another member", "unsigned a:20; char c;", "s.a += i", "s.c = i", false},
		{"two bytes of one location", "unsigned a:8, b:8; int c;", "s.a = i", "s.b = i", true},
		{"one byte", "unsigned a:3, b:5; int c;", "s.a = i", "s.b = i", true},
		{"the structure is copied over", "unsigned a:20; int c;", "s = saved", "s.c = i", true},
		{"the structure is copied", "unsigned a:20; int c;", "saved = s", "s.c = i", true},
	} {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(c.name+strings.ReplaceAll(level, "-", " "), func(t *testing.T) {
				program := build(t, "gcc", "bitfields.c", level, "-g", "-pthread", "-DMEMBERS="+c.members, "-DONE="+c.one, "-DOTHER="+c.other)
				_, r := reported(t, "exec", "--watch-shared", "--", program)
				got := strings.Contains(r.summary(), "race of s")
				if got != c.race {
					t.Errorf("race %t, want %t: %q", got, c.race, r.summary())
				}
			})
		}
	}
}
