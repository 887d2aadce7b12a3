package spec

import (
	"strings"
	"testing"
)

// TestImpossible: there are warnings about what no values of the variables can lead to, and no
// others.
func TestImpossible(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"var w : int = w\nprop n = w > 30 && w < 20\nproperty p = always !n", `t.tps:3:22: warning: "w > 30 && w < 20" can never hold;t.tps:3:14: warning: property "p" can never be violated, whatever`},
		{"var w : int = w\nproperty p = always (w > 30 || w <= 30)", `property "p" can never be violated, whatever`},
		{"var w : int = w\nproperty p = w > 30 && w < 20", `property "p" is violated by the first state of every run, whatever`},
		{"var w : int = w\nproperty p = always (w > 30 -> w > 26)", `can never be violated`},
		{"var w : int = w\nproperty p = always (w > 26 -> w > 30)", ""},
		{"var w : int = w\nproperty p = always !(w > 26 && w < 28)", ""},
		{"var w : int = w\nproperty p = always !(w > 26 && w < 27)", `can never be violated`},
		{"var w : float = w\nproperty p = always !(w > 26 && w < 27)", ""},
		{"var w = w\nproperty p = always !(w > 26 && w < 27)", ""},
		{"var u : uint = u\nproperty p = always u >= 0", `"u >= 0" always holds;property "p" can never be violated`},
		{"var u : int = u\nproperty p = always u >= 0", ""},
		{"var u : int = u\nproperty p = always u != -5", ""},
		{"var a : int = a\nvar b : int = b\nproperty p = always (a < b || a >= b)", ""},
		{"var a : int = a\nproperty p = always (a + 1 > 3 -> a > 2)", ""},
		{"var b : bool = b\nvar w : int = w\nproperty p = always (b && w > 3 -> w > 2)", `can never be violated`},
		{"var w : int = w\nevent e = call f\nproperty p = always (e && w > 3 -> w > 2)", `can never be violated`},
		{"var w : int = w\nevent e = call f\nevent g = return f\nproperty p = always !(e && g && w > 3)", ""},
		{"var w : int = w\nevent e = write w\nproperty p = always !(e && !(w == 1) && prev w == 1)", ""},
		// The monitor alone shows it: there is one warning.
		{"var w : int = w\nproperty p = always (w > 3 || !(w > 3))", `t.tps:2:14: warning: property "p" can never be violated`},
	} {
		s := parse(t, c.text)
		_, got := s.Monitor(s.Properties[0], MonitorOptions{})
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, ";")
		}
		if len(got) != len(want) {
			t.Errorf("%s:\n%v", c.text, got)
			continue
		}
		for i := range want {
			if !strings.Contains(got[i].Error(), want[i]) {
				t.Errorf("%s:\n%v\nwant %s", c.text, got[i], want[i])
			}
		}
	}
}
