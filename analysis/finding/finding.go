// Package finding defines the results of analyses: findings as data, with the identifiers of
// the event model. It knows neither names nor files nor output formats: package report
// resolves identifiers and prints.
package finding

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Analysis receives the events of a run in trace order and returns its findings at the end.
// It does not depend on BPF, a ring buffer or ELF files, so that a recorded trace, a live
// process and a hand-written test are the same to it.
type Analysis interface {
	// Event is called once for each event, in trace order. The event is
	// reused: an analysis that keeps it must copy it.
	Event(*event.Event)
	// Finish is called once, after the last event.
	Finish() []Finding
}

// Kind is the sort of error.
type Kind string

// The kinds of finding, as reports spell them.
const (
	Race      Kind = "race"
	Deadlock  Kind = "deadlock"
	Misuse    Kind = "misuse"
	Property  Kind = "property"
	Typestate Kind = "typestate"
	Knowledge Kind = "knowledge"
	Scoped    Kind = "scope"
)

// Specified reports whether a finding of the kind breaks what the user's specification says.
func (k Kind) Specified() bool {
	return k == Property || k == Typestate || k == Knowledge || k == Scoped
}

// Confidence is the kind of evidence for a finding.
type Confidence string

// The confidences, from strongest.
const (
	// Observed: the error happened in this run.
	Observed Confidence = "observed"
	// Confirmed: it was predicted, and another run, which was led there, did it.
	Confirmed Confidence = "confirmed"
	// Predicted: the checker accepts a witness.
	Predicted Confidence = "predicted"
	// Likely: the checker accepts a witness, but something that was not observed could forbid
	// it; Finding.Reason names that.
	Likely Confidence = "likely"
	// Potential: a heuristic such as a lockset or a lock graph reports it, and there is no
	// witness, or one whose control flow or addresses rest on memory that was not recorded.
	Potential Confidence = "potential"
)

// Confidences returns all confidences, from strongest.
func Confidences() []Confidence {
	return []Confidence{Observed, Confirmed, Predicted, Likely, Potential}
}

// AtLeast reports whether a confidence is as strong as another one, or stronger.
func (c Confidence) AtLeast(other Confidence) bool {
	all := Confidences()
	return slices.Index(all, c) <= slices.Index(all, other)
}

// Order names the part of the run's order that the witness keeps, and so how the finding was
// predicted.
type Order string

// The orders. docs/findings.md explains each.
const (
	OrderNone           Order = ""
	OrderSync           Order = "sync"
	OrderExclusion      Order = "exclusion"
	OrderMessages       Order = "messages"
	OrderSyncPreserving Order = "sync-preserving"
	OrderReversal       Order = "reversal"
)

// Step is one event of evidence or of a witness.
type Step struct {
	Seq    uint64           `json:"seq,omitempty"`     // number of the observed event; 0 for a step that was only attempted
	Time   uint64           `json:"time_ns,omitempty"` // on CLOCK_MONOTONIC; 0 if unknown
	Thread event.ThreadID   `json:"thread"`
	Op     event.Op         `json:"operation"`
	Flags  event.Flags      `json:"-"`
	Object event.ObjectID   `json:"-"`              // 0 if the operation has none
	Peer   event.ThreadID   `json:"peer,omitempty"` // of fork, join
	Stack  event.StackID    `json:"-"`
	Value  uint64           `json:"-"` // with event.HasValue in Flags
	Held   []event.ObjectID `json:"-"` // locks held before the step, in order of acquisition
	// HeldAt[i] is the call stack at which Held[i] was acquired.
	HeldAt []event.StackID `json:"-"`
	// HeldRead has bit i set if Held[i] is known to be held for reading, for i < 64.
	HeldRead uint64 `json:"-"`
	// MoreHeld is the number of held locks that Held leaves out; see ShortenHeld.
	MoreHeld int `json:"held_more,omitempty"`
	// Blocked marks the last step of a thread in a deadlock witness: the thread waits here.
	Blocked bool `json:"blocked,omitempty"`
	// Readers is the number of unknown threads that hold the requested read-write lock for
	// reading.
	Readers int `json:"readers,omitempty"`
	// Use is the protocol's name of a call on Finding.Subject, "" for other steps. Object is then the instance that the
	// call's first pointer is, which may be another one.
	Use string `json:"use,omitempty"`
	// Before and After are the states of the protocol before and after such a call, at most 8 of each: more than one if it is
	// not known which. Without any After, the call breaks the protocol.
	Before []string `json:"state_before,omitempty"`
	After  []string `json:"state_after,omitempty"`
	// Truth has the propositions of the property and whether they hold after the step,
	// for steps at which the property reads them; else nil.
	Truth []Truth `json:"-"`
}

