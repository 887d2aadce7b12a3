// Command tracepredict observes one run of an unmodified program and reports the errors that
// other schedules of that run would have shown. This package is the command line alone: flags,
// wiring, exit status.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/printable"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/doctor"
	"github.com/tracepredict/tracepredict/loader/parent"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/loader/tries"
)

// The exit statuses of docs/cli.md.
const (
	exitUsage    = 2
	exitFindings = 66 // the exit status of ThreadSanitizer
)

func main() {
	ptrace.MainIfHeld()
	tries.MainIfServer()
	a := &app{stdout: printable.NewWriter(os.Stdout), stderr: printable.NewWriter(os.Stderr), parent: parent.Inherited()}
	args := os.Args[1:]
	var err error
	if a.try, err = tries.Inherited(); err != nil {
		fmt.Fprintf(a.stderr, "tracepredict: %s\n", report.Sanitize(err.Error()))
		os.Exit(target.ExitFailed)
	}
	if a.try != nil {
		args = a.try.Args
	}
	a.again = a.parent == nil && a.try == nil
	limitMemory(0)
	status := a.execute(args)
	a.parent.Ending()
	os.Exit(status)
}

// execute parses a command line, runs its command and returns the exit status. It does so without a parent.
func execute(args []string, stdout, stderr io.Writer) int {
	return (&app{stdout: stdout, stderr: stderr}).execute(args)
}

func (a *app) execute(args []string) int {
	stderr := a.stderr
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(stderr)
	var err error
	if p := safely.Call(func() { err = root.Execute() }); p != nil {
		fmt.Fprintf(stderr, "%s", p.Stack)
		err = failed(p)
	}
	if err != nil {
		fmt.Fprintf(stderr, "tracepredict: %s\n", report.Sanitize(err.Error()))
		return statusOf(err)
	}
	return a.status
}

// app is what the commands share: the output streams and the exit status.
type app struct {
	stdout, stderr io.Writer
	status         int          // exit status of a command that did not fail
	parent         *parent.Link // nil: this process was started by somebody else
	again          bool         // exec starts this program again and waits for it
	try            *tries.Try   // nil: this process is no try
}

func statusOf(err error) int {
	var exit *target.ExitError
	var usage *loader.UsageError
	switch {
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &usage):
		return exitUsage
	}
	return target.ExitFailed
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "tracepredict",
		Short: "Predict data races and deadlocks from one run of an unmodified program",
		Long: `tracepredict watches one run of an unmodified native program through eBPF and says which
errors other schedules of the same run would have shown: data races and deadlocks, each with both
sides and, where one was found, the schedule that leads to it.`,
		Example: `  sudo tracepredict exec --watch tickets -- ./shop
  sudo tracepredict attach -p $(pidof redis-server) --duration 30s
  tracepredict sites --watch tickets ./shop`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return mistypedCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.Version = version()
	root.SetFlagErrorFunc(mistypedFlag)
	addCommands(root, "Observe a program", handsOver(a.execCommand(), a.confirmCommand(), a.replayScheduleCommand(), a.attachCommand(), a.hangCommand(), a.profileCommand())...)
	addCommands(root, "Read what was recorded and reported", a.analyzeCommand(), a.diffCommand(), a.convertCommand(), a.suppressionsCommand(), a.schemaCommand())
	addCommands(root, "Write specifications", a.checkCommand(), a.specsCommand(), handsOver(a.mineCommand())[0], a.suggestCommand())
	addCommands(root, "Look at what can be observed", append(handsOver(a.doctorCommand(), a.repairCommand()), a.sitesCommand())...)
	root.AddCommand(a.manCommand())
	root.CompletionOptions.HiddenDefaultCmd = true
	explain(root)
	for _, c := range root.Commands() {
		args := c.Args
		c.Args = func(cmd *cobra.Command, given []string) error {
			if err := args(cmd, given); err != nil {
				return usage("%w; see %s --help", err, cmd.CommandPath())
			}
			return nil
		}
	}
	return root
}

// addCommands adds commands that belong together.
func addCommands(root *cobra.Command, title string, all ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range all {
		c.GroupID = title
		root.AddCommand(c)
	}
}

// version returns the version of the tree that the tool was built from, as Go's tools recorded
// it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this kernel and this user can do, and how to fix what is missing",
		Long: `doctor tries each thing that observing a program needs, and says which work, which do not, which it
could not determine, and what to do about them. CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE are wanted, from root or from the
binary's file (docs/privileges.md); exec and attach drop all other capabilities. Exit status 125 if something needed is missing.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return runDoctor(a.stdout, doctor.Diagnose())
		},
	}
}
