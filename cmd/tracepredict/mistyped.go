package main

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tracepredict/tracepredict/probes/spelling"
)

const (
	maxTypos = 2 // letters by which what was typed may differ from what is meant
	maxNear  = 3 // flags that are suggested
)

// mistypedFlag explains an error of a command's flags: which flag may be meant, or which commands have it.
func mistypedFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage("%w; see %s --help", err, cmd.CommandPath())
	}
	name := unknown.GetSpecifiedName()
	// -watch is read as letters: -w -a -t -c -h.
	if letters := unknown.GetSpecifiedShortnames(); len(letters) > 1 {
		name, _, _ = strings.Cut(letters, "=")
	}
	if len(name) == 1 {
		return usage("%w; see %s --help", err, cmd.CommandPath())
	}
	if near := nearFlags(cmd, name); len(near) > 0 {
		return usage("%w; did you mean %s? see %s --help", err, strings.Join(near, " or "), cmd.CommandPath())
	}
	if others := commandsWith(cmd.Root(), name); len(others) > 0 {
		return usage("%w; it is a flag of %s; see %s --help", err, strings.Join(others, ", "), cmd.CommandPath())
	}
	return usage("%w; see %s --help-all", err, cmd.CommandPath())
}

// nearFlags returns the flags of a command that a name may be meant to be: that of the name, those of which it is a
// beginning, or else those of nearly that name.
func nearFlags(cmd *cobra.Command, name string) []string {
	if cmd.Flags().Lookup(name) != nil {
		return []string{"--" + name}
	}
	near := spelling.Nearest(flagNames(cmd), maxNear, func(have string) int {
		if strings.HasPrefix(have, name) {
			return 0
		}
		return -1
	})
	if len(near) == 0 {
		near = misspelt(cmd, name)
	}
	for i := range near {
		near[i] = "--" + near[i]
	}
	return near
}

// misspelt returns the flags of a command of which a name, or the beginning of one, differs least.
func misspelt(cmd *cobra.Command, name string) []string {
	typos := func(have string) int {
		begun := have[:min(len(have), len(name)+1)]
		d := min(spelling.Distance(have, name, maxTypos), 1+spelling.Distance(begun, name, maxTypos))
		if d > min(maxTypos, len(name)/2) {
			return -1
		}
		return d
	}
	near := spelling.Nearest(flagNames(cmd), maxNear, typos)
	return slices.DeleteFunc(near, func(have string) bool { return typos(have) > typos(near[0]) })
}

func flagNames(cmd *cobra.Command) iter.Seq[string] {
	return func(yield func(string) bool) {
		more := true
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			more = more && yield(f.Name)
		})
	}
}

// commandsWith returns the commands that have a flag.
func commandsWith(root *cobra.Command, name string) []string {
	var out []string
	for _, c := range root.Commands() {
		if c.Flags().Lookup(name) != nil {
			out = append(out, c.Name())
		}
	}
	return out
}

// mistypedCommand explains that there is no such command.
func mistypedCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = maxTypos
	near := root.SuggestionsFor(name)
	slices.Sort(near)
	meant := "; see tracepredict --help"
	if near = slices.Compact(near); len(near) > 0 {
		meant = fmt.Sprintf("; did you mean %s? see tracepredict --help", strings.Join(near, " or "))
	}
	return usage("there is no command %q%s", name, meant)
}
