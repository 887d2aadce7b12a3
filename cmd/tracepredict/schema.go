package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
)

func (a *app) schemaCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "schema [flags]",
		Short: "Print the JSON Schema of reports with --format json or json2",
		Long: `schema prints the JSON Schema (draft 2020-12) of the reports that exec, attach, hang, analyze and confirm write with
--format json, or json2. Later versions may add fields, which the schema permits, but never change or remove one.`,
		Example: `  tracepredict schema > report.schema.json
  tracepredict schema --format json2`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := oneOf("format", format, "json", "json2"); err != nil {
				return err
			}
			text := jsonreport.Schema()
			if format == "json2" {
				text = jsonreport.TablesSchema()
			}
			if _, err := io.WriteString(a.stdout, text); err != nil {
				return fmt.Errorf("write the schema: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "json", "format of the reports: `json|json2`")
	return cmd
}
