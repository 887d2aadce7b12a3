// Package jsonreport writes a report as one JSON object, for scripts. It takes a report.Report, which is plain data, and
// adds what only scripts need: names of objects as texts, and tables of the call stacks. Its bytes are equal for equal
// reports.
package jsonreport

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// The structs with JSON tags are the JSON format. Fields are added, never changed or removed;
// arrays are empty, never null. Threads appear as their numbers in the run (T2 is 2);
// thread_info describes them, and object_info describes objects.

// jsonConfidence counts all findings; those weaker than Least are not shown.
type jsonConfidence struct {
	Least     finding.Confidence `json:"least"`
	Observed  int                `json:"observed"`
	Predicted int                `json:"predicted"`
	Likely    int                `json:"likely"`
	Potential int                `json:"potential"`
}

// jsonRun is a run.Summary without the fields that only traces have, with those that a report
// adds.
type jsonRun struct {
	run.Summary
	Failed    string        `json:"failed,omitempty"`
	Cut       bool          `json:"cut,omitempty"`
	Processes []run.Process `json:"processes"`
	Watched   []run.Watched `json:"watched"`
	Untouched int           `json:"watched_untouched"`
	// Executed is present if code synchronised unobserved.
	Executed []jsonExecuted `json:"unobserved_synchronisation,omitempty"`
	// Properties is present if there is a specification.
	Properties *report.Properties `json:"properties,omitempty"`
	Locks      *report.Locks      `json:"lock_order,omitempty"`
	Bounds     *run.Bounds        `json:"history,omitempty"`
	// Coverage is present if it is known.
	Coverage *report.Coverage `json:"coverage,omitempty"`
	// Suppressed is present if suppressions were applied.
	Suppressed *jsonSuppressions `json:"suppressed,omitempty"`
}

type jsonExecuted struct {
	Description string           `json:"place"`
	Threads     []event.ThreadID `json:"threads"`
	MaybeOthers bool             `json:"others_perhaps"`
}

// jsonFinding is a Finding with the fields that only the JSON report has.
type jsonFinding struct {
	*report.Finding
	Names      []string        `json:"objects"`
	ObjectInfo []jsonObject    `json:"object_info"`
	ThreadInfo []report.Thread `json:"thread_info"`
}

type jsonObject struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Address     string         `json:"address"`
	Initialised []event.Frame  `json:"initialised"`
	InitID      int            `json:"initialised_id"`
	FirstSeen   []event.Frame  `json:"first_seen"`
	FirstID     int            `json:"first_seen_id"`
	FirstThread event.ThreadID `json:"first_thread,omitempty"`
	// Class is the object's class, which other objects may share. Member reports that other
	// objects may have the same name too.
	Class  string `json:"class,omitempty"`
	Member bool   `json:"member,omitempty"`
	// Block is the allocated block of memory that the object lies in.
	Block *jsonBlock `json:"block,omitempty"`
}

type jsonBlock struct {
	Size        uint64         `json:"size"`
	Offset      uint64         `json:"offset"`
	Element     uint64         `json:"element_size,omitempty"`
	Thread      event.ThreadID `json:"thread,omitempty"`
	Allocated   []event.Frame  `json:"allocated"`
	AllocatedID int            `json:"allocated_id"`
}

// Write writes the report as one JSON object on one line. The format is fixed, since scripts rely on it. Options mean
// nothing here.
func Write(w io.Writer, r report.Report, _ report.Options) error {
	e := &encoder{Names: r.Names(), stacks: newStacks(framesIn(r.DistinctStacks()))}
	r = r.Cleaned()
	r.Findings = slices.Clone(r.Findings)
	setCauses(r)
	out := newJSONWriter(w)
	out.member("run", toJSONRun(r.Run))
	out.member("confidence", toJSONConfidence(r))
	list(out, "findings", r.Findings, e.finding)
	if r.ThreadStates != nil {
		list(out, "threads", r.ThreadStates, e.threadState)
	}
	if r.Stats != nil {
		out.member("stats", toJSONStats(r))
	}
	if r.Explained {
		list(out, "pruned", r.Pruned, e.pruned)
	}
	list(out, "stacks", e.stacks.stacks, unchanged)
	list(out, "frames", e.stacks.frames, unchanged)
	return out.end()
}

// setCauses sets the Cause of each finding.
func setCauses(r report.Report) {
	for _, c := range r.Causes() {
		for _, f := range append([]*report.Finding{c.Lead}, c.Others...) {
			f.Cause = c.Lead.Fingerprint
		}
	}
}

// encoder sets the fields of findings that only the JSON report has, and collects the stacks.
type encoder struct {
	report.Names
	stacks *stacks
}

func toJSONConfidence(r report.Report) jsonConfidence {
	return jsonConfidence{
		Least:    cmp.Or(r.Least, finding.Potential),
		Observed: r.Count(finding.Observed), Predicted: r.Count(finding.Predicted),
		Likely: r.Count(finding.Likely), Potential: r.Count(finding.Potential),
	}
}

