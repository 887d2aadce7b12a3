// Command plots measures the lattice and draws what it measured: what share of the
// violations that can be predicted a window finds, on random programs; how well protocols are
// learned; and the time of an event over threads, window and states of the monitor. It also draws what bench
// -scopes measured. Pictures (SVG) and their data (CSV) go to a folder of the documentation.
//
// The recall is the same on every machine; times are not, and want an idle one.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

type config struct {
	output   string
	page     string
	programs int
	seed     uint64
	events   int
	rounds   int
	form     string
}

func main() {
	var c config
	flag.StringVar(&c.output, "output", "docs/figures", "the `FOLDER` to write to")
	flag.StringVar(&c.page, "page", "docs/performance.md", "the `PAGE` beside the folder whose marked part shows the times; empty is none")
	flag.IntVar(&c.programs, "programs", 150, "random programs for the recall")
	flag.Uint64Var(&c.seed, "seed", 1, "of the random programs")
	flag.IntVar(&c.events, "events", 100_000, "events a measurement of time")
	flag.IntVar(&c.rounds, "rounds", 5, "measurements of time at each value")
	flag.StringVar(&c.form, "form", "svg", "of the pictures: svg, png or pdf")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: plots [flags] recall|learning|times|scopes ...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || c.programs < 1 || c.events < 1 || c.rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	for _, what := range flag.Args() {
		if err := c.draw(what); err != nil {
			fmt.Fprintln(os.Stderr, "plots:", err)
			os.Exit(1)
		}
	}
}

func (c *config) draw(what string) error {
	if err := os.MkdirAll(c.output, 0o755); err != nil {
		return err
	}
	switch what {
	case "recall":
		return c.recall()
	case "learning":
		return c.learning()
	case "times":
		return c.times()
	case "scopes":
		return c.scopes()
	}
	return fmt.Errorf("%s: it is recall, learning, times or scopes", what)
}

func (c *config) recall() error {
	points, err := measureRecall(c.programs, c.seed, recallWindows, func(done int) {
		if done%25 == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d programs\n", done, c.programs)
		}
	})
	if err != nil {
		return err
	}
	p, err := drawRecall(points, c.programs)
	if err != nil {
		return err
	}
	if err := save(p, c.output, "recall."+c.form); err != nil {
		return err
	}
	return table(c.output, "recall.csv", recallTable(points))
}

func (c *config) learning() error {
	points, err := measureLearning(c.seed)
	if err != nil {
		return err
	}
	p, err := drawLearning(points)
	if err != nil {
		return err
	}
	if err := save(p, c.output, "learning."+c.form); err != nil {
		return err
	}
	return table(c.output, "learning.csv", learningTable(points))
}

func (c *config) times() error {
	points := measureCost(c.events, c.rounds, func(round int) { fmt.Fprintf(os.Stderr, "round %d of %d\n", round, c.rounds) })
	for _, a := range axes {
		p, err := drawCost(a, points)
		if err != nil {
			return err
		}
		if err := save(p, c.output, "time-"+a.name+"."+c.form); err != nil {
			return err
		}
	}
	if err := table(c.output, "times.csv", costTable(points)); err != nil {
		return err
	}
	if c.page == "" {
		return nil
	}
	return marks.Write(c.page, "# What observing costs\n\n"+marks.Begin+"\n"+marks.End+"\n", c.text())
}

var marks = figures.Marks{Begin: "<!-- times of the lattice: written by make plots -->", End: "<!-- end of times of the lattice -->"}

// text is what the page says of the pictures of times.
func (c *config) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured with `make plots`, medians of %d rounds of %d relevant events on one core of %s. Data: [times.csv](figures/times.csv).\n", c.rounds, c.events, figures.Machine())
	for _, a := range axes {
		fmt.Fprintf(&b, "\n![The time of a relevant event over %s](figures/time-%s.%s)\n", a.title, a.name, c.form)
	}
	return b.String()
}
