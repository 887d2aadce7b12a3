package main

import (
	"fmt"
	"io"

	"github.com/tracepredict/tracepredict/analysis/goodlock"
	"github.com/tracepredict/tracepredict/analysis/progress"
)

// locks gives the options of the analysis of lock orders, and makes those who
// wait for new ones.
func (r *observation) locks(stderr io.Writer) goodlock.Options {
	opts := r.flags.locks()
	if r.flags.settle > 0 {
		r.quiet = progress.NewQuiet(r.flags.settle, nil)
	}
	if !r.flags.progress && r.quiet == nil {
		return opts
	}
	told := &progress.Nestings{Names: &liveNames{r}, Quiet: r.quiet}
	if r.flags.progress {
		told.Out = stderr
	}
	opts.OnPattern = told.Take
	return opts
}

// settled says that the observation ended by --settle, if it did.
func (r *observation) settled() []string {
	if !r.quiet.End() {
		return nil
	}
	return []string{fmt.Sprintf("the observation ended by itself: there was no new nesting of locks for %v (--settle)", r.flags.settle)}
}
