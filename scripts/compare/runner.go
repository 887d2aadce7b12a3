package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tracepredict/tracepredict/scripts/figures"
	"github.com/tracepredict/tracepredict/scripts/trial"
)

type runner struct {
	config
	tools    []tool
	confirms tool   // tracepredict with --confirm
	compiler string // its version
	header   string // what the programs include
	progress *progress
}

// row is what is known of one program.
type row struct {
	program
	verdicts []verdict
	times    []float64 // of the plain run's time; none: not measured
	plain    time.Duration
}

func newRunner(ctx context.Context, c config) (*runner, error) {
	r := &runner{config: c, confirms: confirming(c.tool)}
	if !c.onlyConfirm {
		r.tools = allTools(c.tool)
	}
	for i := range r.tools {
		if err := r.tools[i].identify(ctx, c.tool); err != nil {
			return nil, err
		}
	}
	if err := r.confirms.identify(ctx, c.tool); err != nil {
		return nil, err
	}
	header, err := os.ReadFile(filepath.Join(c.programs, "threads.h"))
	if err != nil {
		return nil, err
	}
	r.header = string(header)
	if r.compiler, err = trial.FirstLine(ctx, compilerVersion); err != nil {
		return nil, err
	}
	return r, os.MkdirAll(c.logs, 0o755)
}

// all looks at each program under each tool, several programs at once, and then takes
// the times, one run after the other. Rows of programs that failed are left out.
func (r *runner) all(ctx context.Context, programs []program) ([]row, error) {
	rounds := 0
	for _, p := range programs {
		if p.timed {
			rounds += r.rounds
		}
	}
	r.progress = newProgress(os.Stderr, len(programs), rounds, r.jobs)
	found := make([]row, len(programs))
	errs := trial.Each(r.jobs, programs, func(i int, p program) error {
		var err error
		found[i], err = r.program(ctx, p)
		return err
	})
	var rows []row
	for i, res := range found {
		if errs[i] == nil && res.timed && r.rounds > 0 {
			res, errs[i] = r.time(ctx, res)
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", programs[i].name, errs[i])
			continue
		}
		rows = append(rows, res)
	}
	if ctx.Err() != nil {
		return rows, trial.ErrInterrupted
	}
	return rows, errors.Join(errs...)
}

// program builds a program and runs it under each tool.
func (r *runner) program(ctx context.Context, p program) (row, error) {
	began, asked := time.Now(), false
	for _, suffix := range []string{"", tsanSuffix} {
		if err := r.compile(ctx, p, suffix); err != nil {
			return row{}, err
		}
	}
	res := row{program: p}
	limit := sync.OnceValues(func() (time.Duration, error) { return r.limit(ctx, p) })
	for _, t := range r.tools {
		v, kept, err := r.look(ctx, p, t, r.still, limit)
		if err != nil {
			return row{}, fmt.Errorf("%s: %w", t.name, err)
		}
		asked = asked || !kept
		res.verdicts = append(res.verdicts, v)
	}
	r.progress.looked(p.name, asked, time.Since(began))
	return res, nil
}

// binary is where a program is built for a tool.
func (r *runner) binary(p program, suffix string) string {
	return filepath.Join(r.logs, p.name+suffix)
}

func (r *runner) compile(ctx context.Context, p program, suffix string) error {
	args := []string{"gcc", "-std=gnu11"}
	if filepath.Ext(p.path) == ".cc" {
		args = []string{"g++", "-std=c++20"}
	}
	out := r.binary(p, suffix)
	args = append(args, "-O1", "-g", "-Wall", "-Wextra", "-pthread", "-o", out, p.path)
	args = append(args, p.build...)
	if suffix == tsanSuffix {
		args = append(args, "-fsanitize=thread", "-Wno-tsan")
	}
	source, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	return trial.Build(ctx, r.fresh, out, args, r.compiler, r.header, string(source))
}

// slowdown is what a program may take under a tool, times its plain time.
const slowdown = 50

// limit returns the time that a program gets under a tool, which follows from that of a plain run.
func (r *runner) limit(ctx context.Context, p program) (time.Duration, error) {
	if p.hangs {
		return 2 * r.least, nil
	}
	began := time.Now()
	_, ended, err := r.run(ctx, r.least, r.still, nil, []string{r.binary(p, "")})
	if err == nil && !ended {
		err = errors.New("it does not end, and does not say that it hangs")
	}
	return r.least + slowdown*time.Since(began), err
}

