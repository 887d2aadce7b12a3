// Package report turns findings into something to read. Analyses refer to threads, objects and
// stacks by number; a person and a CI job want names, source locations and one sentence. Build
// resolves findings, makes their sentences and fingerprints, merges and sorts them once, into
// data; the printers (WriteJSON, WriteText) only lay that data out, so that all formats report
// the same.
//
// The facts of the run, findings, and a run.Namer that knows names and stacks go in. A Report
// comes out, which is equal for equal input whatever the order of the findings; equal Reports
// are printed as equal bytes. The package does not know how events were recorded or how a
// finding was found.
package report

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Run is what was observed.
type Run struct {
	run.Summary
	// Called is how people know the program, where that is not its file's name; of a
	// report of a moment.
	Called string
	// Properties says how much was checked; nil without a specification.
	Properties *Properties
	// Locks says how far the orders of locks were looked at; nil if that is not known.
	Locks *Locks
	// Bounds is how much of the run the predictions kept; nil if that is not known.
	Bounds *run.Bounds
	// Suppressions kept findings out of the report; nil without them.
	Suppressions *Suppressions
}

// Locks counts what the analysis of lock orders kept and what its bounds left out.
type Locks struct {
	Nestings     int  `json:"nestings"`     // of locks, kept
	Acquisitions int  `json:"acquisitions"` // of these, kept
	Complete     bool `json:"complete"`     // all cycles of what was kept were searched and reported, and no nesting is missing
}

// Properties says what properties were checked, and on how many of the runs that the
// observed causality allows.
type Properties struct {
	Names       []string     `json:"names"`
	Window      int          `json:"window"` // as asked for, like Queue; 0 is no limit
	Queue       int          `json:"queue"`
	Complete    bool         `json:"complete"`       // every such run was checked
	Levels      uint64       `json:"levels"`         // of the computation lattice
	States      uint64       `json:"states"`         // global states on them that were built
	Dropped     uint64       `json:"states_dropped"` // states that the window left out,
	CutLevels   uint64       `json:"levels_cut"`     // on so many levels
	Late        uint64       `json:"late_events"`    // events that came when a level that they belong to was closed
	Widest      int          `json:"widest_level"`   // states of the widest level
	Definitions []Definition `json:"definitions"`    // one a name
	Notes       []string     `json:"-"`
}

// Definition is the text of a property, in the words of its specification.
type Definition struct {
	Name     string            `json:"name"`
	Text     string            `json:"text"`
	Where    []Meaning         `json:"-"` // what the names in it stand for
	Meanings map[string]string `json:"where"`
}

// Meaning is what a name of a specification stands for: a proposition, an event or a variable
// of the program.
type Meaning struct{ Name, Text string }

// AddProperties adds how much of properties was checked; nil adds nothing.
func (r *Run) AddProperties(p *Properties) {
	if p == nil {
		return
	}
	p.Names, p.Definitions = notNil(p.Names), notNil(p.Definitions)
	for i := range p.Definitions {
		p.Definitions[i].clean()
	}
	r.Properties = p
	r.Notes = append(r.Notes, p.Notes...)
}

func (d *Definition) clean() {
	d.Name, d.Text, d.Meanings = clean(d.Name), clean(d.Text), map[string]string{}
	for i, m := range d.Where {
		d.Where[i] = Meaning{clean(m.Name), clean(m.Text)}
		d.Meanings[d.Where[i].Name] = d.Where[i].Text
	}
}

// AddBounds adds how much of the run the predictions kept, and notes on what was
// discarded.
func (r *Run) AddBounds(b *run.Bounds, notes []string) {
	r.Bounds = b
	r.Notes = append(r.Notes, notes...)
}

// AddLocks adds how much of the lock order was searched, and notes on what was not.
func (r *Run) AddLocks(l *Locks, notes []string) {
	r.Locks = l
	r.Notes = append(r.Notes, notes...)
}

// Report is a run with its findings, resolved, merged and sorted.
type Report struct {
	Run      Run
	Findings []Finding
	// Least is the weakest confidence of Findings; see Report.AtLeast. "" is potential.
	Least finding.Confidence
	// Hidden counts the findings that are weaker than Least, by confidence.
	Hidden map[finding.Confidence]int
	Stats  *Stats // nil if they were not asked for
	// Pruned are the candidates that are no findings; Explained reports that they were asked
	// for. See Explain.
	Pruned    []Pruned
	Explained bool
	// Doing is what the threads were found doing, in a report of a moment; nil in one of a
	// run. See AddSeen.
	Doing []Doing
	// Generated reports that the findings have suppressions, which were asked for.
	Generated bool

	names names // of its files, also of findings that are left out; nil of one made by hand
}

