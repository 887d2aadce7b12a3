package jsonreport

import _ "embed"

//go:embed report.schema.json
var schema string

//go:embed report2.schema.json
var tablesSchema string

// Schema returns the JSON Schema (draft 2020-12) of what Write writes. It permits fields that later versions add.
func Schema() string { return schema }

// TablesSchema returns the JSON Schema of what WriteTables writes.
func TablesSchema() string { return tablesSchema }
