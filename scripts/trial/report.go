package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Finding is what tracepredict's report says of one error.
type Finding struct {
	Kind, Confidence, Message string
	Objects                   []string
	Confirmation              *Confirmation // nil: it was not to be confirmed
}

// Findings reads tracepredict's JSON report.
func Findings(text string) ([]Finding, error) {
	var r struct {
		Run      *struct{ Events uint64 }
		Findings []Finding
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("tracepredict's report: %w", err)
	}
	if r.Run == nil {
		return nil, errors.New("tracepredict's report has no run")
	}
	return r.Findings, nil
}

// LastName takes the innermost name of what tools write with more or fewer of the
// scopes around it.
func LastName(s string) string {
	if i := strings.LastIndexAny(s, ":."); i >= 0 {
		s = s[i+1:]
	}
	return s
}
