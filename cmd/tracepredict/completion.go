package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// complete makes shells complete the values of a command's flags: those that its help lists, and folders.
// Neither fails for a flag that there is.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch value, _ := pflag.UnquoteUsage(f); {
		case strings.Contains(value, "|") && value == strings.ToLower(value):
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(strings.Split(value, "|"), cobra.ShellCompDirectiveNoFileComp))
		case value == "FOLDER" || value == "DIR":
			_ = cmd.MarkFlagDirname(f.Name)
		}
	})
}
