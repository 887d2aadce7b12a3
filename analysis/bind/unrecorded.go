package bind

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/observer/run"
)

// Unrecorded returns a note for each pattern of calls that the specification needs and a recorded run has nothing of, since
// nobody asked for it when the run was recorded. Calls are the patterns that were asked for.
func (r *Run) Unrecorded(calls []run.Calls) (notes []string) {
	asked := map[string]bool{}
	for _, c := range calls {
		asked[c.Pattern] = true
	}
	plan := r.spec.Plan()
	for i, on := range plan.On {
		name, leaves := strings.CutPrefix(on, "leave ")
		if plan.Groups[i] == "" && !asked[on] && !(leaves && asked["return "+name]) {
			notes = append(notes, fmt.Sprintf("nothing was recorded of %s, on which the specification depends: record the run with --spec, or with --on '%s'", on, on))
		}
	}
	return notes
}
