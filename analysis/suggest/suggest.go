// Package suggest finds at which action of the program a scope can be cut. The input is a specification with the events to be
// judged, and the events of one run; the output is a ranked list of synchronising actions, each with the scope block of a
// specification.
//
// Candidates are the operations of each named lock, condition, semaphore and barrier, the forks and joins of each declared
// type of threads, and the declared events. A candidate is suggested if its actions are totally ordered in the run, by the
// order that analysis/scope uses, and if the judged events lie in more than one region between them. How it is ranked is
// Cut.Score of analysis/scope. The order is that of one run: in another run the actions of the same code may be concurrent,
// which the scope then says.
package suggest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/scope"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// maxCandidates bounds the candidates, since each is compared at each judged event.
const maxCandidates = 1024

// Run looks for actions in one run. Make it with New. It is not safe for concurrent use.
type Run struct {
	spec    *spec.Spec
	of      *spec.Scope // whose events are judged; nil: those of properties, or all that are declared
	names   run.Namer
	threads bind.Threads
	match   *spec.Matcher
	cuts    *scope.Cuts
	all     []candidate
	byName  map[action]int
	byID    map[operation]int // -1: no candidate
	judged  []judged
	unnamed uint64
	more    uint64
	actions []int // of the present event, reused
}

// action is an operation of an object with a name, or of a type of threads.
type action struct {
	op   syntax.Op
	name string
}

// operation is an operation of an object.
type operation struct {
	op syntax.Op
	id event.ObjectID
}

// candidate is a synchronising action.
type candidate struct {
	action
	kind     syntax.SyncKind
	thread   int // index in Spec.Threads, of a fork or a join; else -1
	declared int // index in Spec.Events; -1: the specification does not declare it
}

// judged is an event that regions are to separate.
type judged struct {
	event int   // index in Spec.Events
	types []int // the types of threads in Spec.Threads of which it counts; nil: of all threads
	by    map[event.ThreadID]bool
}

// New returns a search on a run that has not begun. The specification must be loaded with spec.Options.AllEvents. The events
// of the scope are judged; if it is nil, those that properties mention; without such, all that are declared.
func New(s *spec.Spec, of *spec.Scope, names run.Namer) (*Run, error) {
	r := &Run{spec: s, of: of, names: names, threads: bind.NewThreads(names), cuts: scope.NewCuts(), byName: map[action]int{}, byID: map[operation]int{}}
	r.match = s.NewMatcher(spec.Names{
		Func: names.Func, Object: func(id event.ObjectID) string { return names.Object(id).Name }, Thread: r.threads.Type,
	})
	r.judge()
	if len(r.judged) == 0 {
		return nil, fmt.Errorf("%s declares no event that regions could separate: event NAME = PATTERN does", s.File)
	}
	for i := range s.Events {
		e := &s.Events[i]
		r.add(candidate{action{e.Op, e.Name}, 0, -1, i})
	}
	for i := range s.Threads {
		for _, op := range []syntax.Op{syntax.OpFork, syntax.OpJoin} {
			if !slices.ContainsFunc(s.Events, func(e spec.Event) bool { return plain(&e) && e.Op == op && e.Thread == i }) {
				r.add(candidate{action{op, s.Threads[i].Name}, 0, i, -1})
			}
		}
	}
	return r, nil
}

// plain reports whether a declared event is all events of its pattern.
func plain(e *spec.Event) bool { return e.By < 0 && e.When == nil }

// judge sets the judged events.
func (r *Run) judge() {
	add := func(e, typ int) {
		i := slices.IndexFunc(r.judged, func(j judged) bool { return j.event == e })
		if i < 0 {
			i = len(r.judged)
			r.judged = append(r.judged, judged{event: e, by: map[event.ThreadID]bool{}})
		}
		if typ >= 0 {
			r.judged[i].types = append(r.judged[i].types, typ)
		}
	}
	if r.of != nil {
		for _, l := range r.of.Locals {
			for _, e := range l.Events {
				add(e, l.Type)
			}
		}
		return
	}
	for _, p := range r.spec.Properties {
		for _, e := range p.Events {
			add(e, -1)
		}
	}
	if len(r.judged) > 0 {
		return
	}
	for i := range r.spec.Events {
		add(i, -1)
	}
}

