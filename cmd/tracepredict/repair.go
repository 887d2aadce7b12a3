package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/journal"
	"github.com/tracepredict/tracepredict/loader/target"
)

func (a *app) repairCommand() *cobra.Command {
	var process processFlag
	opts := loader.RepairOptions{Journal: journal.DefaultFolder(), DropPrivileges: true}
	cmd := &cobra.Command{
		Use:   "repair [flags] -p PID",
		Short: "Remove breakpoints that a killed tracepredict left in a process",
		Long: `repair removes breakpoints that stayed in a running process because tracepredict was killed together with the tasks that
put its probes in and out, as when a whole cgroup is killed. exec and attach write down where they will have probes, in a
journal below /run, and remove it at their end (docs/privileges.md). repair has the kernel remove what stands in a journal of
this process, is a breakpoint, and belongs to no tracepredict that lives; it changes nothing else. Breakpoints of other tools
stay. attach does the same before it begins.

Exit status: 0 if no such breakpoint is left, 125 if one is or tracepredict failed, 2 for wrong usage.`,
		Example: `  sudo tracepredict repair --dry-run -p $(pidof server)
  sudo tracepredict repair -p 4711`,
		RunE: func(*cobra.Command, []string) error {
			if err := target.CheckPID(process.pid); err != nil {
				return err
			}
			return runRepair(a.stdout, process.pid, opts)
		},
	}
	process.register(cmd, "the process to repair; -p may be left out")
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "say what would be removed, and change nothing")
	return cmd
}

// runRepair repairs a process and prints what was done.
func runRepair(w io.Writer, pid int, opts loader.RepairOptions) error {
	out, err := loader.Repair(pid, opts)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, repairText(calledAs(pid, out.Program), pid, &out, opts.DryRun)); err != nil {
		return fmt.Errorf("print what was repaired: %w", err)
	}
	if n := len(out.Left); n > 0 {
		return &target.ExitError{Code: target.ExitFailed, Err: errors.New(plural.Sprintf("%d {breakpoint is|breakpoints are} left in process %d", n, pid))}
	}
	return nil
}

// repairText returns what was found of the breakpoints in a process, and what was done about them.
func repairText(name string, pid int, out *loader.Repaired, dryRun bool) string {
	var b strings.Builder
	if out.Unread != nil {
		fmt.Fprintf(&b, "Not read: %s\n", strings.ReplaceAll(report.Sanitize(out.Unread.Error()), "\n", "; "))
	}
	process := fmt.Sprintf("process %d (%s)", pid, report.Sanitize(name))
	if out.Journals == 0 {
		fmt.Fprintf(&b, "No journal of a tracepredict that was killed names %s: nothing was changed.\n", process)
		return b.String()
	}
	plain := out.Places - len(out.Restored) - len(out.Left)
	fmt.Fprintf(&b, "tracepredict (process %s) was killed while it observed %s.\n", inOrder(out.Owners), process)
	verb := "removed"
	if dryRun {
		verb = "would be removed"
	}
	for _, p := range out.Restored {
		fmt.Fprintf(&b, "  %s: %s\n", verb, leakedAt(&p))
	}
	for _, p := range out.Left {
		fmt.Fprintf(&b, "  left: %s: %s\n", leakedAt(&p), report.Sanitize(p.Why))
	}
	b.WriteString(plural.Sprintf("%d {breakpoint|breakpoints} %s", len(out.Restored), verb))
	fmt.Fprintf(&b, ", %d left; ", len(out.Left))
	b.WriteString(plural.Sprintf("at %d other {place|places} of its probes there is none.\n", max(plain, 0)))
	return b.String()
}

// leakedAt returns where a breakpoint is, for people.
func leakedAt(p *loader.Breakpoint) string {
	return fmt.Sprintf("%s+%#x at %#x", report.Sanitize(filepath.Base(p.Path)), p.Offset, p.Addr)
}

func inOrder(pids []int) string {
	slices.Sort(pids)
	var all []string
	for _, pid := range slices.Compact(pids) {
		all = append(all, fmt.Sprint(pid))
	}
	return strings.Join(all, ", ")
}
