package main

import (
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/cmd/tracepredict/manual"
	"github.com/tracepredict/tracepredict/internal/printable"
)

// explain makes a command, and those below it, print help in groups.
func explain(root *cobra.Command) {
	for _, c := range append(root.Commands(), root) {
		fs := c.Flags()
		fs.BoolP("help", "h", false, "print this help")
		fs.Var(helpAll{fs}, "help-all", "print help with all flags, in groups")
		fs.Lookup("help-all").NoOptDefVal = "true"
		complete(c)
	}
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetHelpCommand(helpCommand(root))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		all := cmd.Flags().Lookup("help-all")
		page := manual.Of(cmd, flagGroups(), all != nil && all.Changed)
		out := cmd.OutOrStdout()
		if err := manual.WriteText(out, page, helpWidth(out)); err != nil {
			cmd.PrintErrf("tracepredict: print the help: %s\n", err)
		}
	})
}

// helpCommand returns the command help, which is --help of another one.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			switch {
			case err != nil:
				return usage("%w", err)
			case cmd == root && len(rest) > 0:
				return mistypedCommand(root, rest[0])
			}
			return cmd.Help()
		},
	}
}

// helpAll is --help-all. It sets --help too, so that it is seen where that is: before anything else is checked.
type helpAll struct{ flags *pflag.FlagSet }

func (h helpAll) Set(v string) error { return h.flags.Set("help", v) }
func (h helpAll) String() string     { return "" }

// Type returns the kind of the flag's values: it takes none.
func (h helpAll) Type() string { return "bool" }

// The widths of help. Longer lines than the widest are hard to read.
const (
	minHelpWidth     = 40
	defaultHelpWidth = 80
	maxHelpWidth     = 120
)

// helpWidth returns how wide help is that is written to w: as wide as COLUMNS says, or else the terminal.
func helpWidth(w io.Writer) int {
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || width <= 0 {
		width = terminalWidth(w)
	}
	return min(max(width, minHelpWidth), maxHelpWidth)
}

func terminalWidth(w io.Writer) int {
	f, ok := printable.File(w)
	if !ok {
		return defaultHelpWidth
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return defaultHelpWidth
	}
	return width
}