// StepOf returns an event of the run as a step, without the locks held before it.
func StepOf(e *event.Event) Step {
	return Step{
		Seq: e.Seq, Time: e.Time, Thread: e.Thread, Op: e.Op, Flags: e.Flags, Object: e.Object, Peer: e.Peer,
		Stack: e.Stack, Value: e.Value,
	}
}

// Truth is the truth value of a proposition.
type Truth struct {
	Name  string
	Holds bool
}

// Initial is a variable of a property before the first event.
type Initial struct {
	Name   string         // in the specification
	Object event.ObjectID // 0: the run has no event of it so far
	Value  uint64         // as in event.Event
	Known  bool           // the value was recorded; else it is taken to be 0
}

// Remember adds the threads and objects of the step to n, so that their names are kept.
func (s *Step) Remember(n *event.Names) {
	n.AddThread(s.Thread)
	n.AddThread(s.Peer)
	n.AddObject(s.Object)
	n.AddStack(s.Stack)
	for _, id := range s.Held {
		n.AddObject(id)
	}
	for _, id := range s.HeldAt {
		n.AddStack(id)
	}
}

// AnyTimed reports whether the wait of a step has a time limit.
func AnyTimed(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Flags&event.Timed != 0 })
}

// Finding is one error that this run or another schedule of it shows. Its JSON tags are those
// of the report, which embeds it and prints names in place of identifiers.
type Finding struct {
	Kind       Kind       `json:"kind"`
	Confidence Confidence `json:"confidence"`
	// Reason is, of a likely finding, what could forbid its witness, and of a potential one why it has none, where
	// one might be expected.
	Reason   reason.Reason `json:"-"`
	Property string        `json:"property"`       // the name of the specification's property, or ""
	Rule     Rule          `json:"rule,omitempty"` // the rule of use that a misuse breaks, or ""
	// Message is the error in one sentence, if the report cannot derive the sentence from
	// kind and evidence; else "".
	Message string           `json:"message"`
	Objects []event.ObjectID `json:"-"`       // locks in cycle order, or the variable
	Threads []event.ThreadID `json:"threads"` // in the order of Evidence
	// Evidence has one step for each side: the two accesses of a race; of a
	// deadlock, for each thread of the cycle the acquire that would block,
	// with what the thread holds; of a property the events whose order differs between the
	// run and the witness, or the event at which the observed run violates it.
	Evidence []Step `json:"-"`
	Witness  []Step `json:"-"` // the interleaving, where there is one
	// Observed has the steps of the run in place of the Witness, for a property: the events
	// that the property reads, from the last state that the two schedules have in common.
	Observed []Step   `json:"-"`
	Order    Order    `json:"order"`
	Assumes  []string `json:"assumes"` // RaceFree, GuardedData
	// Spans is, with GuardedData, the code on which the witness rests: if none of it reads what
	// another thread may have written, the assumption holds. A Span without a thread stands for
	// code that is not known.
	Spans []Span `json:"-"`
	// Moved is, with GuardedData, the code of the critical sections that the witness leaves out or moves: if all
	// that it writes was recorded, and all that decides something in Spans, the checker has decided by what was
	// read and written. MovedUnknown is the reason why that code, or what was recorded of it, is not known.
	Moved        []Span        `json:"-"`
	MovedUnknown reason.Reason `json:"-"`
	// Unexplained are events on which the finding rests although the record contradicts them: reads of
	// values that no recorded write left, semaphore waits without a post, and so on. Peer of what a
	// thread did after it had been joined is that thread.
	Unexplained []Step `json:"-"`
	// Unrecorded reports that what the threads do in the witness, or what they access, depends on memory that was
	// not recorded.
	Unrecorded bool `json:"-"`
	// OtherValues are reads that see other values in the witness than in the run. Their threads at most
	// print what they read, as far as their code shows.
	OtherValues []Step `json:"-"`
	// HasTimeout reports that a wait of the deadlock has a time limit, so that its threads
	// do not wait for ever.
	HasTimeout bool `json:"bounded,omitempty"`
	// NoCycle reports, for an observed deadlock, that the threads of Evidence form no cycle,
	// but no thread is left that could end their waits. Lost has, for each condition that
	// they wait on, the last signal that was sent while no thread waited.
	NoCycle bool   `json:"nobody_left,omitempty"`
	Lost    []Step `json:"-"`
	// Classes are the names, sorted, of the lock classes of a deadlock between classes. Its
	// sides need not have any lock in common.
	Classes []string `json:"lock_classes,omitempty"`
	// Depends are the other threads that matter to the finding; Partial reports that there
	// may be more.
	Depends []Dependency `json:"-"`
	Partial bool         `json:"depends_partial,omitempty"`
	// Mined reports that the protocol that is broken was learned from runs.
	Mined bool `json:"mined,omitempty"`
	// Subject is the object whose protocol is broken; nil if there is none.
	Subject *Subject `json:"-"`
	// AtStart reports that the state before any event violates the property. Evidence and Witness are empty then.
	// Initial has that state, by the variables that the property reads, and InitialTruth what holds in it.
	AtStart      bool      `json:"before_any_event,omitempty"`
	Initial      []Initial `json:"-"`
	InitialTruth []Truth   `json:"-"`
	// Scope is, of a violated check of a scope, the region and its scope state; else nil.
	Scope *Scope `json:"-"`
	// Graph is what the monitor sees of other schedules, of a predicted violation of a property or typestate; nil if that is not
	// known.
	Graph *Graph `json:"-"`
	Count int    `json:"count"` // number of instances merged into this one, at least 1
	// MorePairs is the number of further pairs of locks of the same Nest that are not findings of their own.
	MorePairs int `json:"more_pairs,omitempty"`
	// AllThreads are the threads of all these instances, if there may be more than in Threads.
	AllThreads []event.ThreadID `json:"-"`
}

