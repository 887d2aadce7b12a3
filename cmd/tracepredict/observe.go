package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/resolve"
	"github.com/tracepredict/tracepredict/analysis/suite"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// planFlags say what to probe; exec, attach and sites have them.
type planFlags struct {
	watch []string
	sync  []string
	sites string
}

func (f *planFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.watch, "watch", nil, "look for races on this global or static `VARIABLE`; repeatable")
	fs.StringArrayVar(&f.sync, "sync", nil, "more synchronisation calls, from a `FILE` (docs/sync-table.md); repeatable")
	fs.StringVar(&f.sites, "sites", "cheap", "where probes sit: `cheap|entry`, the cheapest place that sees the same, or always the original one")
}

func (f *planFlags) options() (probes.Options, error) {
	opts := probes.Options{Watch: f.watch}
	switch f.sites {
	case "cheap":
	case "entry":
		opts.EntrySites = true
	default:
		return opts, usage("--sites %s: it is cheap or entry", f.sites)
	}
	table, err := synctab.Builtin()
	if err != nil {
		return opts, err
	}
	for _, name := range f.sync {
		user, err := readTable(name)
		if err != nil {
			return opts, &loader.UsageError{Err: err}
		}
		table = table.Merge(user)
	}
	opts.Table = table
	return opts, nil
}

func readTable(name string) (synctab.Table, error) {
	f, err := os.Open(name)
	if err != nil {
		return synctab.Table{}, fmt.Errorf("--sync: %w", err)
	}
	defer f.Close()
	return synctab.Parse(f, name)
}

// observeFlags are those of exec and attach.
type observeFlags struct {
	planFlags
	format   string
	output   string
	duration time.Duration
	findings int
	history  int
	ring     int
	lossy    bool
}

func (f *observeFlags) register(cmd *cobra.Command) {
	f.planFlags.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "text", "form of the report: `text|json`")
	fs.StringVar(&f.output, "output", "", "write the report to `FILE` instead of standard error")
	fs.DurationVar(&f.duration, "duration", 0, "stop observing after this time (30s, 5m); the program goes on")
	fs.IntVar(&f.findings, "findings-exit", exitFindings, "exit status `N` that says there are findings")
	fs.IntVar(&f.history, "history", 0, "critical sections kept for each lock and thread, to predict from; 0 is the default")
	fs.IntVar(&f.ring, "ring", 64, "size of the ring buffer in `MiB`, a power of two")
	fs.BoolVar(&f.lossy, "lossy", false, "never make the program wait: events that find the ring buffer full are lost, and counted")
}

func (f *observeFlags) check() error {
	if f.format != "text" && f.format != "json" {
		return usage("--format %s: it is text or json", f.format)
	}
	if f.ring < 1 || f.ring > 1024 || f.ring&(f.ring-1) != 0 {
		return usage("--ring %d: it is a power of two from 1 to 1024", f.ring)
	}
	if f.findings < 0 || f.findings > 255 {
		return usage("--findings-exit %d: an exit status is 0 to 255", f.findings)
	}
	if f.history < 0 || f.duration < 0 {
		return usage("--history and --duration are not negative")
	}
	return nil
}

// observation is one run from the flags to the report.
type observation struct {
	flags    *observeFlags
	stderr   io.Writer
	suite    *suite.Suite
	observer *observer.Observer
	session  *loader.Session
	sites    siteCache
	out      io.WriteCloser
}

func newRun(f *observeFlags, stderr io.Writer, attached bool) (*observation, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	r := &observation{flags: f, stderr: stderr, suite: suite.New(suite.Options{History: f.history})}
	r.observer = observer.New(observer.Options{Sites: r.sites.get, Sinks: []observer.Sink{r.suite}, Attached: attached})
	if f.output != "" {
		// Opened first: a run whose report cannot be kept is a run wasted.
		file, err := os.Create(f.output)
		if err != nil {
			return nil, fmt.Errorf("--output: %w", err)
		}
		r.out = file
	}
	return r, nil
}

func (r *observation) options() (loader.Options, error) {
	plan, err := r.flags.options()
	return loader.Options{Plan: plan, Handler: r.observer, Duration: r.flags.duration, Lossy: r.flags.lossy, Tracer: loader.TracerOptions{RingBytes: r.flags.ring << 20}}, err
}

func (r *observation) started(s *loader.Session) {
	r.session = s
	r.sites.session = s
}

// report analyses, writes the report and gives the number of findings.
func (r *observation) report(res loader.Result, program string) (int, error) {
	r.observer.Finish()
	notes, doubt := resolve.Limits(r.session, r.observer, res.Lost)
	findings := r.suite.Finish(doubt)
	stats := r.observer.Stats()
	rep := report.Build(report.Run{
		Program:  program,
		PID:      r.session.PID(),
		Events:   stats.Events,
		Lost:     res.Lost.Records,
		Threads:  stats.Threads,
		Duration: observed(r.session),
		Notes:    notes,
	}, findings, resolve.New(r.session, r.observer))
	return len(rep.Findings), r.write(rep)
}

// observed is how long the program has been observed.
func observed(s *loader.Session) time.Duration {
	if s.Began().IsZero() {
		return 0
	}
	return time.Since(s.Began())
}

