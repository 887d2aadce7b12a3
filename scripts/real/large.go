package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/empty"
)

// This file has what -large measures: a stand-in for a program of machine learning, which has large libraries and a
// driver that locks all the time, and the start of large programs that are installed.

// way is how the stand-in runs.
type way struct {
	name  string   // in the table
	tool  string   // the build of tracepredict; "" for none
	other bool     // tool is the build of -beside
	flags []string // of tracepredict exec
	does  mode     // plain, execed, attach or floor
	cold  bool     // no plans are kept from earlier runs
}

// counted reports whether the steps count only from a signal on, when whatever attaches has done so.
func (w way) counted() bool { return w.does == attach || w.does == floor }

// everyLock is a way in which no library's locks are left out.
const everyLock = "exec --watch-shared=off --not-module none"

// ways returns the ways to run the stand-in. What belongs together stays in order: each cold run keeps the plans that
// the next run uses.
func (c *config) ways() [][]way {
	all := [][]way{{{name: string(plain), does: plain}}, {{name: nothing, does: floor}}}
	kinds := []struct {
		name  string
		does  mode
		flags []string
		warm  bool // it has the plans of the way before
	}{
		{"exec --watch-shared=off", execed, []string{"--watch-shared=off"}, false},
		{everyLock, execed, []string{"--watch-shared=off", "--not-module", "none"}, true},
		{"exec", execed, nil, false},
		{"attach", attach, nil, false},
	}
	for i, tool := range c.tools() {
		w := way{tool: tool, other: i > 0}
		var group []way
		for _, kind := range kinds {
			w.name, w.does, w.flags = kind.name, kind.does, kind.flags
			if kind.warm && i > 0 {
				continue // the other build may be older than --not-module
			}
			if w.cold = !kind.warm; w.cold {
				group = append(group, w)
			}
			w.cold = false
			group = append(group, w)
		}
		all = append(all, group)
	}
	return all
}

// tools returns the builds of tracepredict to measure.
func (c *config) tools() []string {
	if c.beside == "" {
		return []string{c.tool}
	}
	return []string{c.tool, c.beside}
}

// trained is one run of the stand-in.
type trained struct {
	begin time.Duration // from the start until main runs; for attach, from its start until it observes
	whole time.Duration // from the start to the end, with the report; 0 for attach and floor
	end   time.Duration // from the last line that the program prints until all has ended
	step  float64       // ms
	peak  uint64        // bytes: resident memory of tracepredict at its most
	cpu   time.Duration // of tracepredict
	notes int           // lines of notes in the report
	lost  string        // what the report says of lost events
}

func (t trained) String() string {
	return fmt.Sprintf("begins after %.2f s, %.3f ms a step, %.2f s in all, %.2f s of it at the end, %d MB and %.1f s of CPU in tracepredict, lines of notes: %d, %s",
		t.begin.Seconds(), t.step, t.whole.Seconds(), t.end.Seconds(), t.peak>>20, t.cpu.Seconds(), t.notes, t.lost)
}

// large is what -large has measured.
type large struct {
	*runner
	built    standInFiles
	cache    string // the user's folder of caches, where plans are kept
	trained  map[string][]trained
	started  map[string][]startTimes // of installed programs
	versions []string                // of the tools
}

// key is that of a way among the samples.
func (w way) key() string { return fmt.Sprintf("%s cold:%t other:%t", w.name, w.cold, w.other) }

// runLarge measures, prints, and writes the page.
func runLarge(ctx context.Context, r *runner) error {
	l := &large{runner: r, cache: filepath.Join(r.dir, "cache"), trained: map[string][]trained{}, started: map[string][]startTimes{}}
	if err := os.Mkdir(l.cache, 0o700); err != nil {
		return err
	}
	for _, tool := range r.tools() {
		version, err := exec.CommandContext(ctx, tool, "--version").Output()
		if err != nil {
			return fmt.Errorf("ask %s for its version: %w", tool, err)
		}
		l.versions = append(l.versions, strings.TrimPrefix(strings.TrimSpace(string(version)), "tracepredict version "))
	}
	err := l.measure(ctx)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	text := renderLarge(l)
	fmt.Print(text)
	if err != nil {
		return fmt.Errorf("%w\nthe page is left alone", err)
	}
	if r.output == "" {
		return nil
	}
	return largeMarks.Write(filepath.Clean(r.output), newPage, text)
}