// look runs a program under a tool once, unless what the same tool said of the same
// binary is kept, and judges what it said. A file keeps that for people to read, too.
// It hangs when no thread has run for the time still.
func (r *runner) look(ctx context.Context, p program, t tool, still time.Duration, limit func() (time.Duration, error)) (v verdict, kept bool, err error) {
	binary, file := r.binary(p, t.built), r.said(p, t)
	code, err := os.ReadFile(binary)
	if err != nil {
		return v, false, err
	}
	command := t.command(p, binary, file+".json")
	said := trial.Key(t.version, t.sum, strings.Join(t.env, " "), strings.Join(command, " "), still.String(), string(code))
	kept = !r.fresh && said.IsOf(file+".txt")
	if !kept {
		if err := r.hear(ctx, t.env, command, file, still, limit); err != nil {
			return v, false, err
		}
	}
	if v, err = judged(p, t, file); err != nil || v.unended {
		return v, kept, err // a busy machine may have been why it did not end: it is asked again
	}
	return v, kept, said.Keep(file + ".txt")
}

// judged reads what hear kept.
func judged(p program, t tool, file string) (verdict, error) {
	text, err := os.ReadFile(file + ".txt")
	if err != nil {
		return verdict{}, err
	}
	said, cut := strings.CutSuffix(string(text), timeIsUp)
	if own, err := os.ReadFile(file + ".json"); err == nil {
		said = string(own)
	}
	reports, err := t.parse(said)
	if err != nil {
		return verdict{}, err
	}
	v := p.judge(reports)
	v.unended = cut && !p.hangs
	return v, nil
}

// timeIsUp is added to what was said when the time was over.
const timeIsUp = "\ncompare: the time is over\n"

// hear runs a program under a tool and keeps what the tool says in file.txt, or the
// tool itself does in file.json.
func (r *runner) hear(ctx context.Context, env, command []string, file string, still time.Duration, limit func() (time.Duration, error)) error {
	_ = os.Remove(file + ".json")
	within, err := limit()
	if err != nil {
		return err
	}
	said, ended, err := r.run(ctx, within, still, env, command)
	if err != nil {
		return err
	}
	if !ended {
		said += timeIsUp
	}
	return os.WriteFile(file+".txt", []byte(said), 0o644)
}

// run runs a command line until its time is over or it hangs, and gives what it said and whether
// it ended by itself. How it ended is no matter: what it said is judged.
func (r *runner) run(ctx context.Context, limit, still time.Duration, env, args []string) (said string, ended bool, err error) {
	ran, err := trial.Run(ctx, limit, still, env, args)
	return ran.Said, ran.Ended, err
}

// time runs a program plain and under each tool in turn, so that a busy machine is the
// same to all of them, and takes the medians of the ratios to the plain run of a round.
func (r *runner) time(ctx context.Context, res row) (row, error) {
	ratios := make([][]float64, len(r.tools))
	var plains []float64
	for range r.rounds {
		began := time.Now()
		plain, took, err := r.round(ctx, res.program)
		if err != nil {
			return res, err
		}
		plains = append(plains, float64(plain))
		for i, t := range took {
			ratios[i] = append(ratios[i], float64(t)/float64(plain))
		}
		r.progress.timed(res.name, time.Since(began))
	}
	for _, values := range ratios {
		res.times = append(res.times, figures.Median(values))
	}
	res.plain = time.Duration(figures.Median(plains))
	return res, nil
}

// round takes one time of a plain run and one under each tool.
func (r *runner) round(ctx context.Context, p program) (plain time.Duration, took []time.Duration, err error) {
	if plain, err = r.took(ctx, nil, []string{r.binary(p, "")}); err != nil {
		return 0, nil, err
	}
	for _, t := range r.tools {
		command := t.command
		if t.timed != nil {
			command = t.timed
		}
		one, err := r.took(ctx, t.env, command(p, r.binary(p, t.built), filepath.Join(r.logs, "timed.json")))
		if err != nil {
			return 0, nil, err
		}
		took = append(took, one)
	}
	return plain, took, nil
}

// took returns the time of a run that has to end by itself.
func (r *runner) took(ctx context.Context, env, args []string) (time.Duration, error) {
	began := time.Now()
	_, ended, err := r.run(ctx, r.least, r.still, env, args)
	if err == nil && !ended {
		err = fmt.Errorf("%s did not end within %v, so it has no time", strings.Join(args, " "), r.least)
	}
	return time.Since(began), err
}
