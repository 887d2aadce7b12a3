// Package replay makes the report of a recorded run: it reads events from a trace, computes
// clocks, runs the analyses and names what their findings refer to. The same trace makes the
// same report, byte for byte, and a trace that was recorded live makes the report of the live
// run. The package knows neither how a trace is stored nor how a report is printed.
package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/calls"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/analysis/suite"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// Sink processes the events of a run, in order. The event is reused for the next call.
type Sink interface {
	Event(*event.Event)
}

// maxCells bounds the memory for vector clocks, in cells of 4 bytes. Without it a trace of a
// megabyte could need too much: it may have a hundred thousand threads that are never joined,
// each with a clock of all others. The bound is checked once in checkEvery events.
const (
	maxCells   = 1 << 30
	checkEvery = 1024
)

// Events passes all events of a source to sink, with the vector clocks of must-happen-before,
// and returns their number. The error is the source's, or that there are too many threads and
// objects; the events before it have been passed on. Nothing is allocated per event.
func Events(src trace.Source, sink Sink) (uint64, error) {
	return events(src, sink, clock.New(), maxCells, nil)
}

// errCutShort means that the time for the analysis was over.
var errCutShort = errors.New("the analysis was cut short")

// events is Events, which ends with errCutShort once over, if it is not nil, returns a reason.
func events(src trace.Source, sink Sink, must *clock.Must, cells uint64, over func() string) (uint64, error) {
	var e event.Event
	for n := uint64(0); ; n++ {
		if n%checkEvery == 0 && must.Cells() > cells {
			return n, fmt.Errorf("event %d: too many threads (%d at once) and objects live for the memory of one machine", n, must.Slots())
		}
		if n%checkEvery == 0 && over != nil && over() != "" {
			return n, errCutShort
		}
		if err := src.Next(&e); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
		must.Stamp(&e)
		sink.Event(&e)
		must.Done(&e)
	}
}

// Options select what is looked for in a run. The zero value is useful.
type Options struct {
	Suite suite.Options
	// LockClasses looks for deadlocks between lock classes too.
	LockClasses bool
	// Bind binds a specification to the run. Nil, or a nil Run, means that there is none.
	Bind func(run.Namer) (*bind.Run, error)
	// Raced reports whether races on a variable of this name are reported; nil reports all.
	Raced func(name string) bool
	// Stats adds to the report all figures that a recorded run has.
	Stats bool
}

// Report analyses a run and returns its report. If the source is cut short, the report has a
// note on that, and no finding is better than potential.
func Report(src trace.Source, opts Options) (report.Report, error) {
	if opts.LockClasses {
		opts.Suite.LockClass = report.ClassOf(src.Names())
	}
	analyses := suite.New(opts.Suite)
	counter := calls.New(src.Names().Func, nil)
	sinks := sinks{analyses, counter}
	var properties *bind.Run
	if opts.Bind != nil {
		var err error
		if properties, err = opts.Bind(src.Names()); err != nil {
			return report.Report{}, err
		}
	}
	if properties != nil {
		sinks = append(sinks, properties)
	}
	var counts stats.Counter
	sinks = append(sinks, &counts)
	must := clock.New()
	over := opts.Suite.Done
	n, err := events(src, sinks, must, maxCells, over)
	cut := errors.Is(err, errCutShort)
	if err != nil && !cut {
		return report.Report{}, err
	}
	s := summaryOf(src, n, cut)
	if cut {
		s.Doubt = "the analysis was cut short before the end of the trace"
		s.Notes = append(s.Notes, fmt.Sprintf("the analysis was cut short by %s: the trace was read up to event %d", over(), n))
	}
	s.Forced = must.Forced()
	if len(s.Calls) == 0 { // The trace may have been cut before its counts.
		s.Calls = counter.Counts()
	}
	names := NamesOf(src.Names(), lockWords(src))
	findings, err := Findings(analyses, properties, s, names, recordedCode(s), opts.Raced)
	if err != nil {
		return report.Report{}, err
	}
	observed := Run(s)
	observed.AddProperties(properties.Report())
	observed.Notes = slices.Concat(observed.Notes, LockNotes(lockWords(src), names))
	out := Build(observed, analyses, findings, names, Coverage(&counts, names, opts.Raced, !opts.Suite.Misuse.Off))
	out.Run.Notes = append(out.Run.Notes, s.Remedies...)
	if opts.Stats {
		out.Stats = Stats(&counts, analyses, properties, nil)
	}
	out.Run.Notes = append(out.Run.Notes, Mistakes(analyses, properties)...)
	return out, nil
}

