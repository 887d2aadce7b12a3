// Package report makes readable reports of findings. Analyses refer to threads, objects and
// stacks by number; a person and a CI job want names, source locations and one sentence. Build
// resolves findings, makes their sentences and fingerprints, merges and sorts them once, into
// plain data; the formats, each in a folder below this one, only write that data, so that all of
// them report the same. What a format needs beside the data is here too: places (Names), sentences
// (Headline, Summary, ConfidenceText, StepText), what one fix mends (Report.Causes), short and clean
// names (ShortName, Clean).
//
// The input is the summary of the run, findings, and a run.Namer for names and stacks. The
// output is a Report, which is equal for equal input in any order of the findings; equal
// Reports are written as equal bytes. The package does not know how events were recorded or
// how a finding was found.
package report

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Run describes the observed run.
type Run struct {
	run.Summary
	// Called is the usual name of the program, in a report with ThreadStates; "" if that is
	// the name of its file.
	Called string
	// Build is the build ID of the program, in hexadecimal digits; "" if it has none, or it is not known.
	Build string
	// Properties describes how much was checked; nil without a specification.
	Properties *run.Properties
	// Protocols counts the objects whose protocols were checked; nil without a typestate.
	Protocols *run.Protocols
	// Locks describes how much of the lock order was searched; nil if unknown.
	Locks *run.Locks
	// Bounds describes how much of the run the predictions kept; nil if unknown.
	Bounds *run.Bounds
	// Coverage describes what was looked for; nil if unknown.
	Coverage *Coverage
	// Failed says how and where tracepredict itself failed, so that the report is incomplete; "" if it did not.
	Failed string
	// Repeated are the runs, in order, if there were several; the other fields are about the first one.
	Repeated []Repetition
	// Serial says how the others of them were scheduled, if one thread at a time ran; nil: several did.
	Serial *Serial
	// Suppressions are those that were applied to the report; nil if there are none.
	Suppressions *Suppressions
}

// AddProperties sets Properties and adds its notes to those of the run; nil changes nothing.
func (r *Run) AddProperties(p *run.Properties) {
	if p == nil {
		return
	}
	for i := range p.Definitions {
		cleanDefinition(&p.Definitions[i])
	}
	r.Properties = p
	r.Notes = append(r.Notes, p.Notes...)
}

func cleanDefinition(d *run.Definition) {
	d.Name, d.Text = Clean(d.Name), Clean(d.Text)
	for i, m := range d.Where {
		d.Where[i] = run.Meaning{Name: Clean(m.Name), Text: Clean(m.Text)}
	}
}

// CutShort records why some part of the analysis was cut short; "" if none was. AddBounds must have been called.
func (r *Run) CutShort(by string) {
	if r.Bounds.CutShortBy == "" {
		r.Bounds.CutShortBy = by
	}
}

// AddBounds sets Bounds, and adds notes on what was discarded.
func (r *Run) AddBounds(b *run.Bounds, notes []string) {
	r.Bounds = b
	r.AddFirst(notes...)
}

// AddLocks sets Locks, and adds notes on the part of the lock order that was not searched.
func (r *Run) AddLocks(l *run.Locks, notes []string) {
	r.Locks = l
	r.AddFirst(notes...)
}

// Report is a run with its findings, resolved, merged and sorted.
type Report struct {
	Run      Run
	Findings []Finding
	// Least is the weakest confidence of Findings; see Report.AtLeast. "" is potential.
	Least finding.Confidence
	// Hidden counts the findings that are weaker than Least, by confidence.
	Hidden map[finding.Confidence]int
	Stats  *Stats // nil if they were not requested
	// Pruned are the candidates that are no findings; Explained reports that they were
	// requested. See Explain.
	Pruned    []Pruned
	Explained bool
	// Baseline compares the findings with those of an earlier report; nil if that was not requested.
	Baseline *Baseline
	// ThreadStates are what the threads of a running program do at one moment; nil in the report
	// of a run. See AddThreadStates.
	ThreadStates []ThreadState
	// Generated reports that Finding.Suppression is set, as requested.
	Generated bool

	names Names // short names of all files, also those of findings left out; nil if Build did not make the report
}

