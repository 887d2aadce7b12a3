package html

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// The picture of a graph, in pixels. A level is a row, the first on top.
const (
	nodeHigh   = 28
	rowHigh    = 84 // of a node with what is below it
	nodeGap    = 28 // between two nodes
	charWide   = 7.3
	mostLabel  = 26 // columns of a label
	fewEdges   = 40 // edges of a lattice up to which each is labelled with its thread
	sideCurve  = 46 // how far an edge that leads past others goes aside
	arrowLong  = 8.0
	arrowWide  = 3.5
	loopWide   = 22.0
	leastScale = 0.7 // of the picture on a narrow page; then it is moved aside

	narrowMargin, wideMargin = 12, 88 // beside the nodes: without curves and texts, and with them
)

// graph returns a picture of a graph: the lattice around a violation, or the protocol of a typestate; "" without one.
func graph(g *report.Graph) template.HTML {
	if g == nil || len(g.Nodes) == 0 || len(g.Nodes) > 2*mostDrawn {
		return ""
	}
	p := newGraphPicture(g)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="graph %s" viewBox="0 0 %.0f %.0f" width="%.0f" style="min-width: %.0fpx" role="img" aria-label="%s">`, g.Kind, p.wide, p.high, p.wide, leastScale*p.wide, graphTitles[g.Kind])
	for _, marked := range []bool{false, true} { // what is marked is above the rest
		for i := range g.Edges {
			if g.Edges[i].Witness == marked {
				p.edge(&b, &g.Edges[i])
			}
		}
	}
	for i := range g.Nodes {
		p.node(&b, i)
	}
	for level, more := range g.More {
		if more > 0 && level < len(p.ends) {
			fmt.Fprintf(&b, `<text class="more" x="%.1f" y="%.1f">… %d more</text>`, p.ends[level]+10, p.rowY(level)+4.5, more)
		}
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// mostDrawn is the number of nodes of a graph, from a report that was read, that is drawn.
const mostDrawn = 50

var graphTitles = map[string]string{
	report.GraphLattice:  "Global states around the violation",
	report.GraphProtocol: "The protocol",
}

// graphText says what the picture of a graph shows.
func graphText(g *report.Graph) string {
	if g == nil {
		return ""
	}
	if g.Kind == report.GraphProtocol {
		return "States of the object, and the calls that lead from one to another. Bold are the calls of the schedule above, up to the one that breaks the protocol."
	}
	text := "Each box is a global state, each line an event of a thread, the first on top. Bold is the schedule that leads to the violation, dashed is what this run did."
	if g.Before > 0 {
		text += plural.Sprintf(" The first box is the state after %d {event|events}.", g.Before)
	}
	return text
}

// graphPicture is where the nodes of a graph are.
type graphPicture struct {
	g          *report.Graph
	x, half    []float64 // by node: its middle, and half of its width
	ends       []float64 // by level: where its last node ends
	wide, high float64
	threads    bool           // edges have the labels of their threads
	drawn      map[[2]int]int // edges that were drawn, by the two nodes
}

func newGraphPicture(g *report.Graph) *graphPicture {
	p := &graphPicture{g: g, x: make([]float64, len(g.Nodes)), half: make([]float64, len(g.Nodes)), drawn: map[[2]int]int{}, threads: len(g.Edges) <= fewEdges}
	var rows [][]int
	for i, n := range g.Nodes {
		for len(rows) <= n.Level {
			rows = append(rows, nil)
		}
		rows[n.Level] = append(rows[n.Level], i)
		p.half[i] = max(nodeHigh/2, labelWide(n.Label)/2+9)
	}
	var widths []float64
	for _, row := range rows {
		wide := 0.0
		for _, i := range row {
			wide += 2*p.half[i] + nodeGap
		}
		widths = append(widths, wide-nodeGap)
		p.wide = max(p.wide, wide-nodeGap)
	}
	margin := float64(narrowMargin)
	if g.Kind == report.GraphProtocol || slices.ContainsFunc(g.More, func(n int) bool { return n > 0 }) {
		margin = wideMargin
	}
	for i := range g.Edges {
		if e := &g.Edges[i]; e.From == e.To { // its label is beside the node
			margin = max(margin, loopWide+labelWide(e.Label)+narrowMargin)
		}
	}
	p.wide += 2 * margin
	for level, row := range rows {
		at := (p.wide - widths[level]) / 2
		for _, i := range row {
			p.x[i] = at + p.half[i]
			at += 2*p.half[i] + nodeGap
		}
		p.ends = append(p.ends, at-nodeGap)
	}
	p.high = float64(len(rows)-1)*rowHigh + nodeHigh + 16
	return p
}

// rowY returns the middle of a level.
func (p *graphPicture) rowY(level int) float64 { return float64(level)*rowHigh + nodeHigh/2 + 8 }

// y returns the middle of a node.
func (p *graphPicture) y(node int) float64 { return p.rowY(p.g.Nodes[node].Level) }

// short returns a label as far as there is room.
func short(label string) string { return report.ShortText(label, mostLabel) }

// labelWide returns the width of a label.
func labelWide(label string) float64 { return float64(report.Columns(short(label))) * charWide }

// classes returns the classes of a node or an edge.
func classes(witness, observed, bad bool) string {
	var all []string
	if witness {
		all = append(all, "witness")
	}
	if observed {
		all = append(all, "this-run")
	}
	if bad {
		all = append(all, "bad")
	}
	return strings.Join(all, " ")
}

// node draws a node.
func (p *graphPicture) node(b *strings.Builder, i int) {
	n := &p.g.Nodes[i]
	fmt.Fprintf(b, `<g class="node %s"><rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="6"/><text x="%.1f" y="%.1f">%s</text><title>%s</title></g>`,
		classes(n.Witness, n.Observed, n.Bad), p.x[i]-p.half[i], p.y(i)-nodeHigh/2, 2*p.half[i], nodeHigh, p.x[i], p.y(i)+4.5,
		html.EscapeString(short(n.Label)), html.EscapeString(n.Label))
}

// edge draws an edge: straight to the next row, in a curve where another one is between the same nodes or it leads
// elsewhere.
func (p *graphPicture) edge(b *strings.Builder, e *report.GraphEdge) {
	pair := [2]int{min(e.From, e.To), max(e.From, e.To)}
	before := p.drawn[pair]
	p.drawn[pair]++
	x1, y1, x2, y2 := p.x[e.From], p.y(e.From), p.x[e.To], p.y(e.To)
	var cx, cy float64 // of a quadratic curve
	down := p.g.Nodes[e.To].Level - p.g.Nodes[e.From].Level
	switch {
	case e.From == e.To:
		p.loop(b, e, before)
		return
	case down == 1:
		y1, y2 = y1+nodeHigh/2, y2-nodeHigh/2-1
		cx, cy = (x1+x2)/2+float64(before)*sideCurve, (y1+y2)/2
	case down == 0:
		y1, y2 = y1+nodeHigh/2, y2+nodeHigh/2+1
		cx, cy = (x1+x2)/2, y1+30+float64(before)*14
	case down > 1:
		aside := sideCurve + 18*float64(down+before)
		x1, x2 = x1-p.half[e.From]*0.6, x2-p.half[e.To]*0.6
		y1, y2 = y1+nodeHigh/2, y2-nodeHigh/2-1
		cx, cy = min(x1, x2)-aside, (y1+y2)/2
	default:
		aside := sideCurve + 18*float64(-down+before)
		x1, x2 = x1+p.half[e.From]*0.6, x2+p.half[e.To]*0.6
		y1, y2 = y1-nodeHigh/2, y2+nodeHigh/2+1
		cx, cy = max(x1, x2)+aside, (y1+y2)/2
	}
	fmt.Fprintf(b, `<g class="edge %s"><path d="M%.1f %.1fQ%.1f %.1f %.1f %.1f"/>%s`, classes(e.Witness, e.Observed, false), x1, y1, cx, cy, x2, y2, head(cx, cy, x2, y2))
	p.label(b, e, (x1+2*cx+x2)/4, (y1+2*cy+y2)/4)
}

// loop draws an edge from a node to itself.
func (p *graphPicture) loop(b *strings.Builder, e *report.GraphEdge, before int) {
	x, y, out := p.x[e.From]+p.half[e.From], p.y(e.From), loopWide+float64(before)*10
	fmt.Fprintf(b, `<g class="edge %s"><path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>%s`, classes(e.Witness, e.Observed, false),
		x-8, y-nodeHigh/2, x+2, y-nodeHigh/2-out, x+out, y-nodeHigh/2, x+1, y-2, head(x+out, y-nodeHigh/2+3, x+1, y-2))
	p.label(b, e, x+out+labelWide(e.Label)/2, y-nodeHigh/2)
}

// label ends an edge with its label.
func (p *graphPicture) label(b *strings.Builder, e *report.GraphEdge, x, y float64) {
	text := short(e.Label)
	if p.g.Kind == report.GraphLattice {
		text, _, _ = strings.Cut(e.Label, " ") // the thread; the table of the schedule has the rest
		if !p.threads && !e.Witness {
			text = ""
		}
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f">%s</text><title>%s</title></g>`, x, y+4, html.EscapeString(text), html.EscapeString(e.Label))
}

// head returns the head of an arrow that comes from a point to another.
func head(fromX, fromY, x, y float64) string {
	dx, dy := x-fromX, y-fromY
	long := math.Hypot(dx, dy)
	if long == 0 {
		return ""
	}
	dx, dy = dx/long, dy/long
	backX, backY := x-arrowLong*dx, y-arrowLong*dy
	return fmt.Sprintf(`<polygon points="%.1f,%.1f %.1f,%.1f %.1f,%.1f"/>`, x, y, backX-arrowWide*dy, backY+arrowWide*dx, backX+arrowWide*dy, backY-arrowWide*dx)
}