// Build returns the report of a run with its findings and what was looked for.
func Build(observed report.Run, s *suite.Suite, findings []finding.Finding, names run.Namer, c report.Coverage) report.Report {
	observed.AddLocks(locks(s, observed.Forced))
	observed.AddBounds(bounds(s))
	observed.AddCoverage(c)
	if n := s.HangsOver(); n > 0 {
		observed.Notes = append(observed.Notes, plural.Sprintf("%d {hang was seen whose threads went on later, and it is|hangs were seen whose threads went on later, and they are} not reported: something that was not observed ended {it|them}", n))
	}
	rep := report.Build(observed, findings, names)
	if s.Explains() {
		rep.Explain(s.Pruned(), names)
	}
	return rep
}

// Mistakes returns a note if the checker of executions refused witnesses that were found: each
// is an error of tracepredict. Properties may be nil.
func Mistakes(s *suite.Suite, properties *bind.Run) []string {
	w := s.Witnesses()
	if properties != nil {
		w.Add(properties.Witnesses())
	}
	if w.Refused == 0 {
		return nil
	}
	return []string{plural.Sprintf("the checker of witnesses refused %d of the %d {schedule that was|schedules that were} found, and nothing that they were to show is called predicted: "+
		"this is an error of tracepredict, please report it with a trace (--record)", w.Refused, w.Checked)}
}

// Findings finishes the analyses of a run that has ended, and returns their findings. Properties
// may be nil; code is that of Doubt, raced that of Options.
func Findings(s *suite.Suite, properties *bind.Run, sum run.Summary, names run.Namer, code Code, raced func(string) bool) ([]finding.Finding, error) {
	doubt := Doubt(sum, names, code)
	s.DecideBy(func(from, to event.StackID) bool {
		if code == nil {
			return true // what the threads read is in the run
		}
		ok, _ := code.DecidesNothing(from, to)
		return ok
	})
	if code != nil {
		s.BranchBy(code.Differs, code.Course)
	}
	s.WaitsBy(suite.Waits{
		Elsewhere: func(a, b event.StackID) bool {
			x, y := run.OwnFrame(names.Frames(a)), run.OwnFrame(names.Frames(b))
			return x != (event.Frame{}) && y != (event.Frame{}) && (x.Module != y.Module || x.Function != y.Function || x.Offset != y.Offset)
		},
		PassesNothingOn: func(wait event.StackID) bool {
			if code == nil {
				return true // what the threads do is in the run
			}
			ok, _ := code.PassesNothingOn(wait)
			return ok
		},
	})
	s.HandoversBy(suite.Handovers{
		Static: func(o event.ObjectID) bool { return names.Object(o).Member != "" },
		Block:  func(o event.ObjectID) (lo, hi uint64) { return blockOf(names.Object(o)) },
		Unseen: func(f *finding.Finding) bool {
			return unseenOrder(inProcesses(sum.Executed, processesOf(f.Evidence, names), names), f) != ""
		},
	})
	s.NamedBy(func(id event.ObjectID) bool {
		o := names.Object(id)
		return o.Name != "" || o.Member != "" || o.Class != ""
	})
	s.OrdersBy(probableOrders(sum.Executed))
	found := slices.DeleteFunc(s.Finish(doubt), func(f finding.Finding) bool {
		return f.Kind == finding.Race && raced != nil && len(f.Objects) > 0 && !raced(names.Object(f.Objects[0]).Name)
	})
	found = slices.DeleteFunc(found, func(f finding.Finding) bool { return quitsInside(&f, names) })
	withholdRefutations(found, s.Pruned(), sum, names)
	downgradeMisuse(found, sum, names)
	if properties == nil {
		return found, nil
	}
	violated := properties.Finish()
	if err := properties.Unfit(); err != nil {
		return nil, err
	}
	return append(finding.Downgrade(violated, doubt), found...), nil
}

// blockOf returns where the allocated block lies that contains an object; 0 and 0 if none is known.
func blockOf(o run.Object) (lo, hi uint64) {
	if o.Block.Size == 0 || o.Block.Offset > o.Addr {
		return 0, 0
	}
	lo = o.Addr - o.Block.Offset
	return lo, lo + o.Block.Size
}

// sinks is a Sink that passes each event to several sinks.
type sinks []Sink

func (all sinks) Event(e *event.Event) {
	for _, s := range all {
		s.Event(e)
	}
}

