package testtool

import (
	"fmt"
	"testing"
)

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for tool, want := range map[string]string{
		"gcc":        "no gcc: install Debian's gcc, or what your system calls it",
		"clang++-19": "no clang++-19: install Debian's clang-19, or what your system calls it",
		"/bin/sh":    "",
	} {
		if got := Missing(tool); got != want {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
}

// skipper records why a test skips.
type skipper struct {
	testing.TB
	why []string
}

func (s *skipper) Helper()          {}
func (s *skipper) Skip(args ...any) { s.why = append(s.why, fmt.Sprint(args...)) }

// TestNeed: a test whose tool is missing skips, and does not fail.
func TestNeed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := &skipper{TB: t}
	Need(s, "/bin/sh")
	if len(s.why) > 0 {
		t.Errorf("it skips with the tool installed: %q", s.why)
	}
	Need(s, "/bin/sh", "gcc")
	if len(s.why) != 1 {
		t.Errorf("it skips %q, want once", s.why)
	}
}
