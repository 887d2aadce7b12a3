// Command verdicts runs innocent programs that look guilty, and defective ones that look
// innocent, under tracepredict, and writes into docs/verdicts.md how sure tracepredict is of
// what it says of them.
//
// The programs are in scripts/compare/verdicts: the comment that a file opens with gives the reason
// of its truth. The command runs from the top of the tree, as root, with ./tracepredict built
// (make verdicts does all that). The reports are kept in build/verdicts for people to read.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/scripts/entry"
	"github.com/tracepredict/tracepredict/scripts/figures"
)

type config struct {
	tool     string
	programs string
	output   string // the page; "" to print alone
	logs     string // where programs are built and reports are kept
	only     []string
	jobs     int // programs that run at once
	limit    time.Duration
	check    bool
	named    bool // watch only what the comments of the programs name
	confirm  bool // let tracepredict confirm what it finds
}

var marks = figures.Marks{Begin: "<!-- verdicts: written by make verdicts -->", End: "<!-- end of verdicts -->"}

// confirmMarks enclose what came of confirming.
var confirmMarks = figures.Marks{Begin: "<!-- confirmed: written by make verdicts -->", End: "<!-- end of confirmed -->"}

// newPage is what the page says if there is none.
var newPage = "# How far verdicts can be trusted\n\n" + marks.Begin + "\n" + marks.End + "\n\n" + confirmMarks.Begin + "\n" + confirmMarks.End + "\n"

func parseFlags() (c config, err error) {
	var only string
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to judge")
	flag.StringVar(&c.programs, "programs", "scripts/compare/verdicts", "the `folder` of the folders innocent and defective")
	flag.StringVar(&c.output, "output", "docs/verdicts.md", "the page whose marked part is written; empty to print the tables alone")
	flag.StringVar(&c.logs, "logs", "build/verdicts", "the `folder` that keeps the programs and the reports")
	flag.StringVar(&only, "only", "", "only these programs, separated by commas; the page is left alone then")
	flag.IntVar(&c.jobs, "jobs", 2, "`N` programs at once")
	flag.DurationVar(&c.limit, "limit", 20*time.Second, "the time that a program gets")
	flag.BoolVar(&c.named, "named", false, "watch what the comment of a program names, instead of all that threads share; the page is left alone then")
	flag.BoolVar(&c.confirm, "confirm", true, "let tracepredict confirm what it finds; without that, the part of the page about it is left alone")
	flag.BoolVar(&c.check, "check", false, "fail if the verdicts are worse than they may be")
	flag.Parse()
	if flag.NArg() > 0 || c.jobs < 1 || c.limit <= 0 {
		return c, errors.New("wrong usage; -help tells the flags")
	}
	if only != "" {
		c.only = strings.Split(only, ",")
	}
	if only != "" || c.named {
		c.output = ""
	}
	return c, nil
}

func main() { entry.Main("verdicts", parseFlags, run) }

func run(ctx context.Context, c config) error {
	programs, err := readPrograms(c.programs, c.only)
	if err != nil {
		return err
	}
	r, err := newRunner(ctx, c)
	if err != nil {
		return err
	}
	rows, err := r.all(ctx, programs)
	text := render(rows)
	fmt.Print(text)
	confirmedText := ""
	if c.confirm {
		confirmedText = renderConfirmed(rows)
		fmt.Print("\n" + confirmedText)
	}
	if err != nil {
		return fmt.Errorf("the page is left alone: %w", err)
	}
	if c.output != "" {
		if err := c.write(text, confirmedText); err != nil {
			return err
		}
	}
	if c.check {
		return check(rows)
	}
	return nil
}

// write writes the parts of the page.
func (c *config) write(verdicts, confirmed string) error {
	page := filepath.Clean(c.output)
	if err := marks.Write(page, newPage, verdicts); err != nil || confirmed == "" {
		return err
	}
	return confirmMarks.Write(page, newPage, confirmed)
}