// truncatable is a source whose trace may have been cut short.
type truncatable interface{ Cut() *trace.Cut }

// summaryOf returns the summary of the run of a source that has been read, if cut only in part. Of a trace
// that was cut short it has what is known.
func summaryOf(src trace.Source, events uint64, cut bool) run.Summary {
	s, whole := src.Summary()
	if whole && !cut {
		return s
	}
	s.Events, s.Threads, s.Cut = events, src.Names().Threads(), true
	s.Doubt = "the trace ends before it says what was not observed"
	if c, ok := src.(truncatable); ok && c.Cut() != nil {
		s.Notes = append(s.Notes, c.Cut().String())
	}
	return s
}

// Run returns the summary of a run in the form of a report: with notes on what
// synchronised unobserved.
func Run(s run.Summary) report.Run {
	s.Notes = slices.Concat(s.Notes, executedNotes(s.Executed))
	return report.Run{Summary: s}
}

// Code says what the code of a program reads between two consecutive events of a thread, given by
// their call stacks.
type Code interface {
	// ReadsNothing reports whether the thread executes the same in any schedule, as the code depends
	// on no memory that another thread may have written; otherwise why says what it depends on.
	ReadsNothing(s event.Span) (ok bool, why string)
	// SeesRecorded reports whether the code depends on no such memory but what was recorded, so that a thread that
	// reads what it read in the run, as far as that was recorded, executes and writes the same. LeavesRecorded
	// reports whether all that the code writes was recorded, for others to read.
	SeesRecorded(s event.Span) (ok bool, why string)
	LeavesRecorded(s event.Span) (ok bool, why string)
	// DecidesNothing reports whether the thread comes from the first event to the second in any
	// schedule, even if it reads other data on the way.
	DecidesNothing(from, to event.StackID) (ok bool, why string)
	// PassesNothingOn reports whether the function that waited on a condition at a call stack notifies
	// no condition, itself or by other code.
	PassesNothingOn(wait event.StackID) (ok bool, why string)
	// Differs reports whether the code that made a read at a call stack certainly takes another branch
	// where it reads another value than the one that it has seen. If initially, that is the value which
	// the variable has when the program begins, and other is 0.
	Differs(read event.StackID, seen, other uint64, initially bool) bool
	// Course reports whether a thread that reads other values still makes the calls that it made next.
	Course(d event.Detour) event.Course
}

// recordedCode returns what a trace says about the code of its program; nil if it is an imported
// trace, which has no process, and all accesses.
func recordedCode(s run.Summary) Code {
	if s.PID == 0 {
		return nil
	}
	code := answers{}
	for _, r := range s.Readings {
		if r.Detour != nil {
			code[readingKey{detour: fmt.Sprint(*r.Detour)}] = r
			continue
		}
		span := event.Span{From: r.From, To: r.To, Last: r.Last, Releases: r.Releases, Since: r.Since, Until: r.Until}
		code[readingKey{span, r.Sees, r.Leaves, r.Decides, r.Passes, r.Differs, r.Initially, r.Seen, r.Other, ""}] = r
	}
	return code
}

// answers are the answers that a live run has recorded; Code.
type answers map[readingKey]run.Reading

type readingKey struct {
	event.Span
	sees, leaves, decides, passes bool
	differs, initially            bool
	seen, other                   uint64
	detour                        string // of Course; else ""
}

// ReadsNothing implements Code.
func (a answers) ReadsNothing(s event.Span) (ok bool, why string) {
	s.Since, s.Until = 0, 0
	return a.find(readingKey{Span: s})
}

// SeesRecorded implements Code.
func (a answers) SeesRecorded(s event.Span) (ok bool, why string) {
	return a.find(readingKey{Span: s, sees: true})
}

// LeavesRecorded implements Code.
func (a answers) LeavesRecorded(s event.Span) (ok bool, why string) {
	return a.find(readingKey{Span: s, leaves: true})
}

// DecidesNothing implements Code.
func (a answers) DecidesNothing(from, to event.StackID) (ok bool, why string) {
	return a.find(readingKey{Span: event.Span{From: from, To: to}, decides: true})
}

// PassesNothingOn implements Code.
func (a answers) PassesNothingOn(wait event.StackID) (ok bool, why string) {
	return a.find(readingKey{Span: event.Span{From: wait}, passes: true})
}

