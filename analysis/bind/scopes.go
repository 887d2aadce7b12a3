package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/scope"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
	"github.com/tracepredict/tracepredict/observer/run"
)

// monitorScopes begins to monitor the scopes of the specification. It returns an error if a formula has no monitor.
func (r *Run) monitorScopes(o *Options) error {
	r.judgedInner, r.kernel = map[*spec.Scope][]uint64{}, o.Kernel
	for _, s := range r.spec.Scopes {
		monitors, problems := r.spec.ScopeMonitors(s, spec.MonitorOptions{})
		if problems.HasErrors() {
			return fmt.Errorf("make the monitors of scope %s: %w", s.Name, problems)
		}
		options := scope.Options{Scope: r.scopeOf(s, monitors), Found: o.Found}
		if s.Outer == nil && !slices.ContainsFunc(s.Inner, func(in *spec.Scope) bool { return in.Counted }) {
			options.History = r
		}
		if s.Outer != nil {
			numbers := make([]uint64, len(verdicts))
			r.judgedInner[s] = numbers
			options.Judged = func(of []monitor.Verdict) { count(numbers, of) }
		}
		if r.kernel != nil {
			options.History, options.Outside = nil, r.kernel.results
		}
		r.scopes = append(r.scopes, scope.New(options))
	}
	if len(r.spec.Scopes) > 0 {
		r.schedules = &completion.Completer{History: r.history.History, Order: finding.OrderSync, NewChecker: execution.DefaultChecker}
	}
	return nil
}

// count sets numbers to how often each verdict occurs, in the order of spec.Verdicts.
func count(numbers []uint64, of []monitor.Verdict) {
	clear(numbers)
	for _, v := range of {
		numbers[slices.Index(verdicts[:], scope.Verdict(v))]++
	}
}

// Schedule implements scope.History. The order of the run's synchronisation is kept: regions are between actions in that
// order.
func (r *Run) Schedule(from uint64, seqs []uint64, relevant func(seq uint64) bool) ([]finding.Step, error) {
	w := &lattice.Witness{From: from}
	for _, seq := range seqs {
		w.Steps = append(w.Steps, lattice.Step{Seq: seq})
	}
	steps, err := r.schedules.Complete(w, func(i int) bool { return relevant(r.schedules.Log[i].Seq) })
	if err != nil {
		return nil, fmt.Errorf("find a schedule for another region: %w", err)
	}
	return steps, nil
}

// scopeOf returns a scope of the specification as one of this run.
func (r *Run) scopeOf(s *spec.Scope, m *spec.ScopeMonitors) *scope.Scope {
	out := &scope.Scope{Name: s.Name, SyncName: r.spec.Events[s.Sync].Name, Sync: 1 << s.Sync}
	if s.Outer != nil {
		out.Outer, out.OuterName, out.Counted = 1<<s.Outer.Sync, s.Outer.Name, s.Counted
	}
	for i := range min(len(r.spec.Events), spec.MaxEvents) {
		out.Events = append(out.Events, r.spec.Events[i].Name)
	}
	types := map[int]int{}
	typeOf := func(i int) int {
		at, ok := types[i]
		if !ok {
			at = len(out.Types)
			types[i] = at
			out.Types = append(out.Types, scope.Type{Name: r.spec.Threads[i].Name, Has: func(id event.ThreadID) bool { return r.match.IsOfType(id, i) }})
		}
		return at
	}
	for i := range s.Locals {
		l := &s.Locals[i]
		local := scope.Local{Name: l.Name, Type: typeOf(l.Type), Formula: m.Locals[i], Across: l.Across}
		for _, e := range l.Events {
			local.Events = append(local.Events, 1<<e)
		}
		out.Locals = append(out.Locals, local)
	}
	sizes := make([]int, len(s.Sizes))
	for i, t := range s.Sizes {
		sizes[i] = typeOf(t)
	}
	counts := make([]uint64, s.Inputs())
	for i := range s.Atoms {
		a := &s.Atoms[i]
		out.Atoms = append(out.Atoms, scope.Atom{Name: a.Name, Holds: func(c *scope.Counts) bool {
			fill(counts, c, len(s.Locals), sizes)
			for j, in := range s.Inner { // These are before this one in Spec.Scopes, and have read the event.
				copy(counts[(len(s.Locals)+j)*len(verdicts):], r.judgedInner[in])
			}
			return a.Holds(counts)
		}})
	}
	for i := range s.Checks {
		out.Checks = append(out.Checks, scope.Check{Text: s.Checks[i].Text, Message: s.Checks[i].Message, Formula: m.Checks[i]})
	}
	return out
}

// fill sets the counts that atoms read.
func fill(counts []uint64, c *scope.Counts, locals int, sizes []int) {
	for i := range locals {
		for j, v := range verdicts {
			counts[i*len(verdicts)+j] = c.Of(i, v)
		}
	}
	for i, t := range sizes {
		counts[len(counts)-len(sizes)+i] = c.Size(t)
	}
}

