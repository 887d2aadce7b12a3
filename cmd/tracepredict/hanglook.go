package main

import (
	"context"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/observer/run"
)

func (a *app) hangCommand() *cobra.Command {
	var f observeFlags
	var process processFlag
	f.register(&cobra.Command{}) // sets the defaults of flags that this command does not have
	f.confidence, f.failOn = string(finding.Potential), string(finding.Potential)
	cmd := &cobra.Command{
		Use:   "hang [flags] -p PID",
		Short: "Say at once whether a running program hangs, and what each thread waits for",
		Long: `hang looks at a running process, says whether its threads block each other for ever, and lists what each
thread is doing: which lock it waits for and which thread holds that, or in which system call it sleeps, with its call stack.
It inserts no probe, stops no thread, and ends within about a second. The report goes to standard error.

Exit status: 0 if no hang was found, 66 if one was, 125 if tracepredict failed, 2 for wrong usage.`,
		Example: `  sudo tracepredict hang $(pidof server)
  sudo tracepredict hang --format json 4711`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.noPlanCache = true // there are no plans
			return a.hang(cmd.Context(), &f, process.pid)
		},
	}
	process.register(cmd, "the process to look at; -p may be left out")
	fs := cmd.Flags()
	f.suppressFlags.register(cmd)
	f.to.register(fs)
	fs.IntVar(&f.findings, "findings-exit", exitFindings, "exit status `N` that says there is a hang")
	return cmd
}

// hang looks at a process once and reports what its threads do.
func (a *app) hang(ctx context.Context, f *observeFlags, pid int) error {
	r, err := newObservation(f, "", a.stderr, nil, true)
	if err != nil {
		return err
	}
	defer r.discard()
	if err := target.CheckPID(pid); err != nil {
		return err
	}
	program, err := target.Program(pid)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	defer stop()
	opts := r.options()
	opts.NoProbes, opts.Lossy = true, true
	var seen []run.ThreadState
	look := live.Hangs{Observer: r.live.Observer, OnHangs: func() {}, OnStates: func(all []run.ThreadState) { seen = all; stop() }}
	_, err = loader.Attach(ctx, pid, opts, r.live.AddTasks, func(s *loader.Session) {
		r.live.Begin(s)
		look.Threads = s
		r.hangs.watch(look)
	})
	if err != nil {
		return err
	}
	r.hangs.end()
	return a.reportStates(r, program, seen)
}

// reportStates prints the report of the command hang: the hangs that were found, and what each
// thread does.
func (a *app) reportStates(r *observation, program string, seen []run.ThreadState) error {
	look := report.Run{Summary: run.Summary{
		Program: program, PID: r.live.Session.PID(), Threads: len(seen), Duration: time.Since(r.live.Session.Began()), Notes: r.live.Session.Notes(), NoteKinds: r.live.Session.NoteKinds(),
	}}
	if kernel := kernelName(look.PID, program); kernel != "" {
		look.Called = report.Sanitize(kernel + ", " + filepath.Base(program))
	}
	rep := report.Build(look, r.engine.Hangs(), r.live)
	rep.AddThreadStates(seen, r.live)
	remedies := r.debugNotes(rep)
	rep.Run.Notes, rep.Run.NoteKinds = append(rep.Run.Notes, plural.Texts(remedies)...), append(rep.Run.NoteKinds, remedies...)
	fails, err := r.printer.print(rep)
	if fails {
		a.status = r.flags.findings
	}
	if err != nil {
		_ = r.printer.close()
		return err
	}
	return r.printer.close()
}
