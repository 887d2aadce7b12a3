package spec

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestFit: what does not fit a program is reported, with its position in the specification.
func TestFit(t *testing.T) {
	signed, floating := &event.Form{Class: event.FormSigned, Bits: 32}, &event.Form{Class: event.FormFloat, Bits: 32}
	enum := &event.Form{Bits: 32, Names: []event.Name{{Value: 1, Text: "OPEN"}}}
	for _, c := range []struct {
		name, text string
		found      []Found
		want       []string
	}{
		{"all fits", "var a : int = a\nproperty p = always a < 3", []Found{{"a", "a", signed}}, nil},
		{"not found yet", "var a : int = a\nproperty p = always a < 3", nil, nil},
		{"another type, once", "var a : float = a\nproperty p = always a < 3\nproperty q = always a < 4", []Found{{"a", "a", signed}},
			[]string{`x.tps:1:5: "a" is declared float, and the program's a is an integer with a sign (int)`}},
		{"another type, of a check", "var a : uint = a\ncheck races(a)", []Found{{"a", "a", signed}}, []string{`x.tps:1:5: "a" is declared uint`}},
		{"not used", "var a : float = a\nvar b = b\nproperty p = always b < 3", []Found{{"a", "a", signed}, {"b", "b", signed}}, nil},
		{"a constant", "var a = a\nproperty p = always a == OPNE", []Found{{"a", "a", enum}}, []string{`x.tps:2:26: the type of "a" has no constant "OPNE"; did you mean OPEN?`}},
		{"faults, in order", "var a : float = a\nvar b : bool = b\nproperty p = always (b || a > 1)", []Found{{"b", "b", signed}, {"a", "a", signed}},
			[]string{`x.tps:1:5: `, `x.tps:2:5: `, `x.tps:3:22: `}},
		{"one variable twice", "var a = a\nvar b = `x.c:a`\nproperty p = always a < b", []Found{{"a", "a", signed}, {"x.c:a", "a", signed}},
			[]string{`x.tps:2:9: "a" and "x.c:a" are both called a in the program`}},
		{"a name that is not whole", "var a = `ns::a`\nproperty p = always a < 1", []Found{{"ns::a", "ns::v1::a", signed}}, []string{`x.tps:1:9: "ns::a" stands for ns::v1::a: write that`}},
		{"watched beside it", "var a = `x.c:a`\nproperty p = always a < 1", []Found{{"x.c:a", "a", signed}, {"ns::a", "ns::a", signed}},
			[]string{`x.tps:1:9: "x.c:a" stands for a here, and events of ns::a, which is watched too`}},
		{"the same, asked for twice", "var a = `x.c:a`\nproperty p = always a < 1", []Found{{"x.c:a", "a", signed}, {"a", "a", signed}}, nil},
		{"a float that is written", "var a = a\nevent e = write a -> v when v > 1\nproperty p = always !e", []Found{{"a", "a", floating}},
			[]string{`x.tps:2:17: "a" is a float, and its value is computed with: declare it, var a : float`}},
		{"a float that is declared", "var a : float = a\nevent e = write a -> v when v > 1\nproperty p = always !e", []Found{{"a", "a", floating}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, problems := Parse("x.tps", c.text)
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			got := s.Fit(c.found)
			if len(got) != len(c.want) {
				t.Fatalf("%d problems, want %d:\n%v", len(got), len(c.want), got)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i].Error(), want) {
					t.Errorf("%q, want %q", got[i].Error(), want)
				}
			}
		})
	}
}

// TestMissing: what is not in the program is reported where the specification mentions it.
func TestMissing(t *testing.T) {
	s := parse(t, "var a = `x.c:a`\nvar unused = b\nevent e = call put(_, n) when n > 1\nproperty p = always (e -> a == 1)")
	for asked, want := range map[string]string{
		"x.c:a":          `t.tps:1:9: "x.c:a" cannot be watched: gone`,
		"call put(_, n)": "t.tps:3:16: gone",
		"b":              "", "a": "", "call other": "",
	} {
		if got := s.Missing(asked, "gone"); (len(got) > 0) != (want != "") || len(got) > 0 && got[0].Error() != want {
			t.Errorf("%s: %v, want %q", asked, got, want)
		}
	}
}