// verdicts has the verdicts in the order of spec.Verdicts.
var verdicts = [...]scope.Verdict{scope.Unknown, scope.True, scope.False, scope.NotApplicable}

// ClockMemory returns the memory that the clocks of relevant events need at most, in bytes.
func (r *Run) ClockMemory() uint64 {
	n := r.Analysis.ClockMemory()
	for _, m := range r.scopes {
		n += m.ClockMemory()
	}
	return n
}

// finishScopes adds to the outcome what the scopes found, and which regions they judged.
func (r *Run) finishScopes(out *part.Outcome) {
	given := map[*spec.Scope]bool{} // those that are given up
	for i, m := range r.scopes {
		found := m.Finish()
		s := r.spec.Scopes[i]
		if why := r.noVerdict(s, m, given); why != "" {
			given[s] = true
			out.First = append(out.First, why)
			continue
		}
		out.Add(found...)
		action := r.spec.Events[s.Sync].Name
		stats := m.Stats()
		out.First = append(out.First, r.judged(s, m))
		if r.kernel != nil {
			out.Notes = append(out.Notes, fmt.Sprintf("scope %s was monitored in the kernel, which does not look at other runs: --monitor=user does", s.Name))
		}
		if n := m.Searched().Left; n > 0 {
			out.Notes = append(out.Notes, plural.Sprintf("scope %s: at %d of its actions other runs were not all examined (too many events or schedules, a thread that was first seen there or that another one may have named, or a property across scopes)", s.Name, n))
		}
		if stats.Concurrent > 0 {
			out.Notes = append(out.Notes, plural.Sprintf("scope %s: %d {event is|events are} concurrent with %s: another run may have {it|them} in another region (of %d in all)",
				s.Name, stats.Concurrent, action, stats.Events))
		}
	}
}

// noVerdict says where and why a scope has no verdict; "" if it has one.
func (r *Run) noVerdict(s *spec.Scope, m *scope.Monitor, given map[*spec.Scope]bool) string {
	action := r.spec.Events[s.Sync].Name
	head := fmt.Sprintf("%s: scope %s has no verdict: ", s.At.Pos, s.Name)
	if pair, unordered := m.Unordered(); unordered {
		lost := ""
		if m.Lost() {
			lost = "; events were lost, which may have ordered them"
		}
		if s.Outer != nil {
			action = fmt.Sprintf("%s or %s", action, r.spec.Events[s.Outer.Sync].Name)
		}
		return fmt.Sprintf("%s%s of %s and of %s are concurrent, and regions are between actions of which each comes after the one before%s",
			head, action, Place(r.names, &pair[0]), Place(r.names, &pair[1]), lost)
	}
	if _, why, stopped := m.Stopped(); stopped && m.Stats().Own == 0 {
		return fmt.Sprintf("%swhat its threads did is not known: %v", head, why)
	}
	if m.Stats().Own == 0 {
		return fmt.Sprintf("%sthere was no event %s, and its regions are between two of these", head, action)
	}
	for _, in := range s.Inner {
		if in.Counted && given[in] {
			return fmt.Sprintf("%sit counts the verdicts of scope %s, which has none", head, in.Name)
		}
	}
	return ""
}

// judged says how many regions of a scope were judged, and the verdicts.
func (r *Run) judged(s *spec.Scope, m *scope.Monitor) string {
	var words []string
	if s.Outer != nil {
		return r.judgedIn(s, m)
	}
	for i := range s.Checks {
		verdict := map[monitor.Verdict]string{monitor.True: "holds", monitor.False: "is violated", monitor.Unknown: "is not violated so far"}[m.Verdict(i)]
		words = append(words, fmt.Sprintf("%q %s", s.Checks[i].Text, verdict))
	}
	regions := m.Stats().Actions + 1
	if at, why, stopped := m.Stopped(); stopped {
		regions = at
		words = append(words, fmt.Sprintf("and those from region %d on were not, for what its threads did is not known: %v", at, why))
	}
	return plural.Sprintf("scope %s: %d {region was|regions were} judged: %s", s.Name, regions, strings.Join(words, ", "))
}

// judgedIn says of an inner scope how many regions were judged, and the verdicts in the regions of the outer one.
func (r *Run) judgedIn(s *spec.Scope, m *scope.Monitor) string {
	var words []string
	for i := range s.Checks {
		n := m.Tally(i)
		words = append(words, fmt.Sprintf("%q holds in %d, is violated in %d, and not so far in %d", s.Checks[i].Text, n[monitor.True], n[monitor.False], n[monitor.Unknown]))
	}
	return plural.Sprintf("scope %s: %d {region was|regions were} judged; of the regions of %s around them, %s", s.Name, m.Stats().Actions+1, s.Outer.Name, strings.Join(words, "; "))
}

// Place says which thread did a step, and where.
func Place(names run.Namer, s *finding.Step) string {
	text := fmt.Sprintf("T%d", s.Thread)
	for _, f := range names.Frames(s.Stack) {
		if f.Line > 0 {
			return fmt.Sprintf("%s in %s at %s:%d", text, f.Function, f.File, f.Line)
		}
	}
	return text
}