// write sends the whole report in one write, so that the program's own output
// to the same terminal does not fall between its lines.
func (r *observation) write(rep report.Report) error {
	var text bytes.Buffer
	var err error
	if r.flags.format == "json" {
		err = report.WriteJSON(&text, rep)
	} else {
		err = report.WriteText(&text, rep, r.layout())
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	out := r.stderr
	if r.out != nil {
		out = r.out
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if r.out != nil {
		if err := r.out.Close(); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

// layout looks at the terminal; a report that goes elsewhere is wide enough
// for two stacks beside each other.
func (r *observation) layout() report.TextOptions {
	f, ok := r.stderr.(*os.File)
	if r.out != nil || !ok || !term.IsTerminal(int(f.Fd())) {
		return report.TextOptions{Width: 120}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 80
	}
	return report.TextOptions{Width: width, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// siteCache tells the observer of sites without asking the session at each
// record. Used from the reading goroutine alone.
type siteCache struct {
	session *loader.Session
	known   []observer.SiteInfo
	have    []bool
}

func (c *siteCache) get(index uint32) observer.SiteInfo {
	if int(index) < len(c.have) && c.have[index] {
		return c.known[index]
	}
	if index == 0 || index >= bpf.MaxSites || c.session == nil {
		return observer.SiteInfo{}
	}
	info, ok := resolve.SiteInfo(c.session, index)
	if !ok {
		return info
	}
	for int(index) >= len(c.have) {
		c.known, c.have = append(c.known, observer.SiteInfo{}), append(c.have, false)
	}
	c.known[index], c.have[index] = info, true
	return info
}

func (a *app) execCommand() *cobra.Command {
	var f observeFlags
	var user string
	cmd := &cobra.Command{
		Use:   "exec [flags] -- PROGRAM [ARG...]",
		Short: "Run a program and observe it from its first instruction",
		Long: `exec runs PROGRAM with tracepredict's own standard streams, working directory and environment, observes it
from its first instruction, and when it has ended writes a report to standard error.

Exit status: the program's own (128 + n if signal n ended it); 66 if there are findings and the program itself gave 0;
125 if tracepredict failed, 126 and 127 if PROGRAM cannot be run or is not found; 2 for wrong usage.`,
		Example: `  sudo tracepredict exec -- ./server --port 8080
  sudo tracepredict exec --watch tickets --watch order.c:total -- ./shop
  sudo tracepredict exec --format json --output report.json -- ./run-tests`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which program? write it after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.exec(cmd.Context(), &f, user, args)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&user, "user", "", "run the program as user `NAME`; under sudo, as the user who called it by default")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func (a *app) exec(ctx context.Context, f *observeFlags, user string, args []string) error {
	r, err := newRun(f, a.stderr, false)
	if err != nil {
		return err
	}
	opts, err := r.options()
	if err != nil {
		return err
	}
	path, err := loader.ResolveProgram(args[0])
	if err != nil {
		return err
	}
	who, err := loader.LookupUser(user)
	if err != nil {
		return err
	}
	res, err := loader.Start(ctx, loader.Program{Path: path, Args: args, User: who}, opts, r.started)
	if err != nil {
		return err
	}
	n, err := r.report(res, path)
	if err != nil {
		return err
	}
	a.status = res.Exit.Code()
	if n > 0 && a.status == 0 {
		a.status = f.findings
	}
	return nil
}

func (a *app) attachCommand() *cobra.Command {
	var f observeFlags
	var pid int
	cmd := &cobra.Command{
		Use:   "attach [flags] -p PID",
		Short: "Observe a running program until Ctrl-C, --duration or its end",
		Long: `attach observes a running process. It goes on undisturbed while it is observed and afterwards; Ctrl-C, the
end of --duration or of the process write the report to standard error.

Exit status: 0 without findings, 66 with, 125 if tracepredict failed, 2 for wrong usage.`,
		Example: `  sudo tracepredict attach -p $(pidof memcached) --duration 30s
  sudo tracepredict attach -p 4711 --watch server.c:connections`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if pid <= 0 {
				return usage("which process? give -p PID")
			}
			return a.attach(cmd.Context(), &f, pid)
		},
	}
	f.register(cmd)
	cmd.Flags().IntVarP(&pid, "pid", "p", 0, "the process to observe")
	return cmd
}

func (a *app) attach(ctx context.Context, f *observeFlags, pid int) error {
	r, err := newRun(f, a.stderr, true)
	if err != nil {
		return err
	}
	opts, err := r.options()
	if err != nil {
		return err
	}
	if err := loader.CheckPID(pid); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	program, err := loader.Executable(pid)
	if err != nil {
		return err
	}
	res, err := loader.Attach(ctx, pid, opts, func(ts []bpf.TaskLine) {
		for _, t := range ts {
			r.observer.AddTask(t)
		}
	}, func(s *loader.Session) {
		r.started(s)
		fmt.Fprintf(a.stderr, "tracepredict: observing %s (pid %d); Ctrl-C ends and reports\n", program, pid)
	})
	if err != nil {
		return err
	}
	n, err := r.report(res, program)
	if err != nil {
		return err
	}
	if n > 0 {
		a.status = f.findings
	}
	return nil
}
