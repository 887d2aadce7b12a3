package main

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/need"
)

// privilegedCopy is where a package has a copy of the tool with its capabilities, which a group alone may execute
// (docs/packages.md).
const privilegedCopy = "/usr/lib/tracepredict/tracepredict"

// handsOver makes a command that needs privileges continue in the privileged copy of the tool, if this process has
// none and may execute it. Its error is not told: then the command itself says what is missing. Root gets nothing from
// a file that it could not have.
func handsOver(cmds ...*cobra.Command) []*cobra.Command {
	for _, c := range cmds {
		c.PreRun = func(*cobra.Command, []string) {
			if os.Geteuid() != 0 && prefersCopy(need.Read(), privilegedCopy, executable()) {
				_ = unix.Exec(privilegedCopy, os.Args, os.Environ())
			}
		}
	}
	return cmds
}

// prefersCopy reports whether a copy of the tool has privileges that this process lacks, and can be executed. own is
// the file that this process executes: the copy does not hand over to itself.
func prefersCopy(c need.Circumstances, path, own string) bool {
	if !c.CapsKnown || len(c.Missing) == 0 || own == path {
		return false
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil
}

// executable returns the file that this process executes; "" if it cannot be told.
func executable() string {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return ""
	}
	return own
}
