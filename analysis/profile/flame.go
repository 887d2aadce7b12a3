package profile

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/printable"
)

//go:embed flame.html
var flameText string

// leastShare is the part of a graph that a box must have to be drawn: narrower ones are not to be seen.
const leastShare = 0.0005

// flamePage is what the template of WriteFlame shows.
type flamePage struct {
	Title  string
	Graphs []flameGraph
}

// flameGraph is a graph of one kind of wait, or of critical sections.
type flameGraph struct {
	Title  string
	Rows   int // of boxes
	Boxes  []box
	Narrow string // says how many boxes are not drawn; "": none
}

// box is a function, an object or who is to blame, with all that is above it in the stacks of the samples.
type box struct {
	Name, Title string
	Class       string // of its look: "", "object" or "blocker"
	Row         int
	Left, Width float64 // per cent of the graph
}

// node is a box with those below it, before they have a place.
type node struct {
	name, class string
	n, d        int64 // operations, and their ns
	children    map[[2]string]*node
}

// child returns the child with a name and a class.
func (n *node) child(name, class string) *node {
	k := [2]string{name, class}
	c := n.children[k]
	if c == nil {
		c = &node{name: name, class: class, children: map[[2]string]*node{}}
		n.children[k] = c
	}
	return c
}

// WriteFlame writes a page for a browser with a flame graph of each kind of wait and of critical sections: the functions from
// the outermost one down, below them the object and who is to blame. The page needs no network, and scripts only to zoom. It
// changes the profile as WriteTop does.
func WriteFlame(out io.Writer, p *profile.Profile, program string) error {
	if err := p.RemoveUninteresting(); err != nil {
		return fmt.Errorf("leave the functions of libraries out: %w", err)
	}
	page := flamePage{Title: printable.Escape(program)}
	tables, _ := tablesOf(p)
	for i := range tables {
		t := &tables[i]
		root := &node{children: map[[2]string]*node{}}
		for _, s := range p.Sample {
			if len(s.Label[t.label]) > 0 {
				root.addSample(s, t)
			}
		}
		if root.d == 0 {
			continue
		}
		bound := ""
		if t.bound {
			bound = "at most "
		}
		g := flameGraph{Title: fmt.Sprintf("%s: %s%s", t.title, bound, duration(root.d))}
		narrow := g.place(root, root.d, 0, 0)
		if narrow > 0 {
			g.Narrow = plural.Sprintf("%d {box is|boxes are} too narrow to be shown.", narrow)
		}
		page.Graphs = append(page.Graphs, g)
	}
	t, err := template.New("flame").Parse(flameText)
	if err != nil {
		return fmt.Errorf("read the template of the page: %w", err)
	}
	if err := t.Execute(out, page); err != nil {
		return fmt.Errorf("write the flame graph: %w", err)
	}
	return nil
}

// addSample adds a sample below a root.
func (n *node) addSample(s *profile.Sample, of *table) {
	count, d := s.Value[of.value], s.Value[of.value+1]
	if d == 0 {
		return
	}
	n.add(count, d)
	for _, l := range slices.Backward(s.Location) {
		for _, line := range slices.Backward(l.Line) {
			n = n.child(placed(line.Function.Name, line.Function.Filename, line.Line), "")
			n.add(count, d)
		}
	}
	n = n.child(s.Label[of.label][0], "object")
	n.add(count, d)
	if by := s.Label[blockedByLabel]; !of.held && len(by) > 0 {
		n = n.child("because of "+by[0], "blocker")
		n.add(count, d)
	}
	for _, caller := range s.Label[wokenLabel][min(1, len(s.Label[wokenLabel])):] {
		n = n.child("called by "+caller, "blocker")
		n.add(count, d)
	}
}

func (n *node) add(count, d int64) {
	n.n += count
	n.d += d
}

// place appends the boxes of the children of a node, the widest first, and returns how many are too narrow. Left is where they
// begin, as a part of the graph, of which all is the time.
func (g *flameGraph) place(n *node, all int64, row int, left float64) (narrow int) {
	children := slices.SortedFunc(maps.Values(n.children), func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.d, a.d), cmp.Compare(a.name, b.name), cmp.Compare(a.class, b.class))
	})
	for _, c := range children {
		share := float64(c.d) / float64(all)
		if share < leastShare {
			narrow += c.size()
			continue
		}
		name := printable.Escape(c.name)
		title := fmt.Sprintf("%s: %s, %.1f %%", name, duration(c.d), 100*share)
		if c.n > 0 {
			title += plural.Sprintf(", %d {time|times}", c.n)
		}
		g.Boxes = append(g.Boxes, box{Name: name, Title: title, Class: c.class, Row: row, Left: 100 * left, Width: 100 * share})
		g.Rows = max(g.Rows, row+1)
		narrow += g.place(c, all, row+1, left)
		left += share
	}
	return narrow
}

// size returns the number of nodes of a tree.
func (n *node) size() int {
	all := 1
	for _, c := range n.children {
		all += c.size()
	}
	return all
}
