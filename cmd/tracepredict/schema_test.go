package main

import (
	"strings"
	"testing"

	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
)

func TestSchemaCommand(t *testing.T) {
	var stdout, stderr strings.Builder
	if got := execute([]string{"schema"}, &stdout, &stderr); got != 0 || stdout.String() != jsonreport.Schema() {
		t.Errorf("status %d: %s%s", got, &stderr, &stdout)
	}
	stdout.Reset()
	if got := execute([]string{"schema", "--format", "json2"}, &stdout, &stderr); got != 0 || stdout.String() != jsonreport.TablesSchema() {
		t.Errorf("of json2: status %d: %s%s", got, &stderr, &stdout)
	}
	if got := execute([]string{"schema", "--format", "text"}, &stdout, &stderr); got != exitUsage {
		t.Errorf("of text: status %d", got)
	}
	if got := execute([]string{"schema", "report.json"}, &stdout, &stderr); got != exitUsage {
		t.Errorf("with an argument: status %d", got)
	}
}
