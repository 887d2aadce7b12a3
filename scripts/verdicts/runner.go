package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tracepredict/tracepredict/scripts/trial"
)

type runner struct {
	config
	compilers string // their versions
	headers   string // what the programs include
}

// row is what is known of one program.
type row struct {
	program
	verdict
}

func newRunner(ctx context.Context, c config) (*runner, error) {
	r := &runner{config: c}
	for _, name := range []string{"gcc", "g++"} {
		version, err := trial.FirstLine(ctx, []string{name, "--version"})
		if err != nil {
			return nil, err
		}
		r.compilers += version + "\n"
	}
	headers, err := filepath.Glob(filepath.Join(c.programs, "*", "*.h"))
	if err != nil {
		return nil, err
	}
	for _, name := range headers {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r.headers += string(text)
	}
	return r, errors.Join(os.MkdirAll(filepath.Join(c.logs, innocent), 0o755), os.MkdirAll(filepath.Join(c.logs, defective), 0o755))
}

// all judges each program. Rows of programs that failed are left out.
func (r *runner) all(ctx context.Context, programs []program) ([]row, error) {
	found := make([]row, len(programs))
	errs := trial.Each(r.jobs, programs, func(i int, p program) error {
		v, err := r.program(ctx, p)
		found[i] = row{p, v}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(os.Stderr, "verdicts: program %d of %d: %s: %v\n", i+1, len(programs), p.name, v.level)
		return nil
	})
	if ctx.Err() != nil {
		return nil, trial.ErrInterrupted
	}
	var rows []row
	for i, err := range errs {
		if err == nil {
			rows = append(rows, found[i])
		}
	}
	return rows, errors.Join(errs...)
}

// still is how long no thread runs of a program that hangs.
const still = 5 * time.Second

// confirmTime is how long all tries of a program may take, which is the default of --confirm-time.
const confirmTime = 2 * time.Minute

// statusFindings is the exit status of tracepredict when there are findings and the program exited with 0.
const statusFindings = 66

// attempts is how often a program is run that meets its own error: those errors are latent, but
// on a busy machine a pause may be too short.
const attempts = 3

// program builds a program, runs it and judges the report.
func (r *runner) program(ctx context.Context, p program) (v verdict, err error) {
	binary := filepath.Join(r.logs, p.binary())
	if err := r.compile(ctx, p, binary); err != nil {
		return v, err
	}
	for range attempts {
		if v, err = r.look(ctx, p, binary); !errors.Is(err, errNotWell) || p.innocent() {
			break
		}
	}
	return v, err
}

// errNotWell says that a run was not one that went well.
var errNotWell = errors.New("the run did not go well")

func (r *runner) look(ctx context.Context, p program, binary string) (verdict, error) {
	report := binary + ".json"
	if err := os.Remove(report); err != nil && !os.IsNotExist(err) {
		return verdict{}, err
	}
	limit, quiet := r.limit, still
	if r.confirm {
		limit, quiet = limit+confirmTime, confirmTime // a program that is held in a try does not hang
	}
	ran, err := trial.Run(ctx, limit, quiet, nil, r.command(p, binary, report))
	if err != nil {
		return verdict{}, err
	}
	switch {
	case !ran.Ended:
		return verdict{}, fmt.Errorf("%w: no end within %v:\n%s", errNotWell, limit, ran.Said)
	case ran.Status != 0 && ran.Status != statusFindings:
		return verdict{}, fmt.Errorf("%w: exit status %d:\n%s", errNotWell, ran.Status, ran.Said)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return verdict{}, fmt.Errorf("%w\n%s", err, ran.Said)
	}
	findings, err := trial.Findings(string(text))
	if err != nil {
		return verdict{}, err
	}
	return p.judge(findings)
}

func (r *runner) command(p program, binary, report string) []string {
	args := append([]string{r.tool, "exec", "--format", "json", "--output", report, "--confidence", "potential"}, p.flags...)
	if r.confirm {
		args = append(args, "--confirm")
	}
	if r.named {
		args = append(args, p.watch...)
	}
	return append(args, "--", binary)
}

func (r *runner) compile(ctx context.Context, p program, out string) error {
	args := []string{"gcc", "-std=gnu17"}
	if filepath.Ext(p.path) == ".cc" {
		args = []string{"g++", "-std=c++20"}
	}
	args = append(args, "-O1", "-g", "-pthread", "-o", out, p.path)
	args = append(args, p.build...)
	source, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	return trial.Build(ctx, false, out, args, r.compilers, r.headers, string(source))
}