// add adds a candidate, and returns its number; -1 if there are too many.
func (r *Run) add(c candidate) int {
	if len(r.all) == maxCandidates {
		r.more++
		return -1
	}
	r.all = append(r.all, c)
	return r.cuts.Add()
}

// Event processes the next event of the run.
func (r *Run) Event(e *event.Event) {
	r.match.Events(e)
	r.actions = r.actions[:0]
	for _, i := range r.match.Matched() {
		if i < len(r.all) {
			r.actions = append(r.actions, i) // The first candidates are the declared events.
		}
	}
	r.operation(e)
	counted := false
	for i := range r.judged {
		counted = r.isJudged(e, &r.judged[i]) || counted
	}
	r.cuts.Event(e, counted, r.actions)
	r.threads.Event(e)
}

// isJudged reports whether an event is a judged one, and records its thread.
func (r *Run) isJudged(e *event.Event, j *judged) bool {
	if !slices.Contains(r.match.Matched(), j.event) || j.types != nil && !slices.ContainsFunc(j.types, func(t int) bool { return r.match.IsOfType(e.Thread, t) }) {
		return false
	}
	j.by[e.Thread] = true
	return true
}

// operations has the operations of objects that patterns can name.
var operations = map[event.Op]struct {
	op   syntax.Op
	kind syntax.SyncKind
}{
	event.Acquire: {syntax.OpAcquire, syntax.Lock}, event.AcquireRead: {syntax.OpAcquire, syntax.Lock}, event.Release: {syntax.OpRelease, syntax.Lock},
	event.Wait: {syntax.OpWait, syntax.Cond}, event.Signal: {syntax.OpSignal, syntax.Cond}, event.Broadcast: {syntax.OpBroadcast, syntax.Cond},
	event.SemPost: {syntax.OpPost, syntax.Sem}, event.BarrierArrive: {syntax.OpArrive, syntax.Barrier},
}

// operation adds to actions those that the specification does not declare.
func (r *Run) operation(e *event.Event) {
	switch o, ok := operations[e.Op]; {
	case ok:
		at := operation{o.op, e.Object}
		i, known := r.byID[at]
		if !known {
			i = r.named(o.op, o.kind, r.names.Object(e.Object).Name)
			r.byID[at] = i
		}
		if i >= 0 {
			r.actions = append(r.actions, i)
		}
	case e.Op == event.Destroy:
		for _, o := range operations {
			delete(r.byID, operation{o.op, e.Object})
		}
	case e.Op == event.Fork || e.Op == event.Join:
		op := map[event.Op]syntax.Op{event.Fork: syntax.OpFork, event.Join: syntax.OpJoin}[e.Op]
		for i := range r.all {
			if c := &r.all[i]; c.thread >= 0 && c.op == op && r.match.IsOfType(e.Peer, c.thread) {
				r.actions = append(r.actions, i)
			}
		}
	}
}

// named returns the candidate of an operation of an object with a name; -1 if a declared event is the same, or if the
// specification could not name the object.
func (r *Run) named(op syntax.Op, kind syntax.SyncKind, name string) int {
	if name == "" {
		r.unnamed++
		return -1
	}
	same := func(e spec.Event) bool {
		return plain(&e) && e.Op == op && e.Sync >= 0 && spec.SameName(r.spec.Syncs[e.Sync].Path, name)
	}
	if slices.ContainsFunc(r.spec.Events, same) {
		return -1
	}
	a := action{op, name}
	if _, ok := r.byName[a]; !ok {
		r.byName[a] = r.add(candidate{a, kind, -1, -1})
	}
	return r.byName[a]
}