// measure runs everything; what fails does not keep the rest from running.
func (l *large) measure(ctx context.Context) error {
	var failed error
	if slices.Contains(l.only, standIn) {
		failed = l.train(ctx)
	}
	for _, p := range installed {
		if !slices.Contains(l.only, p.name) || !p.present() || ctx.Err() != nil {
			continue
		}
		if err := l.startInstalled(ctx, p); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return failed
}

// train builds the stand-in and runs it in all ways, rounds times. The groups of ways turn from round to round.
func (l *large) train(ctx context.Context) error {
	fmt.Fprintf(os.Stderr, "%s: building\n", standIn)
	var err error
	if l.built, err = buildStandIn(ctx, filepath.Join(l.dir, "standin"), standInLibraries, l.scale); err != nil {
		return fmt.Errorf("build the stand-in: %w", err)
	}
	groups := l.ways()
	for round := range l.rounds {
		for i := range groups {
			for _, w := range groups[(i+round)%len(groups)] {
				t, err := l.once(ctx, w, round)
				if err != nil {
					return fmt.Errorf("%s: round %d, %s: %w", standIn, round+1, w.key(), err)
				}
				fmt.Fprintf(os.Stderr, "%s: round %d of %d, %s: %s\n", standIn, round+1, l.rounds, w.key(), t)
				l.trained[w.key()] = append(l.trained[w.key()], t)
			}
		}
	}
	return nil
}

// forget removes the plans of earlier runs.
func (l *large) forget() error { return os.RemoveAll(filepath.Join(l.cache, "tracepredict")) }

// command returns a command with the folder of caches, which ends with its whole group when ctx does.
func (l *large) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+l.cache, "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// training is a run of the stand-in under way.
type training struct {
	way
	l           *large
	cmd         *exec.Cmd
	out         *waitFor
	printed     bytes.Buffer // by the program
	last        lastWrite    // of the program
	log, report string
	done        chan error // the end of cmd
	observer    *watched
}

// once runs the stand-in from its start to its end.
func (l *large) once(ctx context.Context, w way, round int) (s trained, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxRun)
	defer cancel()
	if w.cold {
		if err := l.forget(); err != nil {
			return s, err
		}
	}
	label := strings.NewReplacer(" ", "-", ":", "-").Replace(w.key())
	base := filepath.Join(l.logs, fmt.Sprintf("large-%s-%d", label, round+1))
	t := &training{way: w, l: l, log: base + ".log", report: base + ".txt", done: make(chan error, 1)}
	log, err := os.Create(t.log)
	if err != nil {
		return s, err
	}
	defer log.Close()
	if s, err = t.run(ctx, log); err != nil {
		return s, t.explain(err)
	}
	steps, err := parseSteps(t.printed.String())
	if err != nil {
		return s, t.explain(err)
	}
	if steps.count != l.steps {
		return s, fmt.Errorf("it made %d of %d steps", steps.count, l.steps)
	}
	s.step = steps.each
	if w.tool == "" {
		return s, nil
	}
	text, err := os.ReadFile(t.report)
	if err != nil {
		return s, fmt.Errorf("tracepredict's report: %w", err)
	}
	s.notes, s.lost, err = parseReport(string(text))
	return s, err
}

// explain adds the end of the log to an error.
func (t *training) explain(err error) error {
	p := &process{log: t.log}
	return p.explain(err)
}

// run starts the program, sees what it is asked to see, and returns after its end.
func (t *training) run(ctx context.Context, log *os.File) (s trained, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // whatever happens, nothing goes on running
	args := []string{t.l.built.program, strconv.Itoa(t.l.steps)}
	if t.counted() {
		args = append(args, "wait")
	}
	if t.does == execed {
		args = slices.Concat([]string{t.tool, "exec", "--findings-exit=0", "--output", t.report}, t.flags, []string{"--"}, args)
	}
	t.cmd = t.l.command(ctx, args...)
	t.out = &waitFor{text: "main runs\n", seen: make(chan struct{}), to: io.MultiWriter(&t.printed, &t.last, log)}
	t.cmd.Stdout, t.cmd.Stderr = t.out, log
	began := time.Now()
	if err := t.cmd.Start(); err != nil {
		return s, err
	}
	go func() { t.done <- t.cmd.Wait() }()
	select {
	case <-t.out.seen:
	case err := <-t.done:
		return s, fmt.Errorf("it ended before main ran: %w", errors.Join(err, ctx.Err()))
	}
	s.begin = time.Since(began)
	finish, err := t.join(ctx, log, &s)
	if err != nil {
		cancel()
		<-t.done
		return s, err
	}
	if err := <-t.done; err != nil {
		return s, errors.Join(err, ctx.Err(), finish())
	}
	if !t.counted() {
		s.whole = time.Since(began)
	}
	if err := finish(); err != nil {
		return s, err
	}
	s.end = time.Since(t.last.at)
	if t.observer != nil {
		<-t.observer.gone
		s.peak, s.cpu = t.observer.peak, t.observer.cpu
	}
	return s, nil
}

