package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// processFlag is the process that a command is about: -p PID, or PID alone.
type processFlag struct{ pid int }

// register adds -p to a command, and PID as its argument.
func (p *processFlag) register(cmd *cobra.Command, text string) {
	cmd.Flags().VarP(p, "pid", "p", text)
	cmd.Args = p.args
}

// Set takes a number of a process.
func (p *processFlag) Set(text string) error {
	pid, err := strconv.Atoi(text)
	switch {
	case err != nil && text != "" && !strings.HasPrefix(text, "-") && strings.Trim(text, "0123456789 ") != "":
		return fmt.Errorf("it is no process id; pidof %s, or pgrep, finds that of a program", text)
	case err != nil || pid <= 0:
		return fmt.Errorf("it is no process id")
	}
	p.pid = pid
	return nil
}

// String returns the number of the process.
func (p *processFlag) String() string {
	if p == nil || p.pid == 0 {
		return ""
	}
	return strconv.Itoa(p.pid)
}

// Type returns the kind of the flag's values.
func (p *processFlag) Type() string { return "PID" }

// args takes the arguments of the command.
func (p *processFlag) args(_ *cobra.Command, args []string) error {
	all := slices.Clone(args)
	if p.pid > 0 {
		all = append(all, p.String())
	}
	slices.Sort(all)
	switch all = slices.Compact(all); {
	case len(all) == 0:
		return fmt.Errorf("which process? give its id: -p PID")
	case len(all) > 1:
		return fmt.Errorf("one process at a time: this names %s", strings.Join(all, " and "))
	}
	if err := p.Set(all[0]); err != nil {
		return fmt.Errorf("%q: %w", all[0], err)
	}
	return nil
}
