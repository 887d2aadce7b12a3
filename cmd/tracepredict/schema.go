package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of reports with --format json",
		Long: `schema prints the JSON Schema (draft 2020-12) of the reports that exec, attach, hang and analyze write with
--format json. Later versions may add fields, which the schema permits, but never change or remove one.`,
		Example: `  tracepredict schema > report.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := io.WriteString(a.stdout, jsonreport.Schema()); err != nil {
				return fmt.Errorf("write the schema: %w", err)
			}
			return nil
		},
	}
}
