package report

import (
	"cmp"
	"fmt"
	"time"
)

// Confirmation is what came of running the program again to confirm a finding.
type Confirmation struct {
	Confirmed bool          `json:"confirmed"`
	Try       int           `json:"try"`              // the last try, from 1; 0: there was none
	Tries     int           `json:"tries"`            // how many there could have been
	Time      time.Duration `json:"time_ns"`          // that the last try took
	Reason    string        `json:"reason,omitempty"` // why the finding is not confirmed
	How       string        `json:"how,omitempty"`    // what happened; "": what the finding says
}

// ConfirmationText returns "confirmed (try 2 of 5, 0.8 s)", or "not confirmed: " and the reason.
func ConfirmationText(c *Confirmation) string {
	switch {
	case c.Confirmed:
		return fmt.Sprintf("confirmed (try %d of %d, %.1f s): %s", c.Try, c.Tries, c.Time.Seconds(), cmp.Or(c.How, "the program was run again along the schedule, and hung"))
	case c.Try == 0:
		return "not confirmed: " + c.Reason
	}
	return fmt.Sprintf("not confirmed in %d of %d tries: %s", c.Try, c.Tries, c.Reason)
}
