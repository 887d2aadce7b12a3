package spelling

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"a*", "abc", true}, {"a*c", "abbc", true}, {"a*c", "abb", false},
		{"?bc", "abc", true}, {"?", "", false}, {"*b*b*", "abab", true}, {"*b*b*b", "abab", false}, {"Queue::*", "Queue::put", true}, {"Queue::*", "MyQueue::put", false},
	} {
		if got := Glob(c.pattern, c.text); got != c.want {
			t.Errorf("Glob(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

// TestGlobIsWhatItStandsFor compares Glob with the regular expression that a pattern stands for.
func TestGlobIsWhatItStandsFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{0,10}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,12}`).Draw(t, "text")
		want := regexp.MustCompile("^" + strings.NewReplacer("*", ".*", "?", ".").Replace(pattern) + "$").MatchString(text)
		if got := Glob(pattern, text); got != want {
			t.Fatalf("%q of %q: %v", pattern, text, got)
		}
	})
}
