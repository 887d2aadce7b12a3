package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/cmd/tracepredict/manual"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man [flags] FOLDER",
		Short:  "Write the manual pages into a folder",
		Hidden: true, // packages call it
		Long: `man writes the manual pages of tracepredict and of its commands into FOLDER, which must exist: tracepredict.1,
tracepredict-exec.1 and so on. They say what --help-all says. tracepredict completion writes the completions of shells.

Exit status: 0, 125 if a page cannot be written, 2 for wrong usage.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writePages(cmd.Root(), args[0])
		},
	}
}

// writePages writes the manual pages of a command, and of those below it, into a folder.
func writePages(root *cobra.Command, folder string) error {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.GroupID != "" {
			all = append(all, c)
		}
	}
	var names []string
	for _, c := range all {
		names = append(names, c.CommandPath())
	}
	for i, c := range all {
		related := names[:1]
		if i == 0 {
			related = names[1:]
		}
		var page bytes.Buffer
		if err := manual.WriteMan(&page, manual.Of(c, flagGroups(), true), version(), slices.Clone(related)); err != nil {
			return fmt.Errorf("the manual page of %s: %w", c.CommandPath(), err)
		}
		file := filepath.Join(folder, manual.FileName(c.CommandPath())+".1")
		if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write the manual page of %s: %w", c.CommandPath(), err)
		}
	}
	return nil
}
