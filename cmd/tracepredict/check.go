package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/internal/plural"
)

type checkFlags struct {
	specFlags
	format string
	dot    bool
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [flags] SPEC",
		Short: "Parse and type-check a specification, describe its monitors",
		Long: `check reads a specification (docs/specification.md) without a program. It reports all errors, with their lines, and
warns of properties that can never be violated, or always are. For each property it prints what its letters consist
of, the monitor's size, and a shortest run that violates it. At the end it lists what would be probed.

What only the program knows (types that are not declared, constants of enumerations) is checked when it is run.

Exit status: 0, 2 if the specification is faulty.`,
		Example: `  tracepredict check valve.tps
  tracepredict check --dot valve.tps | dot -Tsvg > valve.svg
  tracepredict check --format json valve.tps`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.check(&f, args[0])
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "text", "format of the description: `text|json`")
	fs.BoolVar(&f.dot, "dot", false, "draw the monitors in the language of Graphviz instead")
	f.registerReading(cmd)
	return cmd
}

func (a *app) check(f *checkFlags, name string) error {
	if f.format != "text" && f.format != "json" {
		return usage("--format %q: it is text or json", f.format)
	}
	if err := f.checkFormula(); err != nil {
		return err
	}
	s, problems := spec.Load(name, f.reading())
	d := spec.Describe(s, problems, spec.MonitorOptions{Partial: f.partial})
	if f.format == "json" && !f.dot {
		return a.checkJSON(d)
	}
	fmt.Fprint(a.stderr, detail(d.Problems))
	if d.Problems.HasErrors() {
		return faulty(name, d.Problems)
	}
	out := bufio.NewWriter(a.stdout)
	err := writeChecked(out, d, f.dot)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	return err
}

// detail returns the problems as text, with their lines.
func detail(problems syntax.List) string {
	if len(problems) == 0 {
		return ""
	}
	return problems.Error() + "\n"
}

// faulty returns an error, with exit status 2, that contains the number of errors in a
// specification.
func faulty(name string, problems syntax.List) error {
	n := 0
	for _, p := range problems {
		if !p.Warning {
			n++
		}
	}
	if n == 1 {
		return usage("%s: 1 error", name)
	}
	return usage("%s: %d errors", name, n)
}

// checkJSON writes a description, which includes the errors, as JSON.
func (a *app) checkJSON(d *spec.Description) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("write the description: %w", err)
	}
	if d.Problems.HasErrors() {
		a.status = exitUsage
	}
	return nil
}