// join does what belongs to a way once main runs; finish has to be called after the end of the program.
func (t *training) join(ctx context.Context, log *os.File, s *trained) (finish func() error, err error) {
	finish = func() error { return nil }
	switch t.does {
	case execed:
		observer, _ := below(t.cmd.Process.Pid, t.l.built.program)
		if observer == 0 {
			return nil, errors.New("no process of tracepredict runs it")
		}
		t.observer = watch(observer)
		return finish, nil
	case attach:
		finish, s.begin, err = t.attach(ctx, log)
	case floor:
		finish, err = t.attachEmpty()
	default:
		return finish, nil
	}
	if err != nil {
		return nil, err
	}
	return finish, t.cmd.Process.Signal(unix.SIGUSR1)
}

// attach starts tracepredict on the program, and returns how long it took to observe.
func (t *training) attach(ctx context.Context, log *os.File) (finish func() error, took time.Duration, err error) {
	cmd := t.l.command(ctx, t.tool, "attach", "--findings-exit=0", "--output", t.report, "-p", strconv.Itoa(t.cmd.Process.Pid))
	observing := &waitFor{text: "tracepredict: observing ", seen: make(chan struct{}), to: log}
	cmd.Stderr = observing
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	t.observer = watch(cmd.Process.Pid)
	select {
	case <-observing.seen:
		return cmd.Wait, time.Since(began), nil
	case <-t.observer.gone:
		return nil, 0, fmt.Errorf("tracepredict attach ended before it observed: %w", errors.Join(cmd.Wait(), ctx.Err()))
	}
}

// attachEmpty puts programs that do nothing where tracepredict would probe the C library.
func (t *training) attachEmpty() (finish func() error, err error) {
	libc, err := empty.Libc(t.l.built.program)
	if err != nil {
		return nil, err
	}
	sites, err := empty.Sites(t.l.tool, libc)
	if err != nil {
		return nil, err
	}
	probes := &empty.Probes{}
	if err := probes.Attach(libc, sites, t.cmd.Process.Pid); err != nil {
		return nil, errors.Join(err, probes.Close())
	}
	return probes.Close, nil
}

// lastWrite knows when something was written last.
type lastWrite struct{ at time.Time }

func (w *lastWrite) Write(b []byte) (int, error) {
	w.at = time.Now()
	return len(b), nil
}

// steps is what the stand-in prints at its end.
type steps struct {
	count int
	each  float64 // ms
}

var stepsLine = regexp.MustCompile(`(?m)^(\d+) steps, (\d+\.\d+) ms each$`)

func parseSteps(text string) (s steps, err error) {
	m := stepsLine.FindStringSubmatch(text)
	if m == nil {
		return s, fmt.Errorf("it does not say how long its steps took: %q", text)
	}
	if s.count, err = strconv.Atoi(m[1]); err != nil {
		return s, err
	}
	s.each, err = strconv.ParseFloat(m[2], 64)
	return s, err
}

// noneLost is what a report says if all events are in it.
const noneLost = "nothing lost"

var lostWords = regexp.MustCompile(`(?m)^tracepredict: .* events?, .*, (nothing lost|[\d,]+ LOST|CUT SHORT)`)

// parseReport returns how many lines of a report of text are notes, and what it says of lost events.
func parseReport(text string) (notes int, lost string, err error) {
	m := lostWords.FindStringSubmatch(text)
	if m == nil {
		return 0, "", errors.New("the report does not say what was lost")
	}
	inside := false
	for line := range strings.Lines(text) {
		// The lines that continue a paragraph stand deeper than its first.
		inside = strings.HasPrefix(line, "  note: ") || strings.HasPrefix(line, "  --verbose lists ") || inside && strings.HasPrefix(line, "    ")
		if inside {
			notes++
		}
	}
	return notes, m[1], nil
}
