// Command real puts real programs under a fixed load of their own clients,
// plain, under tracepredict exec, with call chains and without, and under tracepredict
// attach in mid-load, checks that their answers are right, and writes what that cost into
// docs/performance.md.
//
// The modes alternate within each round, so that a busy machine is the same to
// all of them; what is told are medians over the rounds. It runs from the top of
// the tree, as root, with ./tracepredict built (make real does all that), and
// exits 1 if an answer was wrong or a program failed. docs/real-programs.md says
// more, and how to add a program.
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

	"github.com/tracepredict/tracepredict/scripts/entry"
)

type config struct {
	tool   string
	output string // the page; "" to print alone
	logs   string // where reports and the programs' output are kept
	rounds int
	scale  float64 // of the loads
	only   []string
	modes  []mode
	user   string
	// pointers measures what --watch-shared=all costs, and writes another part of the page.
	pointers bool
	// protocols measures what it costs to learn and check protocols, of other programs, and writes a third part.
	protocols bool
	// scopes does so for properties of scopes.
	scopes bool
	// formulas does so for atomicity.
	formulas bool
	// large measures a stand-in with large libraries, and the start of large programs that are installed.
	large  bool
	beside string // another build of tracepredict, which large measures too; "" for none
	steps  int    // of the stand-in
}

// all returns the programs that can be measured, and for -protocols, -scopes and -formulas the specification of each.
func (c *config) all() ([]program, map[string]string) {
	if c.scopes {
		return scopePrograms()
	}
	if c.formulas {
		return formulaPrograms()
	}
	if c.protocols {
		return protocolPrograms()
	}
	return programs(), nil
}

const (
	performance  = "docs/performance.md"
	protocolPage = "docs/real-programs.md"
)

func parseFlags() (c config, err error) {
	var only, modes string
	var quick bool
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to measure")
	flag.StringVar(&c.output, "output", performance, "the page whose marked part is written; empty to print the table alone")
	flag.StringVar(&c.logs, "logs", "build/real", "the `folder` that keeps tracepredict's reports and what the programs printed")
	flag.IntVar(&c.rounds, "rounds", 3, "`N` rounds, an odd number")
	flag.Float64Var(&c.scale, "scale", 1, "times the usual load; with -large, times the usual size of its libraries")
	flag.StringVar(&only, "only", "", "only these programs, separated by commas")
	flag.StringVar(&modes, "modes", "plain,exec,attach,exec-without-stacks", "only these ways to run them")
	flag.StringVar(&c.user, "user", "nobody", "the user that the programs run as; most refuse to be root")
	flag.BoolVar(&quick, "quick", false, "one round of a quarter of the load, and no page written: to see that all works")
	flag.BoolVar(&c.pointers, "pointers", false, "measure exec --watch-shared=all with several budgets instead")
	flag.BoolVar(&c.protocols, "protocols", false, "measure mine, and exec --spec with protocols, instead")
	flag.BoolVar(&c.scopes, "scopes", false, "measure exec --spec with scopes instead")
	flag.BoolVar(&c.formulas, "formulas", false, "measure exec --spec with formulas of atomicity instead")
	flag.BoolVar(&c.large, "large", false, "measure a stand-in for a training loop, which has large libraries, and the start of large programs that are installed, instead")
	flag.StringVar(&c.beside, "beside", "", "with -large: another build of tracepredict, measured in the same rounds")
	flag.IntVar(&c.steps, "steps", 60, "with -large: `N` steps of the stand-in")
	flag.Parse()
	if quick {
		c.rounds, c.scale, c.output = 1, c.scale/4, ""
	}
	c.only = c.names()
	if only != "" {
		c.only = strings.Split(only, ",")
	}
	for _, m := range strings.Split(modes, ",") {
		c.modes = append(c.modes, mode(m))
	}
	if c.pointers {
		c.modes = pointerModes
	}
	if c.protocols {
		c.modes = protocolModes
	}
	if c.scopes || c.formulas {
		c.modes = scopeModes
	}
	if c.specified() && c.output == performance {
		c.output = protocolPage
	}
	return c, c.check()
}

// specified reports whether each program has a specification.
func (c *config) specified() bool { return c.protocols || c.scopes || c.formulas }

func (c *config) check() error {
	if flag.NArg() > 0 || c.rounds < 1 || c.scale <= 0 || c.steps < 1 || c.beside != "" && !c.large {
		return errors.New("wrong usage; -help tells the flags")
	}
	for _, name := range c.only {
		if !slices.Contains(c.names(), name) {
			return fmt.Errorf("-only %s: the programs are %s", name, strings.Join(c.names(), "; "))
		}
	}
	for _, m := range c.modes {
		if !slices.Contains(allModes, m) && !c.pointers && !c.specified() {
			return fmt.Errorf("-modes %s: the modes are %v", m, allModes)
		}
	}
	if c.large {
		if len(c.only) != len(c.names()) || c.scale != 1 {
			c.output = ""
		}
		return nil
	}
	if c.output != "" && (len(c.only) != len(c.names()) || len(c.modes) != len(allModes) && !c.pointers && !c.specified()) {
		fmt.Fprintln(os.Stderr, "real: not all programs and modes: the page is left alone")
		c.output = ""
	}
	return nil
}

func main() { entry.Main("real", parseFlags, run) }

func run(ctx context.Context, c config) error {
	r, err := newRunner(c)
	if err != nil {
		return err
	}
	defer r.close()
	if c.large {
		return runLarge(ctx, r)
	}
	var results []result
	var failed []string
	all, specs := c.all()
	r.specs = specs
	for _, p := range all {
		if !slices.Contains(c.only, p.name()) {
			continue
		}
		res, err := r.measure(ctx, p)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "real: %s: %v\n", p.name(), err)
			failed = append(failed, p.name())
		}
		results = append(results, res)
	}
	text, part := render(c, results), marks
	if c.pointers {
		text, part = renderPointers(c, results), pointerMarks
	}
	if c.protocols {
		text, part = renderProtocols(c, results), protocolMarks
	}
	if c.scopes {
		text, part = renderScopes(c, results), scopeMarks
	}
	if c.formulas {
		text, part = renderFormulas(c, results), formulaMarks
	}
	fmt.Print(text)
	if len(failed) > 0 {
		return fmt.Errorf("%s did not do right, see above; the page is left alone", strings.Join(failed, ", "))
	}
	if c.output == "" {
		return nil
	}
	return part.Write(filepath.Clean(c.output), newPage, text)
}
