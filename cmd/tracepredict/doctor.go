package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/tracepredict/tracepredict/loader/doctor"
	"github.com/tracepredict/tracepredict/loader/target"
)

// runDoctor prints the results of the checks: a table, a verdict, and the remedies, each once.
// It returns an error with exit status 125 that names what is needed and missing; nil if nothing
// is. If a check could not be carried out, the last check decides.
func runDoctor(w io.Writer, checks []doctor.Check) error {
	if err := printChecks(w, checks); err != nil {
		return fmt.Errorf("print the checks: %w", err)
	}
	missing := missingChecks(checks)
	if _, err := fmt.Fprint(w, "\n", conclusion(missing, checks), remedies(checks)); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	if len(missing) == 0 {
		return nil
	}
	return &target.ExitError{
		Code: target.ExitFailed,
		Err:  fmt.Errorf("tracepredict cannot work here; failing checks: %s", strings.Join(missing, ", ")),
	}
}

func printChecks(w io.Writer, checks []doctor.Check) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "CHECK\tHERE\tNEEDED\tDETAIL")
	for _, c := range checks {
		needed := "no"
		if c.Needed {
			needed = "yes"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", cell(c.Name), c.State, needed, cell(c.Detail))
	}
	return tw.Flush()
}

// cell replaces white space in a text, such as a kernel's message, so that the text stays in its
// line and column of the table.
func cell(s string) string { return strings.Join(strings.Fields(s), " ") }

// missingChecks returns the names of checks that are needed and failed. A check that is unknown
// does not count unless it is the last one, which must be a yes: if an unknown one matters,
// another needed check fails and names the cause.
func missingChecks(checks []doctor.Check) []string {
	var missing []string
	for i, c := range checks {
		last := i == len(checks)-1
		// If a cause has been named already, the failure of the last check adds nothing.
		if last && c.State != doctor.Yes && len(missing) > 0 {
			break
		}
		if c.Needed && (c.State == doctor.No || last && c.State != doctor.Yes) {
			missing = append(missing, c.Name)
		}
	}
	return missing
}

func conclusion(missing []string, checks []doctor.Check) string {
	switch {
	case len(checks) == 0:
		return "Nothing was checked.\n"
	case len(missing) > 0:
		return fmt.Sprintf("tracepredict cannot work here; failing checks: %s.\n", strings.Join(missing, ", "))
	}
	for _, c := range checks {
		if c.State != doctor.Yes {
			return "tracepredict works here, with limits.\n"
		}
	}
	return "tracepredict works here.\n"
}

// remedies returns the remedies, each once, in the order of the checks, with the names of the
// checks that it helps: those that failed or, if none did, those that are unknown.
func remedies(checks []doctor.Check) string {
	var order []string
	helped := map[string]map[doctor.State][]string{}
	for _, c := range checks {
		if c.Remedy == "" || c.State == doctor.Yes {
			continue
		}
		if helped[c.Remedy] == nil {
			order = append(order, c.Remedy)
			helped[c.Remedy] = map[doctor.State][]string{}
		}
		helped[c.Remedy][c.State] = append(helped[c.Remedy][c.State], c.Name)
	}
	if len(order) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nWhat to do:\n")
	for _, r := range order {
		names := helped[r][doctor.No]
		if len(names) == 0 {
			names = helped[r][doctor.Unknown]
		}
		fmt.Fprintf(&b, "  for %s:\n    %s\n", strings.Join(names, ", "), r)
	}
	return b.String()
}
