package suppress

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
)

// matchesAnywhere is the simple model of matchesStack: it tries all positions of the runs.
func matchesAnywhere(runs []frames, c stack) bool {
	if len(runs) == 0 {
		return true
	}
	for at := 0; at+len(runs[0]) <= len(c); at++ {
		if runs[0].matchesAt(c[at:]) && matchesAnywhere(runs[1:], c[at+len(runs[0]):]) {
			return true
		}
	}
	return false
}

func TestMatchesStackAgainstModel(t *testing.T) {
	pattern := rapid.Custom(func(t *rapid.T) framePattern {
		return framePattern{function, rapid.SampledFrom([]string{"a", "b", "*", "?b"}).Draw(t, "pattern")}
	})
	rapid.Check(t, func(t *rapid.T) {
		var runs []frames
		for range rapid.IntRange(0, 3).Draw(t, "runs") {
			runs = append(runs, rapid.SliceOfN(pattern, 1, 3).Draw(t, "run"))
		}
		var c stack
		for _, f := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 0, 8).Draw(t, "stack") {
			c = append(c, names{function: f, withoutParams: f})
		}
		if got, want := matchesStack(runs, c), matchesAnywhere(runs, c); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestParametersAreDistinguished(t *testing.T) {
	for name, want := range map[string]string{
		"":                                      "",
		"main":                                  "main",
		"sell(int)":                             "sell",
		"f(void (*)())":                         "f",
		"A::operator()(int) const":              "A::operator()",
		"f()::{lambda(int)#1}::operator()(int)": "f()::{lambda(int)#1}::operator()",
		"(anonymous namespace)::f":              "(anonymous namespace)::f",
		"(anonymous namespace)::f(std::pair<A()>)": "(anonymous namespace)::f",
		"a)b": "a)b",
	} {
		if got := namesOf(event.Frame{Function: name}).withoutParams; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
