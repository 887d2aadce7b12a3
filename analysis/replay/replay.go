// Package replay makes the report of a recorded run: it reads events from a trace, computes
// clocks, runs the analyses and names what their findings refer to. The same trace makes the
// same report, byte for byte, and a trace that was recorded live makes the report of the live
// run. The package knows neither how a trace is stored nor how a report is printed.
package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/calls"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/analysis/suite"
	"github.com/tracepredict/tracepredict/analysis/verdict"
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

// maxClocks bounds the memory for the vector clocks of the must-order, and for those of
// specifications, in bytes each. Without it a trace of a megabyte could need too much: it may have a
// hundred thousand threads that are never joined, each of which knows something else of all others.
// The bound is checked once in checkEvery events.
const (
	maxClocks  = 1 << 30
	checkEvery = 1024
)

// Events passes all events of a source to sink, with the vector clocks of must-happen-before,
// and returns their number. The error is the source's, or that the clocks of its threads and objects need
// more than 1 GiB; the events before it have been passed on. Nothing is allocated per event of a run of no more
// than event.LowSlots threads at once.
func Events(src trace.Source, sink Sink) (uint64, error) {
	return events(src, sink, &clocks{must: clock.New(), limit: maxClocks}, nil)
}

// EventsFor is Events for a sink that contains s, which has the clocks and the source keep less when memory is full.
func EventsFor(s *suite.Suite, src trace.Source, sink Sink) (uint64, error) {
	must := clock.New()
	shrinkBy(s, must, src)
	return events(src, sink, &clocks{must: must, limit: maxClocks}, nil)
}

// shrinkBy has the clocks and the source of a run keep less when memory is full. What the source evicts can be read
// again, so that it does not count.
func shrinkBy(s *suite.Suite, must *clock.Must, src trace.Source) {
	names, _ := src.(interface{ Shrink() })
	s.ShrinkBy(func() bool {
		if names != nil {
			names.Shrink()
		}
		return must.Shrink() > 0
	})
}

// errCutShort means that the time for the analysis was over.
var errCutShort = errors.New("the analysis was cut short")

// events is Events, which ends with errCutShort once over, if it is not nil, returns a reason.
func events(src trace.Source, sink Sink, c *clocks, over func() string) (uint64, error) {
	var e event.Event
	must := c.must
	for n := uint64(0); ; n++ {
		if n%checkEvery == 0 && c.tooLarge() {
			return n, &clocksError{event: n, slots: must.Slots(), limit: c.limit}
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

// Report analyses a run and returns its report. If the source is cut short, or the clocks of its threads and
// objects need more than 1 GiB, the report has a note on that, and no finding is better than potential.
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
	shrinkBy(analyses, must, src)
	over := opts.Suite.Done
	bounded := &clocks{must: must, limit: maxClocks}
	if properties != nil {
		bounded.others = properties.ClockMemory
	}
	n, err := events(src, sinks, bounded, over)
	var full *clocksError
	cut := errors.Is(err, errCutShort) || errors.As(err, &full)
	if err != nil && !cut {
		return report.Report{}, err
	}
	s := summaryOf(src, n, cut)
	if cut {
		s.Doubt = "the analysis was cut short before the end of the trace"
		s.Notes = append(s.Notes, fmt.Sprintf("the analysis was cut short by %s: the trace was read up to event %d", cutBy(full, over), n))
	}
	s.Forced = must.Forced()
	if len(s.Calls) == 0 { // The trace may have been cut before its counts.
		s.Calls = counter.Counts()
	}
	recall(src, analyses)
	names := NamesOf(src.Names(), lockWords(src))
	findings, err := Findings(analyses, properties, s, names, verdict.RecordedCode(s), opts.Raced)
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

// recall has a source read the names again that it has evicted and that findings may need.
func recall(src trace.Source, s *suite.Suite) {
	names, ok := src.(interface{ Recall(*event.Names) })
	if !ok {
		return
	}
	needed := event.NewNames()
	s.Remember(needed)
	names.Recall(needed)
}

// cutBy returns what cut an analysis short: full if it is not nil, else what over returns.
func cutBy(full *clocksError, over func() string) string {
	if full != nil {
		return full.reason()
	}
	return over()
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
// may be nil; code is that of verdict.Of, raced that of Options.
func Findings(s *suite.Suite, properties *bind.Run, sum run.Summary, names run.Namer, code verdict.Code, raced func(string) bool) ([]finding.Finding, error) {
	useCode(s, names, code)
	s.HandoversBy(suite.Handovers{
		Static: func(o event.ObjectID) bool { return names.Object(o).Member != "" },
		Block:  func(o event.ObjectID) (lo, hi uint64) { return blockOf(names.Object(o)) },
		Unseen: func(f *finding.Finding) bool { return verdict.UnseenOrder(sum.Executed, f, names) },
	})
	s.NamedBy(func(id event.ObjectID) bool {
		o := names.Object(id)
		return o.Name != "" || o.Member != "" || o.Class != ""
	})
	known := verdict.Of(sum, names, code)
	found := slices.DeleteFunc(s.Finish(known), func(f finding.Finding) bool {
		return f.Kind == finding.Race && raced != nil && len(f.Objects) > 0 && !raced(names.Object(f.Objects[0]).Name)
	})
	if properties == nil {
		return found, nil
	}
	violated := properties.Finish()
	if err := properties.Unfit(); err != nil {
		return nil, err
	}
	return append(verdict.Doubted(violated, known.Doubt), found...), nil
}

// useCode lets the analyses ask about the code of the program. Without code, as of an imported trace, all that the
// threads read and do is in the record.
func useCode(s *suite.Suite, names run.Namer, code verdict.Code) {
	s.DecideBy(func(from, to event.StackID) bool {
		if code == nil {
			return true
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
				return true
			}
			ok, _ := code.PassesNothingOn(wait)
			return ok
		},
	})
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
	s.Notes = slices.Concat(s.Notes, verdict.UnseenNotes(s.Executed))
	return report.Run{Summary: s}
}
