package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/specs"
)

func (a *app) specsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "specs [NAME]",
		Short: "List the specifications that come with tracepredict, or print one",
		Long: `Without NAME, specs lists the specifications that come with tracepredict, each with what it says of a program: protocols
of the use of streams, handles of libraries and so on. --spec takes their names, and other specifications may include them.

With NAME it prints one, which can begin a specification of your own.`,
		Example: `  tracepredict specs
  tracepredict specs std/stdio
  sudo tracepredict exec --spec std/stdio -- ./shop`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return installedSpecs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := specs.All()
			if err != nil {
				return fmt.Errorf("list the specifications: %w", err)
			}
			if len(args) == 0 {
				return listSpecs(a.stdout, all)
			}
			s, ok := specs.Find(all, args[0])
			if !ok {
				return usage("there is no specification %q: these come with tracepredict: %s", args[0], strings.Join(installedSpecs(), ", "))
			}
			_, err = io.WriteString(a.stdout, s.Text)
			return err
		},
	}
}

// installedSpecs returns the names of the specifications that come with tracepredict; none if they cannot be read.
func installedSpecs() (names []string) {
	all, _ := specs.All()
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// listSpecs writes a line for each specification.
func listSpecs(w io.Writer, all []specs.Spec) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%s\n", s.Name, s.Summary)
	}
	return t.Flush()
}
