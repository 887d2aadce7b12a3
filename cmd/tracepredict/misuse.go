package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/misuse"
)

// misuseFlags select the rules of misuse that are checked.
type misuseFlags struct {
	misuse  string
	checked misuse.Options // the parsed value of misuse, set by check
}

func (f *misuseFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.misuse, "misuse", "on", "look for misuse of the threading API (docs/misuse.md): `on|off|-RULE,...`; -RULE,-RULE is all rules except these")
}

func (f *misuseFlags) check() (err error) {
	f.checked, err = f.rules()
	return err
}

// rules returns the rules of misuse that are checked.
func (f *misuseFlags) rules() (misuse.Options, error) {
	switch f.misuse {
	case "on":
		return misuse.Options{}, nil
	case "off":
		return misuse.Options{Off: true}, nil
	}
	var o misuse.Options
	for _, word := range strings.Split(f.misuse, ",") {
		name, minus := strings.CutPrefix(strings.TrimSpace(word), "-")
		if !minus {
			return o, usage("--misuse %s: it is on, off, or rules to leave out with a minus sign before each: -never-joined,-exit-holding", f.misuse)
		}
		if !slices.Contains(finding.Rules(), finding.Rule(name)) {
			return o, usage("--misuse: there is no rule %q; docs/misuse.md has them all", name)
		}
		o.Except = append(o.Except, finding.Rule(name))
	}
	return o, nil
}
