package spec

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor"
)

// TestPartialIsThreeValued: under Partial a property with operators of the future is violated by exactly the words that have
// the verdict false in LTL₃, as in a scope: what is true or unknown there is not reported.
func TestPartialIsThreeValued(t *testing.T) {
	const declarations = "event a = call a\nevent b = call b\n"
	for text, hasTrue := range map[string]bool{
		"eventually a": true, "always eventually a": false, "a until b": true, "always (a -> eventually b)": false,
		"(a || b || true) && (!a weak_until b) && eventually b": true, "eventually always (a && !b)": false, "next (a && eventually b)": true,
	} {
		both := "(a || b || true) && (" + text + ")" // numbers the propositions
		s := parse(t, declarations+"property p = "+both+"\n")
		p := s.Properties[0]
		m, problems := s.Monitor(p, MonitorOptions{Partial: true})
		if problems.HasErrors() {
			t.Fatalf("%s: %v", text, problems)
		}
		if _, refused := s.Monitor(p, MonitorOptions{}); !refused.HasErrors() || len(m.Unreported) == 0 {
			t.Errorf("%s: refused %v, unreported %v", text, refused, m.Unreported)
		}
		three, err := monitor.FromLTL3(p.Formula, monitor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[monitor.Verdict]int{}
		for word := range wordsOf(4) {
			at, verdict := three.Start(), monitor.Unknown
			states, violated := m.Start(nil), false
			for _, l := range word {
				at = three.Next(at, l)
				verdict = three.Verdict(at)
				var next []monitor.State
				for _, q := range states {
					next = m.Step(next, q, l)
				}
				states = next
				violated = violated || slices.ContainsFunc(states, m.Bad)
			}
			seen[verdict]++
			if violated != (verdict == monitor.False) {
				t.Fatalf("%s after %v: violated %v, in LTL₃ %v", text, word, violated, verdict)
			}
		}
		if (seen[monitor.True] > 0) != hasTrue || seen[monitor.Unknown] == 0 {
			t.Errorf("%s: %v", text, seen)
		}
	}
}

// wordsOf yields the words over two propositions of 1 to n letters.
func wordsOf(n int) func(func([]monitor.Letter) bool) {
	return func(yield func([]monitor.Letter) bool) {
		all := [][]monitor.Letter{{}}
		for range n {
			var next [][]monitor.Letter
			for _, w := range all {
				for l := monitor.Letter(0); l < 4; l++ {
					longer := append(append([]monitor.Letter{}, w...), l)
					if next = append(next, longer); !yield(longer) {
						return
					}
				}
			}
			all = next
		}
	}
}
