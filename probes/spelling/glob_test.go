package spelling

import "testing"

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