func writeChecked(w io.Writer, d *spec.Description, dot bool) error {
	if dot {
		for _, p := range d.Properties {
			if err := p.Monitor.WriteDOT(w); err != nil {
				return err
			}
		}
		for _, t := range d.Typestates {
			if err := t.Typestate.WriteDOT(w); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range d.Properties {
		if err := writeProperty(w, &p); err != nil {
			return err
		}
	}
	for _, t := range d.Typestates {
		writeTypestate(w, &t)
	}
	for _, f := range d.Formulas {
		writeFormula(w, &f)
	}
	for _, sc := range d.Scopes {
		writeScope(w, &sc)
	}
	for _, c := range d.Checks {
		fmt.Fprintf(w, "check %s\n", report.Sanitize(c))
	}
	for _, n := range d.NotEvaluated {
		fmt.Fprintf(w, "%s: not evaluated yet; exec, attach and analyze refuse it\n", report.Sanitize(n))
	}
	writeProbes(w, d)
	return nil
}

func writeTypestate(w io.Writer, t *spec.DescribedTypestate) {
	mined := ""
	if t.Mined {
		mined = ", mined"
	}
	fmt.Fprintf(w, "typestate %s of %s%s\n", t.Name, report.Sanitize(t.Type), mined)
	for i, c := range t.Calls {
		label, creates := "", ""
		if i == 0 {
			label = "calls"
		}
		if c.Creates {
			creates = ": creates an object"
		}
		fmt.Fprintf(w, "  %-13s %s = %s%s\n", label, c.Name, report.Sanitize(c.Pattern), creates)
	}
	if t.Expression == "" {
		fmt.Fprintf(w, "  %-13s %s\n\n", "states", strings.Join(t.States, ", "))
		return
	}
	fmt.Fprintf(w, "  %-13s %s\n", "expression", report.Sanitize(t.Expression))
	for i := range t.States {
		label := ""
		if i == 0 {
			label = "states"
		}
		if i == shownStates {
			fmt.Fprintf(w, "  %-13s and %d more\n", label, len(t.States)-i)
			break
		}
		fmt.Fprintf(w, "  %-13s %s\n", label, t.Typestate.StateText(i))
	}
	fmt.Fprintln(w)
}

// shownStates is the number of states of an expression that are shown.
const shownStates = 20

// writeFormula describes a formula on what threads know.
func writeFormula(w io.Writer, f *spec.DescribedFormula) {
	fmt.Fprintf(w, "mttl %s\n", f.Name)
	if f.Message != "" {
		fmt.Fprintf(w, "  message       %s\n", report.Sanitize(f.Message))
	}
	fmt.Fprintf(w, "  %-13s %s\n", "formula", report.Sanitize(f.Text))
	fmt.Fprintf(w, "  %-13s after %s\n", "states", report.Sanitize(f.States))
	for _, lines := range []struct {
		label string
		of    []string
	}{{"threads", f.Threads}, {"known", f.Known}, {"depends on", f.Beyond}} {
		for i, text := range lines.of {
			label := lines.label
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(w, "  %-13s %s\n", label, report.Sanitize(text))
		}
	}
	fmt.Fprintln(w)
}

func writeScope(w io.Writer, s *spec.DescribedScope) {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "  %-13s %s\n", label, report.Sanitize(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(w, "scope %s\n", s.Name)
	in := ""
	if s.Outer != "" {
		in = ", in each region of scope " + s.Outer
	}
	line("regions", "between successive events %s: %s%s", s.Sync.Name, s.Sync.Text, in)
	label := "threads"
	for _, l := range s.Locals {
		across := ""
		if l.Across {
			across = ", across scopes"
		}
		line(label, "%s on %s (%s) = %s%s; %s", l.Name, l.Type.Name, l.Type.Text, l.Text, across, plural.Counted(uint64(l.States), "state", "states"))
		label = ""
		for _, e := range l.Events {
			line("", "  %s: %s", e.Name, e.Text)
		}
	}
	label = "atoms"
	for _, a := range s.Atoms {
		line(label, "%s = %s", a.Name, a.Text)
		label = ""
	}
	for _, c := range s.Checks {
		line("check", "%s; %s", c.Text, plural.Counted(uint64(c.States), "state", "states"))
		if c.Message != "" {
			line("  message", "%s", c.Message)
		}
	}
	fmt.Fprintln(w)
}

func writeProperty(w io.Writer, p *spec.Described) error {
	fmt.Fprintf(w, "property %s\n", p.Name)
	if of := p.Of; of != nil {
		own := strings.Join(append(slices.Clone(of.Fields), of.Events...), ", ")
		fmt.Fprintf(w, "  of each       %s : %s\n", of.Name, report.Sanitize(of.Type))
		fmt.Fprintf(w, "  its own       %s\n", report.Sanitize(own))
	}
	if p.Message != "" {
		fmt.Fprintf(w, "  message       %s\n", report.Sanitize(p.Message))
	}
	fmt.Fprintf(w, "  %-13s %s\n", "formula", report.Sanitize(p.Text))
	for i, q := range p.Propositions {
		label := ""
		if i == 0 {
			label = "propositions"
		}
		text := q.Name
		if q.Text != "" && q.Text != q.Name {
			text += " = " + q.Text
		} else if q.Event {
			text += ": event"
		}
		fmt.Fprintf(w, "  %-13s %s\n", label, report.Sanitize(text))
	}
	fmt.Fprintf(w, "  letters       %s\n", report.Sanitize(p.Moves))
	fmt.Fprintf(w, "  monitor       %s\n", p.Size)
	for _, u := range p.Unreported {
		fmt.Fprintf(w, "  unreported    %s: no finite run shows that it is violated\n", report.Sanitize(u))
	}
	return writeBadPrefix(w, p)
}

// writeBadPrefix writes a shortest word that violates the property, as letters and as a table
// with a column for each state.
func writeBadPrefix(w io.Writer, p *spec.Described) error {
	if p.BadPrefix == nil {
		fmt.Fprintf(w, "  bad prefix    none: it can never be violated\n\n")
		return nil
	}
	if len(p.BadPrefix) == 0 {
		fmt.Fprintf(w, "  bad prefix    the empty one: every run violates it\n\n")
		return nil
	}
	fmt.Fprintf(w, "  bad prefix    %s\n", report.Sanitize(strings.Join(p.Letters(), " ")))
	if len(p.Steps) == 0 {
		fmt.Fprintf(w, "                (as if propositions were independent: no values were found for it)\n")
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "                state")
	for i := range p.BadPrefix {
		fmt.Fprintf(t, "\t%d", i)
	}
	fmt.Fprintln(t)
	for _, v := range p.Values {
		fmt.Fprintf(t, "                %s\t%s\n", report.Sanitize(v.Name), strings.Join(v.Values, "\t"))
	}
	for i, q := range p.Propositions {
		fmt.Fprintf(t, "                %s", report.Sanitize(q.Name))
		for _, l := range p.BadPrefix {
			fmt.Fprintf(t, "\t%s", map[bool]string{true: "yes", false: "-"}[l&(1<<i) != 0])
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

func writeProbes(w io.Writer, d *spec.Description) {
	for _, l := range [][2]any{{"watch", d.Watch}, {"on", d.On}, {"locks", d.Syncs}, {"threads", d.Threads}} {
		for _, text := range l[1].([]string) {
			fmt.Fprintf(w, "%-8s %s\n", l[0], report.Sanitize(text))
		}
	}
}