// Suggestion is a synchronising action, and how it cuts the run.
type Suggestion struct {
	scope.Cut
	Action string // as the pattern of an event, or the name of a declared event

	candidate candidate
}

// Result is what was found in a run.
type Result struct {
	Suggestions []Suggestion // the best one first
	Rejected    []Suggestion // that happened, and separate nothing, by Action
	Judged      []string     // the names of the judged events
	Missing     []string     // judged events of which the run has none: what had to be recorded
	Unnamed     uint64       // operations on objects without the name of a variable, which no specification can name
	More        uint64       // candidates beyond the bound

	run *Run
}

// Finish ends the run.
func (r *Run) Finish() *Result {
	out := &Result{Unnamed: r.unnamed, More: r.more, run: r}
	for i, c := range r.cuts.Finish() {
		s := Suggestion{c, r.all[i].op.String() + " " + r.all[i].name, r.all[i]}
		if d := r.all[i].declared; d >= 0 {
			s.Action = r.spec.Events[d].Name
		}
		switch {
		case c.Score() > 0:
			out.Suggestions = append(out.Suggestions, s)
		case c.Actions > 0:
			out.Rejected = append(out.Rejected, s)
		}
	}
	slices.SortStableFunc(out.Suggestions, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Score(), a.Score()), cmp.Compare(a.Actions, b.Actions), cmp.Compare(a.Action, b.Action))
	})
	slices.SortFunc(out.Rejected, func(a, b Suggestion) int { return cmp.Compare(a.Action, b.Action) })
	for i := range r.judged {
		e := &r.spec.Events[r.judged[i].event]
		out.Judged = append(out.Judged, e.Name)
		if len(r.judged[i].by) == 0 {
			out.Missing = append(out.Missing, missing(e))
		}
	}
	return out
}

// missing says that the run has no event of a pattern.
func missing(e *spec.Event) string {
	if e.On == "" {
		return fmt.Sprintf("there was no event %s (%s)", e.Name, e.Text)
	}
	return fmt.Sprintf("there was no event %s: was the run recorded with --on '%s', or with a specification that uses it?", e.Name, e.On)
}

// WriteTable writes the suggestions as a table, and why other actions are none.
func (r *Result) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Suggestions) > 0 {
		fmt.Fprintln(t, "RANK\tACTION\tTIMES\tREGIONS WITH EVENTS\tEVENNESS\tCONCURRENT")
	}
	for i := range r.Suggestions {
		s := &r.Suggestions[i]
		fmt.Fprintf(t, "%d\t%s\t%d\t%d of %d\t%.0f%%\t%d of %d\n", i+1, s.Action, s.Actions, len(s.Regions), s.Actions+1, 100*s.Evenness(), s.Concurrent, s.Events)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range r.notes() {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// notes are the lines below the table.
func (r *Result) notes() (out []string) {
	out = append(out, "Events: "+strings.Join(r.Judged, ", "))
	if len(r.Suggestions) == 0 {
		out = append(out, "No action is ordered in this run and separates these events.")
	}
	for i := range r.Rejected {
		out = append(out, "Not "+r.Rejected[i].Action+": "+r.why(&r.Rejected[i]))
	}
	out = append(out, r.Missing...)
	if r.Unnamed > 0 {
		out = append(out, plural.Sprintf("%d {operation on an object|operations on objects} without the name of a variable {was|were} not considered", r.Unnamed))
	}
	if r.More > 0 {
		out = append(out, plural.Sprintf("%d {action was|actions were} not considered: at most %d are", r.More, maxCandidates))
	}
	return out
}

// why says why an action is not suggested.
func (r *Result) why(s *Suggestion) string {
	if p := s.Unordered; p != nil {
		return fmt.Sprintf("that of %s and that of %s are concurrent", bind.Place(r.run.names, &p[0]), bind.Place(r.run.names, &p[1]))
	}
	return "all events are in one region"
}

// doers returns the threads that did a judged event, ascending.
func (j *judged) doers() []event.ThreadID { return slices.Sorted(maps.Keys(j.by)) }