// Differs implements Code.
func (a answers) Differs(read event.StackID, seen, other uint64, initially bool) bool {
	ok, _ := a.find(readingKey{Span: event.Span{From: read}, differs: true, initially: initially, seen: seen, other: other})
	return ok
}

// Course implements Code.
func (a answers) Course(d event.Detour) event.Course {
	return a[readingKey{detour: fmt.Sprint(d)}].Course
}

func (a answers) find(key readingKey) (ok bool, why string) {
	r, known := a[key]
	if !known {
		return false, "the trace does not say what its code reads"
	}
	return r.Why == "", r.Why
}

// Doubt returns a function for suite.Finish, which returns the reason why a finding of the run
// may be wrong even though it has a witness, "" if there is none. What one process synchronises
// unobserved is no reason to doubt a finding about the threads of others.
//
// With code, the assumption that sections which were left out or moved decide nothing is settled too:
// see guardedData. A finding whose
// witness rests on what was not recorded is Unrecorded then. code is nil if the run has all accesses, as an imported trace does.
func Doubt(s run.Summary, names run.Namer, code Code) func(*finding.Finding) string {
	until := map[event.ThreadID]uint64{}
	for _, u := range s.UncertainHolders {
		until[u.Thread] = u.Until
	}
	return func(f *finding.Finding) string {
		guarded := guardedData(f, code, s.Pointers != nil, names)
		if f.Unrecorded {
			return guarded // whatever else may be in doubt
		}
		if s.Doubt != "" {
			return s.Doubt
		}
		for _, e := range f.Evidence {
			if e.Seq <= until[e.Thread] {
				return mayHaveHeld(e.Thread)
			}
		}
		own := processesOf(f.Evidence, names)
		if i := slices.IndexFunc(f.Evidence, func(e finding.Step) bool { return e.Flags&event.Polled != 0 }); i >= 0 && f.Kind == finding.Race {
			return fmt.Sprintf("T%d waits for the value in a loop: it is no race if the accesses are those of atomic built-ins, which machine code does not show", f.Evidence[i].Thread)
		}
		if why := wider(f); why != "" {
			return why
		}
		if i := slices.IndexFunc(f.Evidence, func(e finding.Step) bool { return e.Flags&(event.Untyped|event.Atomic) == event.Untyped }); i >= 0 && f.Kind == finding.Race {
			return fmt.Sprintf("nothing shows whether the access of T%d, or what orders it, is atomic: its code has no debug information (compile with -g), or is too much to be searched", f.Evidence[i].Thread)
		}
		if f.Confidence == finding.Predicted {
			if why := cmp.Or(temporary(f), severalLives(f, names, untracked(s.Untracked, f, own)), acrossProcesses(own)); why != "" {
				return why
			}
		}
		for _, d := range s.Doubts {
			if concerns(d.Processes, own) {
				return d.Reason
			}
		}
		why := unseenOrder(inProcesses(s.Executed, own, names), f)
		if why == "" && len(f.Unexplained) > 0 {
			why = unexplained(&f.Unexplained[0], names)
		}
		if why == "" && len(f.OtherValues) > 0 {
			why = otherValue(&f.OtherValues[0], names)
		}
		if why != "" {
			return why
		}
		return guarded
	}
}

// withholdRefutations changes the reasons that say that no schedule leads to an error, where the run was
// not recorded completely: then one that was not found may lead there all the same.
func withholdRefutations(found []finding.Finding, pruned []finding.Pruned, sum run.Summary, names run.Namer) {
	for i := range found {
		f := &found[i]
		if why := incomplete(sum, f.Evidence, names); why != "" && suite.Refutes(f.Reason) {
			f.Reason = notFound + why
		}
	}
	for i := range pruned {
		p := &pruned[i]
		if why := incomplete(sum, p.Evidence, names); why != "" && suite.Refutes(p.Reason) {
			p.Why, p.Reason = finding.Unknown, notFound+why
		}
	}
}

const notFound = "no schedule that leads there was found, but the record is not whole: "

// incomplete returns the reason why the record of a run may lack events that matter to these; "" if
// there is none.
func incomplete(sum run.Summary, evidence []finding.Step, names run.Namer) string {
	if sum.Doubt != "" {
		return sum.Doubt
	}
	for _, e := range evidence {
		if e.Flags&event.AfterHole != 0 {
			return fmt.Sprintf("events of T%d were lost", e.Thread)
		}
		for _, u := range sum.UncertainHolders {
			if u.Thread == e.Thread && e.Seq <= u.Until {
				return mayHaveHeld(e.Thread)
			}
		}
	}
	own := processesOf(evidence, names)
	for _, d := range sum.Doubts {
		if concerns(d.Processes, own) {
			return d.Reason
		}
	}
	return ""
}

