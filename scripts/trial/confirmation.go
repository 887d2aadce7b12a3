package trial

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Confirmation is what tracepredict's report says of confirming a finding.
type Confirmation struct {
	Confirmed bool
	Happened  bool          // another run has shown it, and it may be harmless even so
	Try       int           // the last one, from 1; 0: there was none
	Time      time.Duration `json:"time_ns"`  // of the last try
	Total     time.Duration `json:"total_ns"` // of all tries
	Reason    string        // why it is not confirmed
	Was       string        // the confidence before it was confirmed; "": as it is
}

// Level returns the confidence of a finding before it was confirmed.
func (f Finding) Level() string {
	if f.Confirmation != nil && f.Confirmation.Was != "" {
		return f.Confirmation.Was
	}
	return f.Confidence
}

// IsConfirmed reports whether another run has shown the finding.
func (f Finding) IsConfirmed() bool { return f.Confirmation != nil && f.Confirmation.Confirmed }

// Text describes in a few words what came of it. A nil Confirmation was not tried.
func (c *Confirmation) Text() string {
	switch {
	case c == nil:
		return "not tried"
	case c.Confirmed:
		return fmt.Sprintf("confirmed (try %d, %.1f s)", c.Try, c.Time.Seconds())
	case c.Happened:
		return fmt.Sprintf("happened (try %d, %.1f s)", c.Try, c.Time.Seconds())
	case c.Try == 0:
		return "not tried: " + c.Why()
	}
	return "not confirmed: " + c.Why()
}

// step is the operation at which a run diverged.
var step = regexp.MustCompile(`^(diverged) at step \d+: (?:.*: )?`)

// Why is the reason without what is of one run alone, so that like reasons are alike.
func (c *Confirmation) Why() string {
	if strings.Contains(c.Reason, "hardware breakpoints") {
		return "hardware breakpoints do not work here"
	}
	why := step.ReplaceAllString(c.Reason, "$1: ")
	if at := strings.LastIndex(why, ": the run ended without it"); at >= 0 {
		return "a run ended without one of its operations"
	}
	return why
}
