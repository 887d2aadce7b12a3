// Command compare runs small defective programs, and innocent ones that look like
// them, under Helgrind, DRD, ThreadSanitizer and tracepredict, and writes into
// docs/comparison.md what each of these found, missed and said falsely, and how
// much longer the programs took.
//
// The programs are in scripts/compare/programs: the comment that a file opens with
// says what is wrong, and what a tool is expected to find. A report of another kind,
// or on another variable, is a false alarm. It runs from the top of the tree, as
// root, with ./tracepredict built (make compare does all that). What each tool said
// is kept, to be read: no rule here understands it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

type config struct {
	tool     string
	programs string
	output   string // the page; "" to print alone
	logs     string // where programs are built and what tools say is kept
	only     []string
	reuse    []string // tools that are not run again
	rounds   int
	limit    time.Duration
}

var marks = figures.Marks{Begin: "<!-- comparison: written by make compare -->", End: "<!-- end of comparison -->"}

// newPage is what the page says if there is none.
var newPage = "# Compared with other tools\n\n" + marks.Begin + "\n" + marks.End + "\n"

func parseFlags() (c config, err error) {
	var only, reuse string
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to compare")
	flag.StringVar(&c.programs, "programs", "scripts/compare/programs", "the `folder` of the programs")
	flag.StringVar(&c.output, "output", "docs/comparison.md", "the page whose marked part is written; empty to print the table alone")
	flag.StringVar(&c.logs, "logs", "build/compare", "the `folder` that keeps the programs and what the tools said of each")
	flag.StringVar(&only, "only", "", "only these programs, separated by commas; the page is left alone then")
	flag.StringVar(&reuse, "reuse", "", "tools, separated by commas, that are not run again: what they said last time is judged")
	flag.IntVar(&c.rounds, "rounds", 3, "timed runs of each program under each tool; 0 leaves the times out")
	flag.DurationVar(&c.limit, "limit", time.Minute, "the time that a program gets under a tool, unless it is one that hangs")
	flag.Parse()
	if flag.NArg() > 0 || c.rounds < 0 || c.limit <= 0 {
		return c, errors.New("wrong usage; -help tells the flags")
	}
	if only != "" {
		c.only, c.output = strings.Split(only, ","), ""
	}
	if reuse != "" {
		c.reuse = strings.Split(reuse, ",")
	}
	return c, nil
}

func main() {
	c, err := parseFlags()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	err = run(ctx, c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) error {
	programs, err := readPrograms(c.programs, c.only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		return err
	}
	r := runner{config: c, tools: allTools(c.tool)}
	var rows []row
	for _, p := range programs {
		fmt.Fprintf(os.Stderr, "compare: %s\n", p.name)
		row, err := r.program(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, row)
	}
	versions, err := r.versions(ctx)
	if err != nil {
		return err
	}
	text := render(r.tools, versions, rows)
	fmt.Print(text)
	if c.output == "" {
		return nil
	}
	return marks.Write(filepath.Clean(c.output), newPage, text)
}
