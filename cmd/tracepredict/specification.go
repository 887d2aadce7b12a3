package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/variable"
	"github.com/tracepredict/tracepredict/specs"
)

// specFlags name a specification. exec, attach, analyze and sites have them.
type specFlags struct {
	file    string
	partial bool
	include []string
	checks  []string
	formula string
}

// The formulas of --formula.
const (
	formulaOrder = "happens-before"
	formulaPaper = "paper"
)

// given reports whether there is a specification.
func (f *specFlags) given() bool { return f.file != "" || len(f.checks) > 0 }

func (f *specFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.checks, "check", nil, "also check what a specification would say as check races(VARIABLE) or check atomicity(FUNCTION): `races=VARIABLE|atomicity=FUNCTION|atomicity=FILE:N-M`; repeatable (docs/knowledge.md)")
	fs.StringVar(&f.file, "spec", "", "check the properties of a specification, `FILE`.tps or the name of one that tracepredict specs lists, on all runs that the observed causality allows; what it names is observed (docs/specification.md)")
	f.registerReading(cmd)
}

// registerReading registers the flags for reading a specification. check has them too.
func (f *specFlags) registerReading(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.partial, "partial", false, "accept properties that are not safety properties: violations that no finite run can show are named, and never reported; what the run says of each, or of each object, is true, false or unknown")
	fs.StringVar(&f.formula, "formula", formulaOrder, "what check races and --check races look for: `happens-before|paper`, races by the order of events, or violations of the formula of knowledge that a paper has for them, which misses races and finds others (docs/knowledge.md)")
	fs.StringArrayVar(&f.include, "include", nil, "look in this `FOLDER` for files that the specification includes; repeatable")
}

// The default bounds of the causality cone that exec, attach and analyze explore.
const (
	defaultWindow = 64 // states of a level
	defaultQueue  = 32 // events
)

// coneFlags bound the search for runs that violate a property. exec, attach and analyze have
// them.
type coneFlags struct {
	window, queue int
	causality     string
	racingTypes   bool
}

func (f *coneFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.causality, "causality", "sync", "which order is kept by the runs on which properties are checked: `sync|exclusion|messages`; sync keeps that of all synchronisation, exclusion allows whole critical sections to be reordered, messages keeps only what is not of locks, so that some of these runs may be impossible")
	fs.BoolVar(&f.racingTypes, "racing-types", false, "of typestates, report only those of types with an object whose calls race: by different threads, under no common lock, and ordered by no message; what locks hide is missed then (docs/typestates.md)")
	fs.IntVar(&f.window, "window", defaultWindow, "most states `W` that a level of the lattice keeps, those nearest to the observed run; 0 is no limit")
	fs.IntVar(&f.queue, "queue", defaultQueue, "events `L` that wait before a level is closed; 0 is no limit: levels narrower than the window are closed at the end")
}

func (f *coneFlags) check() error {
	return cmp.Or(notNegative("window", f.window), oneOf("causality", f.causality, finding.OrderSync, finding.OrderExclusion, finding.OrderMessages), notNegative("queue", f.queue))
}

// specification is a specification with its monitors.
type specification struct {
	*spec.Spec
	monitors []*spec.Monitor
	kernel   *bind.KernelScope // nil: scopes are monitored in user space
	outside  bool              // formulas are evaluated in the kernel alone
	warnings string
}

// reading returns where specifications are read from.
func (f *specFlags) reading() spec.Options {
	return spec.Options{Path: f.include, Installed: specs.Files(), PaperRaces: f.formula == formulaPaper}
}

// load reads the specification; it returns nil without one. An error in it is wrong usage.
func (f *specFlags) load() (*specification, error) {
	if !f.given() && f.formula != formulaPaper {
		return nil, f.checkFormula()
	}
	err := f.checkFormula()
	if err != nil {
		return nil, err
	}
	from := f.reading()
	if from.More, err = checksText(f.checks); err != nil {
		return nil, err
	}
	from.MoreName = "--check"
	s, monitors, problems := spec.ForRun(f.file, from, spec.MonitorOptions{Partial: f.partial})
	if problems.HasErrors() {
		return nil, usage("%w", problems)
	}
	if from.PaperRaces && !slices.ContainsFunc(s.Formulas, func(f *spec.Formula) bool { return f.EachEvent }) {
		return nil, usage("--formula=paper is about check races in a specification, and --check races=VARIABLE: there is neither")
	}
	out := &specification{Spec: s, monitors: monitors}
	if len(problems) > 0 {
		out.warnings = problems.Error()
	}
	return out, nil
}

// checkFormula checks --formula.
func (f *specFlags) checkFormula() error {
	return oneOf("formula", f.formula, formulaOrder, formulaPaper)
}

