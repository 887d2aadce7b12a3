package mine

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteDOT draws the automaton in the language of Graphviz, with the given name for each symbol
// (nil: its number), and with counts where they are known. Final states have two circles.
func (a *Automaton) WriteDOT(w io.Writer, title string, name func(Symbol) string) error {
	if name == nil {
		name = func(s Symbol) string { return fmt.Sprint(s) }
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph %s {\n\trankdir=LR\n\tnode [shape=circle]\n", quote(title))
	fmt.Fprint(out, "\tstart [shape=point]\n\tstart -> 0\n")
	for i := range a.States {
		s := &a.States[i]
		label, shape := fmt.Sprint(i), ""
		if s.Final {
			label, shape = counted(label, s.Ends, "\n"), ", shape=doublecircle"
		}
		fmt.Fprintf(out, "\t%d [label=%s%s]\n", i, quote(label), shape)
	}
	for i := range a.States {
		a.States[i].drawEdges(out, i, name)
	}
	fmt.Fprintln(out, "}")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("draw a learned automaton: %w", err)
	}
	return nil
}

// drawEdges draws one line to each target, with all symbols that lead there.
func (s *State) drawEdges(w io.Writer, from int, name func(Symbol) string) {
	var targets []int
	labels := map[int][]string{}
	for _, e := range s.Edges {
		if labels[e.To] == nil {
			targets = append(targets, e.To)
		}
		labels[e.To] = append(labels[e.To], counted(name(e.Symbol), e.Count, " "))
	}
	for _, to := range targets {
		fmt.Fprintf(w, "\t%d -> %d [label=%s]\n", from, to, quote(strings.Join(labels[to], "\n")))
	}
}

func counted(label string, count int64, space string) string {
	if count == 0 {
		return label
	}
	return fmt.Sprintf("%s%s×%d", label, space, count)
}

// quote writes a string of the DOT language, in which a line break is \n.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
