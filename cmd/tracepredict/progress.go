package main

import (
	"fmt"
	"io"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/progress"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/verdict"
)

// locks returns the options of the analysis of lock orders. With --progress the analysis prints
// new lock-order edges; with --settle it ends the observation when there have been none for some
// time.
func (r *observation) locks(stderr io.Writer) goodlock.Options {
	opts := r.flags.locks()
	if r.flags.settle > 0 && r.quiet == nil {
		r.quiet = progress.NewQuiet(r.flags.settle, nil)
	}
	if r.flags.repeats() {
		opts.OnEdge = r.orders.add
	}
	if !r.flags.progress && r.quiet == nil {
		return opts
	}
	edges := &progress.LockOrderEdges{Names: r.live, Quiet: r.quiet}
	if r.flags.progress {
		edges.Out = stderr
	}
	opts.OnEdge = func(s finding.Step) {
		edges.Report(s)
		if r.flags.repeats() {
			r.orders.add(s)
		}
	}
	return opts
}

// deadlocks returns a function that prints deadlocks when they are predicted, while the program
// runs, with the confidence that they have as far as is known then; nil if predictions are not
// shown.
func (r *observation) deadlocks(stderr io.Writer) func(*finding.Finding) {
	least := finding.Confidence(r.flags.confidence)
	if least == finding.Observed {
		return nil
	}
	deadlocks := &progress.Deadlocks{
		Names: r.live, Out: stderr, Least: least,
		Confidence: func(f *finding.Finding) finding.Confidence {
			return r.engine.Judge(verdict.Of(r.live.DoubtsNow(), r.live, r.live)).Now(*f)
		},
		Suppressed: func(f *report.Finding) bool { return r.flags.set.Suppresses(f) },
	}
	return deadlocks.Report
}

// settleNotes returns a note that --settle ended the observation, if it did.
func (r *observation) settleNotes() []string {
	if !r.quiet.End() {
		return nil
	}
	return []string{fmt.Sprintf("the observation ended by itself: there was no new lock order for %v (--settle)", r.flags.settle)}
}

// violated handles a finding of a property when it is first known. Suppressed findings do not
// start the actions of --on-violation.
func (r *observation) violated(f *finding.Finding) {
	resolved := report.Resolve(*f, r.live)
	if !r.flags.set.Suppresses(&resolved) {
		r.actor.found(f)
	}
}
