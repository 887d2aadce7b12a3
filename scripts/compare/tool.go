package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// hangLimit is what a program that hangs gets: Valgrind starts in it many times over.
const hangLimit = 20 * time.Second

// tool is a way to run a program. command gives its command line; report is the file
// that a tool may write its report to instead of standard error.
type tool struct {
	name    string
	built   string // the suffix of the program that it runs
	command func(p program, binary, report string) []string
	timed   func(p program, binary, report string) []string // without what only names things; nil: as command
	env     []string
	parse   func(text string) ([]report, error)
	version []string // what tells it; nil: it is of this tree
}

// tsanSuffix names the programs that are built for ThreadSanitizer.
const tsanSuffix = ".tsan"

// allTools lists the tools, plain runs first. Whatever a tool has to do with races is
// asked for: the others look at all memory always, tracepredict with --watch-shared.
func allTools(own string) []tool {
	valgrind := func(name string, more ...string) func(program, string, string) []string {
		return func(_ program, binary, _ string) []string {
			return append(append([]string{"valgrind", "--tool=" + name}, more...), binary)
		}
	}
	return []tool{
		{name: "Helgrind", command: valgrind("helgrind", "--read-var-info=yes"), timed: valgrind("helgrind"), parse: parseHelgrind, version: []string{"valgrind", "--version"}},
		{name: "DRD", command: valgrind("drd", "--read-var-info=yes"), timed: valgrind("drd"), parse: parseDRD, version: []string{"valgrind", "--version"}},
		{name: "TSan", built: tsanSuffix, env: []string{"TSAN_OPTIONS=second_deadlock_stack=1"}, parse: parseTSan, version: []string{"gcc", "--version"},
			// It does not start where addresses are laid out with more entropy than it knows.
			command: func(_ program, binary, _ string) []string { return []string{"setarch", "-R", binary} }},
		{name: "tracepredict", parse: parseOwn,
			command: func(p program, binary, report string) []string {
				args := append([]string{own, "exec", "--watch-shared", "--format", "json", "--output", report}, p.flags...)
				return append(args, "--", binary)
			}},
	}
}

type runner struct {
	config
	tools []tool
}

// row is what is known of one program.
type row struct {
	program
	verdicts []verdict
	times    []float64 // of the plain run's time; 0: not measured
	plain    time.Duration
}

// program builds a program and runs it under each tool.
func (r *runner) program(ctx context.Context, p program) (row, error) {
	binary := filepath.Join(r.logs, p.name)
	for _, suffix := range []string{"", tsanSuffix} {
		if err := compile(ctx, p.path, binary+suffix, suffix == tsanSuffix); err != nil {
			return row{}, err
		}
	}
	res := row{program: p}
	for _, t := range r.tools {
		v, err := r.look(ctx, p, t, binary)
		if err != nil {
			return row{}, fmt.Errorf("%s: %w", t.name, err)
		}
		res.verdicts = append(res.verdicts, v)
	}
	if r.rounds > 0 && !p.hangs {
		return r.time(ctx, res, binary)
	}
	return res, nil
}

func compile(ctx context.Context, source, out string, tsan bool) error {
	args := []string{"gcc", "-std=gnu11"}
	if filepath.Ext(source) == ".cc" {
		args = []string{"g++", "-std=c++20"}
	}
	args = append(args, "-O1", "-g", "-Wall", "-Wextra", "-pthread", "-o", out, source)
	if tsan {
		args = append(args, "-fsanitize=thread", "-Wno-tsan")
	}
	if text, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return nil
}

// look runs a program under a tool once and judges what the tool said, which is kept
// in a file for people to read.
func (r *runner) look(ctx context.Context, p program, t tool, binary string) (verdict, error) {
	file := filepath.Join(r.logs, p.name+"-"+t.name)
	if _, err := os.Stat(file + ".txt"); err != nil || !slices.Contains(r.reuse, t.name) {
		if err := r.hear(ctx, p, t, binary, file); err != nil {
			return verdict{}, err
		}
	}
	text, err := os.ReadFile(file + ".txt")
	if err != nil {
		return verdict{}, err
	}
	said, ended := strings.CutSuffix(string(text), timeIsUp)
	if own, err := os.ReadFile(file + ".json"); err == nil {
		said = string(own)
	}
	reports, err := t.parse(said)
	if err != nil {
		return verdict{}, err
	}
	v := p.judge(reports)
	v.unended = ended && !p.hangs
	return v, nil
}

// timeIsUp is added to what was said when the time was over.
const timeIsUp = "\ncompare: the time is over\n"

// hear runs a program under a tool and keeps what the tool says in file.txt, or the
// tool itself does in file.json.
func (r *runner) hear(ctx context.Context, p program, t tool, binary, file string) error {
	_ = os.Remove(file + ".json")
	limit := r.limit
	if p.hangs {
		limit = hangLimit
	}
	said, ended, err := r.run(ctx, limit, t.env, t.command(p, binary+t.built, file+".json"))
	if err != nil {
		return err
	}
	if !ended {
		said += timeIsUp
	}
	return os.WriteFile(file+".txt", []byte(said), 0o644)
}

// run runs a command line to its end, or until its time is over: then it is asked to
// end, and after as much again it is killed. It gives what was said, and whether it
// ended by itself.
func (r *runner) run(ctx context.Context, limit time.Duration, env, args []string) (said string, ended bool, err error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(within, args[0], args[1:]...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
	cmd.WaitDelay = limit
	err = cmd.Run()
	if cmd.Process == nil {
		return "", false, err
	}
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // whatever it left behind
	if ctx.Err() != nil {
		return "", false, errors.New("interrupted")
	}
	return text.String(), within.Err() == nil, nil
}

// time runs a program plain and under each tool in turn, so that a busy machine is the
// same to all of them, and takes the medians of the ratios to the plain run of a round.
func (r *runner) time(ctx context.Context, res row, binary string) (row, error) {
	ratios := make([][]float64, len(r.tools))
	var plains []float64
	for range r.rounds {
		plain, err := r.took(ctx, nil, []string{binary})
		if err != nil {
			return res, err
		}
		plains = append(plains, float64(plain))
		for i, t := range r.tools {
			command := t.command
			if t.timed != nil {
				command = t.timed
			}
			took, err := r.took(ctx, t.env, command(res.program, binary+t.built, filepath.Join(r.logs, "timed.json")))
			if err != nil {
				return res, err
			}
			ratios[i] = append(ratios[i], float64(took)/float64(plain))
		}
	}
	for _, values := range ratios {
		res.times = append(res.times, figures.Median(values))
	}
	res.plain = time.Duration(figures.Median(plains))
	return res, nil
}

func (r *runner) took(ctx context.Context, env, args []string) (time.Duration, error) {
	began := time.Now()
	_, _, err := r.run(ctx, r.limit, env, args)
	return time.Since(began), err
}

// versions gives the first line of what each tool says of its version.
func (r *runner) versions(ctx context.Context) ([]string, error) {
	var versions []string
	for _, t := range r.tools {
		if t.version == nil {
			versions = append(versions, "this tree")
			continue
		}
		text, err := exec.CommandContext(ctx, t.version[0], t.version[1:]...).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(t.version, " "), err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		versions = append(versions, strings.TrimSpace(first))
	}
	return versions, nil
}