// Finding is a finding.Finding with names for identifiers.
type Finding struct {
	finding.Finding
	Reason string // a sentence without its full stop, for finding.Finding.Reason; "" if there is none
	// Harmless is, in the same form, why what the finding says may be no error even if it happens.
	Harmless  string
	Objects   []Object
	Mentioned []Thread // all threads that the finding refers to, by ID
	Evidence  []Step
	Witness   []Step // empty if there is none
	// Sketch is, if there is no witness, a schedule that the evidence suggests. No checker
	// has accepted it.
	Sketch []Step
	// Observed has the steps of the run in place of Witness, for a property.
	Observed []Step
	Initial  []Initial    // of a property that the state before any event violates; see finding.Finding.AtStart
	First    *Step        // the first event that was seen of the object that a property is of; nil: it is of none
	Lost     []Step       // signals sent while no thread waited
	Depends  []Dependency // nil if they were not requested
	Graph    *Graph       // of a violated property or typestate; nil if it is not known
	// ThreadCount is the number of threads that were sides of the instances merged into
	// this finding. Others are those of the instances with other threads or objects, at most
	// 16.
	ThreadCount int
	Others      []Instance
	// Explains are the sides, as indices of Evidence, that are needed to explain the
	// finding; each of the others does the same at the same source locations as one of them.
	Explains    []int
	subject     *Object  // whose protocol is broken; nil if there is none
	roles       []string // roles of the sides; equal for sides that do the same
	Fingerprint string   // the same in every run of the same binary; see Build
	Suppression string   // a block that suppresses it; "" if it was not requested
	// Confirmation is what came of running the program again; nil if that was not requested.
	Confirmation *Confirmation
	// Processes are those of the threads that were sides of the merged instances, in the order in which they began, at most
	// 16; nil if the run has one process. ProcessCount is the number of all of them.
	Processes    []run.Process
	ProcessCount int
	within       []int // the processes, as indices of Run.Processes, while findings are merged
	// Runs says in which of several runs it was seen; nil if there was one, or it is one of no single run.
	Runs *Runs
	// Steering says how another run is led into the finding; nil if that is not known.
	Steering *Steering
}

// Instance is an instance with other threads or objects that was merged into a finding.
type Instance struct {
	Confidence finding.Confidence
	Objects    []Object         // as in a Finding, at most 16
	Threads    []event.ThreadID // by side, at most 16
}

// Object is a run.Object with stacks for identifiers. Its Name is the name in the source, else
// its Member, else its address as 0x…, else its kind and number.
type Object struct {
	run.Object
	Init, First Stack
	// ByMember reports that Name is Member: other objects may have the same name.
	ByMember bool
	// Anonymous reports that no symbol names the object: Name is its address, or says how far it is from the
	// beginning of the block of memory that was allocated in Init.
	Anonymous bool
	// Protocol is that of which the object is one; Name begins with it. "" for other objects.
	Protocol string
	Numbered bool // Name is its kind and number, since nothing else is known
}

// Thread is a run.Thread with stacks for identifiers.
type Thread struct {
	ID event.ThreadID
	run.Thread
	Created Stack
	Process string // name and id of its process if there are several; else ""
}

// Stack is a call stack, innermost frame first. At is the index of the frame that a reader
// looks for: the innermost one of the program's own code, outside the C library and the
// wrappers in system headers.
type Stack struct {
	Frames []event.Frame
	At     int
}

// Step is an event of evidence, witness or sketch: a finding.Step with names for
// identifiers.
type Step struct {
	finding.Step
	Object *Object // nil if the operation has none
	// Written is Value as the source writes it, in a report that was read; "": it is written as Object.Form says.
	Written string
	Held    []Held // in order of acquisition
	Stack
}

// Held is a lock that a thread holds, with the call stack of its acquisition.
type Held struct {
	Object *Object
	Read   bool // it is known to be held for reading
	Stack
}