// Subject is an object whose protocol a finding is about.
type Subject struct {
	Value uint64 // as the program has it: a pointer, a descriptor
	First Step   // the first of its calls that was seen
	Made  bool   // that call created it
}

// AddSides adds the threads of the evidence to those of the finding, and their objects.
func (f *Finding) AddSides() {
	for i := range f.Evidence {
		s := &f.Evidence[i]
		f.Threads = append(f.Threads, s.Thread)
		if s.Object != 0 && !slices.Contains(f.Objects, s.Object) {
			f.Objects = append(f.Objects, s.Object)
		}
	}
}

// Remember adds the threads and objects of the steps of the finding to n, so that their names are kept.
func (f *Finding) Remember(n *event.Names) {
	if f.Subject != nil {
		f.Subject.First.Remember(n)
	}
	for _, steps := range [][]Step{f.Evidence, f.Witness, f.Observed, f.Lost} {
		for i := range steps {
			steps[i].Remember(n)
		}
	}
	for _, v := range f.Initial {
		n.AddObject(v.Object)
	}
	if f.Scope != nil {
		f.Scope.Remember(n)
	}
	for _, t := range f.AllThreads {
		n.AddThread(t)
	}
	f.Graph.remember(n)
	f.Reason.Remember(n)
}

// The assumptions of a prediction, as reports spell them. docs/findings.md explains each.
const (
	RaceFree    = "race-free"
	GuardedData = "guarded-data"
)

// Span is code that a thread executed. With Last, the witness ends with its second event.
type Span struct {
	Thread event.ThreadID
	event.Span
}

// Code returns the span without its times.
func (s Span) Code() Span {
	s.Since, s.Until = 0, 0
	return s
}