// Finding is a finding.Finding with names for identifiers. Its JSON tags, those of
// finding.Finding included, are those of the report.
type Finding struct {
	finding.Finding
	Objects   []Object `json:"-"`
	Mentioned []Thread `json:"-"` // all threads of evidence, witness and sketch, by ID
	Evidence  []Step   `json:"evidence"`
	Witness   []Step   `json:"witness"` // empty if there is none
	// Sketch is, where there is no witness, how the error would come about. Nothing has
	// checked it.
	Sketch []Step `json:"sketch"`
	// Observed is what the run did instead of Witness (properties).
	Observed []Step       `json:"observed,omitempty"`
	Lost     []Step       `json:"lost_signals,omitempty"` // signals sent when nobody waited
	Depends  []Dependency `json:"depends"`                // nil if nobody asked for them
	// ThreadCount is the number of threads that were sides of the instances merged into
	// this finding, Others those of the instances that other threads or objects made, at
	// most 16.
	ThreadCount int        `json:"thread_count"`
	Others      []Instance `json:"others"`
	// Explains are the sides, as indices of Evidence, that it takes to explain the
	// finding; each of the others does the same at the same source locations as one of them.
	Explains    []int    `json:"explains"`
	roles       []string // of the sides; equal where they do the same
	Fingerprint string   `json:"fingerprint"`           // the same in every run of the same binary; see Build
	Suppression string   `json:"suppression,omitempty"` // a block that suppresses it; "" if that was not asked for
}

// Instance is another instance of a finding that was merged into it.
type Instance struct {
	Confidence finding.Confidence `json:"confidence"`
	Objects    []Object           `json:"-"` // as in a Finding, at most 16
	Names      []string           `json:"objects"`
	Threads    []event.ThreadID   `json:"threads"` // by side, at most 16
}

// Object is a run.Object with stacks for identifiers. Its Name is as in the source, else
// that of the type's member that it is, else the address as 0x…, else kind and number.
type Object struct {
	run.Object
	Init, First Stack
	// ByMember reports that Name is that of a type's member: other objects may have it too.
	ByMember bool
	// Anonymous reports that no symbol names the object, and Name is its address.
	Anonymous bool
	numbered  bool // nothing is known of it, and Name is its kind and number
}

// form returns how the values of the object are written; nil: as numbers.
func (o *Object) form() *event.Form {
	if o == nil {
		return nil
	}
	return o.Form
}

// Thread is a run.Thread with stacks for identifiers.
type Thread struct {
	ID event.ThreadID `json:"thread"`
	run.Thread
	Created   Stack         `json:"-"`
	Inner     []event.Frame `json:"created"`    // the frames of Created that JSON shows
	CreatedID int           `json:"created_id"` // of Created, in the table of stacks that JSON ends with
	Process   string        `json:"-"`          // name and id of its process, where there are several; else ""
}

// Stack is a call stack, innermost frame first. At is the index of the frame that a
// reader looks for: the innermost one of the program's own code, behind the C library
// and the wrappers in system headers.
type Stack struct {
	Frames []event.Frame `json:"-"`
	Inner  []event.Frame `json:"stack"`    // those of Frames that JSON shows here; see stacks.number
	ID     int           `json:"stack_id"` // in the table of stacks that JSON ends with
	At     int           `json:"own_frame"`
}

// Step is an event of evidence, witness or sketch: a finding.Step with names for
// identifiers.
type Step struct {
	finding.Step
	Object       *Object         `json:"-"` // nil if the operation has none
	Name         string          `json:"object"`
	Value        *uint64         `json:"value,omitempty"`
	Text         string          `json:"value_text,omitempty"` // of Value, as the source writes it
	Atomic       bool            `json:"atomic,omitempty"`
	Kernel       bool            `json:"system_call,omitempty"`
	Try          bool            `json:"try,omitempty"`
	Timed        bool            `json:"timed,omitempty"`
	Inferred     bool            `json:"inferred,omitempty"`
	Propositions map[string]bool `json:"propositions,omitempty"` // those of Truth
	Held         []Held          `json:"held"`                   // in order of acquisition
	Stack
}

// Held is a lock held, and where it was acquired.
type Held struct {
	Object Object `json:"-"`
	Name   string `json:"object"`
	Read   bool   `json:"for_reading,omitempty"` // it is known to be held for reading
	Stack
}