// checksText returns what --check asks for as a specification.
func checksText(checks []string) (string, error) {
	var b strings.Builder
	for i, c := range checks {
		what, of, ok := strings.Cut(c, "=")
		switch {
		case ok && of != "" && what == "races":
			fmt.Fprintf(&b, "var check_%d = %s\ncheck races(check_%d)\n", i+1, spec.Quoted(of), i+1)
		case ok && of != "" && what == "atomicity":
			fmt.Fprintf(&b, "check atomicity(%s)\n", spec.Quoted(of))
		default:
			return "", usage("--check %s: it is races=VARIABLE, atomicity=FUNCTION or atomicity=FILE:N-M", c)
		}
	}
	return b.String(), nil
}

// accept checks the specification against the variables and functions that were found. It returns its errors, and writes
// its warnings.
func (s *specification) accept(p *probes.Planner, warnings io.Writer) error {
	if s == nil {
		return nil
	}
	found := p.Found()
	var all []spec.Found
	for _, path := range slices.Sorted(maps.Keys(found)) {
		v := found[path]
		all = append(all, spec.Found{Path: path, Name: v.Name, Form: live.FormOf(&v)})
	}
	if problems := s.Fit(all); problems.HasErrors() {
		return problems
	}
	if w := s.mistyped(p); len(w) > 0 {
		fmt.Fprintln(warnings, report.Sanitize(w.Error()))
	}
	return nil
}

// mistyped returns a warning for each block of whose objects no function in the program has the type, with the first
// function that has another.
func (s *specification) mistyped(p *probes.Planner) syntax.List {
	first, fits := map[syntax.Span]*syntax.Diagnostic{}, map[syntax.Span]bool{}
	for _, h := range s.Handles() {
		for f := range p.Matching(h.On) {
			at, text, names := handled(f, h.Param)
			switch {
			case len(names) == 0:
			case function.IsNamed(names, h.Type):
				fits[h.Span] = true
			case first[h.Span] == nil:
				first[h.Span] = h.Mistyped(fmt.Sprintf("%s of %s", at, f.Name), text)
			}
		}
	}
	maps.DeleteFunc(first, func(at syntax.Span, _ *syntax.Diagnostic) bool { return fits[at] })
	return s.Sorted(slices.Collect(maps.Values(first)))
}

// handled returns what the parameter, or the result, of a function is called, its type, and the names of what it points to.
func handled(f *function.Function, param int) (what, text string, names []string) {
	if param == spec.OfResult {
		return "the result", f.ResultType, f.ResultOf
	}
	for i := range f.Params {
		if p := &f.Params[i]; p.Index == param && p.Stored == 0 {
			return "parameter " + p.Name, p.Type, p.Of
		}
	}
	return "", "", nil
}

// withLocations adds source locations in the specification to an error about something that the
// specification names.
func (s *specification) withLocations(err error) error {
	if s == nil || err == nil {
		return err
	}
	var problems syntax.List
	rest := s.splitProblems(err, &problems)
	if len(problems) == 0 {
		return err
	}
	return usage("%w", errors.Join(s.Sorted(problems), errors.Join(rest...)))
}

// splitProblems returns the parts of an error that do not concern the specification. It adds the
// other parts to problems.
func (s *specification) splitProblems(err error, problems *syntax.List) (rest []error) {
	var list syntax.List
	switch e := err.(type) {
	case syntax.List:
		list = e
	case *variable.Error:
		list = s.Missing(e.Name, e.Detail())
	case *function.NotFound:
		list = s.Missing(e.Pattern.Text, e.Error())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			rest = append(rest, s.splitProblems(part, problems)...)
		}
		return rest
	case interface{ Unwrap() error }:
		before := len(*problems)
		if rest = s.splitProblems(e.Unwrap(), problems); len(*problems) > before {
			return rest
		}
	}
	if *problems = append(*problems, list...); len(list) > 0 {
		return nil
	}
	return []error{err}
}

// warn prints the warnings about the specification.
func (s *specification) warn(w io.Writer) {
	if s != nil && s.warnings != "" {
		fmt.Fprintln(w, report.Sanitize(s.warnings))
	}
}

// reportsRaces reports whether races on a variable are reported: if there is no specification,
// if the user asked for the variable, if the specification asks for races, or if it does not use
// the variable. Otherwise the variable is watched only for the properties.
func (s *specification) reportsRaces(name string, asked []string) bool {
	named := func(path string) bool { return spec.SameName(path, name) }
	if s == nil || slices.ContainsFunc(asked, named) || s.Requests("races") {
		return true
	}
	return !slices.ContainsFunc(s.Vars, func(v spec.Var) bool { return v.Used && spec.SameName(v.Path, name) })
}

// bound binds the specification to a run; it returns nil without one. With count, races on objects are counted.
func (s *specification) bound(cone coneFlags, count bool, names run.Namer, found func(*finding.Finding), latency *stats.Latency) (*bind.Run, error) {
	if s == nil {
		return nil, nil
	}
	r, err := bind.New(bind.Options{Spec: s.Spec, Monitors: s.monitors, Kernel: s.kernel, Outside: s.outside, Names: names, Window: cone.window, Queue: cone.queue, Order: finding.Order(cone.causality), RacingTypes: cone.racingTypes, Races: count, Found: found, Latency: latency})
	if err != nil {
		return nil, usage("%w", err)
	}
	return r, nil
}
