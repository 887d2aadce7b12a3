package main

import (
	"encoding/csv"
	"errors"
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

// scopeTime is what make bench measured of a program that is monitored in some way: a row of scopes.csv.
type scopeTime struct {
	figure, x, way string
	micros         float64 // an event
	records        float64 // an event
}

// readScopes reads the table that make bench writes.
func readScopes(name string) ([]scopeTime, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read what bench -scopes measured: %w", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var times []scopeTime
	for _, row := range rows[min(1, len(rows)):] {
		if len(row) != 7 {
			return nil, fmt.Errorf("read %s: a row has %d columns, want 7", name, len(row))
		}
		micros, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		records, err := strconv.ParseFloat(row[6], 64)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		times = append(times, scopeTime{row[0], row[1], row[2], micros, records})
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("read %s: it has no rows", name)
	}
	return times, nil
}

var (
	black  = color.RGBA{A: 255}
	sky    = color.RGBA{R: 86, G: 180, B: 233, A: 255}
	green  = color.RGBA{G: 158, B: 115, A: 255}
	purple = color.RGBA{R: 204, G: 121, B: 167, A: 255}
	// scopeColours are those of the ways, in the order in which the table has them.
	scopeColours = []color.Color{black, orange, green, purple, sky, blue}
)

// scopes draws Figures 5 to 7 of Soueidi, El-Hokayem and Falcone (FASE 2023) anew, and how many records cross.
func (c *config) scopes() error {
	times, err := readScopes(filepath.Join(c.output, "scopes.csv"))
	if err != nil {
		return err
	}
	micros := func(t scopeTime) float64 { return t.micros }
	records := func(t scopeTime) float64 { return t.records }
	for _, f := range []struct {
		file, figure, title, x, y string
		of                        func(scopeTime) float64
	}{
		{"scopes-readers", "readers", "Readers and writers", "readers, and as many writers (logarithmic)", "µs an event (logarithmic)", micros},
		{"scopes-cwidth", "cwidth", "Readers and writers: width of regions", "reads of each reader in a region (logarithmic)", "µs an event (logarithmic)", micros},
		{"scopes-records", "cwidth", "Readers and writers: what crosses from the kernel", "reads of each reader in a region (logarithmic)", "records an event (logarithmic)", records},
	} {
		p, err := drawScopeCurves(times, f.figure, f.title, f.x, f.y, f.of)
		if err != nil {
			return err
		}
		if err := save(p, c.output, f.file+"."+c.form); err != nil {
			return err
		}
	}
	p, err := drawScopePrograms(times)
	if err != nil {
		return err
	}
	return save(p, c.output, "scopes-programs."+c.form)
}

// names returns what the rows of a figure have in a column, each once, in their order.
func names(times []scopeTime, figure string, column func(scopeTime) string) (out []string) {
	for _, t := range times {
		if n := column(t); t.figure == figure && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func wayOf(t scopeTime) string { return t.way }

func xOf(t scopeTime) string { return t.x }

// drawScopeCurves draws a curve for each way over the numbers of a figure. Where nothing was counted there is none.
func drawScopeCurves(times []scopeTime, figure, title, x, y string, of func(scopeTime) float64) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	p.X.Scale, p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
	var ticks []plot.Tick
	for _, n := range names(times, figure, xOf) {
		v, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", title, err)
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: n})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	least, most := 0.0, 0.0
	for i, way := range names(times, figure, wayOf) {
		var xys plotter.XYs
		for _, t := range times {
			v := of(t)
			if t.figure != figure || t.way != way || v <= 0 {
				continue
			}
			at, _ := strconv.ParseFloat(t.x, 64) // read above
			xys = append(xys, plotter.XY{X: at, Y: v})
			if least == 0 || v < least {
				least = v
			}
			most = max(most, v)
		}
		if len(xys) == 0 {
			continue
		}
		if err := curve(p, way, xys, scopeColours[i%len(scopeColours)], i >= 4); err != nil {
			return nil, err
		}
	}
	if least == 0 {
		return nil, fmt.Errorf("draw %s: nothing was measured", title)
	}
	p.Y.Min, p.Y.Max = least/2, most*20 // room for the legend
	return p, nil
}

// drawScopePrograms draws a point for each program and way, relative to the program without a monitor.
func drawScopePrograms(times []scopeTime) (*plot.Plot, error) {
	const figure = "programs"
	p := newPlot("Other programs", "", "times plain (logarithmic)")
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
	programs, ways := names(times, figure, xOf), names(times, figure, wayOf)
	p.NominalX(programs...)
	plain := map[string]float64{}
	least, most := 1.0, 1.0
	for i, way := range ways {
		var xys plotter.XYs
		for _, t := range times {
			if t.figure != figure || t.way != way {
				continue
			}
			if i == 0 {
				plain[t.x] = t.micros
			}
			if plain[t.x] <= 0 || t.micros <= 0 {
				return nil, fmt.Errorf("draw the other programs: %s took no time, %s", t.x, way)
			}
			v := t.micros / plain[t.x]
			xys = append(xys, plotter.XY{X: float64(slices.Index(programs, t.x)) + 0.1*(float64(i)-float64(len(ways))/2), Y: v})
			least, most = min(least, v), max(most, v)
		}
		if i == 0 {
			continue
		}
		dots, err := plotter.NewScatter(xys)
		if err != nil {
			return nil, fmt.Errorf("draw the points of %s: %w", way, err)
		}
		dots.Shape, dots.Color, dots.Radius = draw.CircleGlyph{}, scopeColours[i%len(scopeColours)], vg.Points(4)
		p.Add(dots)
		p.Legend.Add(way, dots)
	}
	if len(plain) == 0 {
		return nil, errors.New("draw the other programs: nothing was measured")
	}
	p.Y.Min, p.Y.Max = least/2, most*20
	p.X.Min, p.X.Max = -0.5, float64(len(programs))-0.5
	return p, nil
}
