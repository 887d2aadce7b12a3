package suppress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Generate returns the report with a suppression for each finding.
func Generate(rep report.Report) report.Report {
	rep.Findings = slices.Clone(rep.Findings)
	for i := range rep.Findings {
		rep.Findings[i].Suppression = Block(&rep.Findings[i])
	}
	rep.Generated = true
	return rep
}

// Block returns a suppression for a finding. It names the objects and, for each side that
// differs from the others, the innermost function of the program. It omits the callers, which
// do not matter when findings are merged either.
func Block(f *report.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n   %s\n   tracepredict:%s\n", title(f), kindOf(f))
	anyPattern := false
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, "   "+format+"\n", args...)
		anyPattern = true
	}
	for _, name := range objects(f) {
		line("object:%s", name)
	}
	for i, frame := range topFrames(f) {
		if i > 0 {
			line("and")
		}
		line("%s", frame)
	}
	if !anyPattern {
		line("...")
	}
	b.WriteString("}\n")
	return b.String()
}

func title(f *report.Finding) string {
	name := string(f.Kind)
	if of := f.Property + string(f.Rule); of != "" {
		name += " of " + of
	}
	var functions []string
	for i := range f.Evidence {
		if function := f.Evidence[i].Stack.Top().Function; function != "" {
			functions = append(functions, function)
		}
	}
	if len(functions) > 0 {
		name += " in " + slices.Min(functions)
	}
	return name
}

func kindOf(f *report.Finding) string {
	if name := f.Property + string(f.Rule); name != "" {
		return string(f.Kind) + ":" + literal(name)
	}
	return string(f.Kind)
}

// objects returns patterns for the objects of the finding, one for all elements of an array.
func objects(f *report.Finding) []string {
	var all []string
	for _, name := range f.ObjectNames() {
		if p := report.AnyElement(literal(name), "*"); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// topFrames returns the lines for the sides. A race, or a deadlock of two threads, has two
// lines even if both are equal.
func topFrames(f *report.Finding) []string {
	var lines []string
	for i := range f.Evidence {
		line := frameLine(f.Evidence[i].Stack.Top())
		if line == "" || len(f.Evidence) > 2 && slices.Contains(lines, line) {
			continue
		}
		if lines = append(lines, line); len(lines) == maxSides {
			break
		}
	}
	slices.Sort(lines) // which side came first differs between runs
	return lines
}

func frameLine(f event.Frame) string {
	switch {
	case f.Function != "":
		return "fun:" + literal(f.Function)
	case f.Module != "":
		return "obj:" + literal(fmt.Sprintf("%s+%#x", f.Module, f.Offset))
	}
	return ""
}

// literal returns a pattern that matches a name: stars become question marks, since a pattern
// cannot quote a star.
func literal(name string) string { return strings.ReplaceAll(strings.TrimSpace(name), "*", "?") }
