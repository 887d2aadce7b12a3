// Package progress reports, while a program runs, each lock-order edge when it is first seen
// (Havelund, SPIN 2000, Section 4.1), that there has been no new one for some time, and deadlocks
// as soon as they are predicted. The input is steps of evidence and findings, the output
// sentences. The package knows neither flags nor processes.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/run"
)

// maxEdges bounds the edges that are kept; further ones are not reported.
const maxEdges = 1 << 16

// LockOrderEdges reports new lock-order edges. Edges between locks without names that were
// initialised at the same source location count as one, so that a lock for each request is not
// reported each time.
type LockOrderEdges struct {
	// Names returns the names of identifiers; it must not be nil.
	Names run.Namer
	// Out, if not nil, receives a line for each new lock order.
	Out io.Writer
	// Quiet, if not nil, waits for a time without new lock orders.
	Quiet *Quiet

	seen map[string]bool
}

// Report reports an edge, given its first acquire, unless it was reported already.
func (n *LockOrderEdges) Report(s finding.Step) {
	text, locks := report.LockOrderEdge(s, n.Names)
	if n.seen[locks] || len(n.seen) >= maxEdges {
		return
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[locks] = true
	n.Quiet.disturb()
	if n.Out != nil {
		// An error of the output is ignored: the report at the end has all of this.
		_, _ = fmt.Fprintf(n.Out, "tracepredict: new lock order (%d): %s\n", len(n.seen), text)
	}
}

// Timer calls a function once; time.Timer implements it.
type Timer interface {
	Reset(time.Duration) bool
	Stop() bool
}

// Quiet waits until there has been no new lock order for some time. A nil Quiet does not wait.
type Quiet struct {
	after func(time.Duration, func()) Timer
	d     time.Duration // how long there must be no new lock order

	mu    sync.Mutex // guards the fields below; only methods of the timer are called under it
	timer Timer
	over  bool // the wait has ended
}

// NewQuiet returns a Quiet that waits for d. after starts a timer that calls a function when a
// duration has passed; nil: time.AfterFunc.
func NewQuiet(d time.Duration, after func(time.Duration, func()) Timer) *Quiet {
	if after == nil {
		after = func(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
	}
	return &Quiet{after: after, d: d}
}

// Begin starts the wait. When it is over, settled is called by the timer, unless End is called
// first.
func (q *Quiet) Begin(settled func()) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.timer = q.after(q.d, func() {
		q.mu.Lock()
		q.over = true
		q.mu.Unlock()
		settled()
	})
}

// disturb restarts the wait, unless it is over.
func (q *Quiet) disturb() {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil && !q.over {
		q.timer.Reset(q.d)
	}
}

// End stops the wait, and reports whether it was over before.
func (q *Quiet) End() bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
	return q.over
}