func mayHaveHeld(t event.ThreadID) string {
	return fmt.Sprintf("T%d may have held a lock then that it took before the observation began", t)
}

// unexplained returns the reason for doubt that a finding rests on an event which the record
// contradicts.
func unexplained(x *finding.Step, names run.Namer) string {
	at := ""
	if frames := names.Frames(x.Stack); len(frames) > 0 && frames[0].Line > 0 {
		at = fmt.Sprintf(" at %s:%d", path.Base(frames[0].File), frames[0].Line)
	} else if len(frames) > 0 && frames[0].Function != "" {
		at = " in " + frames[0].Function
	}
	object := names.Object(x.Object).Name
	switch x.Op {
	case event.SemWait:
		return fmt.Sprintf("T%d got past its wait for %s%s although no recorded post was left, and what posted may order any two events", x.Thread, cmp.Or(object, "a semaphore"), at)
	case event.Wake:
		return fmt.Sprintf("T%d woke from its wait on %s%s although no recorded notification was left, and what woke it may order any two events", x.Thread, cmp.Or(object, "a condition"), at)
	case event.BarrierDepart:
		return fmt.Sprintf("T%d left %s%s although fewer threads than it waits for were seen to arrive, and those not seen may order any two events", x.Thread, cmp.Or(object, "a barrier"), at)
	case event.Join:
		return fmt.Sprintf("T%d was joined twice, the second time%s, so that what its end orders is not known", x.Peer, at)
	}
	if x.Peer == x.Thread {
		return fmt.Sprintf("T%d went on%s after it had been joined, so that what its end orders is not known", x.Thread, at)
	}
	return fmt.Sprintf("T%d read a value of %s%s that no recorded write left, and what wrote it may order any two events", x.Thread, cmp.Or(object, "a variable"), at)
}

// wider returns the reason for doubt that the source may not read what the instruction of a race's load does.
func wider(f *finding.Finding) string {
	i := slices.IndexFunc(f.Evidence, func(e finding.Step) bool { return e.Flags&event.Wider != 0 })
	if i < 0 || f.Kind != finding.Race {
		return ""
	}
	return fmt.Sprintf("the instruction of T%d loads more bytes at once than this variable has: compilers join loads of neighbouring variables, and load whole vectors of which the source uses only some; it is no race if the source does not read the variable there (code compiled with -O0 shows it)", f.Evidence[i].Thread)
}

// temporary returns the reason for doubt that a wait of a deadlock has a time limit.
func temporary(f *finding.Finding) string {
	if f.Kind != finding.Deadlock || !f.HasTimeout {
		return ""
	}
	return cmp.Or(f.Reason, "a wait of this cycle has a time limit, after which its thread may let the others go on")
}

// acrossProcesses returns the reason for doubt that the threads of a finding are of several processes.
func acrossProcesses(own []uint32) string {
	if len(own) == 0 || !slices.ContainsFunc(own, func(id uint32) bool { return id != own[0] }) {
		return ""
	}
	return "the threads are of several processes, which may wait for each other by what is not recorded: a signal, a file, memory that they map"
}

// processesOf returns the kernel's IDs of the processes of the evidence's threads; nil if the process
// of one of them is unknown.
func processesOf(evidence []finding.Step, names run.Namer) []uint32 {
	var ids []uint32
	for _, e := range evidence {
		id := names.Thread(e.Thread).TGID
		if id == 0 {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// concerns reports whether what happens in some processes concerns others; nil is any process.
func concerns(processes, others []uint32) bool {
	return len(processes) == 0 || len(others) == 0 ||
		slices.ContainsFunc(processes, func(id uint32) bool { return slices.Contains(others, id) })
}

// otherValue returns the reason for doubt that a read sees another value in a schedule than in the run.
func otherValue(read *finding.Step, names run.Namer) string {
	at := ""
	if frames := names.Frames(read.Stack); len(frames) > 0 && frames[0].Line > 0 {
		at = fmt.Sprintf(" at %s:%d", path.Base(frames[0].File), frames[0].Line)
	}
	return fmt.Sprintf("in this schedule T%d reads another value of %s%s than in this run, and it was not checked that it then does the same", read.Thread, cmp.Or(names.Object(read.Object).Name, "a variable"), at)
}
