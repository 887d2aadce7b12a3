// Package replay passes the events of a recorded run to the analyses (package engine), and returns their report. As the
// observer does in a live run, it stamps each event with its vector clock: what comes before it in every schedule. The
// same trace makes the same report, byte for byte, and a trace that was recorded live makes the report of the live run.
// The package knows neither how a trace is stored nor how a report is printed.
package replay

import (
	"errors"
	"fmt"
	"io"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/verdict"
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

// errCutShort means that the time for the analysis was over.
var errCutShort = errors.New("the analysis was cut short")

// events is Events, which calls now, if it is not nil, every checkEvery events with their number so far, and ends with
// errCutShort once it returns a reason.
func events(src trace.Source, sink Sink, c *clocks, now func(n uint64) string) (uint64, error) {
	var e event.Event
	must := c.must
	for n := uint64(0); ; n++ {
		if n%checkEvery == 0 && c.tooLarge() {
			return n, &clocksError{event: n, slots: must.Slots(), limit: c.limit}
		}
		if n%checkEvery == 0 && now != nil && now(n) != "" {
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
	// Engine configures the analyses. Names and Specification are set by Analyse; once Done returns a reason, no more
	// events are read.
	Engine engine.Options
	// Bind binds a specification to the run. Nil, or a nil Run, means that there is none.
	Bind func(run.Namer) (*bind.Run, error)
	// Passed, if not nil, is called now and then with the number of events that were read.
	Passed func(n uint64)
	// Stats adds to the report all figures that a recorded run has.
	Stats bool
}

// Analysis is a run whose events have been read.
type Analysis struct {
	*engine.Engine
	Events uint64 // their number
	Forced uint64 // run.Summary.Forced
	Cut    string // why the others were not read; "" if all were

	specification *bind.Run // nil if there is none
}

// Analyse passes the events of a source to the analyses. If the time is over, or the clocks of its threads and objects
// need more than 1 GiB, the analysis is of the events before.
func Analyse(src trace.Source, o Options) (*Analysis, error) {
	opts := o.Engine
	opts.Names = src.Names()
	if o.Bind != nil {
		var err error
		if opts.Specification, err = o.Bind(opts.Names); err != nil {
			return nil, err
		}
	}
	a := &Analysis{Engine: engine.New(opts), specification: opts.Specification}
	bounded := &clocks{must: clock.New(), limit: maxClocks}
	if opts.Specification != nil {
		bounded.others = opts.Specification.ClockMemory
	}
	shrinkBy(a.Engine, bounded.must, src)
	n, err := events(src, a, bounded, o.now())
	a.Events, a.Forced = n, bounded.must.Forced()
	var full *clocksError
	switch {
	case errors.Is(err, errCutShort):
		a.Cut = opts.Done()
	case errors.As(err, &full):
		a.Cut = full.reason()
	case err != nil:
		return nil, err
	}
	return a, nil
}

// now returns the function that events calls.
func (o *Options) now() func(n uint64) string {
	return func(n uint64) string {
		if o.Passed != nil {
			o.Passed(n)
		}
		if o.Engine.Done == nil {
			return ""
		}
		return o.Engine.Done()
	}
}

// shrinkBy has the clocks and the source of a run keep less when memory is full. What the source evicts can be read
// again, so that it does not count.
func shrinkBy(e *engine.Engine, must *clock.Must, src trace.Source) {
	names, _ := src.(interface{ Shrink() })
	e.ShrinkBy(func(unused uint64) bool {
		if names != nil {
			names.Shrink()
		}
		return must.Shrink(unused) > 0
	})
}

// Report analyses a run and returns its report. If the source is cut short, or the analysis, the report has a note on
// that, and no finding is better than likely.
func Report(src trace.Source, opts Options) (report.Report, error) {
	a, err := Analyse(src, opts)
	if err != nil {
		return report.Report{}, err
	}
	s := a.summary(src)
	recall(src, a.Engine)
	words, _ := src.(engine.LockWords)
	in := engine.Ended{Summary: s, Names: engine.NamesOf(src.Names(), words), Code: verdict.RecordedCode(s), Locks: words}
	findings, err := a.Findings(&in)
	if err != nil {
		return report.Report{}, err
	}
	out := a.Report(&in, findings)
	out.Run.Notes = append(out.Run.Notes, s.Remedies...)
	if opts.Stats {
		out.Stats = a.Stats(nil)
	}
	return out, nil
}

// summary returns the summary of the run of a source that has been read.
func (a *Analysis) summary(src trace.Source) run.Summary {
	s := summaryOf(src, a.Events, a.Cut != "")
	if a.Cut != "" {
		s.Doubt = "the analysis was cut short before the end of the trace"
		s.Notes = append(s.Notes, fmt.Sprintf("the analysis was cut short by %s: the trace was read up to event %d", a.Cut, a.Events))
	}
	s.Forced = a.Forced
	if _, whole := src.Summary(); whole && a.specification != nil {
		s.Notes = append(s.Notes, a.specification.Unrecorded(s.Calls)...)
	}
	if len(s.Calls) == 0 { // The trace may have been cut before its counts.
		s.Calls = a.Calls()
	}
	return s
}

// recall has a source read the names again that it has evicted and that findings may need.
func recall(src trace.Source, e *engine.Engine) {
	names, ok := src.(interface{ Recall(*event.Names) })
	if !ok {
		return
	}
	needed := event.NewNames()
	e.Remember(needed)
	names.Recall(needed)
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