func toJSONRun(r report.Run) jsonRun {
	out := jsonRun{
		Summary: r.Summary, Failed: report.Clean(r.Failed), Cut: r.Cut, Processes: r.Processes, Watched: each(r.Watched, guarded), Untouched: r.Untouched,
		Executed: each(r.Executed, func(e run.Executed) jsonExecuted {
			return jsonExecuted{e.Description, e.Threads(), e.ObservedUntil > 0}
		}),
		Properties: r.Properties, Locks: r.Locks, Bounds: r.Bounds, Coverage: r.Coverage, Suppressed: toJSONSuppressions(r.Suppressions),
	}
	if len(out.Processes) == 0 {
		out.Processes = []run.Process{{PID: r.PID, Program: cmp.Or(r.LastProgram, r.Program)}}
	}
	s := &out.Summary
	s.Notes = notNil(s.Notes)
	s.Calls = each(s.Calls, func(c run.Calls) run.Calls { c.Return = false; return c }) // the pattern shows it
	s.NoteKinds, s.LastProgram, s.Remedies, s.Doubt, s.Doubts, s.Readings, s.UnreturnedCalls, s.UncertainHolders, s.Untracked = nil, "", nil, "", nil, nil, 0, nil, nil
	s.Executed, s.Processes, s.Watched, s.Untouched, s.NeverAccessed = nil, nil, nil, 0, nil
	return out
}

// guarded returns w with an empty list of guards instead of nil.
func guarded(w run.Watched) run.Watched {
	w.Guards = notNil(w.Guards)
	return w
}

func (e *encoder) finding(f report.Finding) jsonFinding {
	e.sides(f.Evidence)
	e.sides(f.Lost)
	for _, steps := range [][]report.Step{f.Witness, f.Sketch, f.Observed} {
		e.steps(steps)
	}
	for i := range f.Depends {
		e.step(&f.Depends[i].Step, 1)
	}
	for i := range f.Others {
		o := &f.Others[i]
		o.Names, o.Threads = each(o.Objects, e.Describe), notNil(o.Threads)
	}
	f.Threads, f.Assumes, f.Depends, f.Others, f.Explains = notNil(f.Threads), notNil(f.Assumes), notNil(f.Depends), notNil(f.Others), notNil(f.Explains)
	f.Evidence, f.Witness, f.Sketch = notNil(f.Evidence), notNil(f.Witness), notNil(f.Sketch)
	return jsonFinding{&f, each(f.Objects, e.Describe), each(f.Objects, e.object), each(f.Mentioned, e.thread)}
}

func (e *encoder) pruned(p report.Pruned) report.Pruned {
	e.sides(p.Evidence)
	p.Evidence, p.Names = notNil(p.Evidence), each(p.Objects, e.Describe)
	if p.Lock != nil {
		p.LockName = e.Describe(*p.Lock)
	}
	if p.By != nil {
		e.step(p.By, 1)
	}
	return p
}

// sides sets the JSON fields of the sides of a finding; steps does so for the steps of a
// schedule.
func (e *encoder) sides(all []report.Step) {
	for i := range all {
		e.step(&all[i], sideFrames)
	}
}

func (e *encoder) steps(all []report.Step) {
	for i := range all {
		e.step(&all[i], 1)
	}
}

// step sets the JSON fields of a step. Frames is the number of inner frames of its stacks to
// show.
func (e *encoder) step(s *report.Step, frames int) {
	if s.Object != nil {
		s.Name = e.Describe(*s.Object)
	}
	e.stacks.number(&s.Stack, frames)
	s.Held = notNil(s.Held)
	for i := range s.Held {
		h := &s.Held[i]
		h.Name = e.Describe(*h.Object)
		e.stacks.number(&h.Stack, frames)
	}
}

func (e *encoder) object(o report.Object) jsonObject {
	var block *jsonBlock
	if o.InBlock() {
		block = &jsonBlock{o.Block.Size, o.Block.Offset, o.Block.Element, o.Block.Thread, inner(o.Init, 1), e.stacks.id(o.Init)}
		o.Init = report.Stack{}
	}
	return jsonObject{
		Name: o.Name, Kind: o.Kind.String(), Address: fmt.Sprintf("%#x", o.Addr), Block: block,
		Initialised: inner(o.Init, 1), InitID: e.stacks.id(o.Init), FirstSeen: inner(o.First, 1), FirstID: e.stacks.id(o.First),
		FirstThread: o.FirstThread, Class: o.Class, Member: o.ByMember,
	}
}

func (e *encoder) thread(t report.Thread) report.Thread {
	t.Inner, t.CreatedID = inner(t.Created, 1), e.stacks.id(t.Created)
	return t
}

// each returns the results of f for all elements. It never returns nil, which JSON would print
// as null.
func each[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

// notNil returns an empty slice for nil, which JSON would print as null.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func unchanged[T any](x T) T { return x }
