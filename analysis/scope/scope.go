// Package scope monitors scopes: properties of the regions of a run between successive synchronising actions (Soueidi,
// El-Hokayem, Falcone, Opportunistic Monitoring of Multithreaded Programs, FASE 2023).
//
// The input is the events of one run in trace order, each with the set of declared events that it is, and the types of
// threads; the output is findings. A Monitor is online: it looks at no event twice. Its memory is bounded by the threads of
// a region times the local properties. It knows no specification and no names.
//
// # Meaning
//
// The events of a synchronising predicate cut the run into regions. Region 0 is before the first of them, region i between
// the i-th and the next, and both the first and the last region count. A local property judges, in LTL₃, the sequence of its
// events of one thread in one region; it is na for threads of other types. The numbers of threads by verdict make the
// atoms, and these the scope state of the region. A check judges, in LTL₃, the sequence of scope states. A synchronising
// action is in no region, also not as an event of a local property. A local property across scopes is not reset: its
// word continues with the letter sync for each synchronising action, and it is na in a region in which the thread has none
// of its events.
//
// # Inner scopes
//
// The actions of an inner scope cut the regions of another scope, the outer one: its regions are between successive actions of
// the two together, which must be totally ordered. Its checks judge the regions within one outer region, and begin anew after
// each action of the outer scope. So there is a verdict for each check and outer region, which the outer scope may count in its
// own scope state. Nothing is predicted of an inner scope.
//
// # Which region
//
// An event counts in the region that is current when it is observed. Definition 5 has a narrower region: of what happens
// after one synchronising action and before the next. What is concurrent with one of these belongs to no region there,
// since another run may have it in another one. A Monitor counts such events (State.Concurrent, Stats), and findings have
// the number. Without such events the two readings agree.
//
// The regions are only defined if the synchronising actions are totally ordered. What orders events is package causality,
// without the order of plain accesses of variables, which order nothing. If two synchronising actions are concurrent, the
// Monitor stops there and returns no findings.
//
// # Other runs
//
// With Options.History the Monitor also looks for runs in which events that are concurrent with an action lie on its other
// side (predict.go). It then keeps the events of four regions, up to a bound.
package scope

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Scope is a scope of a specification.
type Scope struct {
	Name     string
	SyncName string   // as declared
	Events   []string // the names of the declared events, by bit, for schedules; may be nil
	Sync     uint64   // the declared events that are its synchronising actions; bit i is event i
	Types    []Type
	Locals   []Local
	Atoms    []Atom
	Checks   []Check
	// Outer makes it an inner scope, whose regions are those of its own actions within the regions of another scope: the
	// declared events that are the other one's actions. They cut its regions too, and its checks begin anew after each.
	// 0: it is of the whole run.
	Outer     uint64
	OuterName string // of the other scope
	// Counted: the other scope judges the verdicts, so that violated checks are no findings.
	Counted bool
}

// Type is a type of threads.
type Type struct {
	Name string
	// Has reports whether a thread is of the type. It is asked at the thread's first event of a local property, or at the end
	// of its first region, and, until it says so, at each later Named of the thread.
	Has func(event.ThreadID) bool
}

// Local is a local property.
type Local struct {
	Name string
	Type int // index in Scope.Types
	// Events are the declared events of its alphabet: its proposition i is the event with bit Events[i].
	Events  []uint64
	Formula *monitor.ThreeValued
	// Across: the property is not reset by synchronising actions. They are its proposition len(Events).
	Across bool
}

// Atom is a proposition of scope states.
type Atom struct {
	Name  string
	Holds func(*Counts) bool
}

// Check is a formula over scope states, with Atoms[i] as proposition i.
type Check struct {
	Text    string // as written
	Message string // what its violation means, for the user; "" if the specification has none
	Formula *monitor.ThreeValued
}

// Verdict is that of a local property on a thread.
type Verdict uint8

// The verdicts. The first three are those of package monitor.
const (
	Unknown       = Verdict(monitor.Unknown)
	True          = Verdict(monitor.True)
	False         = Verdict(monitor.False)
	NotApplicable = False + 1
	verdicts      = 4
)

// String returns the verdict as a specification spells it.
func (v Verdict) String() string {
	if v == NotApplicable {
		return "na"
	}
	return monitor.Verdict(v).String()
}

// Counts are numbers of the threads of a region: of those that were alive at some time in it.
type Counts struct {
	verdicts [][verdicts]uint64 // by local property
	sizes    []uint64           // by type
}

// Of returns the number of threads on which a local property has a verdict.
func (c *Counts) Of(local int, v Verdict) uint64 { return c.verdicts[local][v] }

// Size returns the number of threads of a type.
func (c *Counts) Size(typ int) uint64 { return c.sizes[typ] }

// Options configure a Monitor.
type Options struct {
	Scope *Scope
	// Found, if not nil, is called for each finding as soon as it is made. If synchronising actions turn out to be
	// concurrent later, Findings does not return it.
	Found func(*finding.Finding)
	// History, if not nil, makes schedules, and the Monitor looks for other runs.
	History History
	// Outside, if not nil, has the results of the local properties, of which no event is an event of the run. The number
	// of events that are concurrent with an action is then not known, and History has no use.
	Outside Outside
	// Closed, if not nil, is called at the end of each region. Its argument is reused.
	Closed func(*State)
	// Judged, if not nil, is called at the end of each region of the scope around an inner one, also at the end of the run,
	// with the verdicts of the checks. Its argument is reused.
	Judged func([]monitor.Verdict)
}

// Stats are figures of a run.
type Stats struct {
	Actions    uint64 // synchronising actions, with those of the outer scope
	Own        uint64 // without these
	Events     uint64 // of local properties, in regions
	Concurrent uint64 // of these, concurrent with a synchronising action next to their region
}
