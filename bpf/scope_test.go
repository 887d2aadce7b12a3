package bpf

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestScopeBounds compares the bounds that Go knows with those of the C source.
func TestScopeBounds(t *testing.T) {
	text, err := os.ReadFile("scope.h")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		"SCOPE_LOCALS": ScopeLocals, "SCOPE_THREADS": ScopeThreads, "SCOPE_WHENS": ScopeWhens, "SCOPE_REGION": scopeRegion, "SCOPE_NAMED": scopeNamed,
	} {
		m := regexp.MustCompile(`(?m)^#define ` + name + ` (\d+)`).FindSubmatch(text)
		if m == nil {
			t.Errorf("scope.h has no %s", name)
			continue
		}
		if got, err := strconv.Atoi(string(m[1])); err != nil || got != want {
			t.Errorf("%s is %s, and here %d", name, m[1], want)
		}
	}
	if n := len(TracepredictScopeSite{}.When[0].From); n != ScopeInputs {
		t.Errorf("a condition reads %d values, and here %d", n, ScopeInputs)
	}
	if n := len(ScopeAutomata{}.Next); n != ScopeEntries {
		t.Errorf("the tables have %d entries, and here %d", n, ScopeEntries)
	}
}
