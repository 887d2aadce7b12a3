// Command survey runs programs of Debian's packages as a new user would, plain and with nothing but
// tracepredict exec -- PROGRAM, and writes into docs/real-programs.md whether they did the same, what
// that cost, and what was found.
//
// Each program runs three times in a new folder: plain, observed with a JSON report, and observed with
// the report that people read, whose lines are counted. The command exits 1 if a program did not do the same observed as
// plain. It runs from the top of the tree, as root, with ./tracepredict built (make real does all that).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/scripts/entry"
	"github.com/tracepredict/tracepredict/scripts/figures"
)

type config struct {
	tool   string
	output string // the page; "" to print alone
	logs   string // where reports are kept
	only   []string
	limit  time.Duration
}

var marks = figures.Marks{Begin: "<!-- survey: written by make real -->", End: "<!-- end of survey -->"}

func parseFlags() (c config, err error) {
	var only string
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to try")
	flag.StringVar(&c.output, "output", "docs/real-programs.md", "the page whose marked part is written; empty to print the table alone")
	flag.StringVar(&c.logs, "logs", "build/survey", "the `folder` that keeps the reports")
	flag.StringVar(&only, "only", "", "only these programs, separated by commas; the page is left alone then")
	flag.DurationVar(&c.limit, "limit", 3*time.Minute, "the time that one run gets")
	flag.Parse()
	if flag.NArg() > 0 || c.limit <= 0 {
		return c, errors.New("wrong usage; -help tells the flags")
	}
	if only != "" {
		c.only, c.output = strings.Split(only, ","), ""
	}
	c.tool, err = filepath.Abs(c.tool)
	return c, err
}

func main() { entry.Main("survey", parseFlags, survey) }

func survey(ctx context.Context, c config) error {
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		return err
	}
	var all []outcome
	for _, p := range programs {
		if len(c.only) > 0 && !slices.Contains(c.only, p.name) {
			continue
		}
		o := c.try(ctx, p)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, o.line())
		all = append(all, o)
	}
	text := render(all)
	fmt.Print(text)
	if bad := harmed(all); len(bad) > 0 {
		return fmt.Errorf("%s did not do the same, see above; the page is left alone", strings.Join(bad, ", "))
	}
	if c.output == "" {
		return nil
	}
	return marks.Write(c.output, marks.Begin+"\n"+marks.End+"\n", text)
}
