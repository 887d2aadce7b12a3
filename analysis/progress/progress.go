// Package progress tells, while a program runs, how its locks are nested: each
// nesting when it is first seen (Havelund, SPIN 2000, Section 4.1), and when there
// has been no new one for some time. Nestings come in as steps of evidence,
// sentences go out. It knows neither flags nor processes.
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

// maxTold bounds the nestings that are told apart; further ones are not told.
const maxTold = 1 << 16

// Nestings tells of new nestings. Nestings of locks without names that were made
// in the same place are one: a lock for each request is no news.
type Nestings struct {
	// Names resolves; needed.
	Names run.Namer
	// Out, if not nil, gets a line for each new nesting.
	Out io.Writer
	// Quiet, if not nil, waits for there to be none.
	Quiet *Quiet

	told map[string]bool
}

// Take takes the first acquisition of a pattern.
func (n *Nestings) Take(s finding.Step) {
	text, locks := report.Nesting(s, n.Names)
	if n.told[locks] || len(n.told) >= maxTold {
		return
	}
	if n.told == nil {
		n.told = map[string]bool{}
	}
	n.told[locks] = true
	n.Quiet.disturb()
	if n.Out != nil {
		// What cannot be written is missed by nobody: the report has all.
		_, _ = fmt.Fprintf(n.Out, "tracepredict: new nesting of locks (%d): %s\n", len(n.told), text)
	}
}

// Timer calls a function once; time.Timer is one.
type Timer interface {
	Reset(time.Duration) bool
	Stop() bool
}

// Quiet waits until nothing new has come for some time. A nil Quiet waits for
// nothing.
type Quiet struct {
	after func(time.Duration, func()) Timer
	d     time.Duration

	mu    sync.Mutex // guards what follows; nothing is called under it but the timer
	timer Timer
	over  bool
}

// NewQuiet makes one that waits for d; after calls a function when a time has
// passed, and nil is the clock's own.
func NewQuiet(d time.Duration, after func(time.Duration, func()) Timer) *Quiet {
	if after == nil {
		after = func(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
	}
	return &Quiet{after: after, d: d}
}

// Begin starts to wait; settled is called when it is over, unless End came first.
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

// disturb begins anew.
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

// End waits no longer, and says whether it has been quiet for so long.
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
