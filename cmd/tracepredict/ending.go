package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/parent"
	"github.com/tracepredict/tracepredict/loader/target"
)

// The values of --analysis-time that are no time, and the bounds that auto stands for: the analysis of a run that
// has ended takes at most so long, or such a part of the run's time, whichever is more.
const (
	analysisAuto      = "auto"
	analysisNone      = "none"
	autoAnalysis      = 10 * time.Second
	autoAnalysisShare = 10
)

// parseAnalysisTime returns the time that --analysis-time says; 0 if there is no bound, and auto for auto.
func parseAnalysisTime(text string) (limit time.Duration, auto bool, err error) {
	switch text {
	case analysisAuto, "":
		return 0, true, nil
	case analysisNone, "0":
		return 0, false, nil
	}
	limit, err = parseDuration(text)
	if err != nil || limit < 0 {
		return 0, false, usage("--analysis-time %s: it is a time such as 30s or 5m, a number of seconds, %s or %s", text, analysisAuto, analysisNone)
	}
	return limit, false, nil
}

// ending ends the analysis of a run when its time is over, or when a signal asks for the report. Its methods may be
// called by several goroutines.
type ending struct {
	now    func() time.Time
	exit   func(sig os.Signal) // ends the tool at once
	failed func(*safely.Panic) // is called with a panic of watch
	line   *planningLine       // says how far the analysis is; nil: nobody sees it

	parent *parent.Link // nil: there is none

	memory *memoryWatch // says when the memory for what is kept is used up

	mu        sync.Mutex // guards the fields below
	calls     int        // of overAfter
	observing func()     // ends the observation; nil: it is over, or a signal does not end it
	limit     time.Duration
	auto      bool          // limit is to be set when the length of the run is known
	began     time.Time     // when the analysis began; zero: the run goes on
	by        string        // what ends the analysis besides its time: a signal, or memory; "": nothing
	signalled chan struct{} // closed once a signal asks for the report
	stop      func()        // of watch; nil: no signals are watched
}

// newEnding returns an ending for the value of --analysis-time, which is valid.
// failed is called if a signal cannot be handled.
func newEnding(text string, stderr io.Writer, failed func(*safely.Panic)) *ending {
	limit, auto, _ := parseAnalysisTime(text)
	return &ending{signalled: make(chan struct{}), failed: failed, memory: newMemoryWatch(), now: time.Now, limit: limit, auto: auto, line: newPlanningLine(stderr), exit: func(sig os.Signal) {
		fmt.Fprintf(stderr, "\ntracepredict: ended by %s before there was a report\n", signalName(sig))
		os.Exit(target.ExitFailed)
	}}
}

func signalName(sig os.Signal) string {
	if s, ok := sig.(unix.Signal); ok {
		return unix.SignalName(s)
	}
	return sig.String()
}

// begin begins the time of the analysis of a run of some length.
func (e *ending) begin(length time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observing, e.began = nil, e.now()
	if e.auto {
		e.limit = max(autoAnalysis, length/autoAnalysisShare)
	}
}

// analysing returns what to say when the program is left alone and the analysis goes on.
func (e *ending) analysing() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.limit == 0 {
		return "analysing; Ctrl-C reports at once"
	}
	return fmt.Sprintf("analysing, for %v at most; Ctrl-C reports at once", e.limit.Round(time.Second))
}

// watch has signals end first the observation, if observing is not nil, then the analysis, and then the tool.
func (e *ending) watch(observing func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.observing = observing; e.stop != nil {
		return
	}
	signals, done := make(chan os.Signal, 4), make(chan struct{})
	unlisten := e.parent.Notify(signals, endSignals()...)
	safely.Go(func() {
		defer close(done)
		for sig := range signals {
			e.signal(sig)
		}
	}, e.failed)
	e.stop = func() {
		unlisten()
		close(signals)
		<-done
	}
}

// unwatch ends watch, and removes the line.
func (e *ending) unwatch() {
	e.mu.Lock()
	stop := e.stop
	e.stop = nil
	e.mu.Unlock()
	if stop != nil {
		stop()
	}
	if e.line != nil {
		e.line.remove()
	}
}

// signal handles a signal.
func (e *ending) signal(sig os.Signal) {
	e.mu.Lock()
	observing, again := e.observing, isClosed(e.signalled)
	if e.observing = nil; observing == nil && !again {
		e.by = cmp.Or(e.by, signalName(sig))
		close(e.signalled)
	}
	e.mu.Unlock()
	switch {
	case observing != nil:
		observing()
	case again:
		e.exit(sig)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// over returns why the time for the analysis is over, "" as long as it is not; engine.Options.Done.
func (e *ending) over() string { return e.overAfter(1) }

// halfOver is over for a first part of the analysis, which may take half of the time.
func (e *ending) halfOver() string { return e.overAfter(2) }

// memoryEvery is how often overAfter is called before the memory is looked at again.
const memoryEvery = 16

func (e *ending) overAfter(parts time.Duration) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls++; e.calls%memoryEvery == 0 && !e.began.IsZero() && e.by == "" && e.memory.over() {
		e.by = "lack of memory"
	}
	switch {
	case e.by != "":
		return e.by
	case e.began.IsZero() || e.limit == 0 || e.now().Sub(e.began) < e.limit/parts:
		return ""
	}
	return fmt.Sprintf("--analysis-time %v", e.limit.Round(100*time.Millisecond))
}

// progress shows that n of so many parts of the analysis are done; engine.Options.Asked.
func (e *ending) progress(n, of int) {
	if e.line != nil {
		e.line.draw(func() string { return e.text(n, of) })
	}
}

// text returns the line of progress.
func (e *ending) text(n, of int) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := fmt.Sprintf("analysing: %d %%", 100*min(n, of)/max(of, 1))
	if e.limit > 0 && !e.began.IsZero() {
		left := max(e.limit-e.now().Sub(e.began), 0)
		text += fmt.Sprintf(", %d s left at most", (left+time.Second-1)/time.Second)
	}
	return text + "; Ctrl-C: report now"
}
