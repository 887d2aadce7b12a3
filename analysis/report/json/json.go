// Package jsonreport writes a report as one JSON object, for scripts. It takes a report.Report, which is plain data, and
// adds what only scripts need: names of objects as texts, and tables of the call stacks. Its bytes are equal for equal
// reports.
package jsonreport

import (
	"cmp"
	"fmt"
	"io"

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
	Confirmed int                `json:"confirmed"`
	Predicted int                `json:"predicted"`
	Likely    int                `json:"likely"`
	Potential int                `json:"potential"`
}

// jsonRun is a run.Summary without the fields that only traces have, with those that a report
// adds.
type jsonRun struct {
	run.Summary
	Build     string        `json:"build_id,omitempty"`
	Failed    string        `json:"failed,omitempty"`
	Cut       bool          `json:"cut,omitempty"`
	Processes []run.Process `json:"processes"`
	Watched   []run.Watched `json:"watched"`
	Untouched int           `json:"watched_untouched"`
	// Executed is present if code synchronised unobserved.
	Executed []jsonExecuted `json:"unobserved_synchronisation,omitempty"`
	// Properties is present if there is a specification.
	Properties *jsonProperties `json:"properties,omitempty"`
	// Protocols is present if the specification has a typestate.
	Protocols *run.Protocols `json:"protocols,omitempty"`
	Locks     *run.Locks     `json:"lock_order,omitempty"`
	Bounds    *run.Bounds    `json:"history,omitempty"`
	// Coverage is present if it is known.
	Coverage *jsonCoverage `json:"coverage,omitempty"`
	// Repeated is present if there were several runs.
	Repeated []report.Repetition `json:"repeated,omitempty"`
	// Serial is present if one thread at a time ran in those after the first.
	Serial *report.Serial `json:"serial,omitempty"`
	// Suppressed is present if suppressions were applied.
	Suppressed *jsonSuppressions `json:"suppressed,omitempty"`
}

type jsonExecuted struct {
	Description string           `json:"place"`
	Threads     []event.ThreadID `json:"threads"`
	MaybeOthers bool             `json:"others_perhaps"`
}

// jsonFinding is a report.Finding, with the fields of finding.Finding that have tags.
type jsonFinding struct {
	Kind       finding.Kind       `json:"kind"`
	Confidence finding.Confidence `json:"confidence"`
	Reason     string             `json:"reason,omitempty"`
	Harmless   string             `json:"harmless,omitempty"` // why it may be no error even if it happens
	*finding.Finding
	Evidence []jsonStep `json:"evidence"`
	Witness  []jsonStep `json:"witness"`
	Sketch   []jsonStep `json:"sketch"`
	// Observed is present for a property, and Lost if signals were lost.
	Observed []jsonStep `json:"observed,omitempty"`
	Lost     []jsonStep `json:"lost_signals,omitempty"`
	// Initial is present if the state before any event violates the property.
	Initial *jsonInitial `json:"initial_state,omitempty"`
	// Of is present if the property is one of each object of a type.
	Of          *jsonSubject     `json:"of,omitempty"`
	Depends     []jsonDependency `json:"depends"`
	Graph       *report.Graph    `json:"graph,omitempty"` // of a violated property or typestate
	Scope       *jsonScope       `json:"scope,omitempty"` // of a violated check of a scope
	ThreadCount int              `json:"thread_count"`
	Others      []jsonInstance   `json:"others"`
	Explains    []int            `json:"explains"`
	Fingerprint string           `json:"fingerprint"`
	// Cause is the fingerprint of the finding that the text shows for all findings with the same
	// cause.
	Cause       string `json:"cause"`
	Suppression string `json:"suppression,omitempty"`
	// Confirmation is present if the program was to be run again.
	Confirmation *report.Confirmation `json:"confirmation,omitempty"`
	// Processes and ProcessCount are present if the run had several processes.
	Processes    []int `json:"processes,omitempty"` // their IDs
	ProcessCount int   `json:"process_count,omitempty"`
	// Runs is present if there were several runs, and one of them shows it.
	Runs *report.Runs `json:"runs,omitempty"`
	// Steering is present if it is known how another run is led into the finding.
	Steering   *report.Steering `json:"steering,omitempty"`
	Names      []string         `json:"objects"`
	ObjectInfo []jsonObject     `json:"object_info"`
	ThreadInfo []jsonThread     `json:"thread_info"`
}

