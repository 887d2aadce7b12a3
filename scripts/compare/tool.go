package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/tracepredict/tracepredict/scripts/trial"
)

// tool is a way to run a program. command gives its command line; report is the file
// that a tool may write its report to instead of standard error.
type tool struct {
	name    string
	built   string // the suffix of the program that it runs
	command func(p program, binary, report string) []string
	timed   func(p program, binary, report string) []string // without what only names things; nil: as command
	env     []string
	parse   func(text string) ([]report, error)
	ask     []string // what tells its version; nil: it is of this tree
	version string
	sum     string // of its binary, if it is of this tree
}

// tsanSuffix names the programs that are built for ThreadSanitizer.
const tsanSuffix = ".tsan"

// allTools lists the tools. Whatever a tool has to do with races is asked for: the
// others look at all memory always, tracepredict with --watch-shared.
func allTools(own string) []tool {
	valgrind := func(name string, more ...string) func(program, string, string) []string {
		return func(_ program, binary, _ string) []string {
			return append(append([]string{"valgrind", "--tool=" + name}, more...), binary)
		}
	}
	return []tool{
		{name: "Helgrind", command: valgrind("helgrind", "--read-var-info=yes"), timed: valgrind("helgrind"), parse: parseHelgrind, ask: []string{"valgrind", "--version"}},
		{name: "DRD", command: valgrind("drd", "--read-var-info=yes"), timed: valgrind("drd"), parse: parseDRD, ask: []string{"valgrind", "--version"}},
		{name: "TSan", built: tsanSuffix, env: []string{"TSAN_OPTIONS=second_deadlock_stack=1"}, parse: parseTSan, ask: compilerVersion,
			// It does not start where addresses are laid out with more entropy than it knows.
			command: func(_ program, binary, _ string) []string { return []string{"setarch", "-R", binary} }},
		ownTool(own),
	}
}

// ownTool is the tracepredict of this tree.
func ownTool(own string) tool {
	return tool{name: "tracepredict", parse: parseOwn, command: func(p program, binary, report string) []string {
		args := append([]string{own, "exec", "--watch-shared", "--format", "json", "--output", report}, p.flags...)
		return append(args, "--", binary)
	}}
}

// identify fills in the version of a tool, and of one of this tree what tells it from another build.
func (t *tool) identify(ctx context.Context, own string) (err error) {
	if t.ask != nil {
		t.version, err = trial.FirstLine(ctx, t.ask)
		return err
	}
	t.version = "this tree"
	binary, err := os.ReadFile(own)
	t.sum = fmt.Sprintf("%x", sha256.Sum256(binary))
	return err
}

var compilerVersion = []string{"gcc", "--version"}
