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
	"time"
)

// installedProgram is a large program that is started, has little to do, and ends.
type installedProgram struct {
	name  string
	flags []string // of tracepredict exec
	args  []string
	want  string // in what it prints
}

// installed are in the order of the table; those that are missing are left out.
var installed = []installedProgram{
	{"chromium", []string{"--follow"}, []string{"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=profile", "--dump-dom", "about:blank"}, "<body>"},
	{"ffmpeg", nil, []string{"ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=d=1:s=160x120", "-c:v", "mpeg2video", "-threads", "2", "-f", "md5", "-"}, "MD5="},
	{"soffice", []string{"--follow"}, []string{"soffice", "--headless", "--version"}, "LibreOffice"},
	{"java", nil, []string{"java", "-version"}, "Runtime"},
}

func (p installedProgram) present() bool {
	_, err := exec.LookPath(p.args[0])
	return err == nil
}

// startTime is what a program took from its start to its end.
type startTime struct {
	whole time.Duration
	cpu   time.Duration // of it and of tracepredict together
}

func (s startTime) String() string {
	return fmt.Sprintf("%.2f s, %.2f s of CPU", s.whole.Seconds(), s.cpu.Seconds())
}

// startTimes are those of one round: plain, and cold and warm under each tool.
type startTimes struct {
	plain      startTime
	cold, warm []startTime
}

// startInstalled measures a program. A first run, which is not counted, fills what the program itself and the kernel
// keep of its files.
func (l *large) startInstalled(ctx context.Context, p installedProgram) error {
	if _, err := l.timed(ctx, p, ""); err != nil {
		return err
	}
	for round := range l.rounds {
		s, err := l.startRound(ctx, p)
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		fmt.Fprintf(os.Stderr, "%s: round %d of %d: plain %v, cold %v, warm %v\n", p.name, round+1, l.rounds, s.plain, s.cold, s.warm)
		l.started[p.name] = append(l.started[p.name], s)
	}
	return nil
}

func (l *large) startRound(ctx context.Context, p installedProgram) (s startTimes, err error) {
	if s.plain, err = l.timed(ctx, p, ""); err != nil {
		return s, err
	}
	for _, tool := range l.tools() {
		if err := l.forget(); err != nil {
			return s, err
		}
		cold, err := l.timed(ctx, p, tool)
		if err != nil {
			return s, fmt.Errorf("cold: %w", err)
		}
		warm, err := l.timed(ctx, p, tool)
		if err != nil {
			return s, fmt.Errorf("warm: %w", err)
		}
		s.cold, s.warm = append(s.cold, cold), append(s.warm, warm)
	}
	return s, nil
}

// timed runs a program to its end in a new folder, below a tool unless that is "", and returns how long that took.
func (l *large) timed(ctx context.Context, p installedProgram, tool string) (s startTime, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxRun)
	defer cancel()
	dir, err := os.MkdirTemp(l.dir, p.name)
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	args := p.args
	if tool != "" {
		report := filepath.Join(l.logs, "large-"+p.name+".txt")
		args = slices.Concat([]string{tool, "exec", "--findings-exit=0", "--output", report}, p.flags, []string{"--"}, args)
	}
	cmd := l.command(ctx, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "HOME="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err = cmd.Run()
	s.whole = time.Since(began)
	if err != nil {
		return s, fmt.Errorf("%s: %w after %v\n%.2000s", cmd, errors.Join(err, ctx.Err()), s.whole, &out)
	}
	if !bytes.Contains(out.Bytes(), []byte(p.want)) {
		return s, fmt.Errorf("%s: it does not print %q:\n%.2000s", cmd, p.want, &out)
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return s, nil
}
