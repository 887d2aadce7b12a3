package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/baseline"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

func (a *app) diffCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare the findings of two reports",
		Long: `diff compares two reports that --format json or --format sarif wrote, and prints which findings are new, and which are gone.
A finding is the same if it has the same fingerprint (docs/findings.md), which edits elsewhere in a file do not change.

A finding that is gone need not be fixed: a run shows what its schedule and its input lead to.

Exit status: 0 if no finding is new, 66 if some are, 125 if a report cannot be read, 2 for wrong usage.`,
		Example: `  tracepredict diff main.json branch.json
  tracepredict diff --format json main.sarif branch.sarif`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, names []string) error {
			if err := oneOf("format", format, "text", "json"); err != nil {
				return err
			}
			return a.diff(names[0], names[1], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "format of the comparison: `text|json`")
	return cmd
}

func (a *app) diff(old, new, format string) error {
	earlier, err := baseline.Open(old)
	if err != nil {
		return err
	}
	later, err := baseline.Open(new)
	if err != nil {
		return err
	}
	d := baseline.Compare(earlier, later)
	if len(d.New) > 0 {
		a.status = exitFindings
	}
	if format == "json" {
		return writeDiff(a.stdout, d)
	}
	for _, part := range []struct {
		sign string
		all  []report.Earlier
	}{{"+", d.New}, {"-", d.Gone}} {
		for _, f := range part.all {
			fmt.Fprintf(a.stdout, "%s %s %s: %s. (%.12s)\n", part.sign, report.Sanitize(string(f.Kind)), report.Sanitize(string(f.Confidence)), report.Sanitize(f.Message), report.Sanitize(f.Fingerprint))
		}
	}
	fmt.Fprintf(a.stdout, "%s, %s, %s\n", plural.Sprintf("%d new {finding|findings}", len(d.New)), plural.Sprintf("%d {is|are} gone", len(d.Gone)), plural.Sprintf("%d {is|are} in both", len(d.Both)))
	return nil
}

// writeDiff writes a comparison as one JSON object on one line.
func writeDiff(w io.Writer, d baseline.Diff) error {
	notNil := func(all []report.Earlier) []report.Earlier { return append([]report.Earlier{}, all...) }
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		New  []report.Earlier `json:"new"`
		Gone []report.Earlier `json:"gone"`
		Both []report.Earlier `json:"both"`
	}{notNil(d.New), notNil(d.Gone), notNil(d.Both)})
}
