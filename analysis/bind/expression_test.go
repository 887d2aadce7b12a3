package bind

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/typestate"
)

// dfa is the automaton of a worked case: state, call, next state.
type dfa struct {
	Start string
	Edges map[string]map[string]string
}

// readDFA reads the automaton of a case, and its calls.
func readDFA(t *testing.T, path string) (a dfa, calls []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Property struct{ Typestate struct{ DFA dfa } }
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	a = c.Property.Typestate.DFA
	all := map[string]bool{}
	for _, edges := range a.Edges {
		for call := range edges {
			all[call] = true
		}
	}
	return a, slices.Sorted(maps.Keys(all))
}

// block returns a typestate of these calls.
func block(calls []string, body string) string {
	var b strings.Builder
	b.WriteString("typestate p (o : struct t *) {\n")
	for _, c := range calls {
		fmt.Fprintf(&b, "  %s = call %s(o)\n", c, c)
	}
	return b.String() + body + "}\n"
}

// states returns the states of an automaton, as a block has them.
func (a dfa) states() string {
	var b strings.Builder
	names := append([]string{a.Start}, slices.DeleteFunc(a.names(), func(n string) bool { return n == a.Start })...)
	for _, n := range names {
		fmt.Fprintf(&b, "  state s_%s {", n)
		for _, call := range slices.Sorted(maps.Keys(a.Edges[n])) {
			fmt.Fprintf(&b, " %s -> s_%s;", call, a.Edges[n][call])
		}
		b.WriteString(" }\n")
	}
	return b.String()
}

func (a dfa) names() []string {
	all := map[string]bool{a.Start: true}
	for from, edges := range a.Edges {
		all[from] = true
		for _, to := range edges {
			all[to] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// expression returns an expression of the words that the automaton allows, all of whose states are final: it eliminates one
// state after the other (Kleene).
func (a dfa) expression() string {
	names := a.names()
	between := map[[2]string]string{} // words from one state to another through the states so far; "": none
	for from, edges := range a.Edges {
		for call, to := range edges {
			between[[2]string{from, to}] = either(between[[2]string{from, to}], call)
		}
	}
	for _, through := range names {
		next := map[[2]string]string{}
		loop := ""
		if l := between[[2]string{through, through}]; l != "" {
			loop = "(" + l + ")*"
		}
		for _, from := range names {
			for _, to := range names {
				x, y := between[[2]string{from, through}], between[[2]string{through, to}]
				word := between[[2]string{from, to}]
				if x != "" && y != "" {
					word = either(word, fmt.Sprintf("(%s) %s (%s)", x, loop, y))
				}
				next[[2]string{from, to}] = word
			}
		}
		between = next
	}
	out := "epsilon"
	for _, to := range names {
		out = either(out, between[[2]string{a.Start, to}])
	}
	return "  ere good (" + out + ")\n"
}

func either(x, y string) string {
	if x == "" || y == "" {
		return x + y
	}
	return x + " | " + y
}

func protocol(t *testing.T, text string) typestate.Protocol {
	t.Helper()
	s, problems := spec.Parse("t.tps", text)
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems, text)
	}
	return ProtocolOf(s.Typestates[0])
}

// TestExpressionsOfCases: the automaton of each worked case, written as an expression, allows the same calls in the same
// order as its states, so that both find the same.
func TestExpressionsOfCases(t *testing.T) {
	paths, err := filepath.Glob("../typestate/testdata/*.json")
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d cases: %v", len(paths), err)
	}
	for _, path := range paths {
		a, calls := readDFA(t, path)
		x, y := protocol(t, block(calls, a.states())), protocol(t, block(calls, a.expression()))
		if !y.Unnamed || x.Unnamed {
			t.Errorf("%s: the states of an expression have no names for people", filepath.Base(path))
		}
		seen := map[[2]int]bool{{}: true}
		for todo := [][2]int{{}}; len(todo) > 0; todo = todo[1:] {
			at := todo[0]
			for c := range calls {
				p, q := x.States[at[0]].Next[c], y.States[at[1]].Next[c]
				if len(p) != len(q) {
					t.Fatalf("%s: %s leads to %v and to %v from states %v", filepath.Base(path), calls[c], p, q, at)
				}
				if len(p) == 0 {
					continue
				}
				if to := [2]int{p[0], q[0]}; !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
	}
}
