package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tracepredict/tracepredict/loader"
)

// usage returns an error with exit status exitUsage: the user asked for something wrong.
func usage(format string, args ...any) error {
	return &loader.UsageError{Err: fmt.Errorf(format, args...)}
}

// oneOf returns a usage error if a flag's value is not one of the allowed ones.
func oneOf[T ~string](flag, value string, allowed ...T) error {
	if slices.Contains(allowed, T(value)) {
		return nil
	}
	text := string(allowed[0])
	for i, v := range allowed[1:] {
		if i+2 == len(allowed) {
			text += " or " + string(v)
		} else {
			text += ", " + string(v)
		}
	}
	return usage("--%s %s: it is %s", flag, value, text)
}

// notNegative returns a usage error if a flag's value is negative.
func notNegative[T ~int | ~int64](flag string, value T) error {
	if value < 0 {
		return usage("--%s %v: it is not negative", flag, value)
	}
	return nil
}

// advanced are the flags that bound what a run may cost. Few users need them. The help lists
// them in a group of their own.
var advanced = []string{
	"alone-after", "cycle-budget", "elements-after", "guarded-after", "history", "max-cycle", "max-patterns", "memory", "queue", "reversals", "ring",
	"unshared-after", "window",
}

// flagGroup returns the help of a command's own flags: of those that are advanced, or of the
// others.
func flagGroup(cmd *cobra.Command, isAdvanced bool) string {
	group := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(advanced, f.Name) == isAdvanced {
			group.AddFlag(f)
		}
	})
	return strings.TrimRight(group.FlagUsages(), "\n")
}

// groupFlags makes the help of a command, and of those below it, list advanced flags separately.
func groupFlags(root *cobra.Command) {
	cobra.AddTemplateFunc("flagGroup", flagGroup)
	const together, apart = `{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}`, `{{flagGroup . false}}{{with flagGroup . true}}

Advanced:
{{.}}{{end}}`
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), together, apart, 1))
}
