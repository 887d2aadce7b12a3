// Command compare runs small defective programs, and innocent ones that look like
// them, under Helgrind, DRD, ThreadSanitizer and tracepredict, and writes into
// docs/comparison.md what each of these found, missed and said falsely, and how
// much longer some of the programs took.
//
// The programs are in scripts/compare/programs: the comment that a file opens with
// says what is wrong, and what a tool is expected to find. A report of another kind,
// or on another variable, is a false alarm. The command runs from the top of the tree, as
// root, with ./tracepredict built (make compare does all that). The output of each tool is
// kept for people to read. What tracepredict exec --confirm confirms of its findings is a table of
// its own, which -only-confirm writes without the other tools. An interrupted comparison continues where it was: a tool whose
// output for the same binary is kept does not run again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/scripts/entry"
	"github.com/tracepredict/tracepredict/scripts/figures"
)

type config struct {
	tool     string
	programs string
	output   string // the page; "" to print alone
	logs     string // where programs are built and what tools say is kept
	only     []string
	fresh    bool // ask every tool again
	// onlyConfirm: only --confirm is measured, and only its table written.
	onlyConfirm bool
	jobs        int // programs looked at at once; one while times are taken
	rounds      int
	least       time.Duration // what every program gets under a tool
	still       time.Duration // how long no thread runs of one that hangs
}

var marks = figures.Marks{Begin: "<!-- comparison: written by make compare -->", End: "<!-- end of comparison -->"}

// newPage is what the page says if there is none.
var newPage = "# Compared with other tools\n\n" + marks.Begin + "\n" + marks.End + "\n\n" + confirmMarks.Begin + "\n" + confirmMarks.End + "\n"

func parseFlags() (c config, err error) {
	var only string
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to compare")
	flag.StringVar(&c.programs, "programs", "scripts/compare/programs", "the `folder` of the programs")
	flag.StringVar(&c.output, "output", "docs/comparison.md", "the page whose marked part is written; empty to print the table alone")
	flag.StringVar(&c.logs, "logs", "build/compare", "the `folder` that keeps the programs and what the tools said of each")
	flag.StringVar(&only, "only", "", "only these programs, separated by commas; the page is left alone then")
	flag.BoolVar(&c.fresh, "fresh", false, "build and ask again even where the same tool has been asked about the same binary")
	flag.BoolVar(&c.onlyConfirm, "only-confirm", false, "run tracepredict exec --confirm alone, without the other tools, and write its table alone")
	flag.IntVar(&c.jobs, "jobs", runtime.NumCPU(), "`N` programs at once, but while times are taken")
	flag.IntVar(&c.rounds, "rounds", 3, "timed runs of each program that is timed under each tool; 0 leaves the times out")
	flag.DurationVar(&c.least, "limit", 20*time.Second, "the time that a program gets under a tool, besides 50 times its plain time")
	flag.DurationVar(&c.still, "still", 3*time.Second, "a program hangs of which no thread has run for this time")
	flag.Parse()
	if flag.NArg() > 0 || c.rounds < 0 || c.jobs < 1 || c.least <= 0 || c.still < time.Second {
		return c, errors.New("wrong usage; -help tells the flags")
	}
	if only != "" {
		c.only, c.output = strings.Split(only, ","), ""
	}
	return c, nil
}

func main() { entry.Main("compare", parseFlags, run) }

func run(ctx context.Context, c config) error {
	programs, err := readPrograms(c.programs, c.only)
	if err != nil {
		return err
	}
	r, err := newRunner(ctx, c)
	if err != nil {
		return err
	}
	if !c.onlyConfirm {
		rows, err := r.all(ctx, programs)
		if err := c.write(marks, render(r.tools, rows), err); err != nil {
			return err
		}
	}
	confirmed, err := r.allConfirmed(ctx, programs)
	return c.write(confirmMarks, renderConfirmed(confirmed), err)
}

// write prints what was measured, and writes it into its part of the page if nothing failed.
func (c *config) write(part figures.Marks, text string, failed error) error {
	fmt.Print(text)
	switch {
	case failed != nil:
		return fmt.Errorf("the page is left alone: %w", failed)
	case c.output == "":
		return nil
	}
	return part.Write(filepath.Clean(c.output), newPage, text)
}