// jsonSubject is the object that violates a property.
type jsonSubject struct {
	Value string   `json:"object"` // a pointer or a descriptor, in hexadecimal digits
	First jsonStep `json:"first_seen"`
}

// jsonInitial is the state before the first event, by the variables of a property.
type jsonInitial struct {
	Values       []jsonInitialValue `json:"values"`
	Propositions map[string]bool    `json:"propositions"`
}

type jsonInitialValue struct {
	Name  string `json:"variable"`
	Value uint64 `json:"value"`
	Text  string `json:"value_text"` // Value as the source writes it
	Known bool   `json:"recorded"`   // else it is taken to be 0
}

type jsonInstance struct {
	Confidence finding.Confidence `json:"confidence"`
	Names      []string           `json:"objects"`
	Threads    []event.ThreadID   `json:"threads"`
}

type jsonDependency struct {
	finding.Dependency
	Step jsonStep `json:"step"`
}

// jsonScope is a finding.Scope, with its atoms by name.
type jsonScope struct {
	*finding.Scope
	Atoms map[string]bool `json:"atoms"`
}

type jsonPruned struct {
	*finding.Pruned
	Message  string     `json:"message"`
	LockName string     `json:"lock"`
	By       *jsonStep  `json:"by,omitempty"`
	Names    []string   `json:"objects"`
	Evidence []jsonStep `json:"evidence"`
}

// jsonStep is a report.Step, with the fields of finding.Step that have tags.
type jsonStep struct {
	*finding.Step
	Name         string          `json:"object"`
	Value        *uint64         `json:"value,omitempty"`
	Text         string          `json:"value_text,omitempty"` // Value as the source writes it
	Atomic       bool            `json:"atomic,omitempty"`
	Kernel       bool            `json:"system_call,omitempty"`
	Freed        bool            `json:"freed,omitempty"` // the write is the call that frees the memory
	TimedOut     bool            `json:"timed_out,omitempty"`
	Try          bool            `json:"try,omitempty"`
	Timed        bool            `json:"timed,omitempty"`
	Repeated     bool            `json:"repeated,omitempty"` // an attempt that is repeated until it succeeds
	Inferred     bool            `json:"inferred,omitempty"`
	Propositions map[string]bool `json:"propositions,omitempty"`
	Held         []jsonHeld      `json:"held,omitzero"`
	jsonStack
}

type jsonHeld struct {
	Name string `json:"object"`
	Read bool   `json:"for_reading,omitempty"`
	jsonStack
}

// jsonStack is a report.Stack by its number in the table at the end, with its inner frames. The form with tables alone has
// no frames here, and the index of the program's own frame in a table too.
type jsonStack struct {
	Inner []event.Frame `json:"stack,omitzero"`
	ID    int           `json:"stack_id"`
	At    frameIndex    `json:"own_frame,omitzero"`
}

// frameIndex is the index of a frame in a stack; elsewhere where it is in a table.
type frameIndex int

const elsewhere frameIndex = -1

// IsZero reports whether the index is left out.
func (i frameIndex) IsZero() bool { return i == elsewhere }

type jsonThread struct {
	ID event.ThreadID `json:"thread"`
	run.Thread
	Inner     []event.Frame `json:"created,omitzero"`
	CreatedID int           `json:"created_id"`
}

