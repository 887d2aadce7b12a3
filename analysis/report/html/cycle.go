package html

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// The picture of a cycle, in pixels.
const (
	ring     = 110 // radius
	boxWide  = 150
	boxHigh  = 34
	maxSides = 12 // of a cycle that is drawn
)

// cycle returns a picture of a deadlock: threads and what they wait for, in a ring, with an arrow from each thread to what
// it waits for, and from that to the thread which has it. It is "" for other findings, and where something has no name.
func cycle(f *report.Finding) template.HTML {
	if f.Kind != finding.Deadlock || len(f.Evidence) < 2 || len(f.Evidence) > maxSides {
		return ""
	}
	var labels []string
	for i := range f.Evidence {
		s := &f.Evidence[i]
		if s.Object == nil {
			return ""
		}
		labels = append(labels, f.Thread(s.Thread).ShortLabel(), s.Object.Name)
	}
	n := len(labels)
	radius := max(ring, float64(n)*boxHigh*1.6/math.Pi)
	wide, high := 2*(radius+boxWide/2+10), 2*(radius+boxHigh/2+10)
	at := func(i int) (x, y float64) {
		turn := 2*math.Pi*float64(i)/float64(n) - math.Pi/2
		return wide/2 + radius*math.Cos(turn), high/2 + radius*math.Sin(turn)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="cycle" viewBox="0 0 %.0f %.0f" width="%.0f" role="img" aria-label="the cycle">`, wide, high, wide)
	for i := range n {
		x, y := at(i)
		tx, ty := at((i + 1) % n)
		fromX, fromY := edge(x, y, tx, ty)
		toX, toY := edge(tx, ty, x, y)
		what := "waits for"
		if i%2 == 1 {
			what = "is held by"
		}
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"><title>%s %s %s</title></line>%s`,
			fromX, fromY, toX, toY, html.EscapeString(labels[i]), what, html.EscapeString(labels[(i+1)%n]), head(fromX, fromY, toX, toY))
	}
	for i, l := range labels {
		x, y := at(i)
		class := "thread"
		if i%2 == 1 {
			class = "lock"
		}
		fmt.Fprintf(&b, `<g class="%s"><rect x="%.1f" y="%.1f" width="%d" height="%d" rx="%d"/><text x="%.1f" y="%.1f">%s</text><title>%s</title></g>`,
			class, x-boxWide/2, y-boxHigh/2, boxWide, boxHigh, map[string]int{"thread": boxHigh / 2, "lock": 4}[class], x, y+4.5,
			html.EscapeString(report.ShortText(l, 20)), html.EscapeString(l))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// edge returns where the line from the middle of a box towards a point leaves the box.
func edge(x, y, tx, ty float64) (ex, ey float64) {
	dx, dy := tx-x, ty-y
	if dx == 0 && dy == 0 {
		return x, y
	}
	scale := math.Inf(1)
	if dx != 0 {
		scale = min(scale, (boxWide/2+3)/math.Abs(dx))
	}
	if dy != 0 {
		scale = min(scale, (boxHigh/2+3)/math.Abs(dy))
	}
	return x + dx*scale, y + dy*scale
}
