package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
)

// Confirmation is what came of running the program again to confirm a finding.
type Confirmation struct {
	Confirmed bool `json:"confirmed"`
	// Happened reports that another run has shown what the finding says, which is not Confirmed since it may be no error
	// even so: Finding.Harmless says why.
	Happened bool          `json:"happened,omitempty"`
	Try      int           `json:"try"`              // the last try, from 1; 0: there was none
	Tries    int           `json:"tries"`            // how many there could have been
	Time     time.Duration `json:"time_ns"`          // that the last try took
	Total    time.Duration `json:"total_ns"`         // that all tries took, up to the one that confirmed the finding
	Reason   string        `json:"reason,omitempty"` // why the finding is not confirmed
	How      string        `json:"how,omitempty"`    // what happened; "": what the finding says
	Core     string        `json:"core,omitempty"`   // where the core dump of a deadlock is; "": there is none
	// Was is the confidence of a finding that is Confirmed before it was; "": it is not, or was observed.
	Was finding.Confidence `json:"was,omitempty"`
}

// Roles returns what each side of a finding does, by names that are the same in each run of the program; see fingerprint.
func (f *Finding) Roles() []string {
	if f.roles == nil { // it was read
		f.roles = rolesOf(f)
	}
	return f.roles
}

// Places returns where each side of a finding does what it does, sorted, by names that are the same in each run of the
// program; "" where that is not known.
func (f *Finding) Places() []string {
	places := make([]string, len(f.Evidence))
	for i := range f.Evidence {
		places[i] = site(f.Evidence[i].Stack)
	}
	slices.Sort(places)
	return places
}

// TakeConfirmations makes the findings that were confirmed Confirmed, unless they were observed, and sorts all findings
// again. What was predicted assumed something, or could have been forbidden by something that was not recorded; what was
// confirmed happened. What happened and may be harmless even so keeps its confidence, for that reason alone.
func (r *Report) TakeConfirmations() {
	for i := range r.Findings {
		f := &r.Findings[i]
		c := f.Confirmation
		if c == nil || !c.Confirmed || f.Confidence.AtLeast(finding.Confirmed) {
			continue
		}
		if f.Harmless != "" {
			c.Confirmed, c.Happened = false, true
		} else {
			c.Was, f.Confidence = f.Confidence, finding.Confirmed
		}
		f.Reason, f.Finding.Reason, f.Assumes = f.Harmless, reason.Reason{}, nil
	}
	slices.SortStableFunc(r.Findings, r.Names().compare)
}

// ConfirmationText returns "confirmed (try 2 of 5, 0.8 s)" or "it happened …", each with what happened, or
// "not confirmed: " and the reason.
func ConfirmationText(c *Confirmation) string {
	switch {
	case c.Confirmed || c.Happened:
		what := "confirmed"
		if c.Happened {
			what = "it happened"
		}
		text := fmt.Sprintf("%s (try %d of %d, %.1f s): %s", what, c.Try, c.Tries, c.Time.Seconds(), cmp.Or(c.How, "the program was run again along the schedule, and hung"))
		if c.Core != "" {
			text += "; its core dump: " + c.Core
		}
		return text
	case c.Try == 0:
		return "not confirmed: " + c.Reason
	}
	return fmt.Sprintf("not confirmed in %d of %d tries: %s", c.Try, c.Tries, c.Reason)
}
