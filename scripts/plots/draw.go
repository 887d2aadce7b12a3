package main

import (
	"encoding/csv"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours that people tell apart whatever their eyes (Okabe and Ito).
var (
	blue   = color.RGBA{R: 0, G: 114, B: 178, A: 255}
	orange = color.RGBA{R: 213, G: 94, B: 0, A: 255}
	grey   = color.RGBA{R: 120, G: 120, B: 120, A: 255}
	dashes = []vg.Length{vg.Points(5), vg.Points(3)}
)

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	p.Y.Min = 0
	return p
}

// curve adds points joined by a line.
func curve(p *plot.Plot, name string, points plotter.XYs, c color.Color, dashed bool) error {
	l, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return fmt.Errorf("draw the curve %s: %w", name, err)
	}
	l.Color, l.Width = c, vg.Points(1.5)
	if dashed {
		l.Dashes = dashes
	}
	dots.Shape, dots.Color, dots.Radius = draw.CircleGlyph{}, c, vg.Points(2)
	p.Add(l, dots)
	p.Legend.Add(name, l, dots)
	return nil
}

// drawRecall draws the shares over the window, whose axis is logarithmic.
func drawRecall(points []recall, programs int) (*plot.Plot, error) {
	p := newPlot(fmt.Sprintf("Predictable violations that a window finds (%d random programs)", programs), "window w, in states (logarithmic)", "share found")
	p.X.Scale, p.Y.Max = plot.LogScale{}, 1
	p.Legend.Left, p.Legend.Top, p.Legend.Padding = true, true, vg.Points(2)
	p.X.Tick.Marker = plot.TickerFunc(func(min, max float64) (ticks []plot.Tick) {
		for v := 1.0; v <= max; v *= 2 {
			ticks = append(ticks, plot.Tick{Value: v, Label: strconv.Itoa(int(v))})
		}
		return ticks
	})
	for len(points) > 0 {
		var xys plotter.XYs
		first := points[0]
		for len(points) > 0 && points[0].order == first.order && points[0].queue == first.queue {
			xys = append(xys, plotter.XY{X: float64(points[0].window), Y: points[0].share()})
			points = points[1:]
		}
		c := blue
		if first.order != "sync" {
			c = orange
		}
		name := fmt.Sprintf("order %s, queue %d", first.order, first.queue)
		if first.queue == 0 {
			name = fmt.Sprintf("order %s, no limit of the queue", first.order)
		}
		if err := curve(p, name, xys, c, first.queue == 0); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// drawCost draws the time of an event over an axis, and the straight line nearest to it.
func drawCost(a axis, points []cost) (*plot.Plot, error) {
	fixed := map[string]string{
		"threads": fmt.Sprintf("w = %d, m = %d", costWindow, costStates),
		"window":  fmt.Sprintf("t = %d, m = %d", costThreads, costStates),
		"monitor": fmt.Sprintf("t = %d, w = %d", costThreads, costWindow),
	}
	p := newPlot(fmt.Sprintf("Time of a relevant event (%s)", fixed[a.name]), a.title, "µs")
	p.X.Min = 0
	p.Legend.Left, p.Legend.Top, p.Legend.Padding = true, true, vg.Points(2)
	var xys plotter.XYs
	var xs, ys []float64
	for _, c := range points {
		if c.axis == a.name {
			xys = append(xys, plotter.XY{X: float64(c.value), Y: c.median})
			xs, ys = append(xs, float64(c.value)), append(ys, c.median)
		}
	}
	if err := curve(p, "measured", xys, blue, false); err != nil {
		return nil, err
	}
	f := fit(xs, ys)
	last := xs[len(xs)-1]
	straight, err := plotter.NewLine(plotter.XYs{{X: 0, Y: f.at0}, {X: last, Y: f.at0 + f.slope*last}})
	if err != nil {
		return nil, fmt.Errorf("draw the line over %s: %w", a.name, err)
	}
	straight.Color, straight.Dashes = grey, dashes
	p.Add(straight)
	p.Legend.Add(fmt.Sprintf("%.2f %+.3f x, R² %.3f", f.at0, f.slope, f.r2), straight)
	p.Y.Max = 1.3 * slices.Max(ys) // room for the legend
	return p, nil
}

// save writes a picture of a plot; the name's ending says which sort.
func save(p *plot.Plot, dir, name string) error {
	file := filepath.Join(dir, name)
	if err := p.Save(16*vg.Centimeter, 10*vg.Centimeter, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// table writes rows as CSV, the head first.
func table(dir, name string, rows [][]string) (err error) {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return nil
}

func recallTable(points []recall) [][]string {
	rows := [][]string{{"order", "queue", "window", "found", "predictable", "share"}}
	for _, p := range points {
		rows = append(rows, []string{p.order, strconv.Itoa(p.queue), strconv.Itoa(p.window), strconv.Itoa(p.found), strconv.Itoa(p.predictable), fmt.Sprintf("%.4f", p.share())})
	}
	return rows
}

func costTable(points []cost) [][]string {
	rows := [][]string{{"over", "threads", "window", "monitor", "us", "least", "most", "states_on_a_level"}}
	for _, c := range points {
		rows = append(rows, []string{c.axis, strconv.Itoa(c.threads), strconv.Itoa(c.window), strconv.Itoa(c.monitor),
			fmt.Sprintf("%.3f", c.median), fmt.Sprintf("%.3f", c.from), fmt.Sprintf("%.3f", c.to), fmt.Sprintf("%.1f", c.states)})
	}
	return rows
}
