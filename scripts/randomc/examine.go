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
	"strconv"
	"strings"
	"sync"
	"time"
)

// examine examines the programs, several at once, and sends what became of each in the order of
// the seeds. It ends early with the context.
func (c config) examine(ctx context.Context) <-chan verdict {
	pending := make(chan chan verdict, c.jobs)
	out := make(chan verdict)
	var ready sync.WaitGroup
	ready.Go(func() {
		defer close(pending)
		room := make(chan struct{}, c.jobs)
		for i := range c.programs {
			one := make(chan verdict, 1)
			select {
			case <-ctx.Done():
				return
			case room <- struct{}{}:
			}
			pending <- one
			ready.Go(func() {
				one <- c.program(ctx, c.seed+uint64(i))
				<-room
			})
		}
	})
	go func() {
		defer close(out)
		for one := range pending {
			out <- <-one
		}
		ready.Wait()
	}()
	return out
}

// program draws one program, shows it to the tool and compares.
func (c config) program(ctx context.Context, seed uint64) verdict {
	v := verdict{seed: seed}
	p, run, found := draw(seed)
	v.truth = found
	var ok bool
	if v.reachable, ok = p.reachable(run); !ok {
		v.err = errors.New("the run has too many reorderings")
		return v
	}
	for f := range v.reachable {
		if !v.truth.faults[f] {
			v.err = fmt.Errorf("the enumerations contradict each other: %s", f)
			return v
		}
	}
	folder := filepath.Join(c.kept, strconv.FormatUint(seed, 10))
	source := p.text(run)
	v.watched, _ = c.watched(p)
	v.coarse = c.watch == "shared" // it leaves out redundant accesses
	report, err := c.observe(ctx, p, folder, source, v.summary(source, run))
	if err == nil {
		v.findings, v.others, err = parseReport(report)
	}
	v.err = err
	return v
}

// summary lists the run and the errors of a program, with a reordering of the run that leads to
// each, if there is one.
func (v verdict) summary(source string, run []event) string {
	lines := strings.Split(source, "\n")
	text := func(i int) string {
		e := run[i]
		note := map[bool]string{true: " fails"}[e.failed] + map[bool]string{true: " returns"}[e.wake]
		line := strings.TrimPrefix(strings.TrimSpace(lines[e.in.line-1]), "at(&me); ")
		return fmt.Sprintf("\t%3d  %s%2d  %s%s\n", e.in.line, strings.Repeat("\t", 5*e.thread), e.slot, line, note)
	}
	var b strings.Builder
	b.WriteString("The run: line, slot, operation; a column for each thread.\n")
	for i := range run {
		b.WriteString(text(i))
	}
	for _, f := range v.truth.faults.sorted() {
		path, ok := v.reachable[f]
		if !ok {
			fmt.Fprintf(&b, "\n%s, by other schedules only\n", f)
			continue
		}
		fmt.Fprintf(&b, "\n%s, by the reordering\n", f)
		for _, i := range path {
			b.WriteString(text(i))
		}
	}
	return b.String()
}

// attempts bounds how often the slots of a program that does not keep to them are doubled.
const attempts = 6

var errLate = errors.New("the program did not keep to its time slots")

// watches decides, by the name of a way to watch, whether the plain variable of a number is watched.
var watches = map[string]func(int) bool{
	"all":    func(int) bool { return true },
	"half":   func(i int) bool { return i%2 == 0 },
	"none":   func(int) bool { return false },
	"shared": func(int) bool { return true },
}

// watched returns the plain variables that are watched, and the flags that do that.
func (c config) watched(p *program) (names, flags []string) {
	for i, name := range p.variables[p.atomics:] {
		if watches[c.watch](i) {
			names = append(names, name)
			flags = append(flags, "--watch", name)
		}
	}
	if c.watch == "shared" {
		return names, []string{"--watch-shared"}
	}
	return names, append(flags, "--watch-shared=off")
}

// observe keeps a program in a folder, runs it under the tool, and returns the report.
func (c config) observe(ctx context.Context, p *program, folder, source, truth string) ([]byte, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "program.c")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "truth.txt"), []byte(truth), 0o644); err != nil {
		return nil, err
	}
	slot := c.slot
	for range attempts {
		report, err := c.once(ctx, p, folder, path, slot)
		if !errors.Is(err, errLate) {
			return report, err
		}
		slot *= 2
	}
	return nil, errLate
}

func (c config) once(ctx context.Context, p *program, folder, path string, slot time.Duration) ([]byte, error) {
	binary, output := filepath.Join(folder, "program"), filepath.Join(folder, "report.json")
	compile := append(p.compilerFlags(), fmt.Sprintf("-DSLOT=%dL", slot.Nanoseconds()), "-o", binary, path)
	if _, err := c.command(ctx, "gcc", compile...); err != nil {
		return nil, err
	}
	_ = os.Remove(output)
	_, flags := c.watched(p)
	if c.confirm {
		flags = append(flags, "--confirm", "--tries", "2")
	}
	args := slices.Concat([]string{"exec"}, flags, []string{"--format", "json", "--output", output,
		"--confidence", "potential", "--findings-exit", "66", "--", binary})
	status, err := c.command(ctx, c.tool, args...)
	if status == late || errors.Is(err, context.DeadlineExceeded) {
		return nil, errLate // a thread that misses its slot can also block others for ever
	}
	if status != 66 && err != nil {
		return nil, err
	}
	return os.ReadFile(output)
}

// command runs a command line, and returns its exit status; an error has what it said.
func (c config) command(ctx context.Context, name string, args ...string) (status int, err error) {
	within, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(within, name, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if within.Err() != nil {
			err = within.Err()
		}
		return cmd.ProcessState.ExitCode(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &said)
	}
	return 0, nil
}