type jsonObject struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Address     string         `json:"address"`
	Initialised []event.Frame  `json:"initialised,omitzero"`
	InitID      int            `json:"initialised_id"`
	FirstSeen   []event.Frame  `json:"first_seen,omitzero"`
	FirstID     int            `json:"first_seen_id"`
	FirstThread event.ThreadID `json:"first_thread,omitempty"`
	// Class is the object's class, which other objects may share. Member reports that other
	// objects may have the same name too.
	Class  string `json:"class,omitempty"`
	Member bool   `json:"member,omitempty"`
	// Unnamed reports that no symbol names the object. Protocol is that of which it is one.
	Unnamed  bool   `json:"unnamed,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	// Block is the allocated block of memory that the object lies in.
	Block *jsonBlock `json:"block,omitempty"`
}

// jsonNamed is an object with the text by which findings name it.
type jsonNamed struct {
	Text string `json:"object"`
	jsonObject
}

type jsonBlock struct {
	Size        uint64         `json:"size"`
	Offset      uint64         `json:"offset"`
	Element     uint64         `json:"element_size,omitempty"`
	Thread      event.ThreadID `json:"thread,omitempty"`
	Allocated   []event.Frame  `json:"allocated,omitzero"`
	AllocatedID int            `json:"allocated_id"`
}

// Write writes the report as one JSON object on one line. The format is fixed, since scripts rely on it. Options mean
// nothing here.
func Write(w io.Writer, r report.Report, _ report.Options) error { return write(w, r, false) }

// WriteTables writes the report as Write does, with frames in the table at the end alone: findings and steps have the numbers
// of their stacks. What is empty in most steps is left out there.
func WriteTables(w io.Writer, r report.Report, _ report.Options) error { return write(w, r, true) }

func write(w io.Writer, r report.Report, tables bool) error {
	r = r.Cleaned()
	e := &encoder{Names: r.Names(), stacks: newStacks(framesIn(r.DistinctStacks())), causes: causes(r), tables: tables, named: map[string]bool{}}
	out := newJSONWriter(w)
	out.member("run", toJSONRun(r.Run))
	out.member("confidence", toJSONConfidence(r))
	if r.Baseline != nil {
		out.member("baseline", toJSONBaseline(r.Baseline))
	}
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
	list(out, "objects", e.objects, unchanged)
	list(out, "stacks", e.stacks.stacks, unchanged)
	if !tables {
		list(out, "frames", e.stacks.frames, unchanged)
		return out.end()
	}
	list(out, "own_frames", e.stacks.own, unchanged)
	names := newTexts()
	list(out, "frames", e.stacks.frames, names.frame)
	list(out, "names", names.all, unchanged)
	return out.end()
}

// causes returns the fingerprint of the finding that shows the cause, by the fingerprint of each finding.
func causes(r report.Report) map[string]string {
	by := make(map[string]string, len(r.Findings))
	for _, c := range r.Causes() {
		by[c.Lead.Fingerprint] = c.Lead.Fingerprint
		for _, f := range c.Others {
			by[f.Fingerprint] = c.Lead.Fingerprint
		}
	}
	return by
}

// encoder makes the JSON form of findings, and collects their stacks.
type encoder struct {
	report.Names
	stacks *stacks
	causes map[string]string
	tables bool            // WriteTables
	named  map[string]bool // the texts of objects
	// objects are those that have been named, each once.
	objects []jsonNamed
}

// describe returns the text by which findings name an object, which it collects.
func (e *encoder) describe(o report.Object) string {
	text := e.Describe(o)
	if !e.named[text] {
		e.named[text] = true
		e.objects = append(e.objects, jsonNamed{text, e.object(o)})
	}
	return text
}

func toJSONConfidence(r report.Report) jsonConfidence {
	return jsonConfidence{
		Least:    cmp.Or(r.Least, finding.Potential),
		Observed: r.Count(finding.Observed), Confirmed: r.Count(finding.Confirmed), Predicted: r.Count(finding.Predicted),
		Likely: r.Count(finding.Likely), Potential: r.Count(finding.Potential),
	}
}

func toJSONRun(r report.Run) jsonRun {
	out := jsonRun{
		Summary: r.Summary, Build: report.Clean(r.Build), Failed: report.Clean(r.Failed), Cut: r.Cut, Processes: r.Processes, Watched: each(r.Watched, guarded), Untouched: r.Untouched,
		Executed: each(r.Executed, func(e run.Executed) jsonExecuted {
			return jsonExecuted{e.Description, e.Threads(), e.ObservedUntil > 0}
		}),
		Properties: toJSONProperties(r.Properties), Protocols: r.Protocols, Locks: r.Locks, Bounds: r.Bounds, Coverage: toJSONCoverage(r.Coverage), Repeated: report.CleanTexts(r.Repeated), Serial: r.Serial, Suppressed: toJSONSuppressions(r.Suppressions),
	}
	if len(out.Processes) == 0 {
		out.Processes = []run.Process{{PID: r.PID, Program: cmp.Or(r.LastProgram, r.Program)}}
	}
	s := &out.Summary
	s.Notes = notNil(s.Notes)
	s.Calls = each(s.Calls, func(c run.Calls) run.Calls { c.Return = false; return c }) // the pattern shows it
	s.NoteKinds, s.LastProgram, s.Remedies, s.Doubt, s.Doubts, s.Readings, s.UnreturnedCalls, s.UncertainHolders, s.Untracked = nil, "", nil, "", nil, nil, 0, nil, nil
	s.Executed, s.Processes, s.Modules, s.Watched, s.Untouched, s.NeverAccessed = nil, nil, nil, nil, 0, nil
	return out
}

// guarded returns w with an empty list of guards instead of nil.
func guarded(w run.Watched) run.Watched {
	w.Guards = notNil(w.Guards)
	return w
}

// finding returns the form of a finding. The order of the stacks' numbers is that in which they are met here.
func (e *encoder) finding(f report.Finding) jsonFinding {
	out := jsonFinding{Kind: f.Kind, Confidence: f.Confidence, Reason: f.Reason, Harmless: f.Harmless, Finding: &f.Finding, ThreadCount: f.ThreadCount, Fingerprint: f.Fingerprint, Cause: e.causes[f.Fingerprint], Suppression: f.Suppression, Confirmation: f.Confirmation, Runs: f.Runs, Steering: f.Steering}
	out.Evidence, out.Lost = e.steps(f.Evidence, sideFrames), e.steps(f.Lost, sideFrames)
	out.Witness, out.Sketch, out.Observed = e.steps(f.StepsShown(f.Witness), 1), e.steps(f.Sketch, 1), e.steps(f.StepsShown(f.Observed), 1)
	out.Depends = each(f.Depends, func(d report.Dependency) jsonDependency {
		return jsonDependency{d.Dependency, e.step(&d.Step, 1)}
	})
	if f.Scope != nil {
		out.Scope = &jsonScope{f.Scope, make(map[string]bool, len(f.Scope.Atoms))}
		for _, a := range f.Scope.Atoms {
			out.Scope.Atoms[a.Name] = a.Holds
		}
	}
	out.Others = each(f.Others, func(o report.Instance) jsonInstance {
		return jsonInstance{o.Confidence, each(o.Objects, e.describe), notNil(o.Threads)}
	})
	for _, p := range f.Processes {
		out.Processes = append(out.Processes, p.PID)
	}
	out.ProcessCount, out.Graph = f.ProcessCount, f.Graph
	out.Initial = toJSONInitial(&f)
	if f.First != nil {
		out.Of = &jsonSubject{fmt.Sprintf("%#x", f.Subject.Value), e.step(f.First, sideFrames)}
	}
	f.Threads, f.Assumes, out.Explains = notNil(f.Threads), notNil(f.Assumes), notNil(f.Explains)
	out.Names, out.ObjectInfo, out.ThreadInfo = each(f.Objects, e.describe), each(f.Objects, e.object), each(f.Mentioned, e.thread)
	return out
}

func toJSONInitial(f *report.Finding) *jsonInitial {
	if !f.AtStart {
		return nil
	}
	return &jsonInitial{each(f.Initial, func(v report.Initial) jsonInitialValue {
		return jsonInitialValue{v.Name, v.Value, v.Text, v.Known}
	}), truthOf(f.InitialTruth)}
}

// truthOf returns the propositions by name.
func truthOf(truth []finding.Truth) map[string]bool {
	out := make(map[string]bool, len(truth))
	for _, t := range truth {
		out[t.Name] = t.Holds
	}
	return out
}

func (e *encoder) pruned(p report.Pruned) jsonPruned {
	out := jsonPruned{Pruned: &p.Pruned, Message: p.Message, Evidence: e.steps(p.Evidence, sideFrames), Names: each(p.Objects, e.describe)}
	if p.Lock != nil {
		out.LockName = e.describe(*p.Lock)
	}
	if p.By != nil {
		by := e.step(p.By, 1)
		out.By = &by
	}
	return out
}

// steps returns the form of steps. Frames is the number of inner frames of their stacks that they show.
func (e *encoder) steps(all []report.Step, frames int) []jsonStep {
	out := make([]jsonStep, 0, len(all))
	for i := range all {
		out = append(out, e.step(&all[i], frames))
	}
	return out
}

func (e *encoder) step(s *report.Step, frames int) jsonStep {
	has := func(f event.Flags) bool { return s.Flags&f != 0 }
	out := jsonStep{
		Step: &s.Step, Text: s.ValueText(), Atomic: has(event.Atomic), Kernel: has(event.Kernel), Freed: s.Op == event.Write && has(event.Freed),
		TimedOut: has(event.TimedOut), Try: has(event.Try), Timed: has(event.Timed), Repeated: has(event.Repeated), Inferred: has(event.Inferred), jsonStack: e.stack(s.Stack, frames),
	}
	if s.Object != nil {
		out.Name = e.describe(*s.Object)
	}
	if has(event.HasValue) {
		out.Value = &s.Value
	}
	if len(s.Truth) > 0 {
		out.Propositions = truthOf(s.Truth)
	}
	if e.tables && len(s.Held) == 0 {
		return out
	}
	out.Held = each(s.Held, func(h report.Held) jsonHeld {
		return jsonHeld{e.describe(*h.Object), h.Read, e.stack(h.Stack, frames)}
	})
	return out
}

// stack returns the form of a stack, with n of its inner frames, or more to include the one with index s.At.
func (e *encoder) stack(s report.Stack, n int) jsonStack {
	out := jsonStack{e.inner(s, n), e.stacks.id(s), frameIndex(s.At)}
	if e.tables {
		out.At = elsewhere
	}
	return out
}

// inner returns the inner frames of a stack as stack does; nil where they are in a table alone.
func (e *encoder) inner(s report.Stack, n int) []event.Frame {
	if e.tables {
		return nil
	}
	return notNil(s.Frames[:min(len(s.Frames), max(n, s.At+1))])
}

func (e *encoder) object(o report.Object) jsonObject {
	var block *jsonBlock
	if o.InBlock() {
		block = &jsonBlock{o.Block.Size, o.Block.Offset, o.Block.Element, o.Block.Thread, e.inner(o.Init, 1), e.stacks.id(o.Init)}
		o.Init = report.Stack{}
	}
	return jsonObject{
		Name: o.Name, Kind: o.Kind.String(), Address: fmt.Sprintf("%#x", o.Addr), Block: block,
		Initialised: e.inner(o.Init, 1), InitID: e.stacks.id(o.Init), FirstSeen: e.inner(o.First, 1), FirstID: e.stacks.id(o.First),
		FirstThread: o.FirstThread, Class: o.Class, Member: o.ByMember, Unnamed: o.Anonymous, Protocol: o.Protocol,
	}
}

func (e *encoder) thread(t report.Thread) jsonThread {
	return jsonThread{t.ID, t.Thread, e.inner(t.Created, 1), e.stacks.id(t.Created)}
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
