package monitor

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
)

// edgeCubes bounds the number of cubes that are drawn on one edge, and stateCubes the number
// that are examined for one state. A number or "…" is drawn for the rest.
const (
	edgeCubes  = 8
	stateCubes = 4096
)

// WriteDOT draws the monitor in the language of Graphviz, with the given name for each
// proposition (nil: p0, p1, …). The bad state has two circles.
func (d *Deterministic) WriteDOT(w io.Writer, title string, name func(int) string) error {
	g := newDrawing(w, title)
	for s := range d.roots {
		g.node(s, strconv.Itoa(s), d.Bad(State(s)), false)
	}
	for s := range d.roots {
		if !d.Bad(State(s)) {
			d.drawEdges(g, State(s), name)
		}
	}
	return g.end()
}

func (d *Deterministic) drawEdges(g *drawing, s State, name func(int) string) {
	guards := map[State][]string{}
	var order []State
	left := stateCubes
	d.cubes(s, func(trues, falses uint64, to State) bool {
		if _, ok := guards[to]; !ok {
			order = append(order, to)
		}
		guards[to] = append(guards[to], ere.Cube{True: trues, False: falses}.Text(name))
		left--
		return left > 0
	})
	if left == 0 {
		d.successors(s, func(_ Letter, to State) {
			if guards[to] == nil {
				order = append(order, to)
			}
			guards[to] = append(guards[to], "…")
		})
	}
	for _, to := range order {
		g.edge(int(s), int(to), guards[to])
	}
}

// WriteDOT draws the automaton in the language of Graphviz, with the given
// name for each proposition (nil: p0, p1, …). Bad states have two circles,
// final ones a thick line.
func (a *Automaton) WriteDOT(w io.Writer, title string, name func(int) string) error {
	g := newDrawing(w, title)
	for i, s := range a.states {
		g.node(i, s.Name, s.Bad, s.Final)
	}
	for i, s := range a.states {
		guards := map[int][]string{}
		var order []int
		for _, e := range s.Edges {
			if guards[e.To] == nil {
				order = append(order, e.To)
			}
			if text := e.Guard.Text(name); !slices.Contains(guards[e.To], text) {
				guards[e.To] = append(guards[e.To], text)
			}
		}
		for _, to := range order {
			g.edge(i, to, guards[to])
		}
	}
	return g.end()
}

type drawing struct {
	w *bufio.Writer
}

func newDrawing(w io.Writer, title string) *drawing {
	g := &drawing{bufio.NewWriter(w)}
	fmt.Fprintf(g.w, "digraph %s {\n\trankdir=LR\n\tnode [shape=circle]\n\tstart [shape=point]\n\tstart -> 0\n", quote(title))
	return g
}

func (g *drawing) node(i int, label string, bad, final bool) {
	style := ""
	if bad {
		style += ", shape=doublecircle, color=red"
	}
	if final {
		style += ", penwidth=2"
	}
	fmt.Fprintf(g.w, "\t%d [label=%s%s]\n", i, quote(label), style)
}

func (g *drawing) edge(from, to int, guards []string) {
	if more := len(guards) - edgeCubes; more > 0 {
		guards = append(slices.Clone(guards[:edgeCubes]), fmt.Sprintf("… and %d more", more))
	}
	fmt.Fprintf(g.w, "\t%d -> %d [label=%s]\n", from, to, quote(strings.Join(guards, "\n")))
}

func (g *drawing) end() error {
	fmt.Fprintln(g.w, "}")
	if err := g.w.Flush(); err != nil {
		return fmt.Errorf("draw a monitor: %w", err)
	}
	return nil
}

// quote writes a string of the DOT language, in which a line break is \n.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
