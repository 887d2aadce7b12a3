package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/report"
	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/loader/tries"
	"github.com/tracepredict/tracepredict/probes/elf"
)

func (a *app) confirmCommand() *cobra.Command {
	var f observeFlags
	f.register(&cobra.Command{}) // sets the defaults of flags that this command does not have
	var user string
	cmd := &cobra.Command{
		Use:   "confirm [flags] REPORT -- PROGRAM [ARG...]",
		Short: "Run a program again to confirm the findings of a report",
		Long: `confirm reads a REPORT that exec --format json wrote, runs PROGRAM, with the same arguments as then, and steers it into what
the report predicts, as exec --confirm does after its own run (docs/confirm.md). It prints the report with what came of it.

PROGRAM must be the one that the report is of: the same build, which may have been moved to another folder. Its standard input is
that of tracepredict, which must be /dev/null or a file, or --confirm-stdin. What it prints is discarded. Findings about a
specification need that too: give --spec, --check and --watch as then.

Exit status: 0 without findings (of the confidence that --fail-on names, confirmed or not), 66 with, 125 if tracepredict failed,
126 and 127 if PROGRAM cannot be run or is not found; 2 for wrong usage.`,
		Example: `  sudo tracepredict exec --format json --output report.json -- ./shop
  sudo tracepredict confirm report.json -- ./shop </dev/null`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) == 0 || dash == 0:
				return errors.New("which report? write its file before --")
			case dash != 1 || len(args) == 1:
				return errors.New("one report, and after -- the program and its arguments")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.confirmFlags.check(); err != nil {
				return err
			}
			if a.try != nil {
				return a.exec(cmd.Context(), &f, user, args[1:])
			}
			return a.confirm(&f, args[0], args[1:])
		},
	}
	f.registerShown(cmd)
	f.confirmFlags.registerTries(cmd)
	f.spec.register(cmd)
	cmd.Flags().StringArrayVar(&f.watch, "watch", nil, "a `VARIABLE` that findings about a specification need, as in the run that the report is of; repeatable")
	cmd.Flags().StringArrayVar(&f.sync, "sync", nil, "more synchronisation calls, from a `FILE` (docs/sync-table.md), as in the run that the report is of; repeatable")
	cmd.Flags().StringVar(&user, "user", "", "run the program as user `NAME`; under sudo, as the user who called it by default")
	return cmd
}

// confirm tries to confirm the findings of a report with a program, and prints the report.
func (a *app) confirm(f *observeFlags, name string, args []string) error {
	if err := f.reportFlags.check(); err != nil {
		return err
	}
	path, err := target.ResolveProgram(args[0])
	if err != nil {
		return err
	}
	files := append(f.reportFlags.files(f.spec.file), userFile{flag: "the report", name: name}, userFile{flag: "the program", name: path}, userFile{flag: "--confirm-stdin", name: f.confirmStdin})
	if err := refuseSame(files...); err != nil {
		return err
	}
	rep, err := openReport(name)
	if err != nil {
		return err
	}
	if _, err := f.spec.load(); err != nil {
		return err
	}
	p := &reported{name: name, program: realPath(path), specified: f.spec.given(), files: map[string]*elf.File{}}
	defer p.close()
	if err := p.check(&rep); err != nil {
		return err
	}
	out, err := newPrinter(&f.reportFlags, a.stderr)
	if err != nil {
		return err
	}
	a.confirmAll(f, p, &rep)
	fails, err := out.print(rep)
	if fails {
		a.status = f.findings
	}
	return errors.Join(err, out.close())
}

// openReport reads a report in JSON.
func openReport(name string) (rep report.Report, err error) {
	file, err := openTraceFile(name)
	if err != nil {
		return rep, err
	}
	defer file.Close()
	return jsonreport.Read(file, name)
}

// confirmAll tries to confirm the findings of a report.
func (a *app) confirmAll(f *observeFlags, p *reported, rep *report.Report) {
	defer rep.TakeConfirmations()
	chosen := candidates(rep, f.set)
	for i := range rep.Findings {
		if x := &rep.Findings[i]; !slices.Contains(chosen, x) {
			x.Confirmation = nil // of other tries
		}
	}
	if len(chosen) == 0 {
		return
	}
	runner, err := tries.Start(f.confirmFlags.tryOptions())
	if err != nil {
		for _, x := range chosen {
			enter(x, &report.Confirmation{Reason: err.Error()})
		}
		return
	}
	defer runner.Close()
	fault := failure{stderr: a.stderr}
	end := newEnding(analysisNone, a.stderr, fault.add)
	end.watch(nil)
	defer end.unwatch()
	t := trying{runner: runner, program: programOf(rep), planner: p.planned, stop: end.signalled}
	t.all(chosen, &f.confirmFlags, a.stderr)
}

// answerFailure says why there was no run, in a try that fails.
func (a *app) answerFailure(err error) error {
	if a.try == nil || err == nil {
		return err
	}
	text, jsonErr := json.Marshal(tryAnswer{Failed: report.Clean(err.Error()), Hangs: []hang{}})
	if jsonErr != nil {
		return errors.Join(err, fmt.Errorf("say why the try failed: %w", jsonErr))
	}
	return errors.Join(err, a.try.Answer(text))
}
