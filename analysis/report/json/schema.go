package jsonreport

import _ "embed"

//go:embed report.schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of what Write writes. It permits fields that later versions add.
func Schema() string { return schema }
