package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/suppress"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// suppressFlags select the findings that reports leave out.
type suppressFlags struct {
	files      []string
	noDefaults bool          // --no-default-suppressions
	generate   string        // a file, - for the end of the report, "" for none
	set        *suppress.Set // the suppressions, set by load
	// generatedFile is that of --gen-suppressions, opened by load, since the tool has fewer rights later; nil: there is none.
	generatedFile *os.File
}

func (f *suppressFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.files, "suppressions", nil, "leave out of the report, and of the exit status, the findings that a suppression in `FILE` matches (docs/suppressions.md); repeatable")
	fs.BoolVar(&f.noDefaults, "no-default-suppressions", false, "do not use the suppressions that come with tracepredict, which 'tracepredict suppressions' prints")
	fs.StringVar(&f.generate, "gen-suppressions", "", "print, after the report, a suppression for each finding that is shown; with =`FILE` add them to that file instead")
	fs.Lookup("gen-suppressions").NoOptDefVal = standard
}

// load reads the files, and adds the built-in suppressions unless the flags forbid them.
func (f *suppressFlags) load() error {
	sets, err := openSuppressions(f.files)
	if err != nil {
		return fmt.Errorf("--suppressions %w", err)
	}
	if !f.noDefaults {
		builtin, err := suppress.Builtin()
		if err != nil {
			return err
		}
		sets = append(sets, builtin)
	}
	f.set = suppress.New(sets...)
	f.set.At(time.Now())
	if f.generate != "" && f.generate != standard {
		if err := refuseForeignLink(f.generate); err != nil {
			return fmt.Errorf("--gen-suppressions: %w", err)
		}
		if f.generatedFile, err = os.OpenFile(f.generate, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644); err != nil {
			return fmt.Errorf("--gen-suppressions: %w", err)
		}
	}
	return nil
}

// openSuppressions reads files of suppressions. An error in one is wrong usage.
func openSuppressions(names []string) ([]*suppress.Set, error) {
	var sets []*suppress.Set
	for _, name := range names {
		s, err := suppress.Open(name)
		if err != nil {
			return nil, usage("%w", err)
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// apply returns the report without the findings that are suppressed.
func (f *suppressFlags) apply(rep report.Report) report.Report { return f.set.Apply(rep) }

// generated returns a report with suppressions for what is shown, or adds these to the file of --gen-suppressions.
func (f *suppressFlags) generated(rep report.Report) (report.Report, error) {
	if f.generate == "" {
		return rep, nil
	}
	with := suppress.Generate(rep)
	if f.generate == standard {
		return with, nil
	}
	var text strings.Builder
	for i := range with.Findings {
		text.WriteString(with.Findings[i].Suppression)
	}
	if text.Len() == 0 {
		return rep, nil
	}
	_, err := f.generatedFile.WriteString(text.String())
	if err != nil {
		return rep, fmt.Errorf("write the suppressions: %w", err)
	}
	return rep, nil
}

func (a *app) suppressionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "suppressions [FILE...]",
		Short: "Print the suppressions that come with tracepredict, or check files of suppressions",
		Long: `Without FILE, suppressions prints those that exec, attach and analyze use by default: findings in the C and C++ libraries
that are known not to be errors, each with the reason. A file for --suppressions can begin with this output; docs/suppressions.md
explains the format.

With FILE it reads each file as --suppressions does, and says how many suppressions there are. Exit status 2 if one is faulty.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) == 0 {
				_, err := io.WriteString(a.stdout, suppress.BuiltinText())
				return err
			}
			return a.checkSuppressions(names)
		},
	}
}

func (a *app) checkSuppressions(names []string) error {
	sets, err := openSuppressions(names)
	if err != nil {
		return err
	}
	for i, s := range sets {
		fmt.Fprint(a.stdout, plural.Sprintf("%s: %d {suppression|suppressions}, %d for other tools\n", report.Sanitize(names[i]), s.Len(), s.ForOtherTools()))
	}
	return nil
}
