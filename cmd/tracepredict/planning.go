package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/printable"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/plancache"
)

// openPlanCache makes plans be kept for other runs. If there is no safe place for them, they are made in
// each run.
func openPlanCache(opts *probes.Options) {
	tool, err := plancache.Tool()
	if err != nil {
		return
	}
	cache, err := plancache.Open()
	if err != nil {
		return
	}
	opts.Cache, opts.Tool = cache, tool
}

const (
	// planningDelay is how long planning, or the analysis after the end, takes before a line says so, and planningPause how long it is
	// before the line changes.
	planningDelay = 500 * time.Millisecond
	planningPause = 100 * time.Millisecond
)

// planningLine is a line on the terminal that says what is done before the program runs, or after it has ended.
type planningLine struct {
	out io.Writer
	now func() time.Time

	mu    sync.Mutex // guards the fields below
	began time.Time  // zero: nothing is done
	drawn time.Time  // when the line was written; zero: there is none
}

// newPlanningLine returns a line on standard error; nil if that is no terminal.
func newPlanningLine(stderr io.Writer) *planningLine {
	f, ok := printable.File(stderr)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &planningLine{out: stderr, now: time.Now}
}

// show writes what is done and how much of it is done, between 0 and 1; "" removes the line.
func (l *planningLine) show(what string, done float64) {
	if what == "" {
		l.remove()
		return
	}
	l.draw(func() string {
		if done > 0 {
			what += fmt.Sprintf(", %.0f %%", 100*done)
		}
		return "planning: " + what
	})
}

// remove removes the line.
func (l *planningLine) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.drawn.IsZero() {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
	l.began, l.drawn = time.Time{}, time.Time{}
}

// draw writes what text returns, unless the line is too new, or the last change of it.
func (l *planningLine) draw(text func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	switch {
	case l.began.IsZero():
		l.began = now
	case now.Sub(l.began) >= planningDelay && now.Sub(l.drawn) >= planningPause:
		l.drawn = now
		fmt.Fprintf(l.out, "\r%s\x1b[K", report.Sanitize(text()))
	}
}
