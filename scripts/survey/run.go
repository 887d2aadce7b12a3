package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// run is what a program did once.
type run struct {
	status string // how it ended
	output string // standard output, and sums of the files that it wrote
	took   time.Duration
	cpu    time.Duration // processor time of the program, plain
}

// outcome is what became of a program.
type outcome struct {
	program
	missing  string // what it needs and is not installed
	plain    run
	observed run
	report   toolReport
	lines    int // of the report that people read
	err      error
}

// toolReport is what is read of the report.
type toolReport struct {
	Run struct {
		Notes []string `json:"notes"`
	} `json:"run"`
	Findings []struct {
		Kind        string `json:"kind"`
		Confidence  string `json:"confidence"`
		Message     string `json:"message"`
		Fingerprint string `json:"fingerprint"`
	} `json:"findings"`
	Stats struct {
		Tool struct {
			CPU     time.Duration `json:"cpu_ns"`
			Elapsed time.Duration `json:"elapsed_ns"`
			Peak    uint64        `json:"peak_rss_bytes"`
		} `json:"tool"`
		Program struct {
			CPU time.Duration `json:"cpu_ns"`
		} `json:"program"`
		Plans struct {
			Made int           `json:"made"`
			Time time.Duration `json:"time_ns"`
		} `json:"plans"`
	} `json:"stats"`
}

// try runs a program plain and observed.
func (c *config) try(ctx context.Context, p program) outcome {
	o := outcome{program: p}
	for _, need := range p.needs {
		if _, err := exec.LookPath(need); err != nil {
			o.missing = need
			return o
		}
	}
	name := strings.ReplaceAll(p.name, " ", "-")
	report, err := filepath.Abs(filepath.Join(c.logs, name+".json"))
	if err != nil {
		o.err = err
		return o
	}
	text := strings.TrimSuffix(report, ".json") + ".txt"
	exec := func(flags ...string) []string {
		return slices.Concat([]string{c.tool, "exec"}, flags, p.flags, []string{"--"}, p.run)
	}
	if o.plain, o.err = c.once(ctx, p, p.run); o.err != nil {
		return o
	}
	if o.observed, o.err = c.once(ctx, p, exec("--findings-exit", "0", "--format", "json", "--stats", "--output", report)); o.err != nil {
		return o
	}
	if o.err = readJSON(report, &o.report); o.err != nil {
		return o
	}
	if _, o.err = c.once(ctx, p, exec("--output", text)); o.err != nil {
		return o
	}
	b, err := os.ReadFile(text)
	o.lines, o.err = bytes.Count(b, []byte("\n")), err
	return o
}

func readJSON(name string, into any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// once runs a command line in a new folder in which the program was prepared.
func (c *config) once(ctx context.Context, p program, args []string) (r run, err error) {
	dir, err := os.MkdirTemp("", "tracepredict-survey-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	servers, err := prepare(ctx, p, dir)
	defer servers()
	if err != nil {
		return r, err
	}
	cmd := command(ctx, dir, args)
	var out bytes.Buffer
	cmd.Stdout = &out
	began := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("%s: %w", args[0], err)
	}
	if ctx.Err() != nil {
		return r, fmt.Errorf("%s did not end within %v", strings.Join(args[:2], " "), c.limit)
	}
	r = run{status: cmd.ProcessState.String(), took: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if !p.varies {
		r.output = out.String()
	}
	for _, name := range p.files {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return r, err
		}
		r.output += fmt.Sprintf("\n%s %x", name, sha256.Sum256(b))
	}
	return r, nil
}

// prepare does what the program needs. The processes that it leaves running end with servers.
func prepare(ctx context.Context, p program, dir string) (servers func(), err error) {
	if p.prepare == "" {
		return func() {}, nil
	}
	cmd := command(ctx, dir, []string{"bash", "-c", "set -e; " + p.prepare})
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("prepare %s: %w\n%s", p.name, err, out)
	}
	return func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }, err
}

// command returns a command that has a group of processes of its own, all of which end with the context.
func command(ctx context.Context, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}
